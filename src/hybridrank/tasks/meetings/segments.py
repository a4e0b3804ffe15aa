"""Meetings cut into stretches of talk, each of about as much content as one topic takes.

Boundaries fall where so many content terms were said. Cutting at valleys of lexical cohesion (Hearst,
TextTiling, 1997) was measured and found no better in recall, and worse in what the notes held.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hybridrank.tasks.meetings.cleaning import clean_turn
from hybridrank.tasks.meetings.history import Meeting
from hybridrank.tasks.meetings.vocabulary import terms

__all__ = ["CleanMeeting", "CleanTurn", "Segment", "clean_meeting", "cut"]

_SMALLEST_REST = 0.4  # of a segment; less than that at the end of a meeting joins the segment before


class CleanTurn(NamedTuple):
    """A turn's sentences, cleaned, and the content terms of each."""

    speaker: str
    sentences: tuple[str, ...]
    terms: tuple[tuple[str, ...], ...]

    def all_terms(self) -> Iterator[str]:
        """The content terms of the turn, in order."""
        for of_sentence in self.terms:
            yield from of_sentence


class CleanMeeting(NamedTuple):
    """A meeting with its turns cleaned; a turn stands where it stood."""

    meeting_id: str
    turns: tuple[CleanTurn, ...]


class Segment(NamedTuple):
    """Turns ``first`` to ``last``, both in, of the meeting at a place in the history."""

    meeting: int
    first: int
    last: int


def clean_meeting(meeting: Meeting) -> CleanMeeting:
    """A meeting with its turns cleaned; half a surrogate pair in a speaker's label becomes "?"."""
    turns = []
    for turn in meeting.turns:
        sentences = clean_turn(turn.text)
        speaker = turn.speaker.encode("utf-8", "replace").decode("utf-8")
        turns.append(CleanTurn(speaker, tuple(sentences), tuple(tuple(terms(one)) for one in sentences)))
    return CleanMeeting(meeting.meeting_id, tuple(turns))


def cut(meetings: Sequence[CleanMeeting], size: float) -> list[Segment]:
    """All meetings as segments of about ``size`` content terms: every turn in one, in order.

    >>> turn = CleanTurn("A", ("red fox",), (("red", "fox"),))
    >>> cut([CleanMeeting("m", (turn,) * 5)], 6)
    [Segment(meeting=0, first=0, last=2), Segment(meeting=0, first=3, last=4)]
    """
    found: list[Segment] = []
    for place, meeting in enumerate(meetings):
        first, held = 0, 0
        for at, turn in enumerate(meeting.turns):
            held += sum(map(len, turn.terms))
            if held >= size:
                found.append(Segment(place, first, at))
                first, held = at + 1, 0
        if first < len(meeting.turns):
            last = len(meeting.turns) - 1
            if first and held <= _SMALLEST_REST * size:
                found[-1] = found[-1]._replace(last=last)
            else:
                found.append(Segment(place, first, last))
    return found
