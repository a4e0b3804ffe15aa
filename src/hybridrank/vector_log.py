"""What has been embedded so far, kept on disk: a build that is cut short pays only for the rest.

A log is one file: a line of JSON (format, model, dimension), then one record a text: the SHA-256 of the text,
its vector as little-endian ``float32``, and the CRC-32 of both. It grows at the end and is brought to disk
batch by batch. Whatever follows the last whole record is dropped when it is opened again, and so is
everything when it speaks of another model or dimension.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO

import numpy as np
from numpy.typing import NDArray

from hybridrank.array_files import to_disk

__all__ = ["VectorLog"]

_FORMAT = "hybridrank vectors 1"
_DIGEST_BYTES = 32
_BYTES_AT_ONCE = 1 << 24


class VectorLog:
    """Vectors by text; a context manager that closes its file.

    ``path`` is created where it is missing; without one everything stays in memory and nothing outlives the
    process. One process at a time may use a file: whoever builds holds a lock on the directory.
    """

    def __init__(self, path: Path | None, *, model: str, dimension: int) -> None:
        self.path = path
        self.dimension = dimension
        self._header = _header(model, dimension)
        self._record = np.dtype(
            [("digest", "u1", _DIGEST_BYTES), ("vector", "<f4", dimension), ("crc", "<u4")]
        )
        self._place_of: dict[bytes, int] = {}
        self._in_memory: list[NDArray[np.float32]] = []
        self._file: IO[bytes] | None = None

    def __enter__(self) -> VectorLog:
        if self.path is not None:
            self._file = self.path.open("r+b" if self.path.exists() else "w+b")
            try:
                self._read(self._file)
            except BaseException:
                self._file.close()
                raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()

    def __contains__(self, text: str) -> bool:
        return _digest(text) in self._place_of

    def __len__(self) -> int:
        return len(self._place_of)

    def append(self, texts: Sequence[str], vectors: NDArray[np.float32]) -> None:
        """Add the vectors of texts that are not there yet, of shape ``(len(texts), dimension)``."""
        digests = [_digest(text) for text in texts]
        if self._file is None:
            self._in_memory.extend(np.array(vectors, dtype=np.float32))
        else:
            self._file.write(self._to_records(digests, vectors).tobytes())
            to_disk(self._file)
        for digest in digests:
            self._place_of[digest] = len(self._place_of)

    def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of texts, one row each. Raises ``KeyError`` for one that is not there."""
        places = [self._place_of[_digest(text)] for text in texts]
        found = np.empty((len(places), self.dimension), dtype=np.float32)
        for row, place in enumerate(places):
            found[row] = self._in_memory[place] if self._file is None else self._at(self._file, place)
        return found

    def _at(self, file: IO[bytes], place: int) -> NDArray[np.float32]:
        file.seek(len(self._header) + place * self._record.itemsize + _DIGEST_BYTES)
        vector = np.frombuffer(file.read(4 * self.dimension), dtype="<f4")
        file.seek(0, 2)  # where the next record goes
        return vector

    def _to_records(self, digests: Sequence[bytes], vectors: NDArray[np.float32]) -> NDArray[np.void]:
        records = np.zeros(len(digests), dtype=self._record)
        records["digest"] = np.frombuffer(b"".join(digests), dtype=np.uint8).reshape(-1, _DIGEST_BYTES)
        records["vector"] = vectors
        records["crc"] = [_crc(record) for record in records]
        return records

    def _read(self, file: IO[bytes]) -> None:
        """Take in what is whole, and cut off the rest."""
        if file.read(len(self._header)) != self._header:
            file.seek(0)
            file.truncate()
            file.write(self._header)
            to_disk(file)
            return
        for record in self._whole_records(file):
            self._place_of[record["digest"].tobytes()] = len(self._place_of)
        file.truncate(len(self._header) + len(self._place_of) * self._record.itemsize)
        file.seek(0, 2)

    def _whole_records(self, file: IO[bytes]) -> Iterator[np.void]:
        size = self._record.itemsize
        at_once = max(1, _BYTES_AT_ONCE // size)
        while some := file.read(at_once * size):
            for record in np.frombuffer(some[: len(some) // size * size], dtype=self._record):
                if _crc(record) != record["crc"] or record["digest"].tobytes() in self._place_of:
                    return
                yield record


def _header(model: str, dimension: int) -> bytes:
    content = {"format": _FORMAT, "model": model, "dimension": dimension}
    return json.dumps(content).encode("ascii") + b"\n"


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _crc(record: np.void) -> int:
    return zlib.crc32(record["vector"].tobytes(), zlib.crc32(record["digest"].tobytes()))
