from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from hybridrank import LearnedReranker, LexicalIndex
from tests.command_line import LABELS, QUESTIONS, says
from tests.commands.labelled_data import QUERIES, write_qrels, write_queries, write_run_file
from tests.evaluation.beir_data import write_beir

Capture = pytest.CaptureFixture[str]


def test_a_table_shows_systems_side_by_side(notes: Path, tmp_path: Path, capsys: Capture) -> None:
    run = write_run_file(tmp_path, "late.run", ":0")
    code, out, err = says(
        capsys,
        [
            "evaluate",
            notes,
            "--queries",
            write_queries(tmp_path),
            "--qrels",
            write_qrels(tmp_path, ":0"),
            "--run",
            run,
            "--measures",
            "RR@10",
            "nDCG@10",
        ],
    )
    assert code == 0
    assert err == "judged are passages\n"
    rows = [[cell.strip() for cell in line.strip("│").split("│")] for line in out.splitlines() if "│" in line]
    assert ["late", "0.5000", "0.6309", "", ""] in rows
    assert any(row[0] == "bm25" and row[1:3] == ["1.0000", "1.0000"] for row in rows)
    assert "Against bm25" in out
    assert "which glue for outdoor joints" in out


def test_json_markdown_and_plot(notes: Path, tmp_path: Path, capsys: Capture) -> None:
    pytest.importorskip("matplotlib")
    code, out, err = says(
        capsys,
        [
            "evaluate",
            notes,
            "--queries",
            write_queries(tmp_path),
            "--qrels",
            write_qrels(tmp_path),
            "--json",
            "--run",
            f"late={write_run_file(tmp_path, 'x')}",
            "--measures",
            "RR@10",
            "--baseline",
            "late",
            "--markdown",
            tmp_path / "out.md",
            "--plot",
            tmp_path / "out.png",
        ],
    )
    assert code == 0
    assert err == "judged are documents\n"
    found = json.loads(out)
    assert found["judged"] == "document"
    assert found["baseline"] == "late"
    assert found["systems"]["bm25"]["by_query"]["RR@10"] == dict.fromkeys(QUERIES, 1.0)
    assert found["differences"][0]["difference"] == 0.5
    assert "| late | 0.5000 |" in (tmp_path / "out.md").read_text(encoding="utf-8")
    assert (tmp_path / "out.png").read_bytes().startswith(b"\x89PNG")


def test_a_learned_ranker_stands_beside_bm25(tmp_path: Path, capsys: Capture) -> None:
    from hybridrank.commands.inputs import read_labels
    from hybridrank.evaluation.formats import read_queries

    directory = tmp_path / "index"
    assert says(capsys, ["index", QUESTIONS.parent / "reports.jsonl", "--output", directory])[0] == 0
    index = LexicalIndex.open(directory)
    labels = read_labels(index, LABELS)
    ranker = tmp_path / "ranker"
    LearnedReranker.fit(index, read_queries(QUESTIONS), labels.grades, rounds=5).save(ranker)
    code, out, err = says(
        capsys,
        ["evaluate", directory, "--queries", QUESTIONS, "--qrels", LABELS, "--model", ranker, "--json"],
    )
    assert (code, err) == (0, "judged are passages\n")
    found = json.loads(out)
    assert found["queries"] == 32
    assert list(found["systems"]) == ["bm25", "ranker"]
    assert found["measures"] == ["nDCG@10", "R@100", "RR@10", "P@5"]
    assert found["systems"]["bm25"]["means"]["nDCG@10"] == pytest.approx(0.780, abs=5e-4)  # docs/learning.md
    assert found["systems"]["ranker"]["seconds"]["p99"] > 0


def test_a_beir_folder_is_evaluated_as_it_lies(tmp_path: Path, capsys: Capture) -> None:
    folder = write_beir(tmp_path / "beir")
    assert says(capsys, ["index", folder, "--output", tmp_path / "index"])[0] == 0
    arguments = [
        "evaluate",
        tmp_path / "index",
        "--queries",
        folder,
        "--qrels",
        folder,
        "--measures",
        "RR@10",
        "--json",
    ]
    code, out, err = says(capsys, arguments)
    assert (code, err) == (0, "judged are documents\n")
    assert json.loads(out)["systems"]["bm25"]["by_query"] == {"RR@10": {"1": 1.0, "2": 1.0}}
    code, out, err = says(capsys, [*arguments, "--split", "dev"])
    assert code == 0
    assert "1 of 2 queries are not among the judged queries: '2'" in err
    assert json.loads(out)["systems"]["bm25"]["by_query"] == {"RR@10": {"1": 0.0}}


def test_what_cannot_be_measured_is_said(notes: Path, tmp_path: Path, capsys: Capture) -> None:
    queries, qrels = write_queries(tmp_path), write_qrels(tmp_path)
    base = ["evaluate", notes, "--queries", queries, "--qrels", qrels]
    run = write_run_file(tmp_path, "bm25.run")
    other = tmp_path / "other.txt"
    other.write_text("Q1 0 workshop-glue.txt 1\n", encoding="utf-8")
    for arguments, message in (
        (["--measures", "Foo"], "there is no measure 'Foo'"),
        (["--run", run], "systems are named bm25, bm25. Give each a name of its own."),
        (["--baseline", "x"], "no system is named 'x'. Name one of bm25."),
        (["--markdown", tmp_path / "no" / "x.md"], "there is no such directory"),
        (["--qrels", other], "none of the 1 judged queries ('Q1') is among the 3 queries ('glue', "),
        (["--run", f"x={queries}"], "queries.jsonl, line 1: a line of a run has 6 columns"),
        (["--run", "x="], "'x=' is not NAME=PATH"),
        (["--model", f"x={tmp_path / 'none'}"], "none: there is no such directory"),
    ):
        code, out, err = says(capsys, [*base, *arguments])
        assert (code, out) == (2, "")
        assert message in err


def test_what_is_missing_names_the_extra(
    notes: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = ["evaluate", notes, "--queries", write_queries(tmp_path), "--qrels", write_qrels(tmp_path)]
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    code, _, err = says(capsys, [*base, "--plot", tmp_path / "x.png"])
    assert (code, "hybridrank[evaluate]" in err) == (2, True)
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    code, _, err = says(capsys, base)
    assert (code, "hybridrank[evaluate]" in err) == (2, True)
