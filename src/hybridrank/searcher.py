"""Searches over the segments of a lexical index as if they were one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hybridrank.asked import Asked
from hybridrank.bm25 import best, lucene_idf
from hybridrank.errors import InputError
from hybridrank.postings import Postings
from hybridrank.records import Passage
from hybridrank.residency import Residency
from hybridrank.segments import Living, Segment

__all__ = ["Found", "Searcher", "Where", "largest_first"]

_AT_ONCE = 64  # queries searched in one go
_DEEPER = 4  # so many times more hits are looked at when a condition leaves too few

Found = tuple[NDArray[np.int64], NDArray[np.float32]]  # positions in the corpus, and scores
Where = Callable[[Passage], bool] | NDArray[np.bool_]


class _Part(NamedTuple):
    """A segment with its postings under the statistics of the whole corpus, and where it starts in it."""

    segment: Segment
    postings: Postings
    start: int

    def positions(self, places: NDArray[np.integer]) -> NDArray[np.int64]:
        """Where passages of the segment are in the corpus."""
        if self.segment.dead is not None:
            places = np.searchsorted(self.segment.places, places)
        return places.astype(np.int64) + self.start

    def places(self, positions: NDArray[np.int64]) -> NDArray[np.intp]:
        """The other way round."""
        within = positions - self.start
        return within if self.segment.dead is None else self.segment.places[within]

    def allowed(self, mask: NDArray[np.bool_] | None) -> NDArray[np.bool_] | None:
        """Which passages of the segment may be found, ``None`` when all may."""
        if mask is None:
            return None if self.segment.dead is None else self.segment.alive
        allowed = np.zeros(len(self.segment.passages), dtype=bool)
        allowed[self.segment.places] = mask[self.start : self.start + len(self.segment)]
        return allowed


class Searcher:
    """Finds the best passages in segments that share their statistics.

    Scores, and ties, are those of one index of all passages that are not deleted.
    """

    def __init__(self, segments: Sequence[Segment]) -> None:
        self.segments = tuple(segments)
        # What is one segment without deleted passages is searched as it is.
        self.whole = segments[0] if len(segments) == 1 and segments[0].dead is None else None
        self.passages = Living(segments) if self.whole is None else self.whole.passages
        sources = {id(segment.source): segment.source for segment in segments if segment.source is not None}
        self._residency = Residency([array for source in sources.values() for array in source.mapped()])
        n_tokens = sum(segment.n_tokens for segment in segments)
        self._parts: list[_Part] = []
        start = 0
        for segment in segments:
            postings = segment.postings
            if self.whole is None:
                postings = postings.within(len(self.passages), n_tokens)
            self._parts.append(_Part(segment, postings, start))
            start += len(segment)

    def done(self, searches: int = 1) -> None:
        """Say that searches are over, so that what they read may leave the memory."""
        self._residency.searched(searches)

    def ask(self, query: str) -> list[Asked]:
        """Look up the terms of a query in each segment."""
        if self.whole is not None:
            return [self.whole.postings.ask(self.whole.vocabulary.lookup(query))]
        counts = Counter(self.segments[0].vocabulary.tokenizer.terms(query))
        terms = sorted(counts)
        weights = np.array([counts[term] for term in terms], dtype=np.float32)
        numbers = [
            np.array(
                [-1 if (at := segment.vocabulary.id_of(term)) is None else at for term in terms], dtype=int
            )
            for segment in self.segments
        ]
        df = np.zeros(len(terms), dtype=np.int64)
        for segment, of in zip(self.segments, numbers, strict=True):
            df[of >= 0] += segment.document_frequency(of[of >= 0])
        idf = lucene_idf(df, len(self.passages))
        return [
            part.postings.ask_with(of[of >= 0], weights[of >= 0], idf[of >= 0])
            for part, of in zip(self._parts, numbers, strict=True)
        ]

    def best(self, asks: Sequence[Asked], k: int, where: Where | None = None) -> Found:
        """The best ``k`` passages, by score descending and then by place in the corpus."""
        if where is None or isinstance(where, np.ndarray):
            return self._best(asks, k, None if where is None else self._checked(where))
        depth = k
        while True:
            positions, scores = self._best(asks, depth, None)
            passed = [at for at, place in enumerate(positions.tolist()) if where(self.passages[place])]
            if len(passed) >= k or len(positions) < depth:
                return positions[passed[:k]], scores[passed[:k]]
            depth *= _DEEPER

    def best_of_many(self, queries: Sequence[str], k: int) -> Iterator[tuple[list[Asked], Found]]:
        """The best ``k`` passages of each query, with its terms."""
        for first in range(0, len(queries), _AT_ONCE):
            some = queries[first : first + _AT_ONCE]
            if self.whole is None:
                for asks in map(self.ask, some):
                    yield asks, self.best(asks, k)
            else:
                each = self.whole.postings.ask_each(list(map(self.whole.vocabulary.lookup, some)))
                best = self.whole.postings.top_of_many(each, k)
                for asked, (docs, scores) in zip(each, best, strict=True):
                    yield [asked], (docs.astype(np.int64), scores)
            self.done(len(some))

    def shares(self, asks: Sequence[Asked], positions: NDArray[np.int64]) -> list[dict[str, float]]:
        """What each matched term of a query gives to each of some passages: largest first, then by term."""
        given: list[dict[str, float]] = [{} for _ in positions]
        for part, asked in zip(self._parts, asks, strict=True):
            here = np.flatnonzero((positions >= part.start) & (positions < part.start + len(part.segment)))
            if len(here) == 0:
                continue
            names = part.segment.vocabulary.names(asked.terms)
            shares = part.postings.shares(asked, part.places(positions[here]))
            for at, of in zip(here.tolist(), shares.T.tolist(), strict=True):
                given[at] = largest_first(names, of)
        return given

    def position_of(self, passage_id: str) -> int | None:
        """The place of a passage in the corpus, from 0, or ``None``."""
        for part in self._parts:
            (place,) = part.segment.find([passage_id])
            if place is not None:
                return int(part.positions(np.array([place]))[0])
        return None

    def _best(self, asks: Sequence[Asked], k: int, mask: NDArray[np.bool_] | None) -> Found:
        positions, scores = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.float32)]
        for part, asked in zip(self._parts, asks, strict=True):
            docs, some = part.postings.top_of(asked, k, part.allowed(mask))
            order = np.argsort(docs)
            positions.append(part.positions(docs[order]))
            scores.append(some[order])
        return best(np.concatenate(positions), np.concatenate(scores), k)

    def _checked(self, mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
        if mask.dtype != np.bool_ or mask.shape != (len(self.passages),):
            raise InputError(
                f"where is an array of {mask.dtype} of shape {mask.shape}, and there are "
                f"{len(self.passages)} passages",
                remedy="Give one bool for each passage, as mask() does.",
            )
        return mask


def largest_first(names: Sequence[str], shares: Sequence[float]) -> dict[str, float]:
    """What each matched term gives, largest first, then by term; those that give nothing are left out."""
    matched = [(name, share) for name, share in zip(names, shares, strict=True) if share > 0]
    return dict(sorted(matched, key=lambda pair: (-pair[1], pair[0])))
