"""Reading questions about meetings, with or without their labels, one JSON object a line.

    {"question_id": str, "question": str}

and with labels also

    {..., "reference_answer": str, "meeting_id": str, "evidence_turns": [[first, last], ...],
     "fine_sentences": [{"turn": int, "text": str}, ...]}

Ranges of turns count from 0 and include their last turn. ``fine_sentences`` may be absent: they are the
sentences that hold the evidence, where somebody marked them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from hybridrank.errors import InputError
from hybridrank.text.json_lines import read_json_lines

__all__ = ["FineSentence", "LabelledQuestion", "Question", "read_labelled_questions", "read_questions"]

_REMEDY = "Give a file of questions, one JSON object a line."


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """A question as a system sees it."""

    question_id: str
    question: str


@dataclass(frozen=True, kw_only=True, slots=True)
class FineSentence:
    """A sentence of turn ``turn`` that holds evidence."""

    turn: int
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelledQuestion(Question):
    """A question with what is known of its answer; ``evidence_turns`` holds inclusive ranges of turns."""

    reference_answer: str
    meeting_id: str
    evidence_turns: tuple[tuple[int, int], ...]
    fine_sentences: tuple[FineSentence, ...] = ()


def read_questions(path: str | PathLike[str]) -> list[Question]:
    """The questions of a file, in order.

    Raises :class:`~hybridrank.errors.InputError`, with the line, for one that is no question, for an id that
    came before, and for a file that holds none or cannot be read.
    """
    return [
        Question(question_id=row["question_id"], question=_text(row, "question", place))
        for place, row in _rows(Path(path))
    ]


def read_labelled_questions(path: str | PathLike[str]) -> list[LabelledQuestion]:
    """The questions of a file with their labels, in order. Raises as :func:`read_questions` does."""
    return [_labelled(row, place) for place, row in _rows(Path(path))]


_Place = tuple[Path, int]


def _rows(path: Path) -> Iterator[tuple[_Place, Mapping[str, Any]]]:
    line_of: dict[str, int] = {}
    for number, row in read_json_lines(path, _REMEDY):
        question_id = _text(row, "question_id", (path, number))
        if question_id in line_of:
            raise _refuse(
                (path, number),
                f"the question_id {question_id!r} stood on line {line_of[question_id]} already",
            )
        line_of[question_id] = number
        yield (path, number), row
    if not line_of:
        raise InputError("holds no question", file=path, remedy=_REMEDY)


def _labelled(row: Mapping[str, Any], place: _Place) -> LabelledQuestion:
    ranges = row.get("evidence_turns")
    if not isinstance(ranges, list) or not all(map(_is_range, ranges)):
        raise _refuse(place, "'evidence_turns' is no list of ranges [first, last] of turns from 0")
    fine = row.get("fine_sentences", [])
    if not isinstance(fine, list) or not all(map(_is_sentence, fine)):
        raise _refuse(place, "'fine_sentences' is no list of objects with a 'turn' from 0 and a 'text'")
    return LabelledQuestion(
        question_id=row["question_id"],
        question=_text(row, "question", place),
        reference_answer=_text(row, "reference_answer", place),
        meeting_id=_text(row, "meeting_id", place),
        evidence_turns=tuple((first, last) for first, last in ranges),
        fine_sentences=tuple(FineSentence(turn=one["turn"], text=one["text"]) for one in fine),
    )


def _is_range(value: object) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 2
        and all(type(turn) is int for turn in value)
        and 0 <= value[0] <= value[1]
    )


def _is_sentence(value: object) -> bool:
    return (
        isinstance(value, dict)
        and type(value.get("turn")) is int
        and value["turn"] >= 0
        and isinstance(value.get("text"), str)
    )


def _text(row: Mapping[str, Any], key: str, place: _Place) -> str:
    value = row.get(key)
    if isinstance(value, str):
        return value
    found = f"{key!r} is of type {type(value).__name__}" if key in row else f"no {key!r} among {sorted(row)}"
    raise _refuse(place, f"{found}, not a string")


def _refuse(place: _Place, reason: str) -> InputError:
    return InputError(
        reason, file=place[0], line=place[1], remedy="hybridrank.tasks.meetings.questions has the layout."
    )
