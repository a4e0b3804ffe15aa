"""What every command does alike: read arguments, show progress, say results and all else."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from hybridrank.errors import InputError

__all__ = [
    "FAILED",
    "INTERRUPTED",
    "end_output",
    "path_of",
    "positive_number",
    "progress",
    "say",
    "show_warning",
    "tell",
    "writing",
]

FAILED = 2
"""The exit code for what cannot be used."""

INTERRUPTED = 128 + signal.SIGINT
"""The exit code after Ctrl-C."""

# A text may hold what would move the cursor or recolour the terminal.
_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if chr(code) not in "\t\n"}


def path_of(text: str) -> Path:
    """An argument that is a path, for argparse."""
    if not text:
        raise argparse.ArgumentTypeError("the path is empty")
    return Path(text)


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


def tell(message: str) -> None:
    """Print to standard error what is no result."""
    if sys.stderr is not None:  # where it is None, print would turn to standard output
        with suppress(OSError):  # nobody listening is no reason to stop the work
            print(message, file=sys.stderr, flush=True)


@contextmanager
def writing(place: Path, what: str = "the index") -> Iterator[None]:
    """Name what is written where its disk is full or fails, which such an error itself does not."""
    try:
        yield
    except OSError as error:
        raise InputError(
            f"{what} could not be written ({error.strerror or error})",
            file=place,
            remedy="Make room there, or choose another directory; what was there is as it was.",
        ) from error


@contextmanager
def progress(what: str, unit: str) -> Iterator[Callable[[int], None]]:
    """A function to be told how much is done, which a terminal shows with the time taken."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda done: None
        return
    try:
        from rich.console import Console
        from rich.progress import MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
    except ImportError:  # an assembled directory carries no rich
        yield lambda done: None
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(f"{what} {unit}", total=None)
        yield lambda done: bar.update(task, completed=done)


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
