"""What a note says: the key words of its topic, and sentences of a few adjacent turns.

Key words are chosen for the whole memory at once. A term that many segments list helps none of them, for a
recall has room for ten notes; so the worth of a term in a segment falls with the number of segments where it
was said more often.

Sentences are a greedy cover (Lin and Bilmes, A Class of Submodular Functions for Document Summarization,
ACL 2011): each time the one that adds most per byte, where a term counts once, by how often it was said in
the segment and how rare it is elsewhere. Of several windows that one is taken whose cover is worth most,
where turns in which much was said are preferred: what somebody set out at length is what is asked about. The
two halves of a segment are quoted each by their best window.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import accumulate, islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hybridrank.tasks.meetings.segments import CleanMeeting, CleanTurn, Segment
from hybridrank.tasks.meetings.vocabulary import terms
from hybridrank.tasks.meetings.worth import TermTable

__all__ = ["Excerpt", "best_excerpt", "best_excerpts", "key_terms", "term_weights"]

_ROOM = 10  # segments that may list a term at its full worth: as many as a recall has notes
_BESIDE = 0.25  # what being said in a segment beside counts, of being said in it
_MOST_TURNS, _MOST_SPAN = 4, 5  # turns with content that a note may join, and turns in all that these span
_LEAST_TERMS = 2  # of the turn that an excerpt begins with
_OVER = 1.15  # an excerpt may be this much longer than asked for, rather than miss its last sentence
_COST = 1.2  # power of the bytes by which a gain is divided
_SAID_BEFORE = 0.3  # what saying a term is worth when the other half's excerpt said it
_AT_LENGTH = 0.3  # power of the content terms of an excerpt's turns by which its gain is multiplied


class Excerpt(NamedTuple):
    """What was said, by whom, and in which turns: ``first`` to ``last``, both in. ``gain`` is its worth."""

    text: str
    first: int
    last: int
    gain: float


def key_terms(
    table: TermTable, segments: Sequence[Segment], worth: NDArray[np.float64], n_terms: int
) -> list[list[str]]:
    """The ``n_terms`` terms of each segment that are best as key words, best first.

    ``worth`` has the worth of each row of the table, on the scale of a logarithm.
    """
    places: dict[str, list[tuple[float, float, int]]] = defaultdict(list)
    for row, (at, term) in enumerate(zip(table.segment_of, table.terms, strict=True)):
        around = sum(
            table.counts[other][term]
            for other in (at - 1, at + 1)
            if 0 <= other < len(segments) and segments[other].meeting == segments[at].meeting
        )
        places[term].append((-(table.counts[at][term] + _BESIDE * around), -float(worth[row]), at))
    scored: list[list[tuple[float, str]]] = [[] for _ in segments]
    for term, found in places.items():
        for rank, (_, minus_worth, at) in enumerate(sorted(found), start=1):
            scored[at].append((minus_worth - math.log(min(1.0, _ROOM / rank)), term))
    return [[term for _, term in sorted(of_segment)[:n_terms]] for of_segment in scored]


def term_weights(table: TermTable) -> list[dict[str, float]]:
    """What saying a term once is worth in each segment: times said there, and rarity among segments."""
    with_term = Counter(table.terms)
    rarity = {term: math.log(1 + len(table.counts) / count) for term, count in with_term.items()}
    return [{term: count * rarity[term] for term, count in counts.items()} for counts in table.counts]


def best_excerpt(
    meeting: CleanMeeting, segment: Segment, weights: Mapping[str, float], n_bytes: int
) -> Excerpt | None:
    """The sentences of a few adjacent turns that are worth most in about ``n_bytes``; ``None`` for silence.

    >>> turns = (CleanTurn("A", ("The pump leaks.", "Well then."), (("pump", "leak"), ())),)
    >>> best_excerpt(CleanMeeting("m", turns), Segment(0, 0, 0), {"pump": 2.0, "leak": 1.0}, 40)[:3]
    ('A: The pump leaks.', 0, 0)
    """
    with_content = [at for at in range(segment.first, segment.last + 1) if any(meeting.turns[at].terms)]
    best: tuple[float, list[tuple[int, int]]] | None = None
    for place, first in enumerate(with_content):
        if len(set(meeting.turns[first].all_terms())) >= _LEAST_TERMS:
            together = islice(with_content, place, place + _MOST_TURNS)
            window = [at for at in together if at - first < _MOST_SPAN]
            gain, chosen = _cover({at: meeting.turns[at] for at in window}, weights, n_bytes)
            said = sum(len(of) for at in {at for at, _ in chosen} for of in meeting.turns[at].terms)
            gain *= said**_AT_LENGTH
            if chosen and (best is None or gain > best[0]):
                best = gain, chosen
    if best is None:
        return None
    gain, chosen = best
    chosen.sort()
    return Excerpt(_joined(meeting, chosen), chosen[0][0], chosen[-1][0], gain)


def best_excerpts(
    meeting: CleanMeeting, segment: Segment, weights: Mapping[str, float], n_bytes: int
) -> list[Excerpt]:
    """The best excerpt of ``n_bytes`` from each half of a segment, in order.

    What the first half's has said counts for less in the second. A segment with content in one half only, or
    in a single turn, gives one excerpt of twice as many bytes.
    """
    one, other = _halves(meeting, segment)
    first = best_excerpt(meeting, one, weights, n_bytes)
    if first is not None:
        said = set(terms(first.text))
        left = {term: weight * _SAID_BEFORE if term in said else weight for term, weight in weights.items()}
        second = best_excerpt(meeting, other, left, n_bytes)
        if second is not None:
            return [first, second]
    whole = best_excerpt(meeting, segment, weights, 2 * n_bytes)
    return [] if whole is None else [whole]


def _halves(meeting: CleanMeeting, segment: Segment) -> tuple[Segment, Segment]:
    """A segment as two with about as many content terms in each; one may have no turn."""
    turns = meeting.turns[segment.first : segment.last + 1]
    up_to = list(accumulate(sum(map(len, turn.terms)) for turn in turns))
    middle = segment.first + bisect_left(up_to, up_to[-1] / 2)
    return segment._replace(last=middle), segment._replace(first=middle + 1)


def _cover(
    window: Mapping[int, CleanTurn], weights: Mapping[str, float], n_bytes: int
) -> tuple[float, list[tuple[int, int]]]:
    """Sentences as (turn, place in it) that cover most, and what they cover."""
    left = {
        (at, place): (frozenset(said), len(turn.sentences[place].encode("utf-8")) + 1)
        for at, turn in window.items()
        for place, said in enumerate(turn.terms)
        if said
    }
    chosen: list[tuple[int, int]] = []
    covered: set[str] = set()
    named: set[int] = set()
    total, used = 0.0, 0
    while True:
        best: tuple[float, float, int, tuple[int, int]] | None = None
        for key, (said, size) in left.items():
            cost = size if key[0] in named else size + len(window[key[0]].speaker.encode("utf-8")) + 2
            if used + cost > n_bytes * _OVER:
                continue
            gain = math.fsum(weights.get(term, 0.0) for term in said if term not in covered)
            per_byte = gain / cost**_COST
            if gain > 0 and (best is None or per_byte > best[0]):
                best = per_byte, gain, cost, key
        if best is None:
            return total, chosen
        _, gain, cost, key = best
        total, used = total + gain, used + cost
        chosen.append(key)
        named.add(key[0])
        covered |= left.pop(key)[0]


def _joined(meeting: CleanMeeting, chosen: Sequence[tuple[int, int]]) -> str:
    """Sentences in order, a line for each who speaks."""
    lines: list[str] = []
    speaker: str | None = None
    for at, place in chosen:
        turn = meeting.turns[at]
        if turn.speaker != speaker:
            speaker = turn.speaker
            label = " ".join(speaker.split())
            lines.append(f"{label}: {turn.sentences[place]}" if label else turn.sentences[place])
        else:
            lines[-1] += f" {turn.sentences[place]}"
    return "\n".join(lines)
