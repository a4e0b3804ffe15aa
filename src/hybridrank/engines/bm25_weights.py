"""BM25 as a product of sparse vectors, for engines that search by inner product.

A passage's vector holds for each of its terms the gain (:func:`hybridrank.bm25.gain`), a query's the inverse
document frequency times the term's count, so that their product is the score. The engine needs no analyzer
and no statistics of its own: words are cut here, the way the embedded index cuts them, and the statistics
are those of the whole corpus however the engine spreads it. The price is that the average length must be
known when passages are added; it is taken once and kept.

A term's dimension is a hash of 32 bits. Of a million terms some hundred pairs share one, which can bring a
wrong candidate but no wrong score: scores of what was found are computed anew from its text.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from hashlib import blake2b

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hybridrank.bm25 import gain, lucene_idf

__all__ = ["SILENT", "digest", "dimension", "passage_vector", "query_vector", "shares"]

SILENT = 0  # the dimension of passages without terms, which no query asks for
_DIMENSIONS = (1 << 32) - 2  # Milvus has dimensions up to 2**32 - 2


@lru_cache(maxsize=1 << 18)
def digest(term: str) -> int:
    """A number for a term that no other term can be expected to have: from 1 to 2**63 - 1.

    >>> digest("sale"), digest("sale") == digest("sales")
    (4962563577085025037, False)
    """
    return 1 + int.from_bytes(blake2b(term.encode(errors="surrogatepass"), digest_size=8).digest(), "big") % (
        (1 << 63) - 1
    )


def dimension(term: str) -> int:
    """The dimension of a term, from 1 to 2**32 - 2."""
    return 1 + digest(term) % _DIMENSIONS


def passage_vector(counts: Mapping[str, int], average: float, *, k1: float, b: float) -> dict[int, float]:
    """The vector of a passage, given how often it holds each term.

    >>> sorted(passage_vector({"net": 1, "sale": 3}, 4.0, k1=1.5, b=0.75).values())
    [0.4, 0.666...]
    """
    if not counts:
        return {SILENT: 1.0}
    frequencies = np.fromiter(counts.values(), dtype=np.int64, count=len(counts))
    gains = gain(frequencies, np.full(len(counts), frequencies.sum()), average, k1=k1, b=b)
    vector: dict[int, float] = {}
    for term, of in zip(counts, gains.tolist(), strict=True):
        at = dimension(term)
        vector[at] = max(of, vector.get(at, 0.0))
    return vector


def query_vector(
    counts: Mapping[str, int], document_frequency: NDArray[np.int64], n_documents: int
) -> dict[int, float]:
    """The vector of a query, given how often it holds each term; terms that no passage holds are left out.

    >>> vector = query_vector({"net": 1, "unheard": 1}, np.array([2, 0]), 4)
    >>> vector == {dimension("net"): lucene_idf(2, 4)}
    True
    """
    idf = lucene_idf(document_frequency, n_documents)
    vector: dict[int, float] = {}
    for (term, count), df, of in zip(counts.items(), document_frequency.tolist(), idf.tolist(), strict=True):
        if df > 0:
            at = dimension(term)
            vector[at] = vector.get(at, 0.0) + count * of
    return vector


def shares(
    weights: ArrayLike,
    idf: NDArray[np.float64],
    frequencies: NDArray[np.integer],
    lengths: NDArray[np.integer],
    average: float,
    *,
    k1: float,
    b: float,
) -> NDArray[np.float32]:
    """What each term of a query gives to each passage, as the embedded index counts it.

    ``weights`` says how often the query holds each term and ``idf`` goes with these; ``frequencies``, of
    shape ``(len(idf), len(lengths))``, says how often each passage does, and ``lengths`` how many terms it
    has. Returns float32 of the same shape.
    """
    with np.errstate(invalid="ignore"):  # 0 / 0 where k1 is 0
        gains = gain(frequencies, np.broadcast_to(lengths, frequencies.shape), average, k1=k1, b=b)
    impacts = (idf[:, None] * np.where(frequencies > 0, gains, 0.0)).astype(np.float32)
    given: NDArray[np.float32] = np.asarray(weights, dtype=np.float32)[:, None] * impacts
    return given
