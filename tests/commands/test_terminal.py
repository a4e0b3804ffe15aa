from __future__ import annotations

import io
import json
import re
import sys
from argparse import ArgumentParser
from pathlib import Path

import pytest

from hybridrank.commands.terminal import add_json, finish, progress, said_as, tell
from hybridrank.errors import InputError


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True

    def words(self) -> str:
        """What is shown, without colours and movements."""
        return re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", self.getvalue())


def listen(monkeypatch: pytest.MonkeyPatch, **variables: str) -> Terminal:
    """A terminal in place of standard error; not a fixture, for pytest puts its own there after these."""
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in {"TERM": "xterm", "COLUMNS": "120", **variables}.items():
        monkeypatch.setenv(name, value)
    return shown


@pytest.mark.parametrize(
    ("total", "done", "share", "said"),
    [
        (4000, 2000, None, r"Reading [━╸╺]+ 2,000 of 4,000 lines, [\d,.]+/s, 0:\d\d:\d\d left 0:00:\d\d"),
        (None, 2000, 0.25, r"Reading [━╸╺]+ 2,000 lines, [\d,.]+/s, 0:\d\d:\d\d left 0:00:\d\d"),
        (None, 7, None, r"Reading ━+ 7 lines, [\d,.]+/s 0:00:\d\d"),
    ],
)
def test_a_terminal_is_shown_the_rate_and_the_time_left(
    monkeypatch: pytest.MonkeyPatch, total: int | None, done: int, share: float | None, said: str
) -> None:
    terminal = listen(monkeypatch)
    with progress("Reading", "lines", total) as advance:
        advance(1)
        advance(done, share)
    assert re.search(said, terminal.words())


@pytest.mark.parametrize("variables", [{}, {"NO_COLOR": "1"}])
def test_colours_can_be_switched_off(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]) -> None:
    terminal = listen(monkeypatch, **variables)
    with progress("Reading", "lines", 2) as advance:
        advance(1)
    assert "1 of 2 lines" in terminal.words()
    assert bool(re.search(r"\x1b\[[\d;]*[349]\d", terminal.getvalue())) is not bool(variables)


def test_what_goes_fast_is_not_shown_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = listen(monkeypatch)
    with progress("Reading", "lines") as advance:
        for done in range(10_000):
            advance(done)
    assert terminal.words().count("lines") < 1000
    assert "9,999 lines" in terminal.words()


def test_what_was_done_is_said_in_words_or_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    parser = ArgumentParser()
    add_json(parser)
    assert finish(parser.parse_args([]), "1 row written", rows=1) == 0
    assert capsys.readouterr() == ("", "1 row written\n")
    assert finish(parser.parse_args(["--json"]), "1 row written", rows=1, output=Path("x")) == 0
    out, err = capsys.readouterr()
    assert (json.loads(out), err) == ({"rows": 1, "output": "x"}, "")


def test_a_moment_s_file_is_called_by_another_name(capsys: pytest.CaptureFixture[str]) -> None:
    def work() -> None:
        with said_as("/tmp/x", "standard input"):
            tell("reading /tmp/x")
            raise InputError("bad", file="/tmp/x", line=3)

    with pytest.raises(InputError, match=r"^standard input, line 3: bad") as caught:
        work()
    assert caught.value.file == "standard input"
    tell("reading /tmp/x")
    assert capsys.readouterr().err == "reading standard input\nreading /tmp/x\n"
