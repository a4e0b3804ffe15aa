"""What a retriever, an embedder and a reranker must offer to take part; anything of that shape will do."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from hybridrank.budget import Budget, Ledger
from hybridrank.errors import InputError
from hybridrank.records import Ranking

__all__ = ["Embedder", "MeteredEmbedder", "Reranker", "Retriever", "check_depth", "check_query"]


@runtime_checkable
class Retriever(Protocol):
    """Finds passages of a corpus.

    Every retriever keeps the same promises: hits come by score, highest first, then by place in the corpus;
    ``k`` may exceed the corpus; what shares nothing with the query is not returned; a query that says nothing
    gives an empty ranking; no character of a query is syntax. One that depends on an outside service and
    loses it returns what it has, with ``degraded`` set.

    >>> from hybridrank import LexicalIndex, Pipeline
    >>> index = LexicalIndex.build([])
    >>> isinstance(index, Retriever), isinstance(Pipeline(retrievers=[index]), Retriever)
    (True, True)
    """

    @property
    def name(self) -> str:
        """What its list is called in the reasons of a hit."""
        ...

    def __len__(self) -> int:
        """The number of passages."""
        ...

    def search(self, query: str, k: int = 10) -> Ranking:
        """The best ``k`` passages, fewer if fewer match. ``k >= 1``, or :class:`InputError` is raised."""
        ...

    def search_many(self, queries: Iterable[str], k: int = 10) -> Sequence[Ranking]:
        """The same as :meth:`search` of each query, in order."""
        ...


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors.

    >>> class Lengths:
    ...     model, dimension = "lengths", 1
    ...     def embed(self, texts, *, task):
    ...         return np.array([[len(text)] for text in texts], dtype=np.float32)
    >>> isinstance(Lengths(), Embedder)
    True
    """

    @property
    def model(self) -> str:
        """What tells its vectors from those of others. An index stores it, and is opened with no other."""
        ...

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        ...

    def embed(self, texts: Sequence[str], *, task: Literal["query", "passage"]) -> NDArray[np.float32]:
        """One row a text, in order: shape ``(len(texts), dimension)``, finite."""
        ...


@runtime_checkable
class MeteredEmbedder(Embedder, Protocol):
    """An embedder that pays from a ledger, so that it can be told what a search has cost."""

    @property
    def ledger(self) -> Ledger:
        """What its calls are paid from."""
        ...

    def within(self, budget: Budget | None = None) -> MeteredEmbedder:
        """The same embedder, paying from a ledger inside its own; see
        :meth:`hybridrank.budget.Ledger.within`."""
        ...


@runtime_checkable
class Reranker(Protocol):
    """Orders anew what was found.

    >>> from dataclasses import replace
    >>> from hybridrank import rank
    >>> class Backwards:
    ...     name = "backwards"
    ...     def rerank(self, ranking):
    ...         hits = (replace(hit, rank=rank) for rank, hit in enumerate(reversed(ranking), start=1))
    ...         return replace(ranking, hits=tuple(hits))
    >>> found = rank("paint the boat", ["A boat.", "Paint for the boat."])
    >>> [hit.passage_id for hit in found], [hit.passage_id for hit in Backwards().rerank(found)]
    (['1', '0'], ['0', '1'])
    """

    @property
    def name(self) -> str:
        """What its list is called in the reasons of a hit."""
        ...

    def rerank(self, ranking: Ranking) -> Ranking:
        """The same passages in a better order, ranks from 1 again, each hit's reasons kept and added to.

        When it cannot do its work (no budget left, service lost) it returns the ranking it was given with
        ``degraded`` set, and never raises for that.
        """
        ...


def check_depth(k: int) -> int:
    """``k`` itself, when it can be a number of hits to return.

    Raises :class:`~hybridrank.errors.InputError` unless it is a whole number and ``k >= 1``.
    """
    try:
        depth = operator.index(k)
    except TypeError:
        raise InputError(f"k is {k!r}", remedy="Give a whole number of hits, at least 1.") from None
    if depth < 1:
        raise InputError(f"k is {k}", remedy="Ask for at least 1 hit.")
    return depth


def check_query(query: str) -> str:
    """``query`` itself, when it is a string.

    Raises :class:`~hybridrank.errors.InputError` otherwise.
    """
    if not isinstance(query, str):
        raise InputError(f"the query is of type {type(query).__name__}, not str", remedy="Give a string.")
    return query
