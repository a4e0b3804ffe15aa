"""The dense list of an index on Milvus: passages found by the likeness of their vectors to a query's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from more_itertools import chunked
from numpy.typing import NDArray

from hybridrank.embedding import charged, embed, in_part, says_something, told_once
from hybridrank.engines.milvus_collection import Collection
from hybridrank.engines.milvus_rows import Row
from hybridrank.engines.milvus_search import Found, Judged, Where, search
from hybridrank.errors import ServiceUnavailable
from hybridrank.protocols import Embedder, check_depth, check_query
from hybridrank.records import Hit, Ranking, Reason

__all__ = ["MilvusDense", "ranking_of", "unit_vectors"]

_TEXTS_AT_ONCE = 64


class MilvusDense:
    """Passages on a Milvus server, found by vectors; a :class:`~hybridrank.protocols.Retriever`.

    It is :attr:`MilvusIndex.dense <hybridrank.engines.milvus.MilvusIndex.dense>`. The score of a hit is the
    cosine of the query's vector and the passage's. Which passages are compared is up to Milvus's index: all
    of them under ``FLAT``, some under others, which may miss one. When embedder or server fail, the ranking
    is empty, and ``degraded`` says why.
    """

    def __init__(self, collection: Collection, embedder: Embedder) -> None:
        self._collection, self._embedder = collection, embedder
        self.name = "dense"

    def __len__(self) -> int:
        return self._collection.size()

    def search(self, query: str, k: int = 10, *, where: Where | None = None) -> Ranking:
        """The best ``k`` passages, by cosine descending and then by place in the corpus.

        ``where``, and what is raised, are those of :meth:`hybridrank.engines.milvus.MilvusIndex.search`.
        """
        return self.search_many([query], k, where=where)[0]

    def search_many(
        self, queries: Iterable[str], k: int = 10, *, where: Where | None = None
    ) -> list[Ranking]:
        """The same as :meth:`search` of each query, in order, with fewer calls of embedder and server."""
        check_depth(k)
        asked = [check_query(query) for query in queries]
        worded = [query for query in dict.fromkeys(asked) if says_something(query)]
        found = {query: Ranking(query=query) for query in asked}
        for some in chunked(worded, _TEXTS_AT_ONCE):
            found.update(zip(some, self._search(some, k, where), strict=True))
        return told_once(asked, found)

    def _search(self, queries: Sequence[str], k: int, where: Where | None) -> list[Ranking]:
        embedder = in_part(self._embedder)
        try:
            vectors = _unit(embed(embedder, queries, "query", embedder.dimension))
        except Exception as error:  # whatever a service, or a stand-in for it, may come up with
            reason = f"{self.name} left out: {str(error) or type(error).__name__}"
            return charged([Ranking(query=query, degraded=reason) for query in queries], embedder)
        asking = [place for place, vector in enumerate(vectors) if vector.any()]
        rankings = [Ranking(query=query) for query in queries]
        try:
            some = [vectors[place].tolist() for place in asking]
            answers = search(self._collection, "dense", some, k, where, _worded)
            for place, (found, cut) in zip(asking, answers, strict=True):
                rankings[place] = ranking_of(queries[place], found, cut, self.name)
        except ServiceUnavailable as error:
            rankings = [replace(one, degraded=f"{self.name} left out: {error}") for one in rankings]
        return charged(rankings, embedder)


def ranking_of(query: str, found: Sequence[Found], cut: bool, name: str) -> Ranking:
    """What was found, best first, as a ranking of the list ``name``; ``cut`` says whether a limit cut it."""
    hits = tuple(
        Hit(
            passage_id=one.passage.id,
            position=one.position,
            rank=rank,
            score=one.score,
            passage=one.passage,
            reasons=(Reason(source=name, rank=rank, score=one.score, terms=one.terms),),
        )
        for rank, one in enumerate(found, start=1)
    )
    reason = f"{name}: only the best 16,384 passages were looked at, for Milvus returns no more"
    return Ranking(query=query, hits=hits, degraded=reason if cut else None)


def unit_vectors(embedder: Embedder, texts: Sequence[str]) -> list[list[float]]:
    """The vectors of passages, of length 1, and zeros for those that say nothing; equal texts are embedded
    once."""
    dimension = embedder.dimension
    of_text: dict[str, list[float]] = {}
    for some in chunked(filter(says_something, dict.fromkeys(texts)), _TEXTS_AT_ONCE):
        vectors = _unit(embed(embedder, some, "passage", dimension))
        of_text.update(zip(some, vectors.tolist(), strict=True))
    return [of_text.get(text, [0.0] * dimension) for text in texts]


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    wide = vectors.astype(np.float64)
    lengths = np.linalg.norm(wide, axis=1, keepdims=True)
    return (wide / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)


def _worded(number: int, rows: Sequence[Row], distances: Sequence[float]) -> list[Judged | None]:
    # Passages that say nothing have no direction, and are not found.
    return [
        Judged(distance, {}) if row["worded"] else None for row, distance in zip(rows, distances, strict=True)
    ]
