"""Scores for texts that are in no index: by BM25 over them, or by a ranker that was learned elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any, Protocol, runtime_checkable

import numpy as np

from hybridrank.learned import LearnedReranker
from hybridrank.lexical import LexicalIndex
from hybridrank.postings import Postings
from hybridrank.ranking_model import RankingModel
from hybridrank.records import Passage
from hybridrank.text.tokens import Tokenizer, Vocabulary

__all__ = ["Bm25Scorer", "LearnedScorer", "Scorer"]


@runtime_checkable
class Scorer(Protocol):
    """Scores documents for a query, as :class:`hybridrank.jina.JinaClient` does."""

    def rerank(self, query: str, documents: Sequence[str], /) -> Any:
        """One number a document, in their order, higher for better: a sequence of them, or an object that has
        one as ``scores``."""
        ...


class Bm25Scorer:
    """Scores texts by BM25 over these texts alone; a :class:`Scorer` that needs no model and no network.

    ``tokenizer`` is ``Tokenizer()`` by default. A text that shares no term with the query scores 0.

    >>> scores = Bm25Scorer().rerank("Which sales?", ["Costs fell.", "Net sales rose."])
    >>> [score > 0 for score in scores]
    [False, True]
    """

    name = "bm25"

    def __init__(self, tokenizer: Tokenizer | None = None) -> None:
        self.tokenizer = tokenizer or Tokenizer()

    def rerank(self, query: str, documents: Sequence[str]) -> list[float]:
        """One score a document, 0 or more, in their order."""
        index = _index(documents, self.tokenizer)
        places, found = index.postings.matches(index.vocabulary.lookup(query))
        scores = np.zeros(len(documents))
        scores[places] = found
        return [float(score) for score in scores]


class LearnedScorer:
    """Scores texts by what a :class:`~hybridrank.learned.LearnedReranker` learned; a :class:`Scorer`.

    What the model looks at is worked out over the texts given, as if they were the corpus: a word is rare
    when few of *them* hold it. Give it candidates of one search, as it learned from, rather than two or three
    texts. Texts that share no term with the query come after all others, with one score.

    >>> from hybridrank import LearnedReranker, LexicalIndex, Passage
    >>> texts = ["A slug, a boat, and no trap.", "Slug trap."]
    >>> notes = [Passage(id=str(n), text=texts[n % 2]) for n in range(40)]
    >>> index = LexicalIndex.build(notes)
    >>> judged = {"q": {str(n): n % 2 for n in range(40)}}
    >>> ranker = LearnedReranker.fit(index, {"q": "slug trap"}, judged, rounds=5)
    >>> near, apart, other = LearnedScorer(ranker.model).rerank("slug trap", ["Slug trap.", "Slug", "Boat"])
    >>> near > other and apart > other
    True
    """

    name = "learned"

    def __init__(
        self,
        model: RankingModel,
        *,
        sources: Sequence[str] = ("dense", "cross_encoder"),
        tokenizer: Tokenizer | None = None,
    ) -> None:
        self.tokenizer = tokenizer or Tokenizer()
        self.model = model
        self.sources = tuple(sources)
        # It raises for a model of other features.
        LearnedReranker(_index((), self.tokenizer), model, sources=sources)

    @classmethod
    def open(cls, directory: str | PathLike[str], *, tokenizer: Tokenizer | None = None) -> LearnedScorer:
        """Open a ranker that :meth:`hybridrank.learned.LearnedReranker.save` wrote, without its index.

        Raises as :meth:`hybridrank.learned.LearnedReranker.open` does.
        """
        ranker = LearnedReranker.open(directory, _index((), tokenizer or Tokenizer()))
        return cls(ranker.model, sources=ranker.features.sources, tokenizer=tokenizer)

    def rerank(self, query: str, documents: Sequence[str]) -> list[float]:
        """One score a document, in their order; of any size and sign, and comparable within a query alone."""
        index = _index(documents, self.tokenizer)
        found = index.search(query, max(len(documents), 1))
        if not found:
            return [0.0] * len(documents)
        ranker = LearnedReranker(index, self.model, depth=len(found), sources=self.sources)
        score_of = {hit.position: hit.score for hit in ranker.rerank(found)}
        lowest = min(score_of.values()) - 1
        return [score_of.get(place, lowest) for place in range(len(documents))]


def _index(documents: Sequence[str], tokenizer: Tokenizer) -> LexicalIndex:
    # Not LexicalIndex.build, which warns of texts that no search can find: here they come last.
    vocabulary = Vocabulary(tokenizer)
    ids, indptr = vocabulary.encode(documents)
    postings = Postings.build(ids, indptr, n_terms=len(vocabulary), k1=1.5, b=0.75)
    passages = [Passage(id=str(place), text=text) for place, text in enumerate(documents)]
    return LexicalIndex(vocabulary, postings, passages)
