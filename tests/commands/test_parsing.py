from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from hybridrank.cli import _parser
from hybridrank.commands.completion import parsers
from hybridrank.commands.parsing import Parser, nearby
from hybridrank.commands.terminal import EXIT_CODES
from hybridrank.errors import IndexNotFound, InputError
from tests.command_line import says

Capture = pytest.CaptureFixture[str]
ROOT = _parser()
COMMANDS = dict(parsers(ROOT))
# What shows or serves, and has no result for a program to read.
WITHOUT_JSON = {f"hybridrank {name}" for name in ("demo", "meetings demo", "serve", "completion")}


@pytest.mark.parametrize(
    "name", ["hybridrank", "hybridrank finance", "hybridrank meetings", *sorted(COMMANDS)]
)
def test_each_command_has_help_with_examples_that_can_be_understood(name: str, capsys: Capture) -> None:
    code, out, _ = says(capsys, [*name.split()[1:], "--help"])
    assert code == 0
    assert re.match(rf"usage: {name} .*\n\n[A-Z].*\.\n\n(positional arguments|options):", out, re.DOTALL)
    shown = out.partition("\nexamples:\n")[2].splitlines()
    assert shown
    asked = 0
    for example in shown:
        words = shlex.split(example.replace("$(", " ").replace(')"', " ").replace('"', ""), comments=True)
        while "hybridrank" in words:
            words = words[words.index("hybridrank") + 1 :]
            ends = [place for place, word in enumerate(words) if word in ("|", "&", "&&", ">", "<")]
            options = _parser().parse_args(words[: min(ends, default=len(words))])
            asked += " ".join(["hybridrank", *words]).startswith(name)
            assert callable(options.command)
    assert asked >= len(shown)


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_each_argument_says_what_it_is(name: str) -> None:
    assert not [action.dest for action in COMMANDS[name]._actions if not action.help]


def test_each_command_that_has_a_result_gives_it_as_json() -> None:
    without = {name for name, parser in COMMANDS.items() if "--json" not in parser.format_help()}
    assert without == WITHOUT_JSON


def test_the_help_says_every_exit_code(capsys: Capture) -> None:
    code, out, _ = says(capsys, ["--help"])
    assert code == 0
    said = " ".join(out.split())
    assert all(f"{number}: {what}" in said for number, what in EXIT_CODES.items())
    assert list(EXIT_CODES) == [0, 1, 2, 130]


@pytest.mark.parametrize("group", ["finance", "meetings"])
def test_without_a_command_all_of_them_are_listed(group: str, capsys: Capture) -> None:
    code, out, err = says(capsys, [group])
    assert (code, out) == (2, "")
    for name in COMMANDS:
        if name.startswith(f"hybridrank {group} "):
            assert f"\n    {name.split()[-1]} " in err
    assert err.endswith("\n\nerror: say which command\n")


def test_words_that_only_look_like_options_are_taken_as_they_are(capsys: Capture) -> None:
    parser = Parser(prog="p")
    parser.add_argument("words", nargs="*")
    parser.add_argument("--known", metavar="X")
    assert parser.parse_args(["-- a", "--", "--ouput"]).words == ["-- a", "--ouput"]
    assert parser.parse_args(["--known=--known"]).known == "--known"
    with pytest.raises(SystemExit):
        parser.parse_args(["--kn", "x"])
    assert "there is no option --kn; did you mean --known?" in capsys.readouterr().err


def test_an_alias_is_understood_and_not_shown() -> None:
    for name, option, other, word in (
        ("evaluate", "--qrels", "--labels", "labels"),
        ("report", "--qrels", "--labels", "labels"),
        ("search", "--model", "--ranker", "model"),
        ("serve", "--model", "--ranker", "model"),
    ):
        parser = COMMANDS[f"hybridrank {name}"]
        assert f"{option} " in parser.format_help()
        assert other not in parser.format_help()
        needed = {"evaluate": ["i", "--queries", "q"], "report": ["i", "--queries", "q", "--output", "o"]}
        given = needed.get(name, ["i"])
        for spelled in (option, other):
            assert str(getattr(parser.parse_args([*given, spelled, "x"]), word)) == "x"


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("note.index", "notes.index"),
        ("Notes.Index", "notes.index"),
        ("notes.indx/deep/er", "notes.index"),
        ("zebra", None),
    ],
)
def test_a_mistyped_path_is_told_what_lies_beside_it(
    tmp_path: Path, capsys: Capture, path: str, hint: str | None
) -> None:
    (tmp_path / "notes.index").mkdir()
    code, _, err = says(capsys, ["search", tmp_path / path, "x"])
    assert code == 2
    assert err.count("\n") == 1
    wanted = f" Did you mean {tmp_path / hint}?\n" if hint else "first.\n"
    assert err.endswith(wanted) or hint is None
    assert ("Did you mean" in err) is (hint is not None)


def test_a_mistyped_corpus_and_file_of_queries_are_told_too(
    tmp_path: Path, notes: Path, capsys: Capture
) -> None:
    (tmp_path / "queries.tsv").touch()
    for arguments in (
        ["index", tmp_path / "querys.tsv", "--output", tmp_path / "i"],
        ["search", notes, "--queries", tmp_path / "querys.tsv"],
        ["finance", "build", "--corpus", tmp_path / "querys.tsv", "--index-dir", tmp_path / "i"],
    ):
        code, _, err = says(capsys, arguments)
        assert (code, err.endswith(f" Did you mean {tmp_path / 'queries.tsv'}?\n")) == (2, True)


def test_only_what_is_missing_may_have_been_meant_otherwise(tmp_path: Path) -> None:
    (tmp_path / "old.index").mkdir()
    there = tmp_path / "new.index"
    assert nearby(IndexNotFound(there, "there is no such directory", "")) != ""
    assert nearby(InputError("could not be written", file=there)) == ""
    assert nearby(IndexNotFound(tmp_path / "old.index", "there is no index here", "")) == ""
    assert nearby(FileNotFoundError(2, "No such file or directory")) == ""
    assert nearby(FileNotFoundError(2, "No such file", str(tmp_path / "old.indexx"))) != ""


def test_a_folder_that_cannot_be_read_hints_at_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Any) -> Any:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("os.listdir", refuse)
    assert nearby(FileNotFoundError(2, "No such file", str(tmp_path / "x"))) == ""
