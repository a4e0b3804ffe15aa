"""Passages on their way into a Milvus collection: as they come, in bounded batches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from more_itertools import chunked, constrained_batches

from hybridrank.engines.bm25_weights import digest, passage_vector
from hybridrank.engines.milvus_collection import Collection
from hybridrank.engines.milvus_dense import unit_vectors
from hybridrank.engines.milvus_rows import Row, row_of
from hybridrank.engines.milvus_statistics import Totals
from hybridrank.passage_store import NAMED, already_indexed, check_corpus, warn_of_silent_ids
from hybridrank.protocols import Embedder
from hybridrank.records import Passage

__all__ = ["Writer"]

_BATCH = 1_000  # passages sent at one time
_BATCH_BYTES = 16 << 20  # Milvus takes 64 MB
# Passages whose counts make a part of the statistics: at first, and then twice as many each time, so that
# parts stay few; or as many as hold so many different terms.
_PART = 200_000
_PART_TERMS = 2_000_000


@dataclass
class _Part:
    """What is to be added to the statistics for passages that were sent."""

    counts: Counter[str] = field(default_factory=Counter)
    documents: int = 0
    tokens: int = 0

    def take(self, bags: Iterable[Mapping[str, int]]) -> None:
        """Count passages, given how often each holds each of its terms."""
        for bag in bags:
            self.counts.update(bag.keys())
            self.documents += 1
            self.tokens += sum(bag.values())


class Writer:
    """Adds passages to a collection, and counts them in its statistics.

    ``bag_of`` gives how often a text holds each of its terms, ``average`` is the length that passages are
    compared to; dense vectors come from ``embedder``, if there is one.
    """

    def __init__(
        self,
        collection: Collection,
        bag_of: Callable[[str], Counter[str]],
        *,
        average: float,
        embedder: Embedder | None,
    ) -> None:
        self._collection, self._bag_of = collection, bag_of
        self._average, self._embedder = average, embedder

    def add(self, passages: Iterable[Passage]) -> None:
        """Send passages; what was sent is counted even when a later one is refused."""
        self._collection.statistics.forget()  # others may have added
        position = self._collection.n_positions()
        silent: list[str] = []
        n_silent = sent = 0
        part, enough = _Part(), _PART
        try:
            for some in chunked(passages, _BATCH):
                check_corpus(some)
                self._refuse_known(some)
                bags = [self._bag_of(passage.text) for passage in some]
                for rows, of in self._batches(some, bags, position + sent):
                    # A batch that was lost on the way may have arrived, so that it is not inserted again.
                    self._collection.server.call(
                        "insert", again="upsert", collection_name=self._collection.name, data=rows
                    )
                    part.take(of)
                    sent += len(rows)
                mute = [passage.id for passage, bag in zip(some, bags, strict=True) if not bag]
                silent, n_silent = [*silent, *mute][:NAMED], n_silent + len(mute)
                if part.documents >= enough or len(part.counts) >= _PART_TERMS:
                    self._finish(part)
                    part, enough = _Part(), 2 * enough
        finally:
            if part.documents:
                self._finish(part)
        # To whoever called the index.
        warn_of_silent_ids(silent, n_silent, sent, "hold no term", stacklevel=5)

    def _batches(
        self, passages: list[Passage], bags: list[Counter[str]], position: int
    ) -> Iterable[tuple[list[Row], list[Counter[str]]]]:
        made = []
        for place, (passage, bag) in enumerate(zip(passages, bags, strict=True)):
            vector = passage_vector(bag, self._average, k1=self._collection.k1, b=self._collection.b)
            row, size = row_of(passage, position + place, vector)
            made.append((row, size, bag))
        extra = 0
        if self._embedder is not None:
            texts = [passage.text for passage in passages]
            for (row, _, _), dense in zip(made, unit_vectors(self._embedder, texts), strict=True):
                row["dense"] = dense
            extra = 4 * self._embedder.dimension
        for some in constrained_batches(made, _BATCH_BYTES, get_len=lambda one: one[1] + extra):
            yield [row for row, _, _ in some], [bag for _, _, bag in some]

    def _refuse_known(self, passages: list[Passage]) -> None:
        for passage, row in zip(
            passages, self._collection.find([one.id for one in passages], ["id"]), strict=True
        ):
            if row is not None:
                raise already_indexed(passage.id)

    def _finish(self, part: _Part) -> None:
        counts = ((digest(term), many) for term, many in part.counts.items())
        self._collection.statistics.add(counts, Totals(part.documents, part.tokens, part.documents))
        self._collection.server.settle(self._collection.name)
