"""Retrievers and rerankers whose behaviour a test can foresee."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from hybridrank import Hit, LexicalIndex, Passage, Ranking
from hybridrank.errors import ServiceUnavailable

PASSAGES = (
    Passage(id="boat", text="The boat needs paint.", metadata={"page": 3}),
    Passage(id="slug", text="Slugs eat the salad.", document_id="garden", start=120, metadata={"page": 4}),
    Passage(id="trap", text="A slug trap of beer: slugs drown.", metadata={"page": 5}),
)
QUERY = "What about slugs?"


def index() -> LexicalIndex:
    return LexicalIndex.build(PASSAGES)


class Backwards:
    """A reranker that turns the order round, each hit scored by its new place."""

    name = "backwards"

    def __init__(self) -> None:
        self.seen: list[Ranking] = []

    def rerank(self, ranking: Ranking) -> Ranking:
        self.seen.append(ranking)
        hits = [
            replace(hit, rank=rank, score=float(-rank))
            for rank, hit in enumerate(reversed(ranking.hits), start=1)
        ]
        return replace(ranking, hits=tuple(hits))


class Unchanged:
    """A reranker that has lost its service."""

    name = "lost"

    def rerank(self, ranking: Ranking) -> Ranking:
        return replace(ranking, degraded="lost: the service is away")


@dataclass
class Lengths:
    """A scorer that likes long documents, and notes what it was asked."""

    asked: list[tuple[str, list[str]]] = field(default_factory=list)

    def rerank(self, query: str, documents: Sequence[str], *, model: str | None = None) -> list[float]:
        self.asked.append((query, list(documents)))
        return [float(len(document)) for document in documents]


class Away:
    """A scorer whose service does not answer."""

    def rerank(self, query: str, documents: Sequence[str]) -> list[float]:
        raise ServiceUnavailable("http://localhost/v1/rerank", "no connection")


class OnlyIds:
    """A retriever that keeps no passages, and has lost a part of itself."""

    name = "ids"

    def __init__(self, passages: Sequence[Passage | None] = (None,)) -> None:
        self.passages = passages

    def __len__(self) -> int:
        return len(self.passages)

    def search(self, query: str, k: int = 10) -> Ranking:
        hits = [
            Hit(passage_id=f"p{place}", position=place, rank=place + 1, score=1.0, passage=passage)
            for place, passage in enumerate(self.passages)
        ]
        return Ranking(query=query, hits=tuple(hits[:k]), degraded="dense: the service is away")

    def search_many(self, queries: Iterable[str], k: int = 10) -> list[Ranking]:
        return [self.search(query, k) for query in queries]
