from __future__ import annotations

import io
import json
import os
import sys
from argparse import Namespace
from pathlib import Path

import pytest

from hybridrank.cli import main
from hybridrank.commands.files import (
    STDIN,
    STDOUT,
    check_outputs,
    device_of,
    input_path,
    lines_of,
    output_path,
    standard_input,
    whole_directory,
    whole_file,
    write_text,
)
from hybridrank.errors import InputError
from tests.command_line import DATA, QUERY, QUESTIONS, says
from tests.commands.labelled_data import write_qrels, write_queries

Capture = pytest.CaptureFixture[str]


def typed(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


def test_a_dash_is_a_stream_and_a_file_of_that_name_is_not() -> None:
    assert input_path("-") is STDIN
    assert output_path("-") is STDOUT
    assert input_path("./-") == STDIN
    assert input_path("./-") is not STDIN


def test_standard_input_can_be_read_twice_and_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    typed(monkeypatch, b"one\n")
    options = Namespace(queries=STDIN, other=Path("x"))
    with standard_input(options):
        path = options.queries
        assert path.read_bytes() == path.read_bytes() == b"one\n"
        assert options.other == Path("x")
    assert not path.parent.exists()
    with (
        pytest.raises(InputError, match="queries and labels are both -"),
        standard_input(Namespace(queries=STDIN, labels=STDIN)),
    ):
        pass
    with (
        pytest.raises(InputError, match="--json and - both go to standard output"),
        standard_input(Namespace(output=STDOUT, json=True)),
    ):
        pass
    monkeypatch.setattr(sys, "stdin", None)
    with (
        pytest.raises(InputError, match="there is no standard input"),
        standard_input(options := Namespace(a=STDIN)),
    ):
        pass


def test_who_types_is_told_how_to_end(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    class Terminal(io.TextIOWrapper):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Terminal(io.BytesIO(b"a slug\n")))
    code, out, err = says(capsys, ["rank", "slugs"])
    assert (code, err) == (0, "reading standard input, up to Ctrl-D\n")
    assert out.startswith("1. 1  (")


def test_what_came_from_standard_input_is_named_so(
    notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    for arguments, content, message in (
        (["rank", "x"], b"fine\nbad \xff\n", "standard input, line 2: byte 5 of the line is not UTF-8."),
        (
            ["index", "-", "--output", tmp_path / "i"],
            b'{"id"',
            "standard input, line 1: it is not valid JSON",
        ),
        (["search", notes, "--queries", "-"], b"", "standard input: the file is empty."),
        (
            ["index", "-", "--output", tmp_path / "i"],
            b"%PDF-1.7\n",
            "standard input: this is a PDF, not text.",
        ),
    ):
        typed(monkeypatch, content)
        code, out, err = says(capsys, arguments)
        assert (code, out) == (2, "")
        assert err.startswith(f"error: {message}")
        assert "hybridrank-" not in err


def test_queries_and_labels_come_from_standard_input(
    notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    queries, labels = write_queries(tmp_path), write_qrels(tmp_path)
    typed(monkeypatch, queries.read_bytes())
    code, out, _ = says(capsys, ["evaluate", notes, "--queries", "-", "--qrels", labels, "--json"])
    assert (code, json.loads(out)["queries"]) == (0, 3)
    typed(monkeypatch, labels.read_bytes())
    code, out, err = says(capsys, ["report", notes, "--queries", queries, "--qrels", "-", "--output", "-"])
    assert (code, err) == (0, "3 queries shown in -\n")
    assert out.lower().startswith("<!doctype html>")
    assert not Path("-").exists()


def test_spans_go_down_a_pipe(
    reports: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    lines = QUESTIONS.read_bytes().splitlines(keepends=True)
    typed(monkeypatch, b"".join(lines[:2]))
    code, out, err = says(
        capfd, ["finance", "run", "--index-dir", reports, "--queries", "-", "--output", "-"]
    )
    assert (code, err) == (0, "2 rows written to -\n")
    assert [len(json.loads(row)["spans"]) for row in out.splitlines()] == [5, 5]


def test_where_standard_output_is_no_file_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    assert device_of(Path("x")) == Path("x")
    monkeypatch.setattr(os.path, "exists", lambda path: False)
    with pytest.raises(InputError, match="standard output is no file on this system"):
        device_of(STDOUT)


def test_lines_are_counted_where_that_takes_nothing_from_the_reader(tmp_path: Path) -> None:
    (tmp_path / "q").write_bytes(b"{}\n\n{}\n")
    os.mkfifo(tmp_path / "pipe")
    assert [lines_of(tmp_path / name) for name in ("q", "pipe", "none")] == [2, None, None]


def test_outputs_are_looked_at_before_the_work(tmp_path: Path) -> None:
    check_outputs(None, STDOUT, tmp_path / "new.md")
    with pytest.raises(InputError, match=r"nowhere: there is no such directory\. Make it first"):
        check_outputs(tmp_path / "nowhere" / "new.md")
    with pytest.raises(InputError, match="this is a directory"):
        check_outputs(tmp_path)


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError, OSError(28, "No space left on device")])
def test_a_file_is_whole_or_as_it_was(tmp_path: Path, error: type[BaseException] | OSError) -> None:
    path = tmp_path / "out.svg"
    path.write_text("old")
    wanted = InputError if isinstance(error, OSError) else error

    def write() -> None:
        with whole_file(path) as file:
            assert file.suffix == ".svg"
            file.write_text("half")
            raise error

    with pytest.raises(wanted):
        write()
    assert [(one.name, one.read_text()) for one in tmp_path.iterdir()] == [("out.svg", "old")]
    write_text(path, "new\n")
    assert [(one.name, one.read_text()) for one in tmp_path.iterdir()] == [("out.svg", "new\n")]


def test_a_link_stays_one_and_a_device_is_written_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_text(tmp_path / "link", "text")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "text"
    write_text(Path("/dev/null"), "text")
    assert not Path("/dev/null").is_file()


def test_a_directory_is_whole_or_not_there(tmp_path: Path) -> None:
    def make(path: Path, *, fail: bool) -> None:
        with whole_directory(path) as directory:
            directory.mkdir(exist_ok=True)
            (directory / "a").touch()
            if fail:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make(tmp_path / "new", fail=True)
    assert list(tmp_path.iterdir()) == []
    make(tmp_path / "new", fail=False)
    assert [path.name for path in tmp_path.rglob("*")] == ["new", "a"]
    with pytest.raises(KeyboardInterrupt):  # what was there is not thrown away
        make(tmp_path / "new", fail=True)
    assert [path.name for path in tmp_path.rglob("*")] == ["new", "a"]


def test_a_directory_that_cannot_be_made_is_called_by_its_name(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "file").touch()
    code, _, err = says(capsys, ["finance", "assemble", "--output", tmp_path / "file" / "app"])
    assert code == 2
    assert f"{tmp_path / 'file' / 'app'}: cannot be written" in err


HISTORY = f"--history {DATA / 'meetings' / 'history.jsonl'}"


@pytest.fixture(scope="module")
def places(notes: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """What the commands start from."""
    folder = tmp_path_factory.mktemp("places")
    memory, recall = folder / "memory.json", folder / "recall"
    assert main(f"meetings remember {HISTORY} --max-bytes 2000 --output {memory}".split()) == 0
    assert main(f"meetings build --memory {memory} --output {recall}".split()) == 0
    labels = {"queries": write_queries(folder), "qrels": write_qrels(folder)}
    return {"notes": notes, "data": DATA, "memory": memory, "recall": recall, **labels}


@pytest.mark.parametrize(
    ("interrupted", "arguments"),
    [
        ("hybridrank.storage.IndexWriter.strings", "index {data}/notes --output {out}"),
        ("hybridrank.storage.IndexWriter.strings", "finance build --corpus {data}/finance --index-dir {out}"),
        ("hybridrank.tasks.finance.assemble.bundle", "finance assemble --output {out}"),
        ("hybridrank.tasks.meetings.assemble._put", "meetings assemble --memory {memory} --output {out}"),
        ("json.dump", "meetings build --memory {memory} --output {out}"),
        ("os.replace", f"meetings remember {HISTORY} --max-bytes 2000 --output {{out}}"),
        ("os.replace", "meetings recall --index {recall} --question Who? --output {out}"),
        ("os.replace", "report {notes} --queries {queries} --output {out}"),
        ("os.replace", "evaluate {notes} --queries {queries} --qrels {qrels} --markdown {out}"),
    ],
)
def test_ctrl_c_leaves_nothing_half_written(
    places: dict[str, Path],
    tmp_path: Path,
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
    interrupted: str,
    arguments: str,
) -> None:
    def interrupt(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(interrupted, interrupt)
    code, out, err = says(capsys, arguments.format(**places, out=tmp_path / "out").split())
    assert (code, out, err.endswith("interrupted\n")) == (130, "", True)
    assert {path.name for path in tmp_path.rglob("*") if path.is_file()} <= {"build.lock"}


def test_questions_of_one_s_own_go_through(
    notes: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    typed(monkeypatch, f"{QUERY}\nxylophone\n".encode())
    code, out, err = says(capsys, ["search", notes, "--queries", "-", "-k", "1"])
    assert (code, err) == (0, "nothing found for 2\n")
    assert out.startswith(f"1: {QUERY}\n1. garden-slugs.txt:0  (")
    typed(monkeypatch, f"{QUERY}\nxylophone\n".encode())
    code, out, err = says(capsys, ["search", notes, "--queries", "-", "-k", "1", "--json"])
    rows = [json.loads(line) for line in out.splitlines()]
    assert [(row["query_id"], row["query"], len(row["hits"])) for row in rows] == [
        ("1", QUERY, 1),
        ("2", "xylophone", 0),
    ]
