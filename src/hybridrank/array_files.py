"""Numbers and strings as files: ``.npy`` arrays that are written row by row and opened memory-mapped."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, overload

import numpy as np
from more_itertools import constrained_batches
from numpy.typing import DTypeLike, NDArray

from hybridrank.errors import InputError

__all__ = ["ArrayWriter", "StringList", "open_array", "to_disk", "write_strings"]

_HEADER_BYTES = 128
_MOST_ROW_DIMENSIONS = 2  # more could outgrow the header
_STRINGS_AT_ONCE, _BYTES_AT_ONCE = 4096, 1 << 24


class ArrayWriter:
    """Writes one ``.npy`` file row by row; a context manager that closes at the end."""

    def __init__(
        self,
        path: Path,
        dtype: DTypeLike,
        row_shape: tuple[int, ...],
        when_closed: Callable[[ArrayWriter], None],
    ) -> None:
        self.path = path
        self.dtype = np.dtype(dtype).newbyteorder("<")
        if self.dtype.kind not in "biuf":
            raise InputError(f"an index stores numbers, not {self.dtype}", remedy="Convert the array first.")
        if len(row_shape) > _MOST_ROW_DIMENSIONS:
            raise InputError(
                f"rows of {len(row_shape)} dimensions",
                remedy=f"An index stores up to {_MOST_ROW_DIMENSIONS}.",
            )
        self.row_shape = row_shape
        self.rows = 0
        self._when_closed = when_closed
        self._file = path.open("xb")
        self._file.write(bytes(_HEADER_BYTES))

    def __enter__(self) -> ArrayWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self.discard()

    def append(self, rows: NDArray[Any]) -> None:
        """Add rows: an array of shape ``(n, *row_shape)`` whose numbers fit the type that was declared."""
        if rows.shape[1:] != self.row_shape or rows.ndim == 0:
            raise InputError(
                f"rows of shape {rows.shape} do not fit an array of shape {('n', *self.row_shape)}",
                remedy="Give every row the shape that was declared.",
            )
        plain = np.ascontiguousarray(rows.astype(self.dtype, casting="same_kind", copy=False))
        if plain.size:
            self._file.write(plain.data)
        self.rows += len(plain)

    def close(self) -> None:
        """Write the header, now that the number of rows is known, and bring all to the disk."""
        self._file.seek(0)
        self._file.write(_npy_header(self.dtype, (self.rows, *self.row_shape)))
        to_disk(self._file)
        self._file.close()
        self._when_closed(self)

    def discard(self) -> None:
        """Close without finishing."""
        self._file.close()


def write_strings(values: Iterable[str], text: ArrayWriter, offsets: ArrayWriter) -> None:
    """Write strings as UTF-8 bytes and the offsets between them; lone surrogates are kept."""
    end = 0
    offsets.append(np.zeros(1, dtype=np.int64))
    encoded = (value.encode("utf-8", "surrogatepass") for value in values)
    for some in constrained_batches(encoded, _BYTES_AT_ONCE, _STRINGS_AT_ONCE, strict=False):
        ends = end + np.cumsum([len(value) for value in some], dtype=np.int64)
        text.append(np.frombuffer(b"".join(some), dtype=np.uint8))
        offsets.append(ends)
        end = int(ends[-1])


class StringList(Sequence[str]):
    """Strings that stay on the disk until they are asked for."""

    def __init__(self, text: NDArray[np.uint8], offsets: NDArray[np.int64]) -> None:
        self._text = text
        self._offsets = offsets

    def __len__(self) -> int:
        return len(self._offsets) - 1

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        if isinstance(at, slice):
            return [self[one] for one in range(*at.indices(len(self)))]
        if not -len(self) <= at < len(self):
            raise IndexError(f"no string {at} among {len(self)}")
        at %= len(self)
        return self._decode(int(self._offsets[at]), int(self._offsets[at + 1]))

    def take(self, places: NDArray[np.integer]) -> list[str]:
        """The strings at some places from 0, in less time than one by one."""
        text = self._text.data
        spans = zip(self._offsets[places].tolist(), self._offsets[places + 1].tolist(), strict=True)
        return [str(text[start:end], "utf-8", "surrogatepass") if start < end else "" for start, end in spans]

    def __iter__(self) -> Iterator[str]:
        for first in range(0, len(self), _STRINGS_AT_ONCE):
            ends = self._offsets[first : first + _STRINGS_AT_ONCE + 1].tolist()
            some = self._text[ends[0] : ends[-1]].tobytes()
            for start, end in pairwise(ends):
                yield some[start - ends[0] : end - ends[0]].decode("utf-8", "surrogatepass")

    def _decode(self, start: int, end: int) -> str:
        return self._text[start:end].tobytes().decode("utf-8", "surrogatepass")


def open_array(path: Path) -> NDArray[Any]:
    """Map a ``.npy`` file, read-only. Raises ``ValueError`` when it is none."""
    mapped = np.load(
        path, mmap_mode=None if path.stat().st_size <= _HEADER_BYTES else "r", allow_pickle=False
    )
    # A plain view: slices of a memmap carry Python-level bookkeeping that costs more than the slice.
    array: NDArray[Any] = mapped.view(np.ndarray)
    array.flags.writeable = False
    return array


def _npy_header(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    """The header of a ``.npy`` file (format 1.0), padded to a fixed length so that it can be written last."""
    fields = repr({"descr": dtype.str, "fortran_order": False, "shape": shape})
    text = fields.ljust(_HEADER_BYTES - 11) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode("ascii")


def to_disk(file: IO[bytes]) -> None:
    """Have what was written to a file outlive a loss of power."""
    file.flush()
    os.fsync(file.fileno())
