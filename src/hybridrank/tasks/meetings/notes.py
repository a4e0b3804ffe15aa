"""A memory of a history: meetings cut into topics, a note for each, in as many as the bytes allow.

All notes are of about the same size; what the budget decides is how finely the meetings are cut. A note
quotes both halves of its stretch of talk: two excerpts far apart bear on more questions than a longer one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from os import PathLike
from typing import NamedTuple

import numpy as np

from hybridrank.errors import InputError
from hybridrank.tasks.meetings.history import Meeting
from hybridrank.tasks.meetings.memory import Memory, note_text
from hybridrank.tasks.meetings.scoring import Source
from hybridrank.tasks.meetings.segments import clean_meeting, cut
from hybridrank.tasks.meetings.selection import best_excerpts, key_terms, term_weights
from hybridrank.tasks.meetings.worth import History, Worth, term_table, worth_of

__all__ = ["MOST_BYTES", "TRIALS", "make_memory"]

MOST_BYTES = 183_981
"""What a memory may measure in the real task."""

_KEY_WORDS = 12  # of a topic
_SAID = 85  # bytes of what was said in each half of a topic, about
_FINEST, _COARSEST = 12.0, 100_000.0  # content terms of a segment
TRIALS = 9
"""Sizes of segments that are tried, at most, for the finest that fits."""


def make_memory(
    meetings: Sequence[Meeting],
    *,
    max_bytes: int = MOST_BYTES,
    selector: str | PathLike[str] = "plain",
    progress: Callable[[int], object] = lambda tried: None,
) -> Memory:
    """A memory of meetings that measures at most ``max_bytes`` as UTF-8 JSON.

    ``selector`` says what judges the worth of key words: ``"plain"``, ``"learned"`` (the model that the
    package ships), or a directory with a model. ``progress`` is told how many sizes of segments were tried,
    of at most :data:`TRIALS`. The same meetings give the same memory, byte for byte. Raises
    :class:`~hybridrank.errors.InputError` when ``max_bytes`` does not hold even an empty memory.
    """
    least = _measure(Memory([()] * len(meetings)))
    if max_bytes < least:
        raise InputError(
            f"max_bytes is {max_bytes}; a memory of {len(meetings)} meetings without a note takes {least}",
            remedy="Allow more bytes.",
        )
    history = History([clean_meeting(meeting) for meeting in meetings])
    worth = worth_of(selector)

    tried = count(1)

    def notes_of(size: float) -> list[list[_Note]]:
        notes = _notes(history, worth, size)
        progress(min(next(tried), TRIALS))
        return notes

    return _finished(meetings, _fitted(notes_of, max_bytes, least), max_bytes)


class _Note(NamedTuple):
    """A note's text and the turns that it quotes, as ``sources`` with that text; ``gain`` is its worth."""

    text: str
    sources: tuple[Source, ...]
    gain: float


def _notes(history: History, worth: Worth, size: float) -> list[list[_Note]]:
    """The notes of each meeting when it is cut into segments of a size."""
    segments = cut(history.meetings, size)
    table = term_table(history, segments)
    scores = worth.score(table.features) if table.terms else np.zeros(0)
    topics = key_terms(table, segments, scores, _KEY_WORDS)
    found: list[list[_Note]] = [[] for _ in history.meetings]
    seen: set[str] = set()
    for segment, weights, topic in zip(segments, term_weights(table), topics, strict=True):
        meeting = history.meetings[segment.meeting]
        excerpts = best_excerpts(meeting, segment, weights, _SAID)
        if not excerpts:
            continue
        forms = table.forms[segment.meeting]
        said = "\n".join(excerpt.text for excerpt in excerpts)
        text = note_text([forms.get(term, term) for term in topic], said)
        if text not in seen:  # a note is known by its text
            seen.add(text)
            sources = tuple(Source(text, meeting.meeting_id, one.first, one.last) for one in excerpts)
            found[segment.meeting].append(_Note(text, sources, sum(one.gain for one in excerpts)))
    return found


def _fitted(notes_of: Callable[[float], list[list[_Note]]], max_bytes: int, least: int) -> list[list[_Note]]:
    """The notes of the finest cut that fits, or of the coarsest when none does.

    The number of segments is about inverse to their size, so the next size to try follows from what the last
    one measured; the bounds are kept for histories where that is not so.
    """
    fine, coarse = _FINEST, _COARSEST
    size = 170.0
    best: list[list[_Note]] | None = None
    for _ in range(TRIALS):
        notes = notes_of(size)
        measured = _measure(_memory(notes))
        if measured <= max_bytes:
            best, coarse = notes, size
        else:
            fine = size
        if coarse / fine < 1.005:
            break
        guess = size * max(1, measured - least) / max(1, max_bytes - least)
        size = guess * 1.002 if fine * 1.001 < guess * 1.002 < coarse / 1.001 else (fine * coarse) ** 0.5
    return notes_of(coarse) if best is None else best


def _finished(meetings: Sequence[Meeting], notes: list[list[_Note]], max_bytes: int) -> Memory:
    """The memory of notes, without the least of them where they are too many."""
    while (memory := _memory(notes)) and _measure(memory) > max_bytes:
        _, meeting, place = min(
            (note.gain, meeting, place)
            for meeting, of_meeting in enumerate(notes)
            for place, note in enumerate(of_meeting)
        )
        del notes[meeting][place]
    return memory


def _memory(notes: Sequence[Sequence[_Note]]) -> Memory:
    sources = [source for of_meeting in notes for note in of_meeting for source in note.sources]
    return Memory([[note.text for note in of_meeting] for of_meeting in notes], sources)


def _measure(memory: Memory) -> int:
    return len(memory.to_json().encode("utf-8"))
