from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hybridrank.errors import HybridrankWarning, InputError
from hybridrank.tasks.finance import FinanceIndex
from hybridrank.tasks.finance.evaluate import evaluate
from hybridrank.tasks.finance.run import run
from hybridrank.tasks.finance.scoring import read_labels, score

QUESTION = {"query_id": "q", "question": "What were Corrimont's net sales in 2022?"}


def write(path: Path, *values: Any) -> Path:
    path.write_text("".join(json.dumps(value) + "\n" for value in values), encoding="ascii")
    return path


def test_it_scores_what_a_run_writes(
    sample_index: FinanceIndex, sample_folder: Path, sample_texts: dict[str, str], tmp_path: Path
) -> None:
    queries, labels = sample_folder / "questions.jsonl", sample_folder / "labels.jsonl"
    found = evaluate(sample_index, queries, labels)
    run(sample_index, queries, tmp_path / "out.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_bytes().splitlines()]
    lengths = {name: len(text) for name, text in sample_texts.items()}
    wanted = score([row["query_id"] for row in rows], read_labels(labels), rows, lengths)
    assert list(found.questions) == wanted
    assert found.measure == "EvidenceRecall@5"
    assert found.quality == pytest.approx(sum(one.quality for one in wanted) / len(wanted))
    assert found.document_hit == pytest.approx(sum(one.document for one in wanted) / len(wanted))
    assert not [one for one in found.questions if one.invalid]
    assert 0.8 < found.quality < 1  # the sample has questions that are hard on purpose


def test_labels_of_pages_are_measured_by_page(sample_index: FinanceIndex, tmp_path: Path) -> None:
    (span, *_) = sample_index.spans(QUESTION["question"])
    page = {"document_id": span.document_id, "start": span.start, "end": span.end}
    elsewhere = page | {"start": 10**6, "end": 10**6 + 9}
    with pytest.warns(HybridrankWarning, match="1 labels name a report or offsets .* 'other'"):
        found = evaluate(
            sample_index,
            write(tmp_path / "q.jsonl", QUESTION, QUESTION | {"query_id": "other"}),
            write(
                tmp_path / "labels.jsonl",
                {"query_id": "q", "pages": [page]},
                {"query_id": "other", "pages": [elsewhere]},
                {"query_id": "not asked", "units": [[page]]},
            ),
        )
    assert (found.measure, found.quality, found.document_hit) == ("PageHit@5", 0.5, 1.0)
    assert found.to_json() == {
        "PageHit@5": 0.5,
        "DocHit@5": 1.0,
        "questions": [
            {"query_id": "q", "quality": 1.0, "document": 1.0, "invalid": None},
            {"query_id": "other", "quality": 0.0, "document": 1.0, "invalid": None},
        ],
    }


def test_a_question_that_finds_nothing_scores_zero(sample_index: FinanceIndex, tmp_path: Path) -> None:
    place = {"document_id": "CORRIMONT_2022_10K", "start": 0, "end": 9}
    found = evaluate(
        sample_index,
        write(tmp_path / "q.jsonl", {"query_id": "q", "question": "xylophones?"}),
        write(tmp_path / "labels.jsonl", {"query_id": "q", "units": [[place]]}),
    )
    assert (found.quality, found.document_hit) == (0.0, 0.0)


def test_progress_counts_questions(sample_index: FinanceIndex, tmp_path: Path) -> None:
    place = {"document_id": "CORRIMONT_2022_10K", "start": 0, "end": 9}
    seen: list[int] = []
    evaluate(
        sample_index,
        write(tmp_path / "q.jsonl", *(QUESTION | {"query_id": name} for name in "ab")),
        write(tmp_path / "labels.jsonl", *({"query_id": name, "units": [[place]]} for name in "ab")),
        progress=seen.append,
    )
    assert seen == [1, 2]


@pytest.mark.parametrize(
    ("questions", "message"),
    [
        ([], r"q\.jsonl: holds no question"),
        ([QUESTION | {"query_id": "unlabelled"}], r"labels\.jsonl: there is no label for 'unlabelled'"),
        ([QUESTION, QUESTION], r"q\.jsonl, line 2: the query_id 'q' stood on line 1 already"),
        ([QUESTION, {"query_id": "r"}], r"q\.jsonl, line 2: no 'question'"),
    ],
)
def test_a_measure_of_something_else_is_refused(
    sample_index: FinanceIndex, tmp_path: Path, questions: list[Any], message: str
) -> None:
    place = {"document_id": "CORRIMONT_2022_10K", "start": 0, "end": 9}
    labels = write(tmp_path / "labels.jsonl", {"query_id": "q", "units": [[place]]})
    with pytest.raises(InputError, match=message):
        evaluate(sample_index, write(tmp_path / "q.jsonl", *questions), labels)


def test_units_and_pages_are_not_averaged(sample_index: FinanceIndex, tmp_path: Path) -> None:
    (span, *_) = sample_index.spans(QUESTION["question"])
    place = {"document_id": span.document_id, "start": span.start, "end": span.end}
    queries = write(tmp_path / "q.jsonl", QUESTION, QUESTION | {"query_id": "other"})
    labels = write(
        tmp_path / "labels.jsonl",
        {"query_id": "q", "pages": [place]},
        {"query_id": "other", "units": [[place]]},
    )
    with pytest.raises(InputError, match="measured differently"):
        evaluate(sample_index, queries, labels)
