"""Postings of BM25: for each term the documents that hold it, and what it gives to each.

A posting is a document and a code for a pair: how often the term occurs there, and the document's length.
What BM25 makes of a pair (see :mod:`hybridrank.bm25`) is worked out once for each pair that occurs, when the
postings are made or opened; so postings stay as they are when the corpus around them changes. Scores are
those of BM25S (Lù, *BM25S: Orders of magnitude faster lexical search via eager sparse scoring*, 2024) with
Lucene's formula.

A score is a sum of float32 impacts, in the order of term ids. Searches for the best few leave out what cannot
be among them (MaxScore: Turtle and Flood, *Query evaluation: strategies and optimizations*, 1995), and add up
exactly this sum for what is left, so that no way of searching changes a bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybridrank import accelerators, maxscore
from hybridrank.asked import Asked
from hybridrank.bm25 import best, check_parameters, gain, lucene_idf
from hybridrank.errors import InputError
from hybridrank.inversion import Inverted, code_pairs, invert
from hybridrank.storage import IndexReader, IndexWriter

__all__ = ["Postings", "best", "lucene_idf"]

_SPARSE = 32  # with fewer postings than documents / _SPARSE, only the documents that match are touched
_AT_ONCE = 1 << 22  # postings looked at in one go
_ARRAYS = ("indptr", "docs", "codes", "frequencies", "lengths", "peaks")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Postings:
    """For each term the documents that hold it, ascending, and its impact on each.

    The documents of term ``t`` are ``docs[indptr[t]:indptr[t + 1]]`` (int32, places in the corpus), and the
    same slice of ``codes`` (uint16 or uint32) says which pair of ``frequencies`` and ``lengths`` (int32) each
    posting has. ``gains`` (float64) is what BM25 makes of each pair, and ``peaks`` (float32) the greatest
    gain of each term when the postings were built, ``slack`` times which is a bound whatever the average
    length is now. The arrays may be memory-mapped.

    >>> postings = Postings.build(np.array([0, 1, 1, 2]), np.array([0, 2, 3, 4]), n_terms=3)
    >>> docs, scores = postings.top(np.array([1]), k=10)
    >>> docs.tolist(), scores.round(3).tolist()
    ([1, 0], [0.21..., 0.15...])
    """

    indptr: NDArray[np.int64]
    docs: NDArray[np.int32]
    codes: NDArray[np.unsignedinteger]
    frequencies: NDArray[np.int32]
    lengths: NDArray[np.int32]
    peaks: NDArray[np.float32]
    gains: NDArray[np.float64]
    n_documents: int
    n_tokens: int
    slack: float = 1.0
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
        check_parameters(k1, b)
        return cls.of_inverted(invert(ids, indptr, n_terms), np.diff(indptr), k1=k1, b=b)

    @classmethod
    def of_inverted(
        cls, inverted: Inverted, lengths: NDArray[np.integer], *, k1: float, b: float
    ) -> Postings:
        """The same of documents that are sorted by term already; ``lengths`` are their numbers of terms."""
        coded = code_pairs(inverted, lengths)
        n_documents, n_tokens = len(lengths), int(lengths.sum())
        gains = gain(coded.frequencies, coded.lengths, _average(n_tokens, n_documents), k1=k1, b=b)
        return cls(
            indptr=inverted.indptr,
            docs=inverted.docs,
            codes=coded.codes,
            frequencies=coded.frequencies,
            lengths=coded.lengths,
            peaks=_peaks(inverted.indptr, coded.codes, gains),
            gains=gains,
            n_documents=n_documents,
            n_tokens=n_tokens,
            k1=k1,
            b=b,
        )

    @property
    def n_terms(self) -> int:
        """The number of terms, those without documents included."""
        return len(self.indptr) - 1

    @property
    def document_frequency(self) -> NDArray[np.int64]:
        """In how many documents each term occurs."""
        return np.diff(self.indptr)

    @property
    def impacts(self) -> NDArray[np.float32]:
        """The impact of every posting, float32 and positive; worked out anew each time."""
        idf = lucene_idf(self.document_frequency, self.n_documents)
        every: NDArray[np.float64] = np.repeat(idf, self.document_frequency) * self.gains[self.codes]
        return every.astype(np.float32)

    def of(self, term: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """The documents that hold a term, ascending, and its impact on each."""
        start, end = int(self.indptr[term]), int(self.indptr[term + 1])
        return self._part(start, end, float(lucene_idf(end - start, self.n_documents)))

    def score(
        self, query: NDArray[np.integer], weights: NDArray[np.floating] | None = None
    ) -> NDArray[np.float32]:
        """The score of every document, 0 where no term matches.

        ``query`` holds term ids, repeats counting; ``weights`` gives each of them a weight of 0 or more. The
        sum runs over terms in the order of their ids, so the order of a query's words never changes a bit of
        the result.
        """
        scores = np.zeros(self.n_documents, dtype=np.float32)
        for start, end, idf, weight in self.ask(query, weights).parts():
            docs, impacts = self._part(start, end, idf)
            scores[docs] += impacts if weight == 1 else weight * impacts
        return scores

    def matches(
        self, query: NDArray[np.integer], weights: NDArray[np.floating] | None = None
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """The documents that score above 0, ascending, and their scores as in :meth:`score`, bit for bit."""
        asked = self.ask(query, weights)
        if int((asked.ends - asked.starts).sum()) * _SPARSE > self.n_documents:
            scores = self.score(query, weights)
            docs = np.flatnonzero(scores > 0).astype(np.int32)
            return docs, scores[docs]
        every = [self.docs[start:end] for start, end, _, _ in asked.parts()]
        docs = np.unique(np.concatenate([np.zeros(0, dtype=np.int32), *every]))
        scores = self.rescore(asked, docs)
        return docs[scores > 0], scores[scores > 0]

    def top(
        self, query: NDArray[np.integer], k: int, weights: NDArray[np.floating] | None = None
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """The best ``k`` documents and their scores, by score descending and then document ascending.

        Documents that match no term are not returned, so there may be fewer than ``k``.
        """
        return self.top_of(self.ask(query, weights), k)

    def top_many(
        self, queries: Sequence[NDArray[np.integer]], k: int
    ) -> list[tuple[NDArray[np.int32], NDArray[np.float32]]]:
        """The same as :meth:`top` of each query, in order, in less time."""
        return self.top_of_many(self.ask_each(queries), k)

    def top_of_many(
        self, asks: Sequence[Asked], k: int
    ) -> list[tuple[NDArray[np.int32], NDArray[np.float32]]]:
        """The same of queries that were looked up."""
        kernels = accelerators.kernels(self.codes.dtype.str)
        if kernels is None or not asks:
            return [self.top_of(asked, k) for asked in asks]
        found: list[tuple[NDArray[np.int32], NDArray[np.float32]]] = kernels.top_many(
            self, *Asked.joined(asks), k
        )
        return found

    def top_of(
        self, asked: Asked, k: int, allowed: NDArray[np.bool_] | None = None
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """The same of a query that :meth:`ask` has looked up, among the documents that are ``allowed``."""
        codes = self.codes.dtype.str
        kernels = accelerators.kernels(codes)
        search = maxscore.top if kernels is None else kernels.top
        if kernels is None:
            accelerators.searched(int((asked.ends - asked.starts).sum()), codes)
        found: tuple[NDArray[np.int32], NDArray[np.float32]] = search(self, asked, k, allowed)
        return found

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
        asked = self.ask(query, weights)
        return asked.terms, self.shares(asked, docs)

    def shares(self, asked: Asked, docs: NDArray[np.integer]) -> NDArray[np.float32]:
        """What each term of a query that was looked up gives to each of some documents."""
        held = asked.ends > asked.starts
        shares = np.zeros((len(asked.terms), len(docs)), dtype=np.float32)
        if len(docs) == 0 or not held.any():
            return shares
        lists = [self.docs[start:end] for start, end, _, _ in asked.parts()]
        wanted = np.asarray(docs, dtype=self.docs.dtype)
        at = asked.starts[:, None] + np.stack([listed.searchsorted(wanted) for listed in lists])
        at = np.minimum(at, np.maximum(asked.ends - 1, 0)[:, None])
        impacts = (asked.idf[:, None] * self.gains[self.codes[at]]).astype(np.float32)
        found = (self.docs[at] == wanted) & held[:, None]
        np.multiply(asked.weights[:, None], impacts, out=shares, where=found)
        return shares

    def rescore(self, asked: Asked, docs: NDArray[np.integer]) -> NDArray[np.float32]:
        """The scores of some documents, as in :meth:`score`, bit for bit."""
        scores = np.zeros(len(docs), dtype=np.float32)
        for share in self.shares(asked, docs):  # term by term: numpy's own sum may pair them up
            scores += share
        return scores

    def ask(self, query: NDArray[np.integer], weights: NDArray[np.floating] | None = None) -> Asked:
        """Look up the distinct terms of a query, with the sum of their weights; repeats weigh 1 each."""
        terms, sums = _distinct(query, weights, self.n_terms)
        starts, ends = self.indptr[terms], self.indptr[terms + 1]
        return self.ask_with(terms, sums, lucene_idf(ends - starts, self.n_documents))

    def ask_each(self, queries: Sequence[NDArray[np.integer]]) -> list[Asked]:
        """Look up many queries in less time than one by one."""
        if len(queries) == 1:
            return [self.ask(queries[0])]
        asked, ptr = self.ask_many(queries)
        return asked.split(ptr)

    def ask_many(self, queries: Sequence[NDArray[np.integer]]) -> tuple[Asked, NDArray[np.int64]]:
        """Look up many queries at once; those of query ``i`` are from ``ptr[i]`` to ``ptr[i + 1]``."""
        sizes = np.array(list(map(len, queries)), dtype=np.int64)
        every = np.concatenate([np.zeros(0, dtype=np.int32), *queries]).astype(np.int64)
        owner = np.repeat(np.arange(len(queries)), sizes)
        keys, counts = np.unique(owner * self.n_terms + every, return_counts=True)
        owners, terms = np.divmod(keys, max(self.n_terms, 1))
        idf = lucene_idf(self.indptr[terms + 1] - self.indptr[terms], self.n_documents)
        asked = self.ask_with(terms, counts.astype(np.float32), idf)
        return asked, np.searchsorted(owners, np.arange(len(queries) + 1))

    def ask_with(
        self, terms: NDArray[np.integer], weights: NDArray[np.float32], idf: NDArray[np.float64]
    ) -> Asked:
        """Look up distinct terms, ascending, whose inverse document frequencies come from elsewhere."""
        peaks = self.peaks[terms] * self.slack
        return Asked(
            terms=terms.astype(np.int32, copy=False),
            starts=self.indptr[terms],
            ends=self.indptr[terms + 1],
            idf=idf,
            weights=weights,
            bounds=(1 + 1e-6) * idf * peaks * weights,
        )

    def within(self, n_documents: int, n_tokens: int) -> Postings:
        """The same postings as a part of a larger corpus, with its average length in place of their own."""
        gains = gain(self.frequencies, self.lengths, _average(n_tokens, n_documents), k1=self.k1, b=self.b)
        own = gain(
            self.frequencies, self.lengths, _average(self.n_tokens, self.n_documents), k1=self.k1, b=self.b
        )
        return replace(self, gains=gains, slack=float((gains / own).max(initial=1.0)))

    def save(self, writer: IndexWriter, prefix: str = "postings") -> None:
        """Store the postings as parts of an index."""
        for name in _ARRAYS:
            writer.array(f"{prefix}/{name}", getattr(self, name))
        sizes = {"n_documents": self.n_documents, "n_tokens": self.n_tokens}
        writer.json(f"{prefix}/parameters", {**sizes, "k1": self.k1, "b": self.b})

    @classmethod
    def load(cls, reader: IndexReader, prefix: str = "postings") -> Postings:
        """Open postings that were stored, memory-mapped."""
        parameters = reader.json(f"{prefix}/parameters")
        arrays: dict[str, Any] = {name: reader.array(f"{prefix}/{name}") for name in _ARRAYS}
        average = _average(parameters["n_tokens"], parameters["n_documents"])
        gains = gain(
            arrays["frequencies"], arrays["lengths"], average, k1=parameters["k1"], b=parameters["b"]
        )
        return cls(**arrays, **parameters, gains=gains)

    def _part(self, start: int, end: int, idf: float) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        impacts = idf * self.gains[self.codes[start:end]]
        return self.docs[start:end], impacts.astype(np.float32)


def _distinct(
    query: NDArray[np.integer], weights: NDArray[np.floating] | None, n_terms: int
) -> tuple[NDArray[np.integer], NDArray[np.float32]]:
    if len(query) == 0:
        return np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.float32)
    terms, place = np.unique(query, return_inverse=True)
    if terms[0] < 0 or terms[-1] >= n_terms:
        raise InputError(
            f"a query has term ids from {terms[0]} to {terms[-1]}, and there are {n_terms} terms",
            remedy="Look the query up in the vocabulary of this index.",
        )
    if weights is not None:
        weights = np.asarray(weights, dtype=np.float64)
        if weights.shape != query.shape or not np.all(np.isfinite(weights)) or np.any(weights < 0):
            raise InputError(
                "weights of a query are not one finite number of 0 or more for each term id",
                remedy="Give one such weight for each, or None.",
            )
    return terms, np.bincount(place, weights=weights).astype(np.float32)


def _average(n_tokens: int, n_documents: int) -> float:
    return n_tokens / n_documents if n_tokens else 1.0


def _peaks(
    indptr: NDArray[np.int64], codes: NDArray[np.unsignedinteger], gains: NDArray[np.float64]
) -> NDArray[np.float32]:
    """The greatest gain of each term, rounded up."""
    peaks = np.zeros(len(indptr) - 1, dtype=np.float32)
    rounded = np.nextafter(gains.astype(np.float32), np.float32(np.inf))
    held = np.flatnonzero(np.diff(indptr))
    cuts = np.searchsorted(indptr[held], np.arange(0, len(codes), _AT_ONCE))
    for first, last in pairwise([*cuts.tolist(), len(held)]):
        some = held[first:last]
        if len(some):
            begin, end = indptr[some[0]], indptr[some[-1] + 1]
            peaks[some] = np.maximum.reduceat(rounded[codes[begin:end]], indptr[some] - begin)
    return peaks
