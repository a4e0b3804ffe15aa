"""The dense index: passages found by the likeness of their vectors to a query's.

Parts of the index directory
    ``vectors`` (one row for each passage that has a vector, as :mod:`hybridrank.vectors` stores it),
    ``positions`` (int64, ascending: whose vector each row is), and the passages.

A build in a directory keeps what it has paid for in ``.vectors.part`` there until the index stands.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np
from more_itertools import chunked
from numpy.typing import NDArray

from hybridrank.embedding import charged, embed, in_part, model_of, says_something, told_once
from hybridrank.errors import BudgetExhausted, IndexForeign, IndexTooNew, ServiceError
from hybridrank.passage_store import StoredPassages, check_corpus, store_passages, warn_of_silent
from hybridrank.postings import best
from hybridrank.protocols import Embedder, check_depth, check_query
from hybridrank.records import Hit, Passage, Ranking, Reason
from hybridrank.storage import IndexReader, IndexWriter
from hybridrank.vector_log import VectorLog
from hybridrank.vectors import DTYPES, Encoding, encode, row_width, similarities

__all__ = ["DenseIndex"]

_KIND = "dense"
_SCHEME = 1  # raised whenever the same vectors would be stored in another way
_LOG = ".vectors.part"
_BLOCK_NUMBERS = 1 << 21  # float64 numbers of a block that are compared at one time: 16 MB
_QUERIES_AT_ONCE = 64
_ROWS_AT_ONCE = 4096


class DenseIndex:
    """Passages that can be searched by vectors; a :class:`~hybridrank.protocols.Retriever`.

    Made by :meth:`build` or :meth:`open`, and never changed afterwards, so threads may share it if they may
    share the embedder. The score of a hit is the cosine of the query's vector and the passage's, from -1 to
    1; every passage is compared, so that nothing is missed. ``name`` is what its list is called in the
    reasons of a hit. ``block`` is the number of vectors compared at one time: it bounds the memory that a
    search takes and changes nothing else.

    When the embedder fails at a search, the ranking is empty, and ``degraded`` says why. ``usage`` is what
    the search has cost, where the embedder is a :class:`~hybridrank.protocols.MeteredEmbedder`; of queries
    searched in one call the first bears all of it.

    >>> class Vowels:
    ...     model, dimension = "vowels", 5
    ...     def embed(self, texts, *, task):
    ...         return np.array([[text.lower().count(vowel) for vowel in "aeiou"] for text in texts])
    >>> passages = [Passage(id="a", text="Net sales rose."), Passage(id="b", text="Plan C in brief.")]
    >>> index = DenseIndex.build(passages, Vowels())
    >>> print(index.search("What is in it?").explain())
    2 hits for 'What is in it?'
    1. b  score 0.9037
       dense: rank 1, score 0.9037
       Plan C in brief.
    2. a  score 0.09535
       dense: rank 2, score 0.09535
       Net sales rose.
    """

    def __init__(
        self,
        vectors: NDArray[Any],
        positions: NDArray[np.int64],
        passages: Sequence[Passage],
        embedder: Embedder,
        *,
        dimension: int,
        encoding: Encoding,
    ) -> None:
        self.vectors = vectors
        self.positions = positions
        self.passages = passages
        self.embedder = embedder
        self.dimension = dimension
        self.encoding: Encoding = encoding
        self.name = "dense"
        self.block = max(1, _BLOCK_NUMBERS // dimension)

    @classmethod
    def build(
        cls,
        passages: Iterable[Passage],
        embedder: Embedder,
        directory: str | PathLike[str] | None = None,
        *,
        encoding: Encoding = "float32",
        batch: int = 64,
    ) -> DenseIndex:
        """Embed and index passages; their order is the order of the corpus, which settles ties.

        With a ``directory`` the index is written there, in place of one that is there, and opened; without
        one it is in memory, to be saved or not. In a directory the vectors are kept as they come: when a
        build fails, the next one there with the same model embeds only what is missing, even if some
        passages or the encoding are others by then; an index that was there stays meanwhile.

        Each distinct text is embedded once, ``batch`` of them in a call. A passage without a letter or digit
        is not embedded and can never be a hit; one :class:`~hybridrank.errors.HybridrankWarning` names such
        passages. ``encoding`` is one of :data:`hybridrank.vectors.ENCODINGS`: smaller ones take less room,
        and ``binary`` ranks clearly worse.

        Raises :class:`~hybridrank.errors.InputError` for what is no passage, when two have the same id, for
        an embedder without a ``model``, and for vectors that are of the wrong shape or not finite; what
        :class:`~hybridrank.storage.IndexWriter` raises; and what the embedder raises.
        """
        corpus = list(passages)
        check_corpus(corpus)
        check_depth(batch)
        dimension = embedder.dimension
        width = row_width(encoding, dimension)
        silent = [place for place, passage in enumerate(corpus) if not says_something(passage.text)]
        warn_of_silent(corpus, silent, "hold no letter or digit")
        positions = np.delete(np.arange(len(corpus), dtype=np.int64), silent)
        texts = [corpus[place].text for place in positions.tolist()]
        if directory is None:
            with VectorLog(None, model=model_of(embedder), dimension=dimension) as log:
                _embed_missing(texts, embedder, log, batch)
                rows = np.empty((len(texts), width), dtype=DTYPES[encoding])
                for start, some in _encoded(texts, log, encoding):
                    rows[start : start + len(some)] = some
            return cls(rows, positions, corpus, embedder, dimension=dimension, encoding=encoding)
        with _writer(directory, embedder, dimension, encoding) as writer:
            # The writer's lock keeps another build away from the log, too.
            with VectorLog(writer.directory / _LOG, model=model_of(embedder), dimension=dimension) as log:
                _embed_missing(texts, embedder, log, batch)
                with writer.open_array("vectors", DTYPES[encoding], row_shape=(width,)) as out:
                    for _, some in _encoded(texts, log, encoding):
                        out.append(some)
            writer.array("positions", positions)
            store_passages(corpus, writer)
        with suppress(OSError):
            (Path(directory) / _LOG).unlink()
        return cls.open(directory, embedder)

    def save(self, directory: str | PathLike[str]) -> None:
        """Write the index into a directory, in place of one that is there; see :mod:`hybridrank.storage`."""
        with _writer(directory, self.embedder, self.dimension, self.encoding) as writer:
            writer.array("vectors", self.vectors)
            writer.array("positions", self.positions)
            store_passages(self.passages, writer)

    @classmethod
    def open(
        cls,
        directory: str | PathLike[str],
        embedder: Embedder,
        *,
        verify: Literal["auto", "full"] = "auto",
    ) -> DenseIndex:
        """Open an index; :meth:`hybridrank.storage.IndexReader.open` says what is checked and raised.

        ``embedder`` embeds the queries. Raises :class:`~hybridrank.errors.IndexForeign` when it is of another
        model or dimension than the one that embedded the passages, and
        :class:`~hybridrank.errors.IndexTooNew` when another version stored the vectors in another way.
        """
        reader = IndexReader.open(directory, kind=_KIND, verify=verify)
        settings = reader.settings
        if settings["scheme"] != _SCHEME or settings["encoding"] not in DTYPES:
            raise IndexTooNew(
                directory,
                f"its vectors are stored by scheme {settings['scheme']}, where this version has {_SCHEME}",
                "Build the index again, or use the version of hybridrank that built it.",
            )
        built, dimension = settings["model"], settings["dimension"]
        if built != model_of(embedder):
            raise _other_embedder(directory, repr(built), repr(model_of(embedder)))
        # Some embedders have to ask their service; when that is lost, searches will tell.
        with suppress(ServiceError, BudgetExhausted):
            if dimension != embedder.dimension:
                raise _other_embedder(
                    directory, f"vectors of {dimension} numbers", f"ones of {embedder.dimension}"
                )
        return cls(
            reader.array("vectors"),
            reader.array("positions"),
            StoredPassages(reader),
            embedder,
            dimension=dimension,
            encoding=settings["encoding"],
        )

    def __len__(self) -> int:
        return len(self.passages)

    def search(self, query: str, k: int = 10) -> Ranking:
        """The best ``k`` passages, by cosine descending and then by place in the corpus.

        None for a query without a letter or digit, which is not embedded. Raises
        :class:`~hybridrank.errors.InputError` for ``k < 1`` and for a query that is no string.
        """
        return self.search_many([query], k)[0]

    def search_many(self, queries: Iterable[str], k: int = 10) -> list[Ranking]:
        """The same as :meth:`search` of each query, in order, with fewer calls of the embedder.

        When a call fails, its queries alone get empty rankings.
        """
        check_depth(k)
        asked = [check_query(query) for query in queries]
        found = {query: Ranking(query=query) for query in asked}
        worded = [query for query in found if says_something(query)] if len(self.positions) else []
        for some in chunked(worded, _QUERIES_AT_ONCE):
            found.update(zip(some, self._search(some, k), strict=True))
        return told_once(asked, found)

    def _search(self, queries: Sequence[str], k: int) -> list[Ranking]:
        embedder = in_part(self.embedder)
        try:
            vectors = embed(embedder, queries, "query", self.dimension)
        except Exception as error:  # whatever a service, or a stand-in for it, may come up with
            reason = f"{self.name} left out: {str(error) or type(error).__name__}"
            return charged([Ranking(query=query, degraded=reason) for query in queries], embedder)
        rankings = []
        for query, vector, (rows, scores) in zip(queries, vectors, self._top(vectors, k), strict=True):
            hits = zip(self.positions[rows].tolist(), scores.tolist(), strict=True)
            ranked = (
                self._hit(position, rank, score) for rank, (position, score) in enumerate(hits, start=1)
            )
            rankings.append(Ranking(query=query, hits=tuple(ranked) if vector.any() else ()))
        return charged(rankings, embedder)

    def _top(
        self, queries: NDArray[np.float32], k: int
    ) -> list[tuple[NDArray[np.int64], NDArray[np.float64]]]:
        """For each query the best rows and their scores, block by block."""
        kept = [(np.empty(0, dtype=np.int64), np.empty(0))] * len(queries)
        for start in range(0, len(self.vectors), self.block):
            rows = self.vectors[start : start + self.block]
            numbers = np.arange(start, start + len(rows), dtype=np.int64)
            for place, scores in enumerate(similarities(rows, queries, self.encoding)):
                some, of_some = best(numbers, scores, k)
                all_rows = np.concatenate((kept[place][0], some))
                all_scores = np.concatenate((kept[place][1], of_some))
                order = np.lexsort((all_rows, -all_scores))[:k]
                kept[place] = (all_rows[order], all_scores[order])
        return kept

    def _hit(self, position: int, rank: int, score: float) -> Hit:
        passage = self.passages[position]
        return Hit(
            passage_id=passage.id,
            position=position,
            rank=rank,
            score=score,
            passage=passage,
            reasons=(Reason(source=self.name, rank=rank, score=score),),
        )


def _writer(
    directory: str | PathLike[str], embedder: Embedder, dimension: int, encoding: Encoding
) -> IndexWriter:
    settings = {
        "scheme": _SCHEME,
        "model": model_of(embedder),
        "dimension": dimension,
        "encoding": encoding,
    }
    return IndexWriter(directory, kind=_KIND, settings=settings)


def _other_embedder(directory: str | PathLike[str], built: str, given: str) -> IndexForeign:
    return IndexForeign(
        directory,
        f"its passages were embedded by {built}, and queries would be by {given}",
        "Open it with the embedder that built it, or build it again.",
    )


def _embed_missing(texts: Iterable[str], embedder: Embedder, log: VectorLog, batch: int) -> None:
    missing = (text for text in dict.fromkeys(texts) if text not in log)
    for some in chunked(missing, batch):
        log.append(some, embed(embedder, some, "passage", log.dimension))


def _encoded(texts: Sequence[str], log: VectorLog, encoding: Encoding) -> Iterable[tuple[int, NDArray[Any]]]:
    """The stored vectors of texts, and where in their order they begin, some at one time."""
    for start in range(0, len(texts), _ROWS_AT_ONCE):
        yield start, encode(log.vectors(texts[start : start + _ROWS_AT_ONCE]), encoding)
