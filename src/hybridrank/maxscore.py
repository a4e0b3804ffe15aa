"""The best few documents of a query, in numpy and scipy, without an exact score of most of them.

The terms that can give most are added up for all documents in one go. Documents that the terms left over
cannot bring to the k-th score any more are passed over (MaxScore: Turtle and Flood, *Query evaluation:
strategies and optimizations*, 1995), what is left over is looked up for the others, and the few that still
reach it get their exact score. Sums made on the way are compared with some leeway.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hybridrank.asked import Asked, PostingLists
from hybridrank.bm25 import best

__all__ = ["leeway", "top"]

_SPARSE = 32  # with fewer postings than documents / _SPARSE, only the documents that match are touched
_PROBE = 16  # looking up one document costs about as much as adding up so many postings
_LEFT_OVER = 0.1  # terms that could together give no more than this share are looked up for candidates only
_GROUP = 64  # documents of which the greatest sum is taken
_TINY = 1e-45  # becomes the least float32 above 0
_ROUNDING = 2.0**-23


def leeway(n_terms: int) -> float:
    """By what factor a float32 sum may fall short of the same sum in another order, generously.

    >>> 1 < leeway(10) < 1.00001
    True
    """
    return 1 + 2 * _ROUNDING * (n_terms + 8)


def top(
    postings: PostingLists, asked: Asked, k: int, allowed: NDArray[np.bool_] | None = None
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """The best ``k`` documents, by score descending and then document ascending."""
    if int((asked.ends - asked.starts).sum()) * _SPARSE <= postings.n_documents:
        candidates = _holding_any(postings, asked)
    else:
        candidates = _promising(_Sums(postings, asked), k, allowed)
    if allowed is not None:
        candidates = candidates[allowed[candidates]]
    scores = postings.rescore(asked, candidates)
    above = scores > 0
    return best(candidates[above], scores[above], k)


def _holding_any(postings: PostingLists, asked: Asked) -> NDArray[np.int32]:
    lists = [postings.docs[start:end] for start, end, _, _ in asked.parts()]
    return np.unique(np.concatenate([np.zeros(0, dtype=np.int32), *lists]))


class _Sums:
    """What the documents of a corpus have gathered so far, term by term, most giving terms first."""

    def __init__(self, postings: PostingLists, asked: Asked) -> None:
        order = np.argsort(-asked.bounds, kind="stable")
        self.slack = leeway(len(order))
        self.left = np.append(np.cumsum(asked.bounds[order][::-1])[::-1], 0.0).tolist()  # by terms to come
        self.sizes = (asked.ends - asked.starts)[order].tolist()
        self._parts = [slice(*part) for part in zip(asked.starts[order], asked.ends[order], strict=True)]
        self._factors = (asked.idf * asked.weights)[order].astype(np.float32)
        self._postings = postings
        self._gains = postings.gains.astype(np.float32)
        self._sums: NDArray[np.float32] | None = None

    def __len__(self) -> int:
        return self._postings.n_documents

    def until(self, left: float) -> int:
        """The first term with which no more than this is left to add."""
        return next(place for place, bound in enumerate(self.left) if bound <= left)

    def add(self, terms: slice) -> None:
        """Add what some terms give to all documents that hold them."""
        from scipy.sparse import csr_matrix

        parts = self._parts[terms]
        docs = np.concatenate([self._postings.docs[part] for part in parts])
        codes = np.concatenate([self._postings.codes[part] for part in parts]).astype(np.intp)
        # A matrix of one row a term, times a vector: the fastest sum that numpy and scipy have.
        rows = csr_matrix(
            (self._gains.take(codes, mode="wrap"), docs, np.cumsum([0, *self.sizes[terms]], dtype=np.int32)),
            shape=(len(parts), len(self)),
            copy=False,
        )
        sums: NDArray[np.float32] = rows.T @ self._factors[terms]
        self._sums = sums if self._sums is None else np.add(self._sums, sums, out=sums)

    def probe(self, term: int, candidates: NDArray[np.intp]) -> None:
        """Add what a term gives to some documents alone."""
        docs = self._postings.docs[self._parts[term]]
        place = np.searchsorted(docs, candidates.astype(np.int32))
        place[place == len(docs)] = 0
        found = np.flatnonzero(docs.take(place) == candidates)
        codes = self._postings.codes[self._parts[term]].take(place[found])
        self._all()[candidates[found]] += self._factors[term] * self._gains.take(codes)

    def at_least(self, least: float) -> NDArray[np.intp]:
        """The documents with such a sum, if not 0."""
        return np.flatnonzero(self._all() >= np.float32(max(least, _TINY)))

    def of(self, candidates: NDArray[np.intp]) -> NDArray[np.float32]:
        """The sums of some documents."""
        return self._all().take(candidates)

    def reached(self, k: int) -> float:
        """A sum that ``k`` documents have reached: the k-th of the greatest in groups of documents."""
        sums = self._all()
        whole = len(sums) // _GROUP * _GROUP
        return kth(sums[:whole].reshape(_GROUP, -1).max(axis=0), k) / self.slack

    def _all(self) -> NDArray[np.float32]:
        if self._sums is None:
            self._sums = np.zeros(self._postings.n_documents, dtype=np.float32)
        return self._sums


def _promising(sums: _Sums, k: int, allowed: NDArray[np.bool_] | None) -> NDArray[np.int32]:
    """The documents that may be among the best, ascending."""
    n_terms = len(sums.sizes)
    done = max(1, sums.until(_LEFT_OVER * sums.left[0]))
    sums.add(slice(0, done))
    threshold = sums.reached(k) if allowed is None else 0.0
    if done < n_terms and sums.left[done] >= threshold:  # then these alone may bring a document there
        sums.add(slice(done, n_terms))
        done = n_terms
    candidates = sums.at_least(threshold - sums.left[done])
    if allowed is not None:
        candidates = candidates[allowed[candidates]]
    for term in range(done, n_terms):
        if sums.sizes[term] > _PROBE * len(candidates):
            sums.probe(term, candidates)
        else:
            sums.add(slice(term, term + 1))
        values = sums.of(candidates)
        threshold = max(threshold, kth(values, k) / sums.slack)
        candidates = candidates[values >= threshold - sums.left[term + 1]]
    values = sums.of(candidates)
    return candidates[values >= kth(values, k) / sums.slack].astype(np.int32)


def kth(values: NDArray[np.float32], k: int) -> float:
    """The k-th highest value, 0 when there are fewer.

    >>> kth(np.array([3, 1, 2], dtype=np.float32), 2)
    2.0
    """
    return float(np.partition(values, len(values) - k)[len(values) - k]) if len(values) >= k else 0.0
