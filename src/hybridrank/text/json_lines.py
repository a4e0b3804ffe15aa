"""Read files of JSON lines: one object a line, every complaint with file and line."""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hybridrank.errors import InputError

__all__ = ["decode_line", "filled_lines", "parse_row", "read_json_lines"]


def read_json_lines(path: Path, remedy: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a JSONL file with their line numbers, from 1.

    ``remedy`` is for a file that cannot be read. Raises :class:`~hybridrank.errors.InputError` with file,
    line and reason.
    """
    for number, line in filled_lines(path, remedy):
        yield number, parse_row(line, path, number)


def filled_lines(path: Path, remedy: str) -> Iterator[tuple[int, bytes]]:
    """The lines of a file that are not blank, as bytes: so that one bad character harms no other line.

    Raises :class:`~hybridrank.errors.InputError` with ``remedy`` when the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                content = line.removeprefix(BOM_UTF8) if number == 1 else line
                if content.strip():
                    yield number, content.rstrip(b"\r\n")
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", file=path, remedy=remedy) from error


def decode_line(line: bytes, path: Path, number: int) -> str:
    """The text of a line; raises :class:`~hybridrank.errors.InputError` when it is not UTF-8."""
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"byte {error.start + 1} of the line is not UTF-8",
            file=path,
            line=number,
            remedy="Save the file as UTF-8, or turn it into that: iconv -f LATIN1 -t UTF-8.",
        ) from None


def parse_row(line: bytes, path: Path, number: int) -> dict[str, Any]:
    """The object that a line holds; raises :class:`~hybridrank.errors.InputError` when it holds none."""
    text = decode_line(line, path, number)
    try:
        row = json.loads(text)
    except ValueError as error:  # also a number of more digits than Python reads
        where = f"{error.msg}, column {error.colno}" if isinstance(error, json.JSONDecodeError) else error
        raise InputError(
            f"not valid JSON ({where})", file=path, line=number, remedy="Put one JSON object on each line."
        ) from None
    except RecursionError:
        raise InputError(
            "JSON that is nested too deeply",
            file=path,
            line=number,
            remedy="Put one flat JSON object on each line.",
        ) from None
    if not isinstance(row, dict):
        raise InputError(
            f"a JSON {type(row).__name__}, not an object",
            file=path,
            line=number,
            remedy="Put one JSON object on each line.",
        )
    return row
