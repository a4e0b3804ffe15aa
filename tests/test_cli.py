from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from hybridrank import LexicalIndex, cli
from hybridrank.cli import main
from hybridrank.ranking_model import RankingModel
from hybridrank.records import counted
from hybridrank.tasks.finance import FinanceIndex, training
from hybridrank.tasks.finance.demo import demo
from hybridrank.tasks.finance.features import GROUPS
from tests.command_line import DATA, LABELS, QUERY, QUESTIONS, command, says
from tests.tasks.finance.tiny_data import write_tiny_data

# --- index and search


@pytest.mark.parametrize("name", ["notes", "notes/garden-slugs.txt", "finance/reports.jsonl"])
def test_a_folder_a_text_and_json_lines_can_be_indexed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    code, out, err = says(capsys, ["index", DATA / name, "--output", tmp_path / "index"])
    passages = len(LexicalIndex.open(tmp_path / "index"))
    assert passages > 0
    assert (code, out) == (0, "")
    assert err == f"{counted(passages, 'passage')} indexed in {tmp_path / 'index'}\n"


def test_passages_are_as_long_as_was_asked_and_stemmed_in_their_language(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("Die Häuser stehen leer. " * 40, encoding="utf-8")
    arguments = ["index", str(tmp_path / "text.txt"), "--output", str(tmp_path / "index")]
    assert main([*arguments, "--max-chars", "100", "--language", "german"]) == 0
    ranking = LexicalIndex.open(tmp_path / "index").search("Haus", 99)
    assert len(ranking) > 5
    assert all(hit.passage is not None and len(hit.passage.text) <= 100 for hit in ranking)


def test_search_prints_what_the_index_finds(notes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ranking = LexicalIndex.open(notes).search(QUERY, 2)
    code, out, err = says(capsys, ["search", notes, QUERY, "-k", 2])
    assert (code, err) == (0, "")
    heads = re.findall(r"^(\d+)\. (\S+)  \(([\d.]+)\)$", out, re.MULTILINE)
    assert heads == [(str(hit.rank), hit.passage_id, f"{hit.score:.3f}") for hit in ranking]
    for hit in ranking:
        assert hit.passage is not None
        assert " ".join(hit.passage.text.split()) in out


def test_search_can_print_json(notes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ranking = LexicalIndex.open(notes).search(QUERY, 3)
    code, out, err = says(capsys, ["search", notes, QUERY, "-k", 3, "--json"])
    found = json.loads(out)
    assert (code, err, out.count("\n")) == (0, "", 1)
    assert (found["query"], found["degraded"]) == (QUERY, None)
    assert found["usage"] == {"requests": 0, "tokens": 0, "seconds": 0.0, "cache_hits": 0}
    assert [(hit["id"], hit["rank"], hit["score"]) for hit in found["hits"]] == [
        (hit.passage_id, hit.rank, hit.score) for hit in ranking
    ]
    for hit in found["hits"]:
        text = (DATA / "notes" / hit["document_id"]).read_text(encoding="utf-8")
        assert hit["text"] == text[hit["start"] : hit["end"]]
        assert sum(hit["reasons"][0]["terms"].values()) == pytest.approx(hit["score"], rel=1e-5)


def test_search_can_explain(notes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = says(capsys, ["search", notes, QUERY, "-k", 2, "--explain"])
    assert (code, out) == (0, LexicalIndex.open(notes).search(QUERY, 2).explain() + "\n")
    assert "bm25: rank 1" in out


@pytest.mark.parametrize("query", ["xylophone", "", "?!", "the of and"])
def test_nothing_found_is_no_failure(notes: Path, capsys: pytest.CaptureFixture[str], query: str) -> None:
    assert says(capsys, ["search", notes, query]) == (0, "", "nothing found\n")
    code, out, _ = says(capsys, ["search", notes, query, "--json"])
    assert (code, json.loads(out)["hits"]) == (0, [])


def test_what_a_terminal_cannot_show_is_escaped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "a slug \\u001b[31m red \\u0000 \\ud800 \\u00e9 \\ud83d\\ude00 \\u009b1m"
    (tmp_path / "c.jsonl").write_text(f'{{"id": "x", "text": "{text}"}}\n', encoding="ascii")
    says(capsys, ["index", tmp_path / "c.jsonl", "--output", tmp_path / "index"])
    _, out, _ = says(capsys, ["search", tmp_path / "index", "slug"])
    assert out.splitlines()[1] == "   a slug \\x1b[31m red \\x00 \\ud800 é 😀 \\x9b1m"
    plain = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", plain)
    assert main(["search", str(tmp_path / "index"), "slug"]) == 0
    assert plain.buffer.getvalue().endswith(b"\\xe9 \\U0001f600 \\x9b1m\n")


def test_a_warning_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "c.jsonl").write_text('{"id": "x", "text": "..."}\n', encoding="ascii")
    code, _, err = says(capsys, ["index", tmp_path / "c.jsonl", "--output", tmp_path / "index"])
    assert code == 0
    assert re.fullmatch(r"warning: 1 of 1 passages hold no term .*'x.*\n1 passage indexed in .*\n", err)


# --- finance


def test_finance_build_says_what_it_built(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["finance", "build", "--corpus", DATA / "finance", "--index-dir", tmp_path / "index"]
    code, out, err = says(capsys, arguments)
    assert (code, out) == (0, "")
    assert re.fullmatch(r"12 reports \([\d,]+ characters\) indexed in .*: [\d,]+ blocks, [\d,]+ terms\n", err)
    assert len(FinanceIndex.open(tmp_path / "index")) == 12


@pytest.mark.parametrize(("given", "wanted"), [([], None), (["--workers", 3], 3)])
def test_finance_shares_the_work_among_as_many_as_are_wanted(
    reports: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], given: list[object], wanted: int | None
) -> None:
    """Both commands ask how many are worth their start; here none is shared with others."""
    build = ["finance", "build", "--corpus", DATA / "finance", "--index-dir", tmp_path / "index"]
    run = ["finance", "run", "--index-dir", reports, "--queries", QUESTIONS, "--output", tmp_path / "out"]
    with (
        mock.patch("hybridrank.tasks.finance.index.workers_for_build", return_value=1) as for_build,
        mock.patch("hybridrank.tasks.finance.run.workers_for_run", return_value=1) as for_run,
    ):
        assert says(capsys, [*build, *given])[0] == says(capsys, [*run, *given])[0] == 0
    for_build.assert_called_once_with(wanted, DATA / "finance")
    for_run.assert_called_once_with(wanted, QUESTIONS)


def test_a_report_that_comes_twice_is_warned_about(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = '{"document_id": "a", "text": "Net sales rose."}\n'
    (tmp_path / "reports.jsonl").write_text(line + line, encoding="ascii")
    code, _, err = says(capsys, ["finance", "build", "--corpus", tmp_path, "--index-dir", tmp_path / "index"])
    assert code == 0
    assert err.startswith("warning: the report on line 2 has the document_id 'a' of the one on line 1, and")


def test_finance_run_writes_rows_and_says_how_many(
    reports: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    queries = tmp_path / "q.jsonl"
    queries.write_bytes(QUESTIONS.read_bytes() + b"nonsense\n")
    output = tmp_path / "out.jsonl"
    arguments = ["finance", "run", "--index-dir", reports, "--queries", queries, "--output", output]
    code, out, err = says(capsys, arguments)
    assert (code, out) == (0, "")
    assert re.fullmatch(
        r"skipped: .*q\.jsonl, line 33: .*\n32 rows written to .*out\.jsonl, 1 line gave no question\n", err
    )
    assert len(output.read_bytes().splitlines()) == 32

    def fail(index: FinanceIndex, question: str) -> Any:
        raise ZeroDivisionError

    monkeypatch.setattr(FinanceIndex, "spans", fail)
    code, _, err = says(capsys, arguments)
    assert (code, err.splitlines()[-1]) == (
        0,
        f"32 rows written to {output}, 1 line gave no question, 32 questions failed",
    )


@pytest.mark.parametrize(("number", "wanted"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_run_that_was_stopped_says_so(
    reports: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    number: signal.Signals,
    wanted: int,
) -> None:
    def stop(index: FinanceIndex, question: str) -> Any:
        os.kill(os.getpid(), number)
        return []

    monkeypatch.setattr(FinanceIndex, "spans", stop)
    output = tmp_path / "out.jsonl"
    code, _, err = says(
        capsys, ["finance", "run", "--index-dir", reports, "--queries", QUESTIONS, "--output", output]
    )
    assert (code, err) == (wanted, f"1 row written to {output}, stopped early by {number.name}\n")


def test_finance_evaluate_prints_the_measures(reports: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["finance", "evaluate", "--index-dir", reports, "--queries", QUESTIONS, "--labels", LABELS]
    code, out, err = says(capsys, arguments)
    assert (code, err) == (0, "")
    said = re.fullmatch(r"EvidenceRecall@5 (\d\.\d{4}), DocHit@5 (\d\.\d{4}), 32 questions\n", out)
    assert said is not None
    code, out, _ = says(capsys, [*arguments, "--json"])
    found = json.loads(out)
    assert (f"{found['EvidenceRecall@5']:.4f}", f"{found['DocHit@5']:.4f}") == said.groups()
    assert len(found["questions"]) == 32


@pytest.fixture
def tiny_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Few data, learned from in few rounds."""
    real = training.train
    monkeypatch.setattr(training, "train", lambda examples, **how: real(examples, rounds=2, **how))
    monkeypatch.setattr(training, "PARAMETERS", {"num_leaves": 7, "min_data_in_leaf": 5})
    return write_tiny_data(tmp_path / "data")


def test_finance_train_writes_a_model_that_can_be_used(
    tiny_data: Path, reports: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tmp_path / "model"
    code, out, err = says(capsys, ["finance", "train", "--data", tiny_data, "--output", model])
    assert (code, out) == (0, "")
    assert err.splitlines()[:3] == [
        "indexing corpus tiny",
        "finding candidates of finqa-named in tiny",
        "finding candidates of finqa-raw in tiny",
    ]
    last = re.fullmatch(
        rf"(\d+) questions learned, model written to {re.escape(str(model))}", err.splitlines()[-1]
    )
    assert last is not None
    index = FinanceIndex.open(reports, model=model)
    assert index.ranker is not None
    assert index.ranker.model.training["queries"] == int(last[1]) > 20
    assert len(index.spans("What was the LIFO reserve?")) == 5
    again = tmp_path / "again"
    assert says(capsys, ["finance", "train", "--data", tiny_data, "--output", again])[0] == 0
    assert {path.name: path.read_bytes() for path in again.iterdir()} == {
        path.name: path.read_bytes() for path in model.iterdir()
    }


def test_finance_train_learns_from_the_sets_that_are_named(
    tiny_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train = ["finance", "train", "--data", tiny_data, "--output", tmp_path / "model", "--json", "--learn"]
    questions = {}
    for name in ("finqa-raw", "other"):
        code, out, err = says(capsys, [*train, name])
        assert code == 0
        assert [line for line in err.splitlines() if line.startswith("finding")] == [
            f"finding candidates of {name} in tiny"
        ]
        found = json.loads(out)
        assert found["output"] == str(tmp_path / "model")
        questions[name] = found["questions"]
        assert RankingModel.open(tmp_path / "model").training["queries"] == found["questions"]
    assert 0 < questions["other"] < questions["finqa-raw"]
    code, _, err = says(capsys, [*train, "pages"])
    assert (code, "names pages. Train on labels that name units" in err) == (2, True)
    code, _, err = says(capsys, [*train, "finqa"])
    assert (code, "no validation/NAME.queries.jsonl for finqa; there are finqa-named" in err) == (2, True)


def test_finance_train_reports_and_plots(
    tiny_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def draw(model: RankingModel, path: Path) -> None:
        path.write_text("\n".join(model.names), encoding="ascii")

    monkeypatch.setattr(training, "plot", draw)
    monkeypatch.setattr(training, "pyplot_for_files", lambda: None)
    monkeypatch.setattr(training, "GROUPS", {"order": GROUPS["order"]})
    report, picture = tmp_path / "report.json", tmp_path / "plot.png"
    given = ("--data", tiny_data, "--output", tmp_path / "model", "--report", report, "--plot", picture)
    code, out, err = says(capsys, ["finance", "train", *given])
    assert (code, out) == (0, "")
    assert "finding candidates of pages in tiny" in err.splitlines()  # all sets are measured
    assert {path.name for path in tmp_path.iterdir()} == {"data", "model", "report.json", "plot.png"}
    found = json.loads(report.read_text(encoding="utf-8"))
    assert list(found["sets"]) == ["tiny/finqa-named", "tiny/finqa-raw", "tiny/other", "tiny/pages"]
    assert list(found["without"]) == ["order"]
    assert "report_gap" in picture.read_text(encoding="ascii")


def test_finance_assemble_says_where(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hybridrank.tasks.finance.assemble._NEEDED", ())
    assert says(capsys, ["finance", "assemble", "--output", tmp_path / "app"]) == (
        0,
        "",
        f"assembled in {tmp_path / 'app'}\n",
    )
    assert (tmp_path / "app" / "run.sh").is_file()


def test_demo_shows_the_whole_job(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = says(capsys, ["demo", "--questions", 1])
    assert (code, err) == (0, "")
    assert out == demo(1) + "\n"


# --- who listens


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_is_shown_progress(
    reports: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["finance", "run", "--index-dir", str(reports), "--queries", str(QUESTIONS)]
    arguments += ["--output", str(tmp_path / "o")]
    monkeypatch.setenv("TERM", "xterm")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    assert main(arguments) == 0
    assert "Answering" in terminal.getvalue()
    assert re.search(r"32 of 32 questions, [\d.,]+/s", terminal.getvalue())
    assert f"32 rows written to {tmp_path / 'o'}\n" in terminal.getvalue()
    assert capsys.readouterr().out == ""


def test_without_rich_there_is_no_progress(
    reports: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["finance", "run", "--index-dir", str(reports), "--queries", str(QUESTIONS)]
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setitem(sys.modules, "rich.console", None)  # so that importing it fails
    assert main([*arguments, "--output", str(tmp_path / "o")]) == 0
    assert terminal.getvalue() == f"32 rows written to {tmp_path / 'o'}\n"


def test_the_module_is_the_command(notes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ran = subprocess.run(
        command("search", notes, QUERY, "--json"), capture_output=True, text=True, check=True
    )
    assert ran.stdout == says(capsys, ["search", notes, QUERY, "--json"])[1]
    failed = subprocess.run(
        command("search", notes / "none", "x"), capture_output=True, text=True, check=False
    )
    assert (failed.returncode, failed.stderr.count("\n")) == (2, 1)


def test_starting_brings_nothing_heavy() -> None:
    code = "import sys, hybridrank.cli; print({'numpy', 'rich', 'httpx'} & set(sys.modules))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "set()\n"


def test_main_is_all_that_is_offered() -> None:
    assert cli.__all__ == ["main"]
