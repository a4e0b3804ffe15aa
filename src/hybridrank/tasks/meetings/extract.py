"""An answer made of the notes' own words, where no model can be asked.

Sentences, and the key words of the notes' topics, are chosen one by one for what they add per character:
terms that nothing chosen has, weighted by the rank of their note and doubled for terms of the question (a
greedy cover, after Lin and Bilmes, A Class of Submodular Functions for Document Summarization, ACL 2011).
They stand in the order of the notes.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import islice
from typing import NamedTuple

from hybridrank.tasks.meetings.memory import split_topic
from hybridrank.tasks.meetings.vocabulary import question_terms, terms

__all__ = ["Piece", "extract", "pieces"]

_END = re.compile(r"""(?<=[.!?])["'”’)\]]*\s+|\n+""")
# "PhD C: ..." as notes name their speakers; what stands before a colon further on is part of a sentence.
_SPEAKER = re.compile(r"\s*([^\s:.!?,]+(?: [^\s:.!?,]+){0,2}):\s+")
_POINTS = ".?!…\"'”’)]。"
_QUESTION_WEIGHT = 2.0  # of a term that the question has, where another counts 1
_TOPIC_WEIGHT = 0.5  # of a term among key words, where one in a sentence counts 1: a sentence says something
_RANK_OFFSET = 3.0  # a note's weight is 1 / (rank + this), from rank 1
_MOST_PIECES, _MOST_OF_NOTE = 400, 40  # that are weighed against each other; each choice looks at all
_BASE_COST = 20  # characters that a piece costs beside its own, so that scraps do not win


class Piece(NamedTuple):
    """A sentence of a note, or the key words of its topic: the note's place in the list, whose words they
    are (the topic is nobody's), and the words themselves, a sentence as one."""

    note: int
    speaker: str
    words: tuple[str, ...]
    is_topic: bool = False

    def text(self, before: Piece | None = None, *, goes_on: bool = True) -> str:
        """The piece as it stands after another: a speaker is named where it is not the one before, and a
        topic ends with a colon where something of its note ``goes_on``."""
        if self.is_topic:
            return f"On {', '.join(self.words)}{':' if goes_on else '.'}"
        same = before is not None and not before.is_topic and before[:2] == self[:2]
        (said,) = self.words
        ended = said if said[-1] in _POINTS else f"{said}."
        return ended if same or not self.speaker else f"{self.speaker}: {ended}"


def extract(question: str, notes: Sequence[str], longest: int) -> str:
    """At most ``longest`` characters of what the notes say; notes come best first, and of each the first 40
    sentences count, of all notes 400.

    >>> notes = ["[pump seal] Grad B: Uh, okay. The pump leaks.", "PhD A: Let's buy paint. Grad B: Right."]
    >>> extract("What was said about the pump?", notes, 70)
    "On seal: Grad B: The pump leaks. PhD A: Let's buy paint."
    """
    asked = set(question_terms(question))
    every = (piece for place, note in enumerate(notes) for piece in pieces(note, place)[:_MOST_OF_NOTE])
    found = list(islice(every, _MOST_PIECES))
    held = [set(terms(" ".join(piece.words))) for piece in found]
    waiting = [at for at in range(len(found)) if held[at]]
    covered: set[str] = set()
    chosen: dict[int, Piece] = {}
    room = longest
    while waiting:
        best = max(waiting, key=lambda at: (_gain(found[at], held[at] - covered, asked), -at))
        waiting.remove(best)
        piece = _without(found[best], covered)
        cost = len(piece.text()) + 1
        if cost <= room and held[best] - covered:
            chosen[best] = piece
            covered |= held[best]
            room -= cost
    return _joined([chosen[at] for at in sorted(chosen)])


def pieces(note: str, place: int = 0) -> list[Piece]:
    """The topic of a note and its sentences, each with the speaker that was named last before it.

    >>> [piece.text() for piece in pieces("[pump seal] PhD C: It leaks. Because of 3.5 bar.")]
    ['On pump, seal:', 'PhD C: It leaks.', 'PhD C: Because of 3.5 bar.']
    """
    topic, said = split_topic(note)
    found = [Piece(place, "", tuple(topic), is_topic=True)] if topic else []
    speaker = ""
    for part in _END.split(said):
        named = _SPEAKER.match(part)
        if named:
            speaker = named[1]
        text = " ".join(part[named.end() if named else 0 :].split())
        if text:
            found.append(Piece(place, speaker, (text,)))
    return found


def _without(piece: Piece, covered: Collection[str]) -> Piece:
    """A topic without the words that were said already; a sentence stays whole."""
    if not piece.is_topic:
        return piece
    return piece._replace(words=tuple(word for word in piece.words if set(terms(word)) - set(covered)))


def _gain(piece: Piece, new: set[str], asked: set[str]) -> float:
    weight = len(new) + (_QUESTION_WEIGHT - 1) * len(new & asked)
    if piece.is_topic:
        weight *= _TOPIC_WEIGHT
    return weight / (_RANK_OFFSET + piece.note + 1) / (_BASE_COST + sum(map(len, piece.words)))


def _joined(chosen: Sequence[Piece]) -> str:
    parts: list[str] = []
    for before, piece, after in zip((None, *chosen), chosen, (*chosen[1:], None), strict=False):
        parts.append(piece.text(before, goes_on=after is not None and after.note == piece.note))
    return " ".join(parts)
