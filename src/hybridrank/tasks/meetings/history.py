"""Reading a history of meetings: one JSON object a line, a meeting each.

    {"meeting_id": str, "turns": [{"speaker": str, "text": str}, ...]}

:data:`FIELDS` is the one place that knows these names. A history that names them otherwise is read with
another :class:`HistoryFields`, and with nothing else changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from hybridrank.errors import InputError
from hybridrank.text.json_lines import read_json_lines

__all__ = ["FIELDS", "HistoryFields", "Meeting", "Turn", "read_history"]


@dataclass(frozen=True, kw_only=True, slots=True)
class HistoryFields:
    """What a history calls its fields: the two of a line, then the two of a turn."""

    meeting_id: str = "meeting_id"
    turns: str = "turns"
    speaker: str = "speaker"
    text: str = "text"

    def describe(self) -> str:
        """The layout, as a person would write it down."""
        return (
            f'{{"{self.meeting_id}": "...", "{self.turns}": '
            f'[{{"{self.speaker}": "...", "{self.text}": "..."}}, ...]}}'
        )


FIELDS = HistoryFields()
"""The field names that are read unless others are given."""


@dataclass(frozen=True, slots=True)
class Turn:
    """What one speaker said until another spoke, verbatim, tags and all."""

    speaker: str
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Meeting:
    """A meeting as given; a turn's index in ``turns`` is its place in all that speaks of evidence."""

    meeting_id: str
    turns: tuple[Turn, ...]


def read_history(path: str | PathLike[str], fields: HistoryFields = FIELDS) -> list[Meeting]:
    """The meetings of a file, in its order.

    Keys beyond those of ``fields`` are ignored, blank lines passed over. Raises
    :class:`~hybridrank.errors.InputError`, with the line and the fields found there, for any other layout;
    for an id that came before; and for a file that holds no meeting or cannot be read.
    """
    place = Path(path)
    meetings: list[Meeting] = []
    line_of: dict[str, int] = {}
    for number, row in read_json_lines(place, "Give a file of meetings, one JSON object a line."):
        meeting = _Line(place, number, fields).meeting(row)
        if meeting.meeting_id in line_of:
            raise InputError(
                f"the meeting {meeting.meeting_id!r} stood on line {line_of[meeting.meeting_id]} already",
                file=place,
                line=number,
                remedy="Give each meeting an id of its own.",
            )
        line_of[meeting.meeting_id] = number
        meetings.append(meeting)
    if not meetings:
        raise InputError("holds no meeting", file=place, remedy=f"Give a line for each: {fields.describe()}.")
    return meetings


@dataclass(frozen=True, slots=True)
class _Line:
    """Where something is read, so that what is wrong can be said with its place."""

    file: Path
    number: int
    fields: HistoryFields

    def meeting(self, row: Mapping[str, Any]) -> Meeting:
        fields = self.fields
        self._require(row, (fields.meeting_id, fields.turns), "the fields found are")
        turns = row[fields.turns]
        if not isinstance(turns, list):
            raise self._refuse(f"{fields.turns!r} is of type {type(turns).__name__}, not a list")
        return Meeting(
            meeting_id=self._text(row, fields.meeting_id, ""),
            turns=tuple(self._turn(at, turn) for at, turn in enumerate(turns)),
        )

    def _turn(self, at: int, turn: object) -> Turn:
        if not isinstance(turn, dict):
            raise self._refuse(f"turn {at} is of type {type(turn).__name__}, not an object")
        names = self.fields.speaker, self.fields.text
        self._require(turn, names, f"the fields found in turn {at} are")
        speaker, text = (self._text(turn, name, f" of turn {at}") for name in names)
        return Turn(speaker, text)

    def _require(self, row: Mapping[str, Any], names: Iterable[str], found: str) -> None:
        missing = [name for name in names if name not in row]
        if missing:
            listed = ", ".join(map(repr, row)) or "none"
            raise self._refuse(f"no {' and no '.join(map(repr, missing))}; {found} {listed}")

    def _text(self, row: Mapping[str, Any], name: str, whose: str) -> str:
        value = row[name]
        if not isinstance(value, str):
            raise self._refuse(f"{name!r}{whose} is of type {type(value).__name__}, not a string")
        return value

    def _refuse(self, reason: str) -> InputError:
        return InputError(
            reason,
            file=self.file,
            line=self.number,
            remedy=f"Give {self.fields.describe()}, or say how your fields are called: "
            '--field text=content, in Python HistoryFields(text="content").',
        )
