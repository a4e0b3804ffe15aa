"""Paths among the arguments: ``-`` for the standard streams, and output that is whole or not there at all."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hybridrank.commands.terminal import said_as, tell
from hybridrank.errors import InputError

__all__ = [
    "STDIN",
    "STDIN_NAME",
    "STDOUT",
    "check_outputs",
    "device_of",
    "input_path",
    "lines_of",
    "output_path",
    "path_of",
    "standard_input",
    "whole_directory",
    "whole_file",
    "write_text",
    "writing",
]

# Known by identity: a file whose name is - is ./-, as everywhere.
STDIN, STDOUT = Path("-"), Path("-")
STDIN_NAME = "standard input"
"""What is read from there is called in messages and in an index."""

_REMEDY = "Make room there, or choose another directory; what was there is as it was."


def path_of(text: str) -> Path:
    """An argument that is a path, for argparse."""
    if not text:
        raise argparse.ArgumentTypeError("the path is empty")
    return Path(text)


def input_path(text: str) -> Path:
    """An argument that is a file to read, for argparse; ``-`` is standard input."""
    return STDIN if text == "-" else path_of(text)


def output_path(text: str) -> Path:
    """An argument that is a file to write, for argparse; ``-`` is standard output."""
    return STDOUT if text == "-" else path_of(text)


@contextmanager
def standard_input(options: argparse.Namespace) -> Iterator[None]:
    """Give the option that names standard input a file of what comes from there, which can be read twice.

    Raises :class:`~hybridrank.errors.InputError` when several do, and when a result and JSON about it would
    both go to standard output.
    """
    names = [name for name, value in vars(options).items() if value is STDIN]
    if len(names) > 1:
        raise InputError(f"{' and '.join(names)} are both -", remedy="Standard input can be read once.")
    if getattr(options, "json", False) and any(value is STDOUT for value in vars(options).values()):
        raise InputError(
            "--json and - both go to standard output", remedy="Name a file, or leave out --json."
        )
    if not names:
        yield
        return
    if sys.stdin is None:
        raise InputError(f"there is no {STDIN_NAME}", remedy="Name a file.")
    if sys.stdin.isatty():
        tell(f"reading {STDIN_NAME}, up to Ctrl-D")
    with tempfile.TemporaryDirectory(prefix="hybridrank-") as folder:
        path = Path(folder) / STDIN_NAME
        with path.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        setattr(options, names[0], path)
        with said_as(str(path), STDIN_NAME):
            yield


def check_outputs(*paths: Path | None) -> None:
    """Raise :class:`~hybridrank.errors.InputError` where a file cannot be made, before the work is done."""
    for path in paths:
        if path is None or path is STDOUT:
            continue
        if not path.parent.is_dir():
            raise InputError("there is no such directory", file=path.parent, remedy="Make it first.")
        if path.is_dir():
            raise InputError("this is a directory", file=path, remedy="Give the name of a file.")


def device_of(path: Path) -> Path:
    """The path itself, or of standard output the file by which it is written as a file is."""
    if path is not STDOUT:
        return path
    if not os.path.exists("/dev/stdout"):
        raise InputError("standard output is no file on this system", remedy="Name a file.")
    return Path("/dev/stdout")


def lines_of(path: Path) -> int | None:
    """The lines of a file, where that can be told without taking them from whoever reads it."""
    try:
        if not path.is_file():
            return None
        with path.open("rb") as lines:
            return sum(1 for line in lines if line.strip())
    except OSError:
        return None  # whoever reads it says what is wrong


@contextmanager
def writing(place: Path, what: str = "the index") -> Iterator[None]:
    """Name what is written where its disk is full or fails, which such an error itself does not."""
    try:
        yield
    except OSError as error:
        raise InputError(
            f"{what} could not be written ({error.strerror or error})", file=place, remedy=_REMEDY
        ) from error


@contextmanager
def whole_file(path: Path, what: str = "the file") -> Iterator[Path]:
    """A file to write, of the same suffix, that takes the place of ``path`` once it is whole.

    Whatever ends the work before leaves ``path`` as it was. A pipe or a device is written as it is.
    """
    if path is STDOUT:
        with tempfile.TemporaryDirectory(prefix="hybridrank-") as folder:
            yield (made := Path(folder) / "output")
            sys.stdout.flush()
            with made.open("rb") as file:
                shutil.copyfileobj(file, sys.stdout.buffer)
        return
    target = Path(os.path.realpath(path))
    with writing(path, what):
        if target.exists() and not target.is_file():
            yield target
            return
        beside = target.with_name(f".{target.stem}.{os.getpid()}.new{target.suffix}")
        try:
            yield beside
            os.replace(beside, target)
        finally:
            beside.unlink(missing_ok=True)


def write_text(path: Path, text: str, what: str = "the file") -> None:
    """Write a text as UTF-8, whole or not at all."""
    with whole_file(path, what) as file:
        file.write_text(text, encoding="utf-8", newline="\n")


@contextmanager
def whole_directory(path: Path) -> Iterator[Path]:
    """A directory to fill that takes the place of ``path`` once it is whole; one that is there already is
    filled as it is."""
    if os.path.lexists(path):
        yield path
        return
    beside = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        with said_as(str(beside), str(path)):
            yield beside
            os.replace(beside, path)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
