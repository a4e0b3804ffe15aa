"""The command line where something goes wrong, or nobody listens."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest

from hybridrank.cli import main
from tests.command_line import DATA, QUERY, QUESTIONS, command, says


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["serch", "index", "word"], "there is no command 'serch'; did you mean search?"),
        (["finance", "biuld"], "there is no command 'biuld'; did you mean build?"),
        (["finance"], "error: say which command"),
        (["frobnicate"], "there is no command 'frobnicate'; choose from index, search, rank, "),
        (["search", "index", "word", "--expalin"], "there is no option --expalin; did you mean --explain?"),
        (["finance", "run", "--quries=q", "--output"], "no option --quries; did you mean --queries?"),
        (["--verison", "search"], "there is no option --verison; did you mean --version?"),
        (["completion", "zhs"], "argument shell: there is no 'zhs'; did you mean zsh?"),
        (["index", "x", "--output", "y", "--format", "xml"], "--format: there is no 'xml'; choose from "),
        (["index", "texts"], "the following arguments are required: --output"),
        (["search", "index", "word", "-k", "0"], "argument -k: '0' is not a whole number of 1 or more"),
        (["search", "index", "word", "-k", "many"], "'many' is not a whole number of 1 or more"),
        (["demo", "--questions", "-1"], "'-1' is not a whole number of 1 or more"),
        (["finance", "run", "--index-dir", "i"], "are required: --queries, --output"),
        (["demo", "--colour"], "there is no option --colour"),
    ],
)
def test_a_mistyped_command_is_told_what_is_wrong(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    code, out, err = says(capsys, arguments)
    assert (code, out) == (2, "")
    assert err.startswith("usage: hybridrank")
    assert message in err.splitlines()[-1]


@pytest.mark.parametrize("arguments", [[], ["--help"]])
def test_help_is_there_for_the_asking(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    code, out, err = says(capsys, arguments)
    assert (code, err) == (0, "")
    assert re.match(r"usage: hybridrank \[-h\] \[--version\] COMMAND", out)
    for name in ("index", "search", "demo", "finance"):
        assert re.search(rf"^    {name} ", out, re.MULTILINE)


def test_a_plot_without_matplotlib_is_refused_before_the_work_is_done(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    given = ("--data", tmp_path / "none", "--output", tmp_path / "model", "--plot", tmp_path / "plot.png")
    code, out, err = says(capsys, ["finance", "train", *given])
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "hybridrank[bench]" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["search", "{tmp}/none", "word"], "{tmp}/none: there is no such directory. Build an index there"),
        (["search", "{tmp}", "word"], "{tmp}: there is no index here. Build an index there"),
        (["search", "{tmp}"], "no question is given. Give QUESTION, or --queries"),
        (["search", "{tmp}", "word", "--queries", "{q}"], "a question and a file of them are given."),
        (["search", "{reports}", "word"], "{reports}: it holds an index of kind 'finance', where"),
        (["index", "{tmp}/none", "--output", "{tmp}/i"], "{tmp}/none: there is no such file or folder."),
        (["index", "{tmp}", "--output", "{tmp}/i"], "{tmp}: there is no .txt or .md file here."),
        (
            ["index", "{tmp}/bad.jsonl", "--output", "{tmp}/i"],
            "{tmp}/bad.jsonl, line 2: it is not valid JSON",
        ),
        (["index", "{notes}", "--output", "{tmp}/bad.jsonl"], "{tmp}/bad.jsonl: an index cannot be written"),
        (
            ["index", "{notes}", "--output", "{tmp}/i", "--language", "klingon"],
            "there is no stemmer for the language 'klingon'. Choose one of ",
        ),
        (
            ["finance", "build", "--corpus", "{tmp}/none", "--index-dir", "{tmp}/i"],
            "{tmp}/none: cannot be read (No such file or directory). Give a directory that holds",
        ),
        (
            ["finance", "run", "--index-dir", "{tmp}", "--queries", "q", "--output", "o"],
            "{tmp}: there is no index here.",
        ),
        (
            ["finance", "run", "--index-dir", "{reports}", "--queries", "{tmp}/none", "--output", "{tmp}/o"],
            "{tmp}/none: cannot be read (No such file or directory). Give a file of questions",
        ),
        (
            ["finance", "evaluate", "--index-dir", "{reports}", "--queries", "{q}", "--labels", "{tmp}/none"],
            "{tmp}/none: cannot be read (No such file or directory). Give a file of labels",
        ),
        (
            ["finance", "train", "--data", "{tmp}", "--output", "{tmp}/m"],
            "{tmp}: no corpus-NAME/reports.jsonl below it",
        ),
        (
            ["finance", "train", "--data", "{tmp}", "--output", "{tmp}/m", "--report", "{tmp}/none/r.json"],
            "{tmp}/none: there is no such directory. Make it first.",
        ),
        (["finance", "assemble", "--output", "{tmp}"], "{tmp}: holds bad.jsonl. Give a new or an empty"),
    ],
)
def test_what_cannot_be_used_is_named_in_one_line(
    reports: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    (tmp_path / "bad.jsonl").write_text('{"id": "a", "text": "b"}\n{"id"\n', encoding="ascii")
    places = {"tmp": tmp_path, "reports": reports, "notes": DATA / "notes", "q": QUESTIONS}
    code, out, err = says(capsys, [one.format(**places) for one in arguments])
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert err.startswith("error: " + message.format(**places))


def test_a_file_that_fails_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "folder.jsonl").mkdir()

    def fail(path: Path, **options: Any) -> Any:
        raise PermissionError(13, "Permission denied", str(path / "secret"))

    monkeypatch.setattr("hybridrank.text.corpus.read_corpus", fail)
    code, out, err = says(capsys, ["index", tmp_path, "--output", tmp_path / "i"])
    assert (code, out, err) == (2, "", f"error: {tmp_path / 'secret'}: Permission denied\n")


@pytest.mark.parametrize(
    ("arguments", "failing"),
    [
        (["index", "{data}/notes", "--output", "{tmp}"], "hybridrank.storage.IndexWriter.strings"),
        (
            ["finance", "build", "--corpus", "{data}/finance", "--index-dir", "{tmp}"],
            "hybridrank.storage.IndexWriter.strings",
        ),
    ],
)
def test_a_full_disk_is_named_and_leaves_the_old_index(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    failing: str,
) -> None:
    filled = [one.format(data=DATA, tmp=tmp_path) for one in arguments]
    assert says(capsys, filled)[0] == 0
    before = sorted(path.name for path in tmp_path.iterdir())

    def fail(*arguments: Any) -> None:
        raise OSError(28, "No space left on device")  # as a write says it: without a name

    monkeypatch.setattr(failing, fail)
    code, out, err = says(capsys, filled)
    assert (code, out) == (2, "")
    assert err.startswith(
        f"error: {tmp_path}: the index could not be written (No space left on device). Make"
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_ctrl_c_is_130(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(n_questions: int) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("hybridrank.tasks.finance.demo.demo", interrupt)
    assert says(capsys, ["demo"]) == (130, "", "interrupted\n")


def test_ctrl_c_ends_a_build_and_leaves_no_index(tmp_path: Path) -> None:
    fifo = tmp_path / "reports.jsonl"
    os.mkfifo(fifo)
    process = subprocess.Popen(
        command("finance", "build", "--corpus", tmp_path, "--index-dir", tmp_path / "index"),
        stderr=subprocess.PIPE,
        text=True,
    )
    with fifo.open("r+b", buffering=0) as file:  # held open, so that the build waits for more
        file.write(b'{"document_id": "a", "text": "Net sales rose."}\n')
        while process.poll() is None and not list(tmp_path.glob("index/*.npy")):
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, "interrupted\n")
    assert [path.name for path in (tmp_path / "index").iterdir()] == ["build.lock"]


# --- who listens


def test_a_reader_that_has_seen_enough_is_no_failure(tmp_path: Path) -> None:
    lines = "".join(f'{{"id": "{n}", "text": "slug {"x" * 500}"}}\n' for n in range(2000))
    (tmp_path / "c.jsonl").write_text(lines, encoding="ascii")
    subprocess.run(command("index", tmp_path / "c.jsonl", "--output", tmp_path / "i"), check=True)
    with subprocess.Popen(
        command("search", tmp_path / "i", "slug", "-k", 2000), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith(b"1. ")
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", ">/dev/full", "2>/dev/full"])
def test_a_run_is_whole_whoever_listens(reports: Path, tmp_path: Path, closed: str) -> None:
    arguments = ["finance", "run", "--index-dir", reports, "--queries", QUESTIONS, "--output", tmp_path / "o"]
    ran = subprocess.run(
        ["sh", "-c", f'"$@" {closed}', "sh", *command(*arguments)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0
    assert ran.stdout == ""
    assert len((tmp_path / "o").read_bytes().splitlines()) == 32


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_result_that_nobody_got_is_a_failure(notes: Path) -> None:
    for arguments in (["search", notes, QUERY], []):
        with Path("/dev/full").open("wb") as full:
            ran = subprocess.run(
                command(*arguments), stdout=full, stderr=subprocess.PIPE, text=True, check=False
            )
        assert ran.returncode == 2
        assert ran.stderr == "error: No space left on device\n"


def test_an_empty_path_is_no_path(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for arguments in (
        ["index", "", "--output", str(tmp_path / "i")],
        ["index", str(tmp_path), "--output", ""],
    ):
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        assert ended.value.code == 2
        assert "the path is empty" in capsys.readouterr().err


def test_a_run_without_one_question_fails(
    capsys: pytest.CaptureFixture[str], reports: Path, tmp_path: Path
) -> None:
    (tmp_path / "q.jsonl").write_text('{"id": "q1", "query": "What?"}\n', encoding="ascii")
    run = ["finance", "run", "--index-dir", str(reports), "--queries", str(tmp_path / "q.jsonl")]
    assert main([*run, "--output", str(tmp_path / "o.jsonl")]) == 2
    assert "1 line gave no question" in capsys.readouterr().err


def test_an_option_is_not_guessed_from_its_beginning(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["index", str(tmp_path), "--outp", str(tmp_path / "i")])
    assert ended.value.code == 2
    assert "--output" in capsys.readouterr().err


def test_the_version_is_told(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.version", lambda name: "1.2.3")
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert (ended.value.code, capsys.readouterr().out) == (0, "hybridrank 1.2.3\n")

    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr("importlib.metadata.version", missing)
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == "hybridrank, not installed\n"
