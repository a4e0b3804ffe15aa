"""An index on a Milvus cluster: the same calls, words and scores as the embedded one, past one machine.

Passages, their sparse vectors (see :mod:`hybridrank.engines.bm25_weights`) and, with an embedder, their dense
ones lie in a collection; what the corpus knows of its terms lies beside it, in ``<collection>_statistics``
(:mod:`hybridrank.engines.milvus_statistics`). A path that ends in ``.db`` is served by Milvus Lite, in this
process.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, islice
from os import PathLike
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hybridrank.bm25 import check_parameters, lucene_idf
from hybridrank.engines.bm25_weights import digest, query_vector, shares
from hybridrank.engines.milvus_collection import Collection
from hybridrank.engines.milvus_dense import MilvusDense, ranking_of
from hybridrank.engines.milvus_rows import Row, passage_of
from hybridrank.engines.milvus_search import Judged, Where, search
from hybridrank.engines.milvus_server import Server
from hybridrank.engines.milvus_statistics import Totals
from hybridrank.engines.milvus_writer import Writer
from hybridrank.errors import InputError, ServiceUnavailable
from hybridrank.passage_store import check_corpus, no_such_passage
from hybridrank.protocols import Embedder, check_depth, check_query
from hybridrank.records import Passage, Ranking
from hybridrank.searcher import largest_first
from hybridrank.text.tokens import Tokenizer

__all__ = ["MilvusIndex"]

_SAMPLE = 10_000  # passages that the average length is taken from

Consistency = Literal["Strong", "Session", "Bounded", "Eventually"]


class MilvusIndex:
    """Passages on a Milvus server that can be searched with BM25; a :class:`~hybridrank.protocols.Retriever`.

    Opens a collection that :meth:`build` made. ``uri`` is an address, such as ``http://localhost:19530``, or
    a path that ends in ``.db``, for Milvus Lite. ``embedder`` embeds the queries of :attr:`dense`, the list
    to be fused with this one, and passages that are added. ``token`` is an API key or ``user:password``;
    ``client`` a ``pymilvus.MilvusClient`` of your own, where a connection needs more. No call of the server
    takes more than ``timeout`` seconds, further attempts included.

    Unlike the embedded index it changes: :meth:`add` and :meth:`delete` return the index itself. Threads may
    share it. One process may add while others search; several may add at one time to what :meth:`build` has
    made, if no two add the same passage, and only how they order ties is then up to chance.

    When the server is lost at a search, the ranking is empty and ``degraded`` says why. Raises
    :class:`~hybridrank.errors.IndexNotFound`, :class:`~hybridrank.errors.IndexForeign`,
    :class:`~hybridrank.errors.IndexIncomplete` and :class:`~hybridrank.errors.IndexTooNew` as the embedded
    index does, :class:`~hybridrank.errors.ServiceError` when the server cannot be asked, and
    :class:`~hybridrank.errors.MissingExtra` without the extra ``milvus``.
    """

    def __init__(
        self,
        uri: str | PathLike[str],
        *,
        collection: str = "hybridrank",
        embedder: Embedder | None = None,
        token: str | None = None,
        timeout: float = 60.0,
        client: Any = None,
    ) -> None:
        server = Server(uri, token=token, timeout=timeout, client=client)
        self._collection = Collection(server, collection)
        self._collection.open(embedder)
        self._embedder = embedder
        self.name = "bm25"

    @classmethod
    def build(
        cls,
        passages: Iterable[Passage],
        uri: str | PathLike[str],
        *,
        collection: str = "hybridrank",
        embedder: Embedder | None = None,
        token: str | None = None,
        tokenizer: Tokenizer | None = None,
        k1: float = 1.5,
        b: float = 0.75,
        average_length: float | None = None,
        replace: bool = False,
        dense_index: str = "AUTOINDEX",
        consistency: Consistency = "Session",
        timeout: float = 60.0,
        client: Any = None,
    ) -> MilvusIndex:
        """Make a collection and add passages to it, which may come from a stream and are never held at once.

        ``tokenizer``, ``k1`` and ``b`` are those of :meth:`hybridrank.lexical.LexicalIndex.build`.
        ``average_length``, in terms, is what BM25 compares the length of each passage to, now and later: by
        default the average of the first ten thousand, which is right unless the others are unlike. With an
        ``embedder`` passages get dense vectors, too, under Milvus's index ``dense_index`` (``FLAT`` is
        exact); ``consistency`` is Milvus's. A collection that is there is replaced if you say so, and only
        if it is of this kind.

        Raises as the constructor and :meth:`add` do, and :class:`~hybridrank.errors.InputError` for a
        collection that is there and not to be replaced.
        """
        check_parameters(k1, b)
        if average_length is not None and not 0 < average_length < float("inf"):
            raise InputError(
                f"the average length is {average_length}", remedy="Give a number of terms above 0."
            )
        index = cls.__new__(cls)
        server = Server(uri, token=token, timeout=timeout, client=client)
        index._collection = Collection(server, collection)
        index._embedder = embedder
        index.name = "bm25"
        index._collection.create(
            tokenizer or Tokenizer(),
            embedder,
            k1=k1,
            b=b,
            average_length=average_length,
            replace=replace,
            dense_index=dense_index,
            consistency=consistency,
        )
        index._add(passages)
        index._collection.keep(complete=True)
        return index

    def add(self, passages: Iterable[Passage]) -> MilvusIndex:
        """Add passages behind those that are there; returns the index itself.

        They are sent as they come, in batches bounded in number and bytes; a batch that is lost on the way is
        sent again. The average length of passages, to which BM25 compares each, is that of the first ten
        thousand that the index ever got, and stays.

        Warns of passages in which no term is found. Raises :class:`~hybridrank.errors.InputError` for what is
        no passage, for an id that is there already, and for what Milvus cannot hold (see
        :func:`hybridrank.engines.milvus_rows.row_of`); :class:`~hybridrank.errors.ServiceError` when the
        server does not take them. The batches before it stay: :meth:`find` tells which of your passages are
        there.
        """
        if self._collection.has_vectors:
            self._needed_embedder()
        return self._add(passages)

    def delete(self, passage_ids: Iterable[str]) -> MilvusIndex:
        """Delete passages; returns the index itself. Positions of those behind them stay as they are.

        Raises :class:`~hybridrank.errors.InputError` for an id that is not in the index, before anything is
        deleted.
        """
        ids = list(dict.fromkeys(passage_ids))
        counts: Counter[int] = Counter()
        tokens = 0
        for passage_id, passage in zip(ids, self.find(ids), strict=True):
            if passage is None:
                raise no_such_passage(passage_id)
            terms = self.tokenizer.terms(passage.text)
            counts.subtract(set(map(digest, terms)))
            tokens += len(terms)
        self._collection.delete(ids)
        self._collection.statistics.add(counts.items(), Totals(-len(ids), -tokens, 0))
        return self

    def merge(self) -> MilvusIndex:
        """Sum up the statistics, of which each addition and deletion leaves a part; returns the index itself.

        When they disagree with the number of passages, as after a process that was killed while adding, they
        are counted anew from the passages. Nobody else may add or delete meanwhile.
        """
        statistics = self._collection.statistics
        totals = statistics.totals()
        if totals.documents == len(self):
            statistics.merge(None, None)
            return self
        counts: Counter[int] = Counter()
        documents, tokens, added = 0, 0, totals.added
        for row in self._collection.every(["text", "position"]):
            terms = self.tokenizer.terms(row["text"])
            counts.update(set(map(digest, terms)))
            documents, tokens = documents + 1, tokens + len(terms)
            added = max(added, int(row["position"]) + 1)
        statistics.merge(counts.items(), Totals(documents, tokens, added))
        return self

    def drop(self) -> None:
        """Delete the collection and its statistics."""
        self._collection.drop()

    def __len__(self) -> int:
        return self._collection.size()

    def __repr__(self) -> str:
        return f"MilvusIndex({self._collection.server.name!r}, collection={self._collection.name!r})"

    @property
    def tokenizer(self) -> Tokenizer:
        """What cuts passages and queries into terms."""
        return self._collection.tokenizer

    @property
    def k1(self) -> float:
        """How soon repeats of a term stop counting."""
        return self._collection.k1

    @property
    def b(self) -> float:
        """How much long passages are held back."""
        return self._collection.b

    @property
    def average_length(self) -> float:
        """The number of terms to which BM25 compares the length of each passage."""
        return self._collection.average_length or 1.0

    @property
    def n_documents(self) -> int:
        """The number of passages by the statistics, which may be a minute old."""
        return self._collection.statistics.totals().documents

    @property
    def dense(self) -> MilvusDense:
        """The same passages, found by their vectors: the second list for :func:`hybridrank.pipeline.hybrid`.

        Raises :class:`~hybridrank.errors.InputError` for an index that was opened without an embedder.
        """
        return MilvusDense(self._collection, self._needed_embedder())

    def search(self, query: str, k: int = 10, *, where: Where | None = None) -> Ranking:
        """The best ``k`` passages, by score descending and then by place in the corpus.

        ``where`` limits the search: a function that is true of the passages that may be found, or an array of
        one ``bool`` a position, as :meth:`mask` makes it, both as in the embedded index; or a filter of
        Milvus's own as a string, which Milvus applies before the best are chosen, as in
        ``'metadata["year"] >= 2021 and document_id == "r1"'``. A function sees the best 16,384 passages at
        most, for Milvus returns no more; where that cut the ranking short, ``degraded`` says so.

        Raises :class:`~hybridrank.errors.InputError` for ``k < 1``, for a query that is no string, and for an
        array of another shape; :class:`~hybridrank.errors.ServiceRejected` for a filter that is none.
        """
        return self.search_many([query], k, where=where)[0]

    def search_many(
        self, queries: Iterable[str], k: int = 10, *, where: Where | None = None
    ) -> list[Ranking]:
        """The same as :meth:`search` of each query, in order, with fewer calls of the server."""
        check_depth(k)
        asked = [check_query(query) for query in queries]
        try:
            return self._search(asked, k, where)
        except ServiceUnavailable as error:
            return [Ranking(query=query, degraded=f"{self.name} left out: {error}") for query in asked]

    def find(self, passage_ids: Sequence[str]) -> list[Passage | None]:
        """The passages of some ids, ``None`` for an id that is not in the index."""
        return [None if row is None else passage_of(row) for row in self._collection.find(passage_ids)]

    def position_of(self, passage_id: str) -> int:
        """The place of a passage in the corpus, from 0; those of deleted passages are not given again.

        Raises :class:`~hybridrank.errors.InputError` for an id that is not in the index.
        """
        (row,) = self._collection.find([passage_id])
        if row is None:
            raise no_such_passage(passage_id)
        return int(row["position"])

    def mask(self, condition: Callable[[Passage], bool]) -> NDArray[np.bool_]:
        """Which passages a condition holds for, as ``where`` of :meth:`search` takes it.

        One ``bool`` a position; every passage is fetched for it. Raises
        :class:`~hybridrank.errors.InputError` when several processes added at one time, so that two passages
        have the same position.
        """
        allowed = np.zeros(self._collection.n_positions(), dtype=bool)
        seen = np.zeros(len(allowed), dtype=bool)
        for row in self._collection.every():
            position = int(row["position"])
            if position >= len(seen) or seen[position]:
                raise InputError(
                    f"passage {row['id']!r} has a position that is not its own",
                    remedy="Give a function or a filter; after a process that was killed, call merge().",
                )
            seen[position] = True
            allowed[position] = condition(passage_of(row))
        return allowed

    def document_frequency(self, terms: Sequence[str]) -> NDArray[np.int64]:
        """In how many passages of the whole corpus each of some terms occurs, as of a minute ago."""
        return self._collection.statistics.document_frequency(terms)

    def _needed_embedder(self) -> Embedder:
        if self._embedder is None:
            raise InputError(
                f"{self._collection.place} was opened without an embedder",
                remedy="Give the one that built it.",
            )
        return self._embedder

    def _bag(self, text: str) -> Counter[str]:
        return Counter(self.tokenizer.terms(text))

    def _add(self, passages: Iterable[Passage]) -> MilvusIndex:
        stream = iter(passages)
        if self._collection.average_length is None:
            sample = list(islice(stream, _SAMPLE))
            check_corpus(sample)
            lengths = [len(self.tokenizer.terms(passage.text)) for passage in sample]
            if any(lengths):
                self._collection.keep(average_length=sum(lengths) / len(lengths))
            stream = chain(sample, stream)
        writer = Writer(self._collection, self._bag, average=self.average_length, embedder=self._embedder)
        writer.add(stream)
        return self

    def _search(self, queries: Sequence[str], k: int, where: Where | None) -> list[Ranking]:
        rankings = [Ranking(query=query) for query in queries]
        bags = [self._bag(query) for query in queries]
        every = sorted(set().union(*bags))
        df = dict(zip(every, self.document_frequency(every).tolist(), strict=True))
        # In the order of the terms, in which the embedded index sums up.
        known = [{term: bag[term] for term in sorted(bag) if df[term] > 0} for bag in bags]
        asking = [number for number, bag in enumerate(known) if bag]
        if not asking:
            return rankings
        n_documents, average = self.n_documents, self.average_length
        frequencies = [np.array([df[term] for term in known[number]]) for number in asking]

        def judge(at: int, rows: Sequence[Row], _: Sequence[float]) -> list[Judged | None]:
            bag, idf = known[asking[at]], lucene_idf(frequencies[at], n_documents)
            texts = [self.tokenizer.terms(row["text"]) for row in rows]
            held = [[terms.count(term) for terms in texts] for term in bag]
            lengths = np.array([len(terms) for terms in texts], dtype=np.int64)
            given = shares(list(bag.values()), idf, np.array(held), lengths, average, k1=self.k1, b=self.b)
            scores = np.zeros(len(rows), dtype=np.float32)
            for share in given:  # term by term: numpy's own sum may pair them up
                scores += share
            return [
                Judged(score, largest_first(list(bag), of)) if score > 0 else None
                for score, of in zip(scores.tolist(), given.T.tolist(), strict=True)
            ]

        vectors = [
            query_vector(known[number], of, n_documents)
            for number, of in zip(asking, frequencies, strict=True)
        ]
        found = search(self._collection, "sparse", vectors, k, where, judge)
        for number, (best, cut) in zip(asking, found, strict=True):
            rankings[number] = ranking_of(queries[number], best, cut, self.name)
        return rankings
