"""Many texts as numbers, in one pass over a joined buffer.

Most texts are ASCII once curly quotes and dashes are replaced. Such texts are joined, and everything that can
be no part of a surface becomes a zero byte. What stands between zero bytes (a *chunk* such as
``short-term,``) is looked up in a hash table, all at once, so that the grammar of
:mod:`hybridrank.text.surfaces` runs once for each distinct chunk. No surface crosses such a byte and the
grammar looks at nothing beyond one, so the result is that of each text by itself. Other texts have their
place in the buffer, and are numbered by themselves.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from hybridrank.text.chunk_table import LONGEST, UNKNOWN, ChunkTable
from hybridrank.text.folding import fold, replace_frequent
from hybridrank.text.surfaces import find_surfaces

__all__ = ["DROPPED", "BatchEncoder"]

DROPPED = -1  # stands for a surface without a term
_BOUNDARY, _SEVERAL = -2, -3  # the end of a text; from here down, chunks of several terms

_END, _OTHER = "\x01", "\x02"  # between two texts; in place of a text outside ASCII
_KEPT = f"'-.,{_END}{_OTHER}"  # besides letters and digits
_ASCII = "".join(map(chr, range(128)))
_TABLE = bytes(ord(char.lower()) if char.isalnum() or char in _KEPT else 0 for char in _ASCII) + bytes(128)
_NO_MARKS = str.maketrans(f"{_END}{_OTHER}", "  ")
_AT_ONCE = 1 << 19  # characters joined
_MEMO_LIMIT = 1 << 20  # chunks remembered


class BatchEncoder:
    """Turns texts into arrays of term numbers.

    ``number_of`` gives the number of one surface of ASCII text, or :data:`DROPPED`; it is asked in the order
    in which surfaces appear. ``other`` numbers a folded text outside ASCII, :data:`DROPPED` included.
    """

    def __init__(self, number_of: Callable[[str], int], other: Callable[[str], NDArray[np.int32]]) -> None:
        self._number_of = number_of
        self._other = other
        self._reset()

    def encode(self, texts: Iterable[str]) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int64]]]:
        """Arrays of the numbers of some texts, one after another, and how many each text has."""
        for some in _some_at_once(texts):
            yield self._encode(list(map(_nearly_folded, some)))
            if len(self._table) + len(self._several) > _MEMO_LIMIT:
                self._reset()  # before the memory fills up

    def _reset(self) -> None:
        self._table = ChunkTable()
        # A chunk of several terms has a code _SEVERAL - i; they are _several[_starts[i]:_starts[i + 1]].
        self._starts = array("q", [0])
        self._several = array("i")
        end = np.array([ord(_END)], dtype=np.uint64)
        self._table.insert((end, np.zeros(1, dtype=np.uint64)), np.array([_BOUNDARY], dtype=np.int32))

    def _encode(self, texts: list[str]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        others = [text for text in texts if not text.isascii()]
        joined = _join(texts)
        if joined.count(_END) != len(texts) - 1 or joined.count(_OTHER) != len(others):
            joined = _join([text.translate(_NO_MARKS) for text in texts])  # they are in a text, too
        buffer = b"\0" + joined.encode("ascii").translate(_TABLE) + bytes(LONGEST)
        numbers = self._numbers(buffer, others)
        numbers = self._expanded(numbers[numbers != DROPPED])
        ends = np.concatenate([np.flatnonzero(numbers == _BOUNDARY), [len(numbers)]])
        return numbers[numbers != _BOUNDARY], np.diff(ends, prepend=-1) - 1

    def _numbers(self, buffer: bytes, others: list[str]) -> NDArray[np.int32]:
        """What each chunk stands for."""
        view = np.frombuffer(buffer, dtype=np.uint8)
        inside = view != 0
        edges = np.flatnonzero(inside[1:] != inside[:-1]) + 1
        starts, ends = edges[0::2], edges[1::2]
        keys = self._table.keys(view, starts, ends - starts)
        numbers = self._table.find(keys)
        numbers[ends - starts > LONGEST] = UNKNOWN
        unknown = np.flatnonzero(numbers == UNKNOWN)
        seen: dict[bytes, int] = {}
        new: list[int] = []  # where chunks are that are to be remembered
        left = iter(others)
        for at, start, end in zip(
            unknown.tolist(), starts[unknown].tolist(), ends[unknown].tolist(), strict=True
        ):
            chunk = buffer[start:end]
            if chunk == _OTHER.encode():
                found = self._other(next(left))
                numbers[at] = self._code(found[found != DROPPED].tolist())
                continue
            code = seen.get(chunk)
            if code is None:
                word = chunk.decode("ascii")
                # Most are surfaces by themselves.
                code = seen[chunk] = self._number_of(word) if word.isalnum() else self._code_of(word)
                if len(chunk) <= LONGEST:
                    new.append(at)
            numbers[at] = code
        self._table.insert((keys[0][new], keys[1][new]), numbers[new])
        return numbers

    def _code_of(self, chunk: str) -> int:
        found = map(self._number_of, find_surfaces(chunk))
        return self._code([number for number in found if number != DROPPED])

    def _code(self, numbers: list[int]) -> int:
        if not numbers:
            return DROPPED
        if len(numbers) == 1:
            return numbers[0]
        self._several.extend(numbers)
        self._starts.append(len(self._several))
        return _SEVERAL - (len(self._starts) - 2)

    def _expanded(self, numbers: NDArray[np.int32]) -> NDArray[np.int32]:
        """The numbers with each chunk of several terms in place of its code."""
        at = np.flatnonzero(numbers <= _SEVERAL)
        if len(at) == 0:
            return numbers
        which = _SEVERAL - numbers[at]
        starts = np.array(self._starts, dtype=np.int64)
        counts = np.ones(len(numbers), dtype=np.int64)
        counts[at] = sizes = starts[which + 1] - starts[which]
        expanded = np.repeat(numbers, counts)
        to = (np.cumsum(counts) - counts)[at]
        within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        several = np.array(self._several, dtype=np.int32)
        expanded[np.repeat(to, sizes) + within] = several[np.repeat(starts[which], sizes) + within]
        return expanded


def _join(texts: list[str]) -> str:
    return f" {_END} ".join(text if text.isascii() else _OTHER for text in texts)


def _some_at_once(texts: Iterable[str]) -> Iterator[list[str]]:
    some: list[str] = []
    size = 0
    for text in texts:
        some.append(text)
        size += len(text)
        if size >= _AT_ONCE:
            yield some
            some, size = [], 0
    if some:
        yield some


def _nearly_folded(text: str) -> str:
    """A text folded, except that one of ASCII may still have upper case."""
    if text.isascii():
        return text
    plain = replace_frequent(text)
    return plain if plain.isascii() else fold(text)
