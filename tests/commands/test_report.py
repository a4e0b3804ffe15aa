from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.command_line import LABELS, QUESTIONS, says
from tests.commands.labelled_data import QUERIES, write_qrels, write_queries, write_run_file

Capture = pytest.CaptureFixture[str]


def shown(page: str, query: int) -> list[list[str]]:
    """The ids of the hits of each side of a query, numbered from 1."""
    sides = re.findall(rf'<li class="hit[^"]*" id="q{query}([ab])\d+".*?<span class="id">(.*?)</span>', page)
    return [[name for side, name in sides if side == letter] for letter in "ab"]


def test_a_page_is_written_whole_and_opens_from_the_disk(
    notes: Path, tmp_path: Path, capsys: Capture
) -> None:
    queries = tmp_path / "queries.txt"
    queries.write_text("which glue for outdoor joints\nzebra\n", encoding="utf-8")
    output = tmp_path / "report.html"
    arguments = ["report", notes, "--queries", queries, "--output", output, "--title", "My <notes>"]
    assert says(capsys, arguments) == (0, "", f"2 queries shown in {output}\n")
    page = output.read_text(encoding="utf-8")
    assert "<h1>My &lt;notes&gt;</h1>" in page
    assert shown(page, 1) == [["workshop-glue.txt:0"], []]
    assert "Nothing found." in page
    assert says(capsys, arguments)[0] == 0
    assert output.read_text(encoding="utf-8") == page
    assert sorted(one.name for one in tmp_path.iterdir()) == ["queries.txt", "report.html"]


def test_what_was_written_is_said_as_json(notes: Path, tmp_path: Path, capsys: Capture) -> None:
    output = tmp_path / "report.html"
    (tmp_path / "q.txt").write_text("slugs\n")
    arguments = ["report", notes, "--queries", tmp_path / "q.txt", "--output", output]
    code, out, err = says(capsys, [*arguments, "--json"])
    assert (code, json.loads(out), err) == (0, {"queries": 1, "output": str(output)}, "")
    assert "1 query, the best 10 hits of each." in output.read_text(encoding="utf-8")
    assert says(capsys, [*arguments, "-k", "1"]) == (0, "", f"1 query shown in {output}\n")
    assert "1 query, the best hit of each." in output.read_text(encoding="utf-8")


def test_two_runs_side_by_side_with_labels(notes: Path, tmp_path: Path, capsys: Capture) -> None:
    first = write_run_file(tmp_path, "first.run", ":0")
    second = tmp_path / "second.run"
    second.write_text(
        "glue Q0 workshop-glue.txt:0 1 2 s\nglue Q0 nowhere 2 1 s\nbread Q0 yatra-pahad.txt:0 1 1 s\n",
        encoding="utf-8",
    )
    output = tmp_path / "report.html"
    code, _, err = says(
        capsys,
        [
            "report",
            notes,
            "--queries",
            write_queries(tmp_path),
            "--labels",
            write_qrels(tmp_path),
            "--ranking",
            first,
            "--compare",
            f"new={second}",
            "--output",
            output,
        ],
    )
    assert code == 0
    assert "1 of 3 new's passages are not in the index" in err
    page = output.read_text(encoding="utf-8")
    assert shown(page, 1) == [
        ["yatra-pahad.txt:0", "workshop-glue.txt:0"],
        ["workshop-glue.txt:0", "nowhere"],
    ]
    assert shown(page, 2) == [["yatra-pahad.txt:0", "garden-slugs.txt:0"], []]
    assert "Its text is not in the index." in page
    assert "up 1 from 2" in page
    assert page.index('id="q2"') < page.index('id="q1"')  # what new does not find comes first
    assert "data-failed" in page


def test_a_run_of_documents_is_shown_beside_documents(notes: Path, tmp_path: Path, capsys: Capture) -> None:
    output = tmp_path / "report.html"
    run = write_run_file(tmp_path, "docs.run", extra="glue Q0 garden-slugs.txt 3 0 s\n")
    code, _, err = says(
        capsys,
        [
            "report",
            notes,
            "--queries",
            write_queries(tmp_path),
            "--compare",
            run,
            "--output",
            output,
            "-k",
            "2",
        ],
    )
    assert (code, err) == (0, f"{len(QUERIES)} queries shown in {output}\n")
    page = output.read_text(encoding="utf-8")
    assert shown(page, 1) == [["workshop-glue.txt"], ["yatra-pahad.txt", "workshop-glue.txt"]]
    assert "<mark>glue</mark>" in page


def test_a_learned_ranker_is_compared_and_says_its_features(tmp_path: Path, capsys: Capture) -> None:
    from hybridrank import LearnedReranker, LexicalIndex
    from hybridrank.commands.inputs import read_labels
    from hybridrank.evaluation.formats import read_queries

    directory, ranker, output = tmp_path / "index", tmp_path / "ranker", tmp_path / "report.html"
    assert says(capsys, ["index", QUESTIONS.parent / "reports.jsonl", "--output", directory])[0] == 0
    index = LexicalIndex.open(directory)
    LearnedReranker.fit(index, read_queries(QUESTIONS), read_labels(index, LABELS).grades, rounds=5).save(
        ranker
    )
    code, _, err = says(
        capsys,
        [
            "report",
            directory,
            "--queries",
            QUESTIONS,
            "--labels",
            LABELS,
            "--compare",
            f"learned={ranker}",
            "-k",
            "3",
            "--output",
            output,
        ],
    )
    assert (code, err) == (0, f"32 queries shown in {output}\n")
    page = output.read_text(encoding="utf-8")
    assert '<th scope="row">learned</th>' in page
    assert "bm25_rank +" in page
    assert page.count('class="query"') == 32
    code, out, _ = says(
        capsys, ["search", directory, "net sales of fiber", "--model", ranker, "--explain", "-k", "1"]
    )
    assert code == 0
    assert re.search(r"learned: rank 1, score .*, most from .*[+-]", out)
    code, out, _ = says(capsys, ["search", directory, "net sales of fiber", "--model", ranker, "--json"])
    assert json.loads(out)["hits"][0]["reasons"][-1]["source"] == "learned"


def test_what_cannot_be_shown_is_said(notes: Path, tmp_path: Path, capsys: Capture) -> None:
    queries = write_queries(tmp_path)
    base = ["report", notes, "--queries", queries, "--output", tmp_path / "r.html"]
    strange = tmp_path / "strange.run"
    strange.write_text("glue Q0 zebra 1 1 s\n", encoding="utf-8")
    elsewhere = tmp_path / "elsewhere.run"
    elsewhere.write_text("1 Q0 workshop-glue.txt 1 1 s\n", encoding="utf-8")
    for arguments, message in (
        (["--compare", f"bm25={strange}"], "both rankings are named 'bm25'. Name them: NAME=PATH."),
        (["--compare", strange], "none of the 1 strange's ids ('zebra') is in the index"),
        (["--compare", elsewhere], "none of the 3 queries to show"),
        (["--compare", tmp_path / "none"], "none: cannot be read"),
        (["--output", tmp_path / "no" / "r.html"], "there is no such directory"),
        (["--labels", queries], "no 'judgments' by id"),
    ):
        code, out, err = says(capsys, [*base, *arguments])
        assert (code, out) == (2, "")
        assert message in err
    assert not (tmp_path / "r.html").exists()


def test_a_page_that_cannot_be_written_leaves_nothing(
    notes: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    code, _, err = says(
        capsys, ["report", notes, "--queries", write_queries(tmp_path), "--output", tmp_path / "r.html"]
    )
    assert code == 2
    assert "No space left on device" in err
    assert [one.name for one in tmp_path.iterdir()] == ["queries.jsonl"]
