"""Where a text shows what was asked for: the query's words in it, and excerpts around them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from hybridrank.text.tokens import Tokenizer

__all__ = ["Excerpt", "Match", "excerpts", "find_matches"]

_LOOKED_AT = 100_000  # characters of a text, for it may be megabytes long
_MATCHES = 1000  # of a text that are looked at when excerpts are chosen
_SLACK = 20  # characters that an excerpt may shrink at either end so that it cuts no word


class Match(NamedTuple):
    """A word of a text, ``text[start:end]``, and the term that it is a form of."""

    start: int
    end: int
    term: str


class Excerpt(NamedTuple):
    """A stretch of a text, ``text[start:end]``, and the parts of it that match: disjoint, in order, as
    positions in the text."""

    start: int
    end: int
    marks: tuple[tuple[int, int], ...] = ()


def find_matches(text: str, terms: Collection[str], tokenizer: Tokenizer) -> list[Match]:
    """The words of a text that are among ``terms``, whatever their form, in order of their start.

    The first 100,000 characters are looked at.

    >>> find_matches("He sells boats.", {"sell", "boat"}, Tokenizer())
    [Match(start=3, end=8, term='sell'), Match(start=9, end=14, term='boat')]
    """
    if not terms:
        return []
    return [
        Match(start, end, term)
        for start, end, term in tokenizer.spans(text[:_LOOKED_AT])
        if term is not None and term in terms
    ]


def excerpts(text: str, matches: Sequence[Match], *, width: int = 480, most: int = 3) -> list[Excerpt]:
    """The parts of a text to show: the whole when it has at most ``width`` characters, else up to ``most``
    parts that together are no longer, in the order of the text.

    Each is chosen, one after the other, for the most terms that no part shows yet, then for the most matches,
    then for its place. Without matches it is the beginning. ``matches`` come as :func:`find_matches` gives
    them.

    >>> text = "Nothing here. " * 9 + "The boat sails." + " More of nothing." * 9
    >>> (part,) = excerpts(text, find_matches(text, {"boat"}, Tokenizer()), width=40, most=1)
    >>> text[part.start : part.end], [text[start:end] for start, end in part.marks]
    ('here. The boat sails. More of nothing.', ['boat'])
    """
    if len(text) <= width:
        return [Excerpt(0, len(text), _marks(matches, 0, len(text)))]
    left = [match for match in matches[:_MATCHES] if match.end - match.start <= width // most // 2]
    shown: set[str] = set()
    chosen: list[tuple[int, int]] = []
    while left and len(chosen) < most:
        start, end = _best_window(text, left, shown, width // most)
        inside = [match for match in left if start <= match.start and match.end <= end]
        if chosen and shown.issuperset(match.term for match in inside):
            break  # nothing new to be seen
        shown.update(match.term for match in inside)
        chosen.append((start, end))
        left = [match for match in left if match.end <= start or match.start >= end]
    if len(chosen) < 2:  # one part may as well have all the room
        start, end = chosen[0] if chosen else (0, 0)
        chosen = [_window(text, max(0, (start + end - width) // 2), width)]
    return [Excerpt(start, end, _marks(matches, start, end)) for start, end in _joined(chosen)]


def _best_window(text: str, left: Sequence[Match], shown: Collection[str], size: int) -> tuple[int, int]:
    starts = [match.start for match in left]
    best, best_gain = left[0].start, (-1, 0)
    for place, match in enumerate(left):
        # Only matches that are whole even when the end moves to a space.
        inside = left[place : bisect_left(starts, match.start + size - size // 4 - _SLACK)]
        gain = len({one.term for one in inside}.difference(shown)), len(inside)
        if gain > best_gain:
            best, best_gain = match.start, gain
    # Some of what stands before a word is needed to understand it.
    return _window(text, max(0, best - size // 4), size)


def _window(text: str, start: int, size: int) -> tuple[int, int]:
    """A stretch of at most ``size`` characters that begins and ends between words where it can."""
    start = min(start, max(0, len(text) - size))
    end = min(len(text), start + size)
    slack = min(_SLACK, size // 4)
    if start > 0:
        start = next((at for at in range(start, start + slack) if text[at - 1].isspace()), start)
    if end < len(text):
        end = next((at for at in range(end, end - slack, -1) if text[at].isspace()), end)
    return start, end


def _joined(parts: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for start, end in sorted(parts):
        if joined and start <= joined[-1][1] + 1:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return joined


def _marks(matches: Iterable[Match], start: int, end: int) -> tuple[tuple[int, int], ...]:
    """The matches within a stretch, those that overlap or touch joined."""
    marks: list[tuple[int, int]] = []
    for match in matches:
        if match.start < start or match.end > end:
            continue
        if marks and match.start <= marks[-1][1]:
            marks[-1] = marks[-1][0], max(marks[-1][1], match.end)
        else:
            marks.append((match.start, match.end))
    return tuple(marks)
