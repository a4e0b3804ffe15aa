"""Read lines of text files for the readers beside this one, each complaint with file and line."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path

from hybridrank.errors import InputError
from hybridrank.text.json_lines import decode_line, filled_lines

__all__ = ["columns", "first_line", "grade_of", "score_of", "text_lines"]

_GRADE = re.compile(r"[+-]?[0-9]{1,9}")


def text_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a UTF-8 file that are not blank, with their numbers from 1, without their ends and
    without a byte order mark.

    Raises :class:`~hybridrank.errors.InputError` for a file that cannot be read, or is not UTF-8.
    """
    for number, line in filled_lines(path, "Give a file that is there and may be read."):
        yield number, decode_line(line, path, number)


def first_line(path: Path) -> str:
    """The first line that is not blank, by which a format is told; raises
    :class:`~hybridrank.errors.InputError` when there is none."""
    for _, line in text_lines(path):
        return line
    raise InputError("the file is empty", file=path, remedy="Give a file that holds something.")


def columns(line: str) -> list[str]:
    """The columns of a line: between tabs when it has one, else between any white space.

    >>> columns("q1 0  d1 1"), columns("q1\\tan id with spaces\\t1")
    (['q1', '0', 'd1', '1'], ['q1', 'an id with spaces', '1'])
    """
    return [one.strip() for one in line.split("\t")] if "\t" in line.strip() else line.split()


def grade_of(text: str, path: Path, line: int) -> int:
    """A grade: a whole number, negative ones included; raises :class:`~hybridrank.errors.InputError`."""
    if _GRADE.fullmatch(text) is None:
        raise InputError(
            f"the grade {text!r} is not a whole number",
            file=path,
            line=line,
            remedy="Give 0 for what does not help, 1 or more for what does.",
        )
    return int(text)


def score_of(text: str, path: Path, line: int) -> float:
    """A score: a finite number; raises :class:`~hybridrank.errors.InputError`."""
    try:
        score = float(text)
    except ValueError:
        score = math.nan
    if not math.isfinite(score):
        raise InputError(
            f"the score {text!r} is not a finite number", file=path, line=line, remedy="Correct the score."
        )
    return score
