"""Eager BM25: what each term gives to each document is worked out when the index is built.

The scores are those of Lucene's exact variant (Kamphuis et al., *Which BM25 do you mean?*, ECIR 2020, table
1)::

    idf(t)       = ln(1 + (N - df(t) + 0.5) / (df(t) + 0.5))
    impact(t, d) = idf(t) * tf(t, d) / (tf(t, d) + k1 * (1 - b + b * length(d) / average length))

and are stored per term, as in BM25S (Lù, *BM25S: Orders of magnitude faster lexical search via eager sparse
scoring*, 2024). A query's score of a document is the sum of the impacts of its terms, a term that is repeated
counting as often.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hybridrank.errors import InputError
from hybridrank.storage import IndexReader, IndexWriter

__all__ = ["Postings", "best", "lucene_idf"]

_Integer = TypeVar("_Integer", bound=np.integer)
_Float = TypeVar("_Float", bound=np.floating)

_AT_ONCE = 1 << 22  # postings whose impacts are worked out in one go, to bound the temporary arrays
_SPARSE = 32  # with fewer postings than documents / _SPARSE, only the documents that match are touched


def lucene_idf(document_frequency: ArrayLike, n_documents: int) -> NDArray[np.float64]:
    """Inverse document frequency, always positive.

    >>> lucene_idf([1, 10], 10).round(4).tolist()
    [1.9924, 0.0465]
    """
    df = np.asarray(document_frequency, dtype=np.float64)
    return np.log1p((n_documents - df + 0.5) / (df + 0.5))


def best(
    positions: NDArray[_Integer], scores: NDArray[_Float], k: int
) -> tuple[NDArray[_Integer], NDArray[_Float]]:
    """The ``k`` highest scores, fewer if there are fewer, by score descending and then position ascending.

    ``positions`` must ascend.

    >>> positions, scores = best(np.arange(4), np.array([1.0, 3.0, 1.0, 2.0]), 3)
    >>> positions.tolist(), scores.tolist()
    ([1, 3, 0], [3.0, 2.0, 1.0])
    """
    if len(scores) > k:
        least = np.partition(scores, len(scores) - k)[len(scores) - k]
        # At the cut all ties are kept, so that the stable sort below lets the first positions win.
        kept = np.flatnonzero(scores >= least)
        positions, scores = positions[kept], scores[kept]
    order = np.argsort(-scores, kind="stable")[:k]
    return positions[order], scores[order]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Postings:
    """For each term the documents that hold it, ascending, and its impact on each.

    The documents of term ``t`` are ``docs[indptr[t]:indptr[t + 1]]`` (int32, places in the corpus), its
    impacts the same slice of ``impacts`` (float32, positive). The arrays may be memory-mapped.

    >>> postings = Postings.build(np.array([0, 1, 1, 2]), np.array([0, 2, 3, 4]), n_terms=3)
    >>> docs, scores = postings.top(np.array([1]), k=10)
    >>> docs.tolist(), scores.round(3).tolist()
    ([1, 0], [0.21..., 0.15...])
    """

    indptr: NDArray[np.int64]
    docs: NDArray[np.int32]
    impacts: NDArray[np.float32]
    n_documents: int
    k1: float = 1.5
    b: float = 0.75

    @classmethod
    def build(
        cls,
        ids: NDArray[np.integer],
        indptr: NDArray[np.integer],
        *,
        n_terms: int,
        k1: float = 1.5,
        b: float = 0.75,
    ) -> Postings:
        """Index documents given as term ids: document ``i`` is ``ids[indptr[i]:indptr[i + 1]]``.

        Ids lie in ``[0, n_terms)``. ``k1 >= 0`` says how soon repeats of a term stop counting, ``0 <= b <=
        1`` how much long documents are held back. A document without terms counts in the average length and
        is never found.

        Raises :class:`~hybridrank.errors.InputError` for parameters outside their range.
        """
        _check_parameters(k1, b)
        # A matrix of one row a document, transposed by counting: linear in the number of tokens, and stable,
        # so that the documents of a term ascend with repeats side by side.
        from scipy.sparse import csr_matrix

        n_documents = len(indptr) - 1
        tokens = csr_matrix(
            (np.ones(len(ids), dtype=np.int8), ids, indptr), shape=(n_documents, n_terms), copy=False
        ).tocsc()
        first = np.ones(len(ids), dtype=bool)
        np.not_equal(tokens.indices[1:], tokens.indices[:-1], out=first[1:])
        starts = tokens.indptr[:-1]
        first[starts[starts < len(ids)]] = True
        kept = np.flatnonzero(first)
        frequencies = np.diff(kept, append=len(ids)).astype(np.int32)
        docs = tokens.indices[kept].astype(np.int32, copy=False)
        ends = np.searchsorted(kept, tokens.indptr).astype(np.int64)
        lengths = np.diff(indptr)
        impacts = _impacts(ends, docs, frequencies, lengths, k1=k1, b=b)
        return cls(indptr=ends, docs=docs, impacts=impacts, n_documents=n_documents, k1=k1, b=b)

    @property
    def n_terms(self) -> int:
        """The number of terms, those without documents included."""
        return len(self.indptr) - 1

    @property
    def document_frequency(self) -> NDArray[np.int64]:
        """In how many documents each term occurs."""
        return np.diff(self.indptr)

    def score(
        self, query: NDArray[np.integer], weights: NDArray[np.floating] | None = None
    ) -> NDArray[np.float32]:
        """The score of every document, 0 where no term matches.

        ``query`` holds term ids, repeats counting; ``weights`` gives each of them a weight of 0 or more. The
        sum runs over terms in the order of their ids, so the order of a query's words never changes a bit of
        the result.
        """
        scores = np.zeros(self.n_documents, dtype=np.float32)
        for term, weight in self._terms(query, weights):
            docs, impacts = self._of(term)
            scores[docs] += impacts if weight == 1 else weight * impacts
        return scores

    def matches(
        self, query: NDArray[np.integer], weights: NDArray[np.floating] | None = None
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """The documents that score above 0, ascending, and their scores as in :meth:`score`, bit for bit."""
        terms = self._terms(query, weights)
        found = sum(len(self._of(term)[0]) for term, _ in terms)
        if found * _SPARSE > self.n_documents:
            scores = self.score(query, weights)
            docs = np.flatnonzero(scores > 0).astype(np.int32)
            return docs, scores[docs]
        lists = [self._of(term) for term, _ in terms]
        every = np.concatenate([np.zeros(0, dtype=np.int32), *(docs for docs, _ in lists)])
        docs, place = np.unique(every, return_inverse=True)
        scores = np.zeros(len(docs), dtype=np.float32)
        at = 0
        for (listed, impacts), (_, weight) in zip(lists, terms, strict=True):
            scores[place[at : at + len(listed)]] += impacts if weight == 1 else weight * impacts
            at += len(listed)
        above = scores > 0
        return docs[above], scores[above]

    def top(
        self, query: NDArray[np.integer], k: int, weights: NDArray[np.floating] | None = None
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """The best ``k`` documents and their scores, by score descending and then document ascending.

        Documents that match no term are not returned, so there may be fewer than ``k``.
        """
        return best(*self.matches(query, weights), k)

    def contributions(
        self,
        query: NDArray[np.integer],
        docs: NDArray[np.integer],
        weights: NDArray[np.floating] | None = None,
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """What each distinct term of a query gives to each of some documents.

        Returns ``(terms, shares)``: the term ids, ascending, and an array of shape ``(len(terms),
        len(docs))`` with 0 where a document lacks the term.
        """
        terms = self._terms(query, weights)
        shares = np.zeros((len(terms), len(docs)), dtype=np.float32)
        for row, (term, weight) in enumerate(terms):
            listed, impacts = self._of(term)
            if len(listed):
                place = np.minimum(np.searchsorted(listed, docs), len(listed) - 1)
                shares[row] = np.where(listed[place] == docs, weight * impacts[place], 0)
        return np.array([term for term, _ in terms], dtype=np.int32), shares

    def save(self, writer: IndexWriter, prefix: str = "postings") -> None:
        """Store the postings as parts of an index."""
        writer.array(f"{prefix}/indptr", self.indptr)
        writer.array(f"{prefix}/docs", self.docs)
        writer.array(f"{prefix}/impacts", self.impacts)
        writer.json(f"{prefix}/parameters", {"n_documents": self.n_documents, "k1": self.k1, "b": self.b})

    @classmethod
    def load(cls, reader: IndexReader, prefix: str = "postings") -> Postings:
        """Open postings that were stored, memory-mapped."""
        parameters = reader.json(f"{prefix}/parameters")
        return cls(
            indptr=reader.array(f"{prefix}/indptr"),
            docs=reader.array(f"{prefix}/docs"),
            impacts=reader.array(f"{prefix}/impacts"),
            **parameters,
        )

    def _of(self, term: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        start, end = self.indptr[term], self.indptr[term + 1]
        return self.docs[start:end], self.impacts[start:end]

    def _terms(
        self, query: NDArray[np.integer], weights: NDArray[np.floating] | None
    ) -> list[tuple[int, np.float32]]:
        """The distinct terms of a query, ascending, with the sum of their weights; repeats weigh 1 each."""
        if len(query) == 0:
            return []
        terms, place = np.unique(query, return_inverse=True)
        if terms[0] < 0 or terms[-1] >= self.n_terms:
            raise InputError(
                f"a query has term ids from {terms[0]} to {terms[-1]}, and there are {self.n_terms} terms",
                remedy="Look the query up in the vocabulary of this index.",
            )
        if weights is not None:
            weights = np.asarray(weights, dtype=np.float64)
            if weights.shape != query.shape or not np.all(np.isfinite(weights)) or np.any(weights < 0):
                raise InputError(
                    "weights of a query are not one finite number of 0 or more for each term id",
                    remedy="Give one such weight for each, or None.",
                )
        sums = np.bincount(place, weights=weights).astype(np.float32)
        return list(zip(terms.tolist(), sums, strict=True))


def _check_parameters(k1: float, b: float) -> None:
    if not (np.isfinite(k1) and k1 >= 0 and 0 <= b <= 1):
        raise InputError(f"BM25 with k1={k1} and b={b}", remedy="Give k1 >= 0 and 0 <= b <= 1.")


def _impacts(
    indptr: NDArray[np.int64],
    docs: NDArray[np.int32],
    frequencies: NDArray[np.int32],
    lengths: NDArray[np.integer],
    *,
    k1: float,
    b: float,
) -> NDArray[np.float32]:
    average = lengths.mean() if lengths.any() else 1.0
    damping = k1 * (1 - b + b * lengths / average)
    df = np.diff(indptr)
    idf = lucene_idf(df, len(lengths))
    impacts = np.empty(len(docs), dtype=np.float32)
    # Cut between terms where _AT_ONCE postings are full, so that idf can be repeated slice by slice.
    cuts = np.searchsorted(indptr, np.arange(0, len(docs), _AT_ONCE))
    for first, last in pairwise([*cuts, len(df)]):
        some = slice(indptr[first], indptr[last])
        tf = frequencies[some].astype(np.float64)
        impacts[some] = np.repeat(idf[first:last], df[first:last]) * (tf / (tf + damping[docs[some]]))
    return impacts
