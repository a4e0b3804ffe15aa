"""Reading what the contract gives: reports and questions, one JSON object a line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from hybridrank.errors import InputError
from hybridrank.text.json_lines import filled_lines, parse_row, read_json_lines

__all__ = ["Problem", "Question", "Report", "read_questions", "read_reports", "reports_file"]

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


def reports_file(corpus: str | PathLike[str]) -> Path:
    """``corpus/reports.jsonl``, or the path itself where it is no directory."""
    path = Path(corpus)
    return path / REPORTS if path.is_dir() else path


def read_reports(corpus: str | PathLike[str]) -> Iterator[Report]:
    """The reports of ``corpus/reports.jsonl`` (or of a file named so), one at a time.

    Each line holds ``{"document_id": str, "text": str}``; blank lines are passed over, other keys ignored.
    Raises :class:`~hybridrank.errors.InputError` with file, line and reason at the first line that is not so.
    """
    path = reports_file(corpus)
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
    for number, line in filled_lines(place, "Give a file of questions, one JSON object a line."):
        try:
            row = parse_row(line, place, number)
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


def _text(row: dict[str, Any], key: str, path: Path, number: int) -> str:
    value = row.get(key)
    if isinstance(value, str):
        return value
    found = f"{key!r} is {type(value).__name__}" if key in row else f"no {key!r} among {sorted(row)}"
    raise InputError(
        f"{found}, not a string", file=path, line=number, remedy=f"Give each line a string {key!r}."
    )
