"""What a search works on: postings, and the terms of a query as these have them."""

from __future__ import annotations

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
