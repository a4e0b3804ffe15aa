from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from hybridrank.errors import InputError
from hybridrank.tasks.finance.datasets import find_sets, read_corpus, read_query_ids, sample_sets
from hybridrank.tasks.finance.scoring import Label, Place, read_labels


def write(path: Path, rows: Iterable[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def place(document_id: str) -> dict[str, Any]:
    return {"document_id": document_id, "start": 0, "end": 2}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Two corpora; set "pages" has a report that the small one lacks."""
    for name, documents in {"small": ["a"], "full": ["a", "b"]}.items():
        reports = [{"document_id": document, "text": "line\u2028same 🦊\r"} for document in documents]
        write(tmp_path / f"corpus-{name}" / "reports.jsonl", reports)
    labels: dict[str, dict[str, Any]] = {"units": {"units": [[place("a")]]}, "pages": {"pages": [place("b")]}}
    for name, label in labels.items():
        write(tmp_path / "validation" / f"{name}.queries.jsonl", [{"query_id": "q", "question": "?"}])
        write(tmp_path / "validation" / f"{name}.labels.jsonl", [{"query_id": "q"} | label])
    return tmp_path


def test_each_set_runs_on_the_corpora_that_hold_its_reports(data: Path) -> None:
    sets, homeless = find_sets(data)
    assert [(one.corpus.name, one.name) for one in sets] == [
        ("full", "pages"),
        ("full", "units"),
        ("small", "units"),
    ]
    assert homeless == []


def test_sets_and_corpora_can_be_chosen(data: Path) -> None:
    sets, homeless = find_sets(data, corpora=["small"])
    assert [one.name for one in sets] == ["units"]
    assert homeless == ["pages"]
    sets, _ = find_sets(data, names=["units"])
    assert [one.corpus.name for one in sets] == ["full", "small"]


def test_a_choice_that_does_not_exist_is_named_with_those_that_do(data: Path) -> None:
    with pytest.raises(InputError, match="for unis; there are pages, units"):
        find_sets(data, names=["unis"])
    with pytest.raises(InputError, match="for huge; there are full, small"):
        find_sets(data, corpora=["huge"])


def test_a_directory_without_data_and_sets_without_a_corpus_are_refused(data: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no corpus-NAME/reports\.jsonl below it"):
        find_sets(tmp_path / "nowhere")
    with pytest.raises(InputError, match="no chosen corpus holds all the labelled reports of pages"):
        find_sets(data, names=["pages"], corpora=["small"])


def test_a_corpus_knows_its_size_and_the_characters_of_its_reports(data: Path) -> None:
    corpus = read_corpus(data / "corpus-full", "full")
    assert corpus.lengths == {"a": 12, "b": 12}
    assert corpus.size == (data / "corpus-full" / "reports.jsonl").stat().st_size


@pytest.mark.parametrize("report", [{"text": "x"}, {"document_id": "a"}, {"document_id": "a", "text": None}])
def test_an_unfinished_report_is_refused(tmp_path: Path, report: dict[str, Any]) -> None:
    write(tmp_path / "reports.jsonl", [report])
    with pytest.raises(InputError, match=r"reports\.jsonl, line 1: .*not a string"):
        read_corpus(tmp_path, "broken")


def test_labels_hold_units_or_pages(tmp_path: Path) -> None:
    rows = [
        {"query_id": "u", "units": [[place("a"), place("b")], [place("c")]]},
        {"query_id": "p", "pages": [place("d")]},
    ]
    labels = read_labels(write(tmp_path / "labels.jsonl", rows))
    assert labels["u"] == Label(
        query_id="u", units=((Place("a", 0, 2), Place("b", 0, 2)), (Place("c", 0, 2),))
    )
    assert labels["u"].documents == {"a", "b", "c"}
    assert labels["p"].documents == {"d"}


@pytest.mark.parametrize(
    ("label", "words"),
    [
        ({"units": [[place("a")]]}, "malformed label None"),
        ({"query_id": "q", "units": [[{"document_id": "a", "start": 0}]]}, "malformed label 'q'"),
        ({"query_id": "q", "units": 3}, "malformed label 'q'"),
        ({"query_id": "q"}, "'q' has no evidence"),
        ({"query_id": "q", "units": [[place("a")], []]}, "'q' has no evidence"),
    ],
)
def test_a_label_without_usable_evidence_is_refused(
    tmp_path: Path, label: dict[str, Any], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        read_labels(write(tmp_path / "labels.jsonl", [label]))


def test_query_ids_keep_their_order(tmp_path: Path) -> None:
    rows = [{"query_id": name, "question": "?"} for name in ("b", "a", "c")]
    assert read_query_ids(write(tmp_path / "queries.jsonl", rows)) == ["b", "a", "c"]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([], "no question"),
        ([{"query_id": "q", "question": "?"}] * 2, "stood on line 1 already"),
        ([{"query_id": "q"}], "no 'question' among"),
        ([{"query_id": 3, "question": "?"}], "'query_id' is int"),
    ],
)
def test_questions_that_could_not_be_scored_are_refused(tmp_path: Path, rows: list[Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_query_ids(write(tmp_path / "queries.jsonl", rows))


def test_the_package_s_sample_is_a_set_that_fits_its_corpus() -> None:
    (sample,), homeless = sample_sets()
    assert homeless == []
    assert set(read_query_ids(sample.queries)) == set(sample.labels)
    assert all(label.documents <= sample.corpus.lengths.keys() for label in sample.labels.values())
