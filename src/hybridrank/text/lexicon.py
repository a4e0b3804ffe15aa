"""Strings that lie on the disk and are found by value: opening them costs the same whatever their number."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from hybridrank.array_files import StringList
from hybridrank.storage import IndexReader, IndexWriter
from hybridrank.text.tokens import TermLookup, Tokenizer

__all__ = ["Lexicon", "StringTable"]


class StringTable:
    """Distinct strings, each with its place; found by its CRC-32 in a sorted array, then compared.

    >>> table = StringTable.of(["net", "sales"])
    >>> table.find("sales"), table.find("zebra"), table.find_all(["zebra", "net"])
    (1, None, [None, 0])
    """

    def __init__(self, strings: Sequence[str], hashes: NDArray[np.uint32], order: NDArray[np.int32]) -> None:
        self.strings = strings
        self.hashes = hashes
        self.order = order

    @classmethod
    def of(cls, strings: Sequence[str]) -> StringTable:
        """A table of strings that are in memory."""
        hashes = np.fromiter(map(_hash, strings), dtype=np.uint32, count=len(strings))
        order = np.argsort(hashes, kind="stable").astype(np.int32)
        return cls(strings, hashes[order], order)

    def find(self, value: str) -> int | None:
        """The place of a string, or ``None``."""
        return self.find_all([value])[0]

    def find_all(self, values: Iterable[str]) -> list[int | None]:
        """The places of strings, or ``None`` for each that is not among them."""
        wanted = list(values)
        hashes = np.fromiter(map(_hash, wanted), dtype=np.uint32, count=len(wanted))
        firsts = np.searchsorted(self.hashes, hashes, "left").tolist()
        lasts = np.searchsorted(self.hashes, hashes, "right").tolist()
        return [
            next((at for at in self.order[first:last].tolist() if self.strings[at] == value), None)
            if first < last
            else None
            for value, first, last in zip(wanted, firsts, lasts, strict=True)
        ]

    def save(self, writer: IndexWriter, prefix: str) -> None:
        """Store how strings are found, but not the strings."""
        writer.array(f"{prefix}/hashes", self.hashes)
        writer.array(f"{prefix}/order", self.order)

    @classmethod
    def load(cls, strings: Sequence[str], reader: IndexReader, prefix: str) -> StringTable:
        """Open the table of strings that are stored elsewhere."""
        return cls(strings, reader.array(f"{prefix}/hashes"), reader.array(f"{prefix}/order"))


class Lexicon(TermLookup):
    """The terms of an index, each with its id: what a :class:`~hybridrank.text.tokens.Vocabulary` becomes
    when stored.

    ``terms`` is a lazy sequence of them.
    """

    def __init__(self, tokenizer: Tokenizer, table: StringTable) -> None:
        super().__init__(tokenizer)
        self.terms = table.strings
        self._table = table

    def __len__(self) -> int:
        return len(self.terms)

    def id_of(self, term: str) -> int | None:
        """The id of a term, or ``None``."""
        return self._table.find(term)

    def names(self, numbers: NDArray[np.integer]) -> list[str]:
        """The terms with some ids."""
        return self.terms.take(numbers) if isinstance(self.terms, StringList) else super().names(numbers)

    @staticmethod
    def save(terms: Sequence[str], writer: IndexWriter, prefix: str = "terms") -> None:
        """Store terms, a term's place being its id."""
        writer.strings(f"{prefix}/words", terms)
        StringTable.of(terms).save(writer, prefix)

    @classmethod
    def load(cls, tokenizer: Tokenizer, reader: IndexReader, prefix: str = "terms") -> Lexicon:
        """Open terms that were stored."""
        return cls(tokenizer, StringTable.load(reader.strings(f"{prefix}/words"), reader, prefix))


def _hash(value: str) -> int:
    return zlib.crc32(value.encode("utf-8", "surrogatepass"))
