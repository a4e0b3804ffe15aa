"""A vocabulary that lies on the disk: opening it costs the same whatever its size."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hybridrank.storage import IndexReader, IndexWriter
from hybridrank.text.tokens import TermLookup, Tokenizer

__all__ = ["Lexicon"]


class Lexicon(TermLookup):
    """The terms of an index, each with its id: what a :class:`~hybridrank.text.tokens.Vocabulary` becomes
    when stored.

    ``terms`` is a lazy sequence of them. A term is found by its CRC-32 in a sorted array, then compared.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        terms: Sequence[str],
        hashes: NDArray[np.uint32],
        order: NDArray[np.int32],
    ) -> None:
        super().__init__(tokenizer)
        self.terms = terms
        self._hashes = hashes
        self._order = order

    def __len__(self) -> int:
        return len(self.terms)

    def id_of(self, term: str) -> int | None:
        """The id of a term, or ``None``."""
        wanted = _hash(term)
        first, last = (
            int(np.searchsorted(self._hashes, np.uint32(wanted), side)) for side in ("left", "right")
        )
        for at in range(first, last):
            number = int(self._order[at])
            if self.terms[number] == term:
                return number
        return None

    @staticmethod
    def save(terms: Sequence[str], writer: IndexWriter, prefix: str = "terms") -> None:
        """Store terms, a term's place being its id."""
        hashes = np.fromiter(map(_hash, terms), dtype=np.uint32, count=len(terms))
        order = np.argsort(hashes, kind="stable").astype(np.int32)
        writer.strings(f"{prefix}/words", terms)
        writer.array(f"{prefix}/hashes", hashes[order])
        writer.array(f"{prefix}/order", order)

    @classmethod
    def load(cls, tokenizer: Tokenizer, reader: IndexReader, prefix: str = "terms") -> Lexicon:
        """Open terms that were stored."""
        return cls(
            tokenizer,
            reader.strings(f"{prefix}/words"),
            reader.array(f"{prefix}/hashes"),
            reader.array(f"{prefix}/order"),
        )


def _hash(term: str) -> int:
    return zlib.crc32(term.encode("utf-8", "surrogatepass"))
