"""Reading what the contract gives: reports and questions, one JSON object a line."""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from hybridrank.errors import InputError

__all__ = ["Problem", "Question", "Report", "read_json_lines", "read_questions", "read_reports"]

REPORTS = "reports.jsonl"


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """A report as given, with the line of the file that it stands on, from 1."""

    document_id: str
    text: str
    line: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """A question as given."""

    query_id: str
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """A line that gives no question, and why; it costs no other question its answer."""

    error: InputError


def read_reports(corpus: str | PathLike[str]) -> Iterator[Report]:
    """The reports of ``corpus/reports.jsonl`` (or of a file named so), one at a time.

    Each line holds ``{"document_id": str, "text": str}``; blank lines are passed over, other keys ignored.
    Raises :class:`~hybridrank.errors.InputError` with file, line and reason at the first line that is not so.
    """
    path = Path(corpus)
    path = path / REPORTS if path.is_dir() else path
    for number, row in read_json_lines(path, f"Give a directory that holds {REPORTS}."):
        document_id, text = (_text(row, key, path, number) for key in ("document_id", "text"))
        yield Report(document_id=document_id, text=text, line=number)


def read_questions(path: str | PathLike[str]) -> Iterator[Question | Problem]:
    """The questions of a file, one at a time; a line that gives none becomes a :class:`Problem`.

    Each line holds ``{"query_id": str, "question": str}``. A ``query_id`` that came before is a problem too,
    for a second answer would make the first invalid. Raises :class:`~hybridrank.errors.InputError` only when
    the file itself cannot be read.
    """
    place = Path(path)
    seen: dict[str, int] = {}
    for number, line in _lines(place, "Give a file of questions, one JSON object a line."):
        try:
            row = _row(line, place, number)
            query_id, text = (_text(row, key, place, number) for key in ("query_id", "question"))
            if query_id in seen:
                raise InputError(
                    f"the query_id {query_id!r} stood on line {seen[query_id]} already",
                    file=place,
                    line=number,
                    remedy="Give each question an id of its own.",
                )
        except InputError as error:
            yield Problem(error=error)
            continue
        seen[query_id] = number
        yield Question(query_id=query_id, text=text)


def read_json_lines(path: Path, remedy: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a JSONL file with their line numbers, from 1.

    ``remedy`` is for a file that cannot be read. Raises :class:`~hybridrank.errors.InputError` with file,
    line and reason.
    """
    for number, line in _lines(path, remedy):
        yield number, _row(line, path, number)


def _lines(path: Path, remedy: str) -> Iterator[tuple[int, bytes]]:
    """The lines of a file that are not blank, as bytes: so that one bad character harms no other line."""
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                content = line.removeprefix(BOM_UTF8) if number == 1 else line
                if content.strip():
                    yield number, content.rstrip(b"\r\n")
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", file=path, remedy=remedy) from error


def _row(line: bytes, path: Path, number: int) -> dict[str, Any]:
    try:
        row = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise InputError(
            f"byte {error.start + 1} of the line is not UTF-8",
            file=path,
            line=number,
            remedy="Save the file as UTF-8.",
        ) from None
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


def _text(row: dict[str, Any], key: str, path: Path, number: int) -> str:
    value = row.get(key)
    if isinstance(value, str):
        return value
    found = f"{key!r} is {type(value).__name__}" if key in row else f"no {key!r} among {sorted(row)}"
    raise InputError(
        f"{found}, not a string", file=path, line=number, remedy=f"Give each line a string {key!r}."
    )
