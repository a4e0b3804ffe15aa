"""Keeps what a search has read of a memory-mapped index from filling the memory of the process."""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Residency"]

_SHARE = 0.25  # of an index that may stay resident
_LEAST = 256 << 20  # bytes that may stay resident in any case
_EVERY = 8  # searches between two looks
_STATM = Path("/proc/self/statm")  # where there is none, nothing is done


class Residency:
    """Gives mapped pages back to the system once they are a good part of an index.

    They stay in the system's cache, so that reading them again costs little. Nothing changes but the memory
    of the process, and there is nothing to do for arrays that are in memory anyway.
    """

    def __init__(self, arrays: Sequence[NDArray[Any]]) -> None:
        self._maps = [found for array in arrays if (found := _map_of(array)) is not None]
        self._limit = max(_LEAST, int(_SHARE * sum(map(len, self._maps))))
        self._searches = 0
        self._before = _resident_files() if self._maps else 0

    def searched(self, searches: int = 1) -> None:
        """Say that there were searches; now and then pages are given back."""
        self._searches += searches
        if not self._maps or self._searches < _EVERY:
            return
        self._searches = 0
        if _resident_files() - self._before > self._limit:
            for found in self._maps:
                found.madvise(mmap.MADV_DONTNEED)


def _map_of(array: Any) -> mmap.mmap | None:
    while isinstance(array, np.ndarray):
        array = array.base
    return array if isinstance(array, mmap.mmap) and hasattr(array, "madvise") else None


def _resident_files() -> int:
    """Bytes of mapped files that are in the memory of this process."""
    try:
        return int(_STATM.read_text(encoding="ascii").split()[2]) * mmap.PAGESIZE
    except OSError:
        return 0
