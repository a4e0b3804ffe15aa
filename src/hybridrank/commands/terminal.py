"""What every command does alike: show progress, say results and all else, and end with an exit code."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any, Protocol, TextIO

__all__ = [
    "EXIT_CODES",
    "FAILED",
    "INTERRUPTED",
    "UNHEALTHY",
    "add_json",
    "end_output",
    "finish",
    "positive_number",
    "progress",
    "said_as",
    "say",
    "show_warning",
    "tell",
]

UNHEALTHY = 1
"""The exit code when an outside service cannot be asked, or does not answer."""

FAILED = 2
"""The exit code for what cannot be used."""

INTERRUPTED = 128 + signal.SIGINT
"""The exit code after Ctrl-C."""

EXIT_CODES = {
    0: "done, also when nothing was found, or whoever reads the output has seen enough",
    UNHEALTHY: "from doctor: a service cannot be asked, or does not answer",
    FAILED: "an argument, a file or an index cannot be used, or output cannot be written",
    INTERRUPTED: "interrupted by Ctrl-C",
}
"""What each exit code means; of all commands."""

# A text may hold what would move the cursor or recolour the terminal.
_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if chr(code) not in "\t\n"}


_SAID_AS: dict[str, str] = {}
_SHOWN_EVERY = 0.1  # seconds; what goes fast need not be shown each time


def positive_number(text: str) -> int:
    """An argument that is a whole number of 1 or more, for argparse."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of 1 or more")
    return number


def say(text: str) -> int:
    """Print a result, with escapes for what the encoding of standard output lacks; returns exit code 0."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    print(text.translate(_CONTROLS).encode(encoding, "backslashreplace").decode(encoding))
    return 0


def add_json(parser: argparse.ArgumentParser) -> None:
    """Give a parser the option ``--json``, for :func:`finish`."""
    parser.add_argument("--json", action="store_true", help="say what was done as one JSON object")


def finish(options: argparse.Namespace, message: str, **values: Any) -> int:
    """Say what was done: as JSON where that was asked for, or else in words to standard error; returns exit
    code 0."""
    if options.json:
        return say(json.dumps(values, default=str))
    tell(message)
    return 0


@contextmanager
def said_as(name: str, instead: str) -> Iterator[None]:
    """Have :func:`tell` say another name for what only a moment's file is called."""
    _SAID_AS[name] = instead
    try:
        yield
    except Exception as error:  # told once this is over
        error.args = tuple(one.replace(name, instead) if isinstance(one, str) else one for one in error.args)
        if getattr(error, "file", None) == name:
            error.file = instead  # type: ignore[attr-defined]
        raise
    finally:
        del _SAID_AS[name]


def tell(message: str) -> None:
    """Print to standard error what is no result."""
    for name, instead in _SAID_AS.items():
        message = message.replace(name, instead)
    if sys.stderr is not None:  # where it is None, print would turn to standard output
        with suppress(OSError):  # nobody listening is no reason to stop the work
            print(message, file=sys.stderr, flush=True)


class Advance(Protocol):
    """To be told how much is done, and what share of all that is where the whole is not known."""

    def __call__(self, done: int, share: float | None = None) -> None:
        """Tell it."""


@contextmanager
def progress(what: str, unit: str, total: int | None = None) -> Iterator[Advance]:
    """A function to be told how much is done, which a terminal shows with the rate, the time taken and, once
    the share of the whole is known, the time left."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda done, share=None: None
        return
    try:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
    except ImportError:  # an assembled directory carries no rich
        yield lambda done, share=None: None
        return
    columns = (TextColumn(what), BarColumn(24), TextColumn("{task.description}"), TimeElapsedColumn())
    started = shown = time.monotonic()
    last: tuple[int, float | None] | None = None
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(unit, total=None)

        def show(done: int, share: float | None) -> None:
            said, share = _pace(done, unit, total, share, max(time.monotonic() - started, 1e-6))
            bar.update(task, description=said, total=1 if share else None, completed=share)

        def advance(done: int, share: float | None = None) -> None:
            nonlocal last, shown
            last = (done, share)
            if time.monotonic() - shown >= _SHOWN_EVERY:
                shown = time.monotonic()
                show(done, share)

        try:
            yield advance
        finally:
            if last is not None:
                show(*last)


def _pace(
    done: int, unit: str, total: int | None, share: float | None, seconds: float
) -> tuple[str, float | None]:
    """What is said of work that has taken some seconds, and the share of it that is done.

    >>> _pace(300, "lines", 400, None, 6.0)
    ('300 of 400 lines, 50/s, 0:00:02 left', 0.75)
    >>> _pace(3, "lines", None, None, 2.0)
    ('3 lines, 1.5/s', None)
    """
    share = done / total if total else share
    rate = done / seconds
    said = f"{done:,}{f' of {total:,}' if total else ''} {unit}, {rate:,.{0 if rate >= 10 else 1}f}/s"
    if share:
        said += f", {timedelta(seconds=int(seconds * (1 - share) / share))} left"
    return said, share


def end_output() -> None:
    """Write what is buffered for standard output, or let it go nowhere rather than fail once more at exit."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Tell a warning, in place of :func:`warnings.showwarning`."""
    tell(f"warning: {message}")
