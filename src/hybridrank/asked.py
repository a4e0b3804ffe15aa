"""What a search works on: postings, and the terms of a query as these have them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Asked", "PostingLists"]


class Asked(NamedTuple):
    """The distinct terms of a query, by id, as one set of postings has them; parallel arrays.

    The postings of a term are those from ``starts`` to ``ends``; ``idf`` is float64, ``weights`` float32,
    and no posting of a term gives more than its ``bounds``.
    """

    terms: NDArray[np.int32]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    idf: NDArray[np.float64]
    weights: NDArray[np.float32]
    bounds: NDArray[np.float64]

    @classmethod
    def joined(cls, several: Sequence[Asked]) -> tuple[Asked, NDArray[np.int64]]:
        """Several queries as one; the terms of query ``i`` are those from ``ptr[i]`` to ``ptr[i + 1]``."""
        ptr = np.cumsum([0, *(len(asked.terms) for asked in several)], dtype=np.int64)
        return cls._make(map(np.concatenate, zip(*several, strict=True))), ptr

    def split(self, ptr: NDArray[np.int64]) -> list[Asked]:
        """The other way round."""
        cuts = ptr.tolist()
        return [Asked._make(column[a:b] for column in self) for a, b in pairwise(cuts)]

    def parts(self) -> list[tuple[int, int, float, np.float32]]:
        """Start, end, inverse document frequency and weight of each term."""
        return list(
            zip(self.starts.tolist(), self.ends.tolist(), self.idf.tolist(), self.weights, strict=True)
        )


class PostingLists(Protocol):
    """The side of :class:`~hybridrank.postings.Postings` that searches see."""

    @property
    def n_documents(self) -> int:
        """How many documents there are."""
        ...

    @property
    def docs(self) -> NDArray[np.int32]:
        """The document of each posting."""
        ...

    @property
    def codes(self) -> NDArray[np.unsignedinteger]:
        """The place in ``gains`` of each posting."""
        ...

    @property
    def gains(self) -> NDArray[np.float64]:
        """The factor that goes with the inverse document frequency."""
        ...

    def rescore(self, asked: Asked, docs: NDArray[np.integer]) -> NDArray[np.float32]:
        """The exact scores of some documents."""
        ...
