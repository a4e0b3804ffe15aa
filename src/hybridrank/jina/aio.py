"""The client of embedding and reranking services for an event loop."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hybridrank.budget import Budget, Ledger, check_ledger
from hybridrank.errors import InputError, MissingExtra
from hybridrank.jina import wire
from hybridrank.jina.cache import ResponseCache
from hybridrank.jina.jobs import Limits, embedding_job, rerank_job
from hybridrank.records import Usage

if TYPE_CHECKING:
    import httpx

__all__ = ["AsyncJinaClient", "Embeddings", "Scores", "options_from_env"]

_JINA = "https://api.jina.ai/v1"
_EMBEDDING_MODEL = "jina-embeddings-v3"
_RERANKING_MODEL = "jina-reranker-v2-base-multilingual"


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Embeddings:
    """Vectors, one row a text: float32 ``[n, d]``, finite; and what they have cost."""

    vectors: NDArray[np.float32]
    usage: Usage
    model: str


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Scores:
    """Scores, one a document: float32 ``[n]``, higher is better; and what they have cost.

    They are comparable within one query alone: some servers give probabilities, others raw logits. A blank
    document is never sent and has the score ``-inf``; all others are finite.
    """

    scores: NDArray[np.float32]
    usage: Usage
    model: str


class AsyncJinaClient:
    """Embeds and reranks at ``base_url``, under a budget, through a bad network.

    ``api_key`` may be left out for servers that ask for none. ``ledger`` is spent from when a call brings
    none of its own; ``cache`` answers what was asked before. ``dialect="tei"`` speaks with
    text-embeddings-inference. ``transport`` and ``sleep`` are for tests, ``trust_env`` lets the proxies named
    in the environment be used.

    A passing failure (a broken connection, 408, 429, 5xx, an answer that is none) is tried again, up to
    ``limits.attempts`` times in all, after a random time that grows, or as late as ``Retry-After`` asks for,
    and only when that lies within the deadline and the budget; every attempt counts as a request. A permanent
    one is raised at once. Redirects are not followed.

    Raises :class:`~hybridrank.errors.InputError` for an address or key that is none. The methods raise
    :class:`~hybridrank.errors.ServiceError` or one of its kinds, and
    :class:`~hybridrank.errors.BudgetExhausted`; what other batches of the same call have brought is in the
    cache by then. Not to be shared between event loops.
    """

    def __init__(
        self,
        *,
        api_key: str | None = None,
        base_url: str = _JINA,
        dialect: wire.Dialect = "jina",
        embedding_model: str = _EMBEDDING_MODEL,
        reranking_model: str = _RERANKING_MODEL,
        ledger: Ledger | None = None,
        cache: ResponseCache | None = None,
        limits: Limits | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
        trust_env: bool = False,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        try:
            from hybridrank.jina.engine import Engine
            from hybridrank.jina.transport import Secret
        except ImportError as error:
            raise MissingExtra(error.name or "httpx", extra="jina") from None
        if dialect not in ("jina", "tei"):
            raise InputError(f"the dialect is {dialect!r}", remedy="Give 'jina' or 'tei'.")
        self.base_url = wire.check_base_url(base_url)
        self.dialect = dialect
        self.embedding_model = embedding_model
        self.reranking_model = reranking_model
        self.ledger = check_ledger(ledger) or Ledger()
        self.cache = cache
        self.limits = Limits() if limits is None else limits
        self._engine = Engine(
            secret=Secret(wire.check_key(api_key)),
            limits=self.limits,
            cache=cache,
            encrypted=self.base_url.startswith("https:"),
            transport=transport,
            trust_env=trust_env,
            sleep=sleep,
        )

    @classmethod
    def from_env(cls, *, environ: Mapping[str, str] | None = None, **options: Any) -> AsyncJinaClient:
        """A client with the key of ``JINA_API_KEY`` and the address of ``JINA_BASE_URL``, where these are
        set, and the proxies that the environment names; ``options`` are those of the class."""
        return cls(**{**options_from_env(environ), **options})

    def __repr__(self) -> str:
        return f"{type(self).__name__}(base_url={self.base_url!r})"

    async def __aenter__(self) -> AsyncJinaClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections. The cache, which may be shared, stays open."""
        await self._engine.aclose()

    async def embed(
        self,
        texts: Sequence[str],
        *,
        task: str | None = "retrieval.passage",
        model: str | None = None,
        dimensions: int | None = None,
        ledger: Ledger | None = None,
        deadline: float | None = None,
    ) -> Embeddings:
        """One vector a text, in order; a blank text is never sent and has a vector of zeros.

        ``task`` is sent as it is, or left out when ``None``; ``dimensions`` asks for shorter vectors.
        ``deadline`` is the seconds that the call may take. When no text says anything, nothing tells the
        dimension, and without ``dimensions`` the vectors are of length 0.
        """
        chosen = self.embedding_model if model is None else model
        job = embedding_job(
            texts,
            base_url=self.base_url,
            model=chosen,
            task=task,
            dimensions=dimensions,
            dialect=self.dialect,
            limits=self.limits,
        )
        spent = self._ledger_of_call(ledger, deadline)
        found = await self._engine.ask(job, "embedding", spent)
        return Embeddings(vectors=job.rows(found, dimensions, 0.0), usage=spent.usage, model=chosen)

    async def rerank(
        self,
        query: str,
        documents: Sequence[str],
        *,
        model: str | None = None,
        ledger: Ledger | None = None,
        deadline: float | None = None,
    ) -> Scores:
        """One score a document, in order; a blank one is never sent and has the score ``-inf``.

        ``deadline`` is the seconds that the call may take. Raises
        :class:`~hybridrank.errors.InputError` for a blank query.
        """
        chosen = self.reranking_model if model is None else model
        job = rerank_job(
            query,
            documents,
            base_url=self.base_url,
            model=chosen,
            dialect=self.dialect,
            limits=self.limits,
        )
        spent = self._ledger_of_call(ledger, deadline)
        found = await self._engine.ask(job, "score", spent)
        return Scores(scores=job.rows(found, 1, -np.inf)[:, 0], usage=spent.usage, model=chosen)

    def _ledger_of_call(self, ledger: Ledger | None, deadline: float | None) -> Ledger:
        return (check_ledger(ledger) or self.ledger).within(Budget(seconds=deadline))


def options_from_env(environ: Mapping[str, str] | None = None) -> dict[str, Any]:
    """What the environment says about a client; the one place where it is read."""
    variables = os.environ if environ is None else environ
    named = {"api_key": variables.get("JINA_API_KEY"), "base_url": variables.get("JINA_BASE_URL")}
    return {"trust_env": True, **{name: value for name, value in named.items() if value}}
