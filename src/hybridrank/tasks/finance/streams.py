"""Stretches of the stream of term ids, looked at with a question's terms in mind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

__all__ = ["TermSlots", "held", "ranges"]


class TermSlots:
    """From term ids to places among a question's terms, by one array of the vocabulary's size.

    It is lent to one question at a time.
    """

    def __init__(self, n_terms: int) -> None:
        self._slot_of = np.full(n_terms, -1, dtype=np.int32)

    @contextmanager
    def of(self, terms: NDArray[np.int32]) -> Iterator[NDArray[np.int32]]:
        """Lend the array in which each of ``terms`` has its place, and every other term -1.

        >>> slots = TermSlots(5)
        >>> with slots.of(np.array([1, 4], dtype=np.int32)) as slot_of:
        ...     slot_of.tolist()
        [-1, 0, -1, -1, 1]
        """
        self._slot_of[terms] = np.arange(len(terms), dtype=np.int32)
        try:
            yield self._slot_of
        finally:
            self._slot_of[terms] = -1


def ranges(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """The numbers of several ranges, one after the other.

    >>> ranges(np.array([3, 10]), np.array([2, 3])).tolist()
    [3, 4, 10, 11, 12]
    """
    before = np.cumsum(lengths) - lengths
    return np.repeat(starts - before, lengths) + np.arange(int(lengths.sum()))


def held(slots: NDArray[np.int32], holders: NDArray[np.int64], found: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Note in ``found``, of shape ``(terms, holders)``, which holder holds which term; returns it.

    ``slots`` are the holders' tokens as places among the terms, -1 for others.

    >>> held(np.array([0, -1, 1]), np.array([0, 0, 1]), np.zeros((2, 2), bool)).tolist()
    [[True, False], [False, True]]
    """
    known = slots >= 0
    found[slots[known], holders[known]] = True
    return found
