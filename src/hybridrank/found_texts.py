"""The texts of hits in the numbers that features are made of, whoever keeps them: an index of ours, or an
engine past this machine."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from hybridrank.bm25 import lucene_idf
from hybridrank.engines.bm25_weights import shares
from hybridrank.errors import InputError
from hybridrank.lexical import LexicalIndex
from hybridrank.passage_store import no_such_passage
from hybridrank.protocols import Retriever
from hybridrank.records import Hit, Passage
from hybridrank.text.tokens import Tokenizer, Vocabulary

__all__ = ["Corpus", "FoundTexts", "Text", "texts_of", "unknown_ids"]

_DIGIT = re.compile(r"\d")
_REMEMBERED = 1024  # passages whose terms are kept


@runtime_checkable
class Corpus(Retriever, Protocol):
    """A retriever that tells of its corpus what it takes to compute features of what it found."""

    @property
    def tokenizer(self) -> Tokenizer:
        """What cuts passages and queries into terms."""
        ...

    @property
    def k1(self) -> float:
        """BM25's k1."""
        ...

    @property
    def b(self) -> float:
        """BM25's b."""
        ...

    @property
    def average_length(self) -> float:
        """The number of terms to which BM25 compares the length of a passage."""
        ...

    @property
    def n_documents(self) -> int:
        """The number of passages."""
        ...

    def document_frequency(self, terms: Sequence[str]) -> NDArray[np.int64]:
        """In how many passages each of some terms occurs."""
        ...

    def find(self, passage_ids: Sequence[str]) -> list[Passage | None]:
        """The passages of some ids, ``None`` for an id that is not in the corpus."""
        ...


@dataclass(frozen=True, slots=True)
class Text:
    """What is said of a passage; ``tokens`` are its terms in order, by number."""

    passage_id: str
    tokens: NDArray[np.int32]
    digits: float
    start: float

    @classmethod
    def of(cls, passage: Passage, tokens: NDArray[np.int32]) -> Text:
        """Look at a passage."""
        return cls(
            passage_id=passage.id,
            tokens=tokens,
            digits=len(_DIGIT.findall(passage.text)) / max(len(passage.text), 1),
            start=math.nan if passage.document_id is None else passage.start,
        )


class FoundTexts(Protocol):
    """The texts of some hits. Numbers of terms hold among them, and for the queries they are asked about."""

    @property
    def texts(self) -> Sequence[Text]:
        """One for each hit."""
        ...

    def numbers(self, words: Sequence[str]) -> list[int | None]:
        """The numbers of terms, ``None`` for those that the corpus does not know."""
        ...

    def idf(self, terms: NDArray[np.int32]) -> NDArray[np.float64]:
        """The inverse document frequency of some known terms."""
        ...

    def scores(self, tokens: NDArray[np.int32]) -> NDArray[np.float64]:
        """The BM25 score of each text for a query, given by its known terms, with repeats."""
        ...


def texts_of(index: LexicalIndex | Corpus) -> IndexedTexts | CorpusTexts:
    """What gives the texts of hits."""
    return IndexedTexts(index) if isinstance(index, LexicalIndex) else CorpusTexts(index)


def unknown_ids(index: LexicalIndex | Corpus, passage_ids: Sequence[str]) -> list[str]:
    """Those of some ids that are not in an index."""
    if not isinstance(index, LexicalIndex):
        found = index.find(passage_ids)
        return [one for one, passage in zip(passage_ids, found, strict=True) if passage is None]
    unknown = []
    for passage_id in passage_ids:
        try:
            index.position_of(passage_id)
        except InputError:
            unknown.append(passage_id)
    return unknown


class IndexedTexts:
    """Texts from an index of ours, of which the last ones are remembered."""

    def __init__(self, index: LexicalIndex) -> None:
        self.index = index
        self.tokenizer = index.tokenizer
        self._text = lru_cache(maxsize=_REMEMBERED)(self._read)

    def of(self, hits: Sequence[Hit]) -> FoundTexts:
        """The texts of hits.

        Raises :class:`~hybridrank.errors.InputError` for one that is not in the index.
        """
        positions = np.array([self._position(hit) for hit in hits], dtype=np.int64)
        return _Indexed(self.index, positions, [self._text(position) for position in positions.tolist()])

    def _position(self, hit: Hit) -> int:
        # Most hits say rightly where they stand, which spares a table of all ids.
        if 0 <= hit.position < len(self.index) and self._text(hit.position).passage_id == hit.passage_id:
            return hit.position
        return self.index.position_of(hit.passage_id)

    def _read(self, position: int) -> Text:
        passage = self.index.passages[position]
        return Text.of(passage, self.index.vocabulary.lookup(passage.text))


@dataclass(frozen=True, slots=True)
class _Indexed:
    index: LexicalIndex
    positions: NDArray[np.int64]
    texts: list[Text]

    def numbers(self, words: Sequence[str]) -> list[int | None]:
        return [self.index.vocabulary.id_of(word) for word in words]

    def idf(self, terms: NDArray[np.int32]) -> NDArray[np.float64]:
        indptr = self.index.postings.indptr
        return lucene_idf(indptr[terms + 1] - indptr[terms], self.index.postings.n_documents)

    def scores(self, tokens: NDArray[np.int32]) -> NDArray[np.float64]:
        _, given = self.index.postings.contributions(tokens, self.positions)
        total: NDArray[np.float64] = given.sum(axis=0, dtype=np.float64)
        return total


class CorpusTexts:
    """Texts that hits bring with them, or else from an engine, with its statistics."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self.tokenizer = corpus.tokenizer

    def of(self, hits: Sequence[Hit]) -> FoundTexts:
        """The texts of hits.

        Raises :class:`~hybridrank.errors.InputError` for one that is not in the corpus.
        """
        missing = [hit.passage_id for hit in hits if hit.passage is None]
        fetched = dict(zip(missing, self.corpus.find(missing) if missing else [], strict=True))
        passages = []
        for hit in hits:
            passage = hit.passage or fetched[hit.passage_id]
            if passage is None:
                raise no_such_passage(hit.passage_id)
            passages.append(passage)
        return _Fetched(self.corpus, passages)


class _Fetched:
    """Terms are numbered anew for each query, so that nothing grows and threads share nothing."""

    def __init__(self, corpus: Corpus, passages: Sequence[Passage]) -> None:
        self._corpus = corpus
        self._vocabulary = Vocabulary(corpus.tokenizer)
        ids, ends = self._vocabulary.encode(passage.text for passage in passages)
        tokens = np.split(ids, ends[1:-1])
        self.texts = [Text.of(passage, of) for passage, of in zip(passages, tokens, strict=True)]

    def numbers(self, words: Sequence[str]) -> list[int | None]:
        frequencies = dict(zip(words, self._corpus.document_frequency(words).tolist(), strict=True))
        return [self._vocabulary.add(word) if frequencies[word] > 0 else None for word in words]

    def idf(self, terms: NDArray[np.int32]) -> NDArray[np.float64]:
        words = [self._vocabulary.terms[term] for term in terms.tolist()]
        return lucene_idf(self._corpus.document_frequency(words), self._corpus.n_documents)

    def scores(self, tokens: NDArray[np.int32]) -> NDArray[np.float64]:
        terms, counts = np.unique(tokens, return_counts=True)
        held = [(terms[:, None] == text.tokens).sum(axis=1) for text in self.texts]
        given = shares(
            counts,
            self.idf(terms),
            np.stack(held, axis=1),
            np.array([len(text.tokens) for text in self.texts]),
            self._corpus.average_length,
            k1=self._corpus.k1,
            b=self._corpus.b,
        )
        total: NDArray[np.float64] = given.sum(axis=0, dtype=np.float64)
        return total
