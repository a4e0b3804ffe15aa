"""A hash table of short byte strings that is asked about many at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["LONGEST", "UNKNOWN", "ChunkTable", "Keys"]

LONGEST = 16  # bytes of a string that fits
UNKNOWN = np.iinfo(np.int32).min  # the value of a string that is not in the table

_HALF = 8
# What is kept of the eight bytes from the start of a string of 0 to 8 bytes.
_MASKS = np.array([(1 << (8 * length)) - 1 for length in range(_HALF + 1)], dtype=np.uint64)
_FACTORS = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)  # odd, with bits of all weights
_START = 16  # the bits of a place, at first

Keys = tuple[NDArray[np.uint64], NDArray[np.uint64]]  # the first eight bytes of strings, and the next eight


class ChunkTable:
    """Strings of 1 to 16 bytes other than 0, each with a number; an open-addressed table of exact keys.

    >>> table = ChunkTable()
    >>> buffer = np.frombuffer(b"net\\0sales\\0" + bytes(16), dtype=np.uint8)
    >>> keys = table.keys(buffer, np.array([0, 4]), np.array([3, 5]))
    >>> table.insert(keys, np.array([7, 8], dtype=np.int32))
    >>> table.find(keys).tolist()
    [7, 8]
    """

    def __init__(self) -> None:
        self._size = 0
        self._allocate(_START)

    def __len__(self) -> int:
        return self._size

    @staticmethod
    def keys(buffer: NDArray[np.uint8], starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> Keys:
        """The keys of strings in a buffer, after whose last there are 16 bytes more."""
        words = np.ndarray(len(buffer) - _HALF + 1, dtype="<u8", buffer=buffer, strides=(1,))
        first = words[starts] & _MASKS[np.minimum(lengths, _HALF)]
        second = np.zeros(len(starts), dtype=np.uint64)
        more = np.flatnonzero(lengths > _HALF)
        second[more] = words[starts[more] + _HALF] & _MASKS[np.minimum(lengths[more] - _HALF, _HALF)]
        return first, second

    def find(self, keys: Keys) -> NDArray[np.int32]:
        """The number of each string, or :data:`UNKNOWN`."""
        first, second = keys
        place = self._places(keys)
        there = self._first[place]
        found = np.where((there == first) & (self._second[place] == second), self._numbers[place], UNKNOWN)
        left = np.flatnonzero((found == UNKNOWN) & (there != 0))
        place = place[left]
        while len(left):
            place = (place + 1) & (len(self._first) - 1)
            there = self._first[place]
            same = (there == first[left]) & (self._second[place] == second[left])
            found[left[same]] = self._numbers[place[same]]
            on = ~same & (there != 0)
            left, place = left[on], place[on]
        return found

    def insert(self, keys: Keys, numbers: NDArray[np.int32]) -> None:
        """Add strings that are not in the table, each once."""
        self._size += len(numbers)
        if 2 * self._size > len(self._first):
            used = self._first != 0
            old = (self._first[used], self._second[used]), self._numbers[used]
            self._allocate((4 * self._size - 1).bit_length())
            self._put(*old)
        self._put(keys, numbers)

    def _put(self, keys: Keys, numbers: NDArray[np.int32]) -> None:
        first, second = keys
        place = self._places(keys)
        while len(first):
            free = self._first[place] == 0
            # Of several that want one place, the last gets it, in each of the three arrays.
            self._first[place[free]] = first[free]
            self._second[place[free]] = second[free]
            self._numbers[place[free]] = numbers[free]
            left = (self._first[place] != first) | (self._second[place] != second)
            first, second, numbers = first[left], second[left], numbers[left]
            place = (place[left] + 1) & (len(self._first) - 1)

    def _places(self, keys: Keys) -> NDArray[np.int64]:
        mixed = keys[0] * _FACTORS[0]
        mixed ^= keys[1] * _FACTORS[1]
        mixed >>= self._shift
        places: NDArray[np.int64] = mixed.astype(np.int64)
        return places

    def _allocate(self, bits: int) -> None:
        self._shift = np.uint64(64 - bits)
        self._first = np.zeros(1 << bits, dtype=np.uint64)
        self._second = np.zeros(1 << bits, dtype=np.uint64)
        self._numbers = np.zeros(1 << bits, dtype=np.int32)
