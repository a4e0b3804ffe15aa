"""Jina embeddings as an :class:`~hybridrank.protocols.Embedder`."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hybridrank.budget import Budget, Ledger, check_ledger
from hybridrank.errors import InputError, WrongDimension
from hybridrank.jina.client import JinaClient

__all__ = ["JinaEmbedder"]


class JinaEmbedder:
    """Turns texts into vectors through a client.

    ``model`` is the client's if not given; ``dimensions`` asks for shorter vectors than the model's own.
    ``ledger`` is what is spent from, the client's if not given. ``tasks`` are the service's names for a query
    and a passage, or ``None`` for a server that knows none. An index stores ``model`` and ``dimension`` and
    checks them when it is opened.
    """

    def __init__(
        self,
        client: JinaClient,
        *,
        model: str | None = None,
        dimensions: int | None = None,
        ledger: Ledger | None = None,
        tasks: tuple[str, str] | None = ("retrieval.query", "retrieval.passage"),
    ) -> None:
        self.client = client
        self.model = client.embedding_model if model is None else model
        self.dimensions = dimensions
        self.ledger = check_ledger(ledger) or client.ledger
        self._tasks: dict[str, str | None] = dict(
            zip(("query", "passage"), tasks or (None, None), strict=True)
        )
        # In a list, so that what one learns those within it know, too.
        self._learned = [] if dimensions is None else [dimensions]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.client!r}, model={self.model!r}, dimensions={self.dimensions!r})"

    @property
    def dimension(self) -> int:
        """The length of a vector. Where ``dimensions`` was not given and nothing was embedded yet, one short
        text is sent to learn it."""
        if not self._learned:
            self.embed(["dimension"], task="passage")
        return self._learned[0]

    def within(self, budget: Budget | None = None) -> JinaEmbedder:
        """The same embedder, paying from a ledger inside its own, whose ``usage`` is its own part; see
        :meth:`hybridrank.budget.Ledger.within`."""
        inner = copy.copy(self)
        inner.ledger = self.ledger.within(budget)
        return inner

    def embed(self, texts: Sequence[str], *, task: Literal["query", "passage"]) -> NDArray[np.float32]:
        """One row a text: float32 ``[n, dimension]``, of unit length where the service does that; zeros for a
        blank text.

        Raises :class:`~hybridrank.errors.WrongDimension` when the service changes the length between calls,
        and what :meth:`hybridrank.jina.AsyncJinaClient.embed` raises.
        """
        if task not in self._tasks:
            raise InputError(f"the task is {task!r}", remedy="Give 'query' or 'passage'.")
        vectors = self.client.embed(
            texts,
            task=self._tasks[task],
            model=self.model,
            dimensions=self.dimensions,
            ledger=self.ledger,
        ).vectors
        if not vectors.shape[1]:  # every text is blank, or there is none
            return np.zeros((len(vectors), self.dimension), dtype=np.float32)
        if not self._learned:
            self._learned.append(vectors.shape[1])
        if vectors.shape[1] != self._learned[0]:
            raise WrongDimension(
                self.client.base_url,
                f"the vectors are of {vectors.shape[1]} numbers, not {self._learned[0]} as before",
                "See which model answers there.",
            )
        return vectors
