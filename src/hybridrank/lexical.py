"""The lexical index: passages found by the words they share with a query, with BM25."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from os import PathLike
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hybridrank.errors import HybridrankWarning, IndexTooNew, InputError
from hybridrank.passage_store import StoredPassages, store_passages
from hybridrank.postings import Postings
from hybridrank.protocols import check_depth, check_query
from hybridrank.records import Hit, Passage, Ranking, Reason
from hybridrank.storage import IndexReader, IndexWriter
from hybridrank.text.lexicon import Lexicon
from hybridrank.text.tokens import TermLookup, Tokenizer, Vocabulary

__all__ = ["LexicalIndex", "Postings"]

_KIND = "lexical"
_NAMED = 5  # passages named in one warning


class LexicalIndex:
    """Passages that can be searched with BM25; a :class:`~hybridrank.protocols.Retriever`.

    Made by :meth:`build` or :meth:`open`, and never changed afterwards, so threads may share it. ``name`` is
    what its list is called in the reasons of a hit; give each of several indexes in one pipeline a name of
    its own.

    >>> index = LexicalIndex.build([
    ...     Passage(id="a", text="Net sales rose."), Passage(id="b", text="Plan C, in 1,234 words.")
    ... ])
    >>> [hit.passage_id for hit in index.search("What is plan C?")]
    ['b']
    """

    def __init__(self, vocabulary: TermLookup, postings: Postings, passages: Sequence[Passage]) -> None:
        self.vocabulary = vocabulary
        self.postings = postings
        self.passages = passages
        self.name = "bm25"
        self._positions: dict[str, int] | None = None

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
        :mod:`hybridrank.postings`. Passages in which no term is found can never be hits; one
        :class:`~hybridrank.errors.HybridrankWarning` names them. Raises
        :class:`~hybridrank.errors.InputError` for what is no passage, and when two passages have the same id.
        """
        corpus = list(passages)
        _check_passages(corpus)
        _check_ids(corpus)
        vocabulary = Vocabulary(tokenizer or Tokenizer())
        ids, indptr = vocabulary.encode(passage.text for passage in corpus)
        _warn_of_silent(corpus, np.flatnonzero(np.diff(indptr) == 0))
        postings = Postings.build(ids, indptr, n_terms=len(vocabulary), k1=k1, b=b)
        return cls(vocabulary, postings, corpus)

    def save(self, directory: str | PathLike[str]) -> None:
        """Write the index into a directory, in place of one that is there; see :mod:`hybridrank.storage`."""
        settings = {"tokenizer": self.vocabulary.tokenizer.settings()}
        with IndexWriter(directory, kind=_KIND, settings=settings) as writer:
            Lexicon.save(self.vocabulary.terms, writer)
            self.postings.save(writer)
            store_passages(self.passages, writer)

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
        return cls(Lexicon.load(tokenizer, reader), Postings.load(reader), StoredPassages(reader))

    def __len__(self) -> int:
        return len(self.passages)

    def search(self, query: str, k: int = 10) -> Ranking:
        """The best ``k`` passages, by score descending and then by place in the corpus.

        Fewer come back when fewer share a term with the query: none for a query that is empty or says nothing
        that the corpus knows. Raises :class:`~hybridrank.errors.InputError` for ``k < 1`` and for a query
        that is no string.
        """
        terms = self.vocabulary.lookup(check_query(query))
        positions, scores = self.postings.top(terms, check_depth(k))
        reasons = self._reasons(terms, positions, scores)
        return Ranking(query=query, hits=tuple(map(self._hit, positions.tolist(), reasons)))

    def search_many(self, queries: Iterable[str], k: int = 10) -> list[Ranking]:
        """The same as :meth:`search` of each query, in order."""
        return [self.search(query, k) for query in queries]

    def explain(self, query: str, passage_id: str) -> Reason | None:
        """Why a passage is found by a query, whatever its rank; ``None`` when they share no term.

        Raises :class:`~hybridrank.errors.InputError` for an id that is not in the index.
        """
        position = self.position_of(passage_id)
        terms = self.vocabulary.lookup(check_query(query))
        docs, scores = self.postings.matches(terms)
        at = np.flatnonzero(docs == position)
        if len(at) == 0:
            return None
        score = scores[at[0]]
        rank = 1 + int(np.sum(scores > score) + np.sum(scores[: at[0]] == score))
        (reason,) = self._reasons(terms, docs[at], scores[at])
        return Reason(source=self.name, rank=rank, score=reason.score, terms=reason.terms)

    def position_of(self, passage_id: str) -> int:
        """The place of a passage in the corpus, from 0.

        Raises :class:`~hybridrank.errors.InputError` for an id that is not in the index.
        """
        if self._positions is None:
            self._positions = {passage_id: place for place, passage_id in enumerate(_ids(self.passages))}
        try:
            return self._positions[passage_id]
        except KeyError:
            raise InputError(
                f"there is no passage {passage_id!r} in the index",
                remedy="Give the id of an indexed passage.",
            ) from None

    def _hit(self, position: int, reason: Reason) -> Hit:
        passage = self.passages[position]
        return Hit(
            passage_id=passage.id,
            position=position,
            rank=reason.rank,
            score=reason.score,
            passage=passage,
            reasons=(reason,),
        )

    def _reasons(
        self, terms: NDArray[np.int32], positions: NDArray[np.int32], scores: NDArray[np.float32]
    ) -> list[Reason]:
        numbers, shares = self.postings.contributions(terms, positions)
        names = [self.vocabulary.terms[number] for number in numbers.tolist()]
        return [
            Reason(source=self.name, rank=rank, score=score, terms=_largest_first(names, given))
            for rank, (score, given) in enumerate(
                zip(scores.tolist(), shares.T.tolist(), strict=True), start=1
            )
        ]


def _ids(passages: Sequence[Passage]) -> Iterable[str]:
    # Those of a stored corpus are read without its texts.
    return passages.ids if isinstance(passages, StoredPassages) else (passage.id for passage in passages)


def _largest_first(names: list[str], shares: list[float]) -> dict[str, float]:
    matched = [(name, share) for name, share in zip(names, shares, strict=True) if share > 0]
    return dict(sorted(matched, key=lambda pair: (-pair[1], pair[0])))


def _check_passages(corpus: Sequence[Passage]) -> None:
    for place, passage in enumerate(corpus):
        if not isinstance(passage, Passage):
            raise InputError(
                f"passage {place} is a {type(passage).__name__}, not a Passage",
                remedy="For texts of your own use rank(query, texts), or split_document.",
            )


def _check_ids(corpus: Sequence[Passage]) -> None:
    seen: dict[str, int] = {}
    for place, passage_id in enumerate(_ids(corpus)):
        first = seen.setdefault(passage_id, place)
        if first != place:
            raise InputError(
                f"passages {first} and {place} (counted from 0) have the same id {passage_id!r}",
                remedy="Give each passage an id of its own.",
            )


def _warn_of_silent(corpus: Sequence[Passage], silent: NDArray[np.intp]) -> None:
    if len(silent) == 0:
        return
    named = ", ".join(repr(corpus[place].id) for place in silent[:_NAMED])
    more = f" and {len(silent) - _NAMED} more" if len(silent) > _NAMED else ""
    warnings.warn(
        f"{len(silent)} of {len(corpus)} passages hold no term and can never be found: {named}{more}",
        HybridrankWarning,
        stacklevel=3,
    )
