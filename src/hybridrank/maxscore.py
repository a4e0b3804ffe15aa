"""The best few documents of a query, in numpy and scipy, without an exact score of most of them.

The terms that can give most are added up for all documents in one go. Documents that the terms left over
cannot bring to the k-th score any more are passed over (MaxScore: Turtle and Flood, *Query evaluation:
strategies and optimizations*, 1995), what is left over is looked up for the others, and the few that still
reach it get their exact score. Sums made on the way are compared with some leeway.
"""

from __future__ import annotations

import threading

import numpy as np
from numpy.typing import NDArray

from hybridrank.asked import Asked, PostingLists
from hybridrank.bm25 import best

__all__ = ["leeway", "top"]

_SPARSE = 32  # with fewer postings than documents / _SPARSE, only the documents that match are touched
_PROBE = 16  # looking up one document costs about as much as adding up so many postings
_FIRST = 0.4  # of what a document can get: terms are added until no more than this is left, for a first look
_LOOKED_AT = 4  # at one in so many documents
_LEFT_OVER = 0.45  # and then until the others can give no more than this share of the k-th score so far
_GROUP = 64  # documents of which the greatest sum is taken
_FEW = 16  # when more than a group in so many may hold a candidate, all documents are looked at
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


class _Scratch(threading.local):
    """Sums of one thread, which are used again: new memory of this size is slow to come by."""

    sums: NDArray[np.float32] | None = None

    def zeros(self, size: int) -> NDArray[np.float32]:
        """An array of zeros, valid until the next search."""
        if self.sums is None or len(self.sums) != size:
            self.sums = np.zeros(size, dtype=np.float32)
        else:
            self.sums.fill(0)
        return self.sums


_scratch = _Scratch()


class _Sums:
    """What the documents of a corpus have gathered so far, term by term, most giving terms first."""

    def __init__(self, postings: PostingLists, asked: Asked) -> None:
        order = np.argsort(-asked.bounds, kind="stable")
        self.slack = leeway(len(order))
        self.left = np.append(np.cumsum(asked.bounds[order][::-1])[::-1], 0.0).tolist()  # by terms to come
        self.sizes = (asked.ends - asked.starts)[order].tolist()
        starts, ends = asked.starts[order].tolist(), asked.ends[order].tolist()
        self._parts = [slice(*part) for part in zip(starts, ends, strict=True)]
        self._factors = (asked.idf * asked.weights)[order].astype(np.float32)
        self._postings = postings
        self._gains = postings.gains.astype(np.float32)
        self._sums = _scratch.zeros(postings.n_documents)

    def until(self, left: float) -> int:
        """The first term with which no more than this is left to add."""
        return next(place for place, bound in enumerate(self.left) if bound <= left)

    def add(self, first: int, last: int) -> None:
        """Add what some terms give to all documents that hold them."""
        for term in range(first, last):
            codes = self._postings.codes[self._parts[term]].astype(np.intp)
            gains = self._gains.take(codes, mode="wrap")
            _add(self._sums, self._postings.docs[self._parts[term]], gains, self._factors[term : term + 1])

    def probe(self, term: int, candidates: NDArray[np.intp]) -> None:
        """Add what a term gives to some documents alone."""
        docs = self._postings.docs[self._parts[term]]
        place = np.searchsorted(docs, candidates.astype(np.int32))
        place[place == len(docs)] = 0
        found = np.flatnonzero(docs.take(place) == candidates)
        codes = self._postings.codes[self._parts[term]].take(place[found])
        self._sums[candidates[found]] += self._factors[term] * self._gains.take(codes)

    def greatest(self, share: int = 1) -> NDArray[np.float32]:
        """The greatest sum in each group of documents: those that are as far apart as there are groups, among
        the first of so many shares of the documents."""
        size = len(self._sums) // share // _GROUP
        greatest: NDArray[np.float32] = self._sums[: _GROUP * size].reshape(_GROUP, size).max(axis=0)
        return greatest

    def at_least(self, least: float, greatest: NDArray[np.float32]) -> NDArray[np.intp]:
        """The documents with such a sum, if not 0, ascending; ``greatest`` are those in each group."""
        bound = np.float32(max(least, _TINY))
        groups = np.flatnonzero(greatest >= bound)
        size = len(greatest)
        if len(groups) * _FEW > size:
            return np.flatnonzero(self._sums >= bound)
        row, column = np.nonzero(self._sums[: _GROUP * size].reshape(_GROUP, size)[:, groups] >= bound)
        rest = np.flatnonzero(self._sums[_GROUP * size :] >= bound)
        return np.concatenate([row * size + groups[column], rest + _GROUP * size])

    def of(self, candidates: NDArray[np.intp]) -> NDArray[np.float32]:
        """The sums of some documents."""
        return self._sums.take(candidates)


def _add(
    sums: NDArray[np.float32],
    docs: NDArray[np.int32],
    gains: NDArray[np.float32],
    factor: NDArray[np.float32],
) -> None:
    """Add to the sums of some distinct documents."""
    try:  # in the fastest way that scipy has, a matrix of one column, which it gives no public name
        from scipy.sparse._sparsetools import csc_matvec
    except ImportError:
        sums[docs] += factor * gains
    else:
        csc_matvec(len(sums), 1, np.array([0, len(docs)], dtype=np.int32), docs, gains, factor, sums)


def _promising(sums: _Sums, k: int, allowed: NDArray[np.bool_] | None) -> NDArray[np.int32]:
    """The documents that may be among the best, ascending."""
    n_terms = len(sums.sizes)
    done = max(1, sums.until(_FIRST * sums.left[0]))
    sums.add(0, done)
    threshold = kth(sums.greatest(_LOOKED_AT), k) / sums.slack if allowed is None else 0.0
    # Until what is left cannot bring a document there, and only few documents are near.
    enough = sums.until(_LEFT_OVER * threshold) if threshold > 0 else n_terms
    if enough > done:
        sums.add(done, enough)
        done = enough
    greatest = sums.greatest()
    threshold = kth(greatest, k) / sums.slack if allowed is None else 0.0
    candidates = sums.at_least(threshold - sums.left[done], greatest)
    if allowed is not None:
        candidates = candidates[allowed[candidates]]
    for term in range(done, n_terms):
        if sums.sizes[term] > _PROBE * len(candidates):
            sums.probe(term, candidates)
        else:
            sums.add(term, term + 1)
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
