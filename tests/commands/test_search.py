from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hybridrank import LexicalIndex
from hybridrank.commands import search
from tests.command_line import DATA, QUERY, says
from tests.commands.labelled_data import QUERIES, write_queries

Capture = pytest.CaptureFixture[str]


def typed(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


@pytest.mark.parametrize(
    ("content", "options", "ids"),
    [
        ("one slug\n\ftwo slugs\f", [], ["standard input:0", "standard input:10"]),
        ('{"id": "a", "text": "a slug"}\n', [], ["a:0"]),
        ("id,text\na,a slug\n", ["--format", "csv"], ["a:0"]),
        ("id,text\na,a slug\n", [], ["a:0"]),
        ('"text"\t"id"\na slug\ta\n', [], ["a:0"]),
        ("text, with a comma\na slug\n", [], ["standard input:0"]),
    ],
)
def test_a_corpus_comes_from_standard_input(
    tmp_path: Path,
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
    content: str,
    options: list[str],
    ids: list[str],
) -> None:
    typed(monkeypatch, content)
    arguments = ["index", "-", "--output", tmp_path / "index", "--json", *options]
    code, out, err = says(capsys, arguments)
    assert (code, err) == (0, "")
    assert json.loads(out) == {"passages": len(ids), "output": str(tmp_path / "index")}
    passages = LexicalIndex.open(tmp_path / "index").passages
    assert [passage.id for passage in passages] == ids
    if "\f" in content:
        assert [passage.metadata for passage in passages] == [
            {"file": "standard input", "page": 1},
            {"file": "standard input", "page": 2},
        ]


def test_pages_are_those_of_texts_alone(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "c.jsonl").write_text('{"id": "a", "text": "one\\fslug", "file": "x", "by": "y"}\n')
    assert says(capsys, ["index", tmp_path / "c.jsonl", "--output", tmp_path / "index"])[0] == 0
    (passage,) = LexicalIndex.open(tmp_path / "index").passages
    assert (passage.text, passage.metadata) == ("one\fslug", {"file": "x", "by": "y"})


@pytest.mark.parametrize("content", ["", " \n\f\n"])
def test_a_corpus_without_text_is_warned_about(tmp_path: Path, capsys: Capture, content: str) -> None:
    (tmp_path / "empty.txt").write_text(content)
    code, _, err = says(capsys, ["index", tmp_path / "empty.txt", "--output", tmp_path / "index"])
    assert (code, err) == (
        0,
        f"warning: {tmp_path / 'empty.txt'} holds no text: nothing can be found in it\n"
        f"0 passages indexed in {tmp_path / 'index'}\n",
    )
    assert says(capsys, ["search", tmp_path / "index", "x"]) == (0, "", "nothing found\n")


def test_a_corpus_without_reports_is_warned_about(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "reports.jsonl").touch()
    code, _, err = says(capsys, ["finance", "build", "--corpus", tmp_path, "--index-dir", tmp_path / "index"])
    assert code == 0
    assert err.startswith(
        f"warning: {tmp_path} holds no report: nothing can be found in it\n0 reports (0 characters)"
    )


def test_many_queries_are_searched_in_one_go(notes: Path, tmp_path: Path, capsys: Capture) -> None:
    arguments = ["search", notes, "--queries", write_queries(tmp_path), "-k", "1"]
    code, out, err = says(capsys, [*arguments, "--json"])
    rows = [json.loads(line) for line in out.splitlines()]
    assert (code, err) == (0, "")
    assert {row["query_id"]: row["query"] for row in rows} == QUERIES
    index = LexicalIndex.open(notes)
    assert [[hit["id"] for hit in row["hits"]] for row in rows] == [
        [hit.passage_id for hit in index.search(query, 1)] for query in QUERIES.values()
    ]
    code, out, _ = says(capsys, arguments)
    assert [line for line in out.splitlines() if line[:2] != "1." and line[0] != " "] == [
        f"{query_id}: {query}" for query_id, query in QUERIES.items()
    ]


def test_lines_are_ranked_without_an_index(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "Milk and eggs.\n\n----\nPlan C: sell the boat.\nThe boat needs paint.\n"
    (tmp_path / "notes").write_text(text)
    code, out, err = says(capsys, ["rank", "Which plan is about boats?", tmp_path / "notes"])
    assert (code, err) == (0, "")
    assert [line.partition("  (")[0] for line in out.splitlines()] == [
        "1. 4",
        "   Plan C: sell the boat.",
        "2. 5",
        "   The boat needs paint.",
    ]
    typed(monkeypatch, text)
    code, out, _ = says(capsys, ["rank", "boats", "-k", "1", "--json"])
    assert (code, [hit["text"] for hit in json.loads(out)["hits"]]) == (0, ["The boat needs paint."])
    typed(monkeypatch, "Die Häuser stehen leer.\n")
    code, out, _ = says(capsys, ["rank", "Haus", "--language", "german", "--explain"])
    assert out.startswith("1 hit for 'Haus'\n1. 1  score")


def test_progress_is_by_the_bytes_that_were_read(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    shares: list[float] = []

    @contextmanager
    def watched(what: str, unit: str) -> Iterator[Callable[[int, float], None]]:
        yield lambda done, share: shares.append(share)

    monkeypatch.setattr(search, "progress", watched)
    for corpus in (DATA / "notes", DATA / "notes" / "garden-slugs.txt", DATA / "finance" / "reports.jsonl"):
        shares.clear()
        assert says(capsys, ["index", corpus, "--output", tmp_path / "i"])[0] == 0
        assert shares == sorted(shares)
        assert shares[-1] == 1.0
    assert says(capsys, ["index", tmp_path / "none.txt", "--output", tmp_path / "i"])[0] == 2


def test_a_search_with_one_question_needs_no_file(notes: Path, capsys: Capture) -> None:
    assert says(capsys, ["search", notes, "--", "-k"]) == (0, "", "nothing found\n")
    assert says(capsys, ["search", notes, QUERY, "-k", "1"])[0] == 0


def test_people_are_not_shown_a_line_of_megabytes(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "lines.txt").write_text("slug " * 100_000, encoding="utf-8")
    _, out, _ = says(capsys, ["rank", "slug", tmp_path / "lines.txt"])
    assert len(out) < 3000
    assert out.endswith("slug…\n")
    _, whole, _ = says(capsys, ["rank", "slug", tmp_path / "lines.txt", "--json"])
    assert len(json.loads(whole)["hits"][0]["text"]) > 400_000


def test_a_folder_is_to_be_indexed_first(tmp_path: Path, capsys: Capture) -> None:
    code, _, err = says(capsys, ["rank", "slug", tmp_path])
    assert code == 2
    assert f"this is a folder. Index it: hybridrank index {tmp_path} --output DIR" in err
