"""The lexical index: passages found by the words they share with a query, with BM25."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from os import PathLike
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hybridrank.asked import Asked
from hybridrank.bm25 import check_parameters
from hybridrank.errors import IndexTooNew, InputError
from hybridrank.passage_store import (
    already_indexed,
    check_corpus,
    no_such_passage,
    passages_at,
    warn_of_silent,
)
from hybridrank.postings import Postings
from hybridrank.protocols import check_depth, check_query
from hybridrank.records import Hit, Passage, Ranking, Reason
from hybridrank.searcher import Found, Searcher, Where
from hybridrank.segments import Segment, merged
from hybridrank.storage import IndexReader, IndexWriter
from hybridrank.text.tokens import TermLookup, Tokenizer

__all__ = ["LexicalIndex", "Postings"]

_KIND = "lexical"


class LexicalIndex:
    """Passages that can be searched with BM25; a :class:`~hybridrank.protocols.Retriever`.

    Made by :meth:`build` or :meth:`open`, and never changed afterwards, so threads may share it: :meth:`add`,
    :meth:`delete` and :meth:`merge` return another index, which shares what is the same. ``name`` is what
    its list is called in the reasons of a hit; give each of several indexes in one pipeline a name of its
    own.

    >>> index = LexicalIndex.build([
    ...     Passage(id="a", text="Net sales rose."), Passage(id="b", text="Plan C, in 1,234 words.")
    ... ])
    >>> [hit.passage_id for hit in index.search("What is plan C?")]
    ['b']
    >>> index = index.add([Passage(id="c", text="Plan C failed.")]).delete(["b"])
    >>> [hit.passage_id for hit in index.search("What is plan C?")]
    ['c']
    """

    def __init__(self, vocabulary: TermLookup, postings: Postings, passages: Sequence[Passage]) -> None:
        segment = Segment(name=_segment_name(0), vocabulary=vocabulary, postings=postings, passages=passages)
        self._searcher = Searcher([segment])
        self.name = "bm25"

    @classmethod
    def _of(cls, segments: Sequence[Segment], name: str = "bm25") -> LexicalIndex:
        index = cls.__new__(cls)
        index._searcher = Searcher(segments)
        index.name = name
        return index

    @classmethod
    def build(
        cls,
        passages: Iterable[Passage],
        *,
        tokenizer: Tokenizer | None = None,
        k1: float = 1.5,
        b: float = 0.75,
    ) -> LexicalIndex:
        """Index passages; their order is the order of the corpus, which settles ties.

        ``tokenizer`` is ``Tokenizer()`` by default; ``k1`` and ``b`` are BM25's, see
        :mod:`hybridrank.bm25`. Passages in which no term is found can never be hits; one
        :class:`~hybridrank.errors.HybridrankWarning` names them. Raises
        :class:`~hybridrank.errors.InputError` for what is no passage, and when two passages have the same id.
        """
        check_parameters(k1, b)
        corpus = list(passages)
        check_corpus(corpus)
        segment = Segment.build(_segment_name(0), corpus, tokenizer or Tokenizer(), k1=k1, b=b)
        warn_of_silent(corpus, segment.silent, "hold no term")
        return cls._of([segment])

    def add(self, passages: Iterable[Passage]) -> LexicalIndex:
        """The index with more passages, after those that it has, at the cost of indexing the new ones.

        It finds what an index built anew would find, in the same order with the same scores. Each addition
        makes a segment; many of them make searches slower, until :meth:`merge`. Warns and raises as
        :meth:`build` does, also for an id that is in the index.
        """
        corpus = list(passages)
        check_corpus(corpus)
        ids = [passage.id for passage in corpus]
        for segment in self._segments:
            known = next((at for at, place in enumerate(segment.find(ids)) if place is not None), None)
            if known is not None:
                raise already_indexed(ids[known])
        if not corpus:
            return self
        segment = Segment.build(self._next_name(), corpus, self.tokenizer, k1=self.k1, b=self.b)
        warn_of_silent(corpus, segment.silent, "hold no term")
        return self._of([*self._segments, segment], self.name)

    def delete(self, passage_ids: Iterable[str]) -> LexicalIndex:
        """The index without some passages, as if they had never been there; those behind them move up.

        Raises :class:`~hybridrank.errors.InputError` for an id that is not in the index.
        """
        ids = list(dict.fromkeys(passage_ids))
        missing = set(ids)
        segments = []
        for segment in self._segments:
            places = [place for place in segment.find(ids) if place is not None]
            missing.difference_update(segment.ids.strings[place] for place in places)
            segments.append(segment.without(places) if places else segment)
        if missing:
            raise no_such_passage(next(one for one in ids if one in missing))
        return self._of(segments, self.name)

    def merge(self) -> LexicalIndex:
        """The index as one segment without deleted passages, as if built anew, at less cost."""
        if self._searcher.whole is not None:
            return self
        one = merged(self._next_name(), self._segments, self.tokenizer, k1=self.k1, b=self.b)
        return self._of([one], self.name)

    def save(self, directory: str | PathLike[str]) -> None:
        """Write the index into a directory, in place of one that is there; see :mod:`hybridrank.storage`.

        Segments that were opened from this directory, and still stand there, are not written again, so that
        saving after :meth:`add` and :meth:`delete` costs what they changed. Readers see the old index
        or the new one.
        """
        settings = {"tokenizer": self.tokenizer.settings()}
        with IndexWriter(directory, kind=_KIND, settings=settings) as writer:
            writer.json("segments", [segment.name for segment in self._segments])
            for segment in self._segments:
                segment.save(writer)

    @classmethod
    def open(
        cls, directory: str | PathLike[str], *, verify: Literal["auto", "full"] = "auto"
    ) -> LexicalIndex:
        """Open an index; :meth:`hybridrank.storage.IndexReader.open` says what is checked and raised.

        Raises :class:`~hybridrank.errors.IndexTooNew` when this version cuts words another way.
        """
        reader = IndexReader.open(directory, kind=_KIND, verify=verify)
        try:
            tokenizer = Tokenizer.from_settings(reader.settings["tokenizer"])
        except InputError as error:
            raise IndexTooNew(directory, error.reason, error.remedy) from error
        return cls._of([Segment.open(reader, name, tokenizer) for name in reader.json("segments")])

    def __len__(self) -> int:
        return len(self.passages)

    @property
    def passages(self) -> Sequence[Passage]:
        """The passages, in the order of the corpus."""
        return self._searcher.passages

    @property
    def tokenizer(self) -> Tokenizer:
        """What cuts passages and queries into terms."""
        return self._segments[0].vocabulary.tokenizer

    @property
    def _segments(self) -> tuple[Segment, ...]:
        return self._searcher.segments

    @property
    def n_segments(self) -> int:
        """Of how many segments the index consists."""
        return len(self._segments)

    @property
    def k1(self) -> float:
        """How soon repeats of a term stop counting."""
        return self._segments[0].postings.k1

    @property
    def b(self) -> float:
        """How much long passages are held back."""
        return self._segments[0].postings.b

    @property
    def vocabulary(self) -> TermLookup:
        """The terms.

        Raises :class:`~hybridrank.errors.InputError` until what was added or deleted is merged.
        """
        return self._only().vocabulary

    @property
    def postings(self) -> Postings:
        """The postings. Raises :class:`~hybridrank.errors.InputError` as :attr:`vocabulary` does."""
        return self._only().postings

    def search(self, query: str, k: int = 10, *, where: Where | None = None) -> Ranking:
        """The best ``k`` passages, by score descending and then by place in the corpus.

        Fewer come back when fewer share a term with the query: none for a query that is empty or says nothing
        that the corpus knows.

        ``where`` limits the search to some passages before the best are chosen: a function that is true of
        them, or an array of one ``bool`` a passage, in the order of the corpus. A function is asked about as
        few passages as settle the matter; where few passages pass and many searches share the condition, the
        array that :meth:`mask` makes of it is faster. Statistics are always those of the whole corpus.

        Raises :class:`~hybridrank.errors.InputError` for ``k < 1``, for a query that is no string, and for an
        array of another shape.
        """
        asks = self._searcher.ask(check_query(query))
        found = self._ranking(query, asks, self._searcher.best(asks, check_depth(k), where))
        self._searcher.done()
        return found

    def search_many(
        self, queries: Iterable[str], k: int = 10, *, where: Where | None = None
    ) -> list[Ranking]:
        """The same as :meth:`search` of each query, in order."""
        if where is not None:
            return [self.search(query, k, where=where) for query in queries]
        asked = [check_query(query) for query in queries]
        every = zip(asked, self._searcher.best_of_many(asked, check_depth(k)), strict=True)
        return [self._ranking(query, asks, found) for query, (asks, found) in every]

    def top_many(self, queries: Iterable[str], k: int = 10) -> list[Found]:
        """The positions and scores of the best ``k`` passages of each query, without anything else.

        These are those of :meth:`search_many`, which spends most of its time on passages and reasons.
        """
        asked = [check_query(query) for query in queries]
        return [found for _, found in self._searcher.best_of_many(asked, check_depth(k))]

    def mask(self, condition: Callable[[Passage], bool]) -> NDArray[np.bool_]:
        """Which passages a condition holds for, as ``where`` of :meth:`search` takes it."""
        every = (bool(condition(passage)) for passage in self.passages)
        return np.fromiter(every, dtype=bool, count=len(self))

    def explain(self, query: str, passage_id: str) -> Reason | None:
        """Why a passage is found by a query, whatever its rank; ``None`` when they share no term.

        Raises :class:`~hybridrank.errors.InputError` for an id that is not in the index.
        """
        position = self.position_of(passage_id)
        asks = self._searcher.ask(check_query(query))
        found = self._searcher.best(asks, max(len(self), 1))
        hits = self._ranking(query, asks, found, only=position).hits
        return hits[0].reasons[0] if hits else None

    def position_of(self, passage_id: str) -> int:
        """The place of a passage in the corpus, from 0.

        Raises :class:`~hybridrank.errors.InputError` for an id that is not in the index.
        """
        position = self._searcher.position_of(passage_id)
        if position is None:
            raise no_such_passage(passage_id)
        return position

    def _ranking(self, query: str, asks: Sequence[Asked], found: Found, only: int | None = None) -> Ranking:
        positions, scores = found
        at = np.arange(len(positions)) if only is None else np.flatnonzero(positions == only)
        shares = self._searcher.shares(asks, positions[at])
        ranks, places, some = (at + 1).tolist(), positions[at].tolist(), scores[at].tolist()
        hits = []
        passages = passages_at(self.passages, positions[at])
        for rank, place, score, terms, passage in zip(ranks, places, some, shares, passages, strict=True):
            hits.append(
                Hit(
                    passage_id=passage.id,
                    position=place,
                    rank=rank,
                    score=score,
                    passage=passage,
                    reasons=(Reason(source=self.name, rank=rank, score=score, terms=terms),),
                )
            )
        return Ranking(query=query, hits=tuple(hits))

    def _only(self) -> Segment:
        if self._searcher.whole is None:
            raise InputError(
                f"the index consists of {self.n_segments} segments, or has deleted passages",
                remedy="Call merge(), and use the index that it returns.",
            )
        return self._searcher.whole

    def _next_name(self) -> str:
        return _segment_name(1 + max(int(segment.name.rpartition("-")[2]) for segment in self._segments))


def _segment_name(number: int) -> str:
    return f"segment-{number:06d}"
