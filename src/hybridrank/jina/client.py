"""The client of embedding and reranking services for code without an event loop."""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from hybridrank.budget import Ledger, check_ledger
from hybridrank.jina import wire
from hybridrank.jina.aio import AsyncJinaClient, Embeddings, Scores, options_from_env
from hybridrank.jina.cache import ResponseCache
from hybridrank.jina.jobs import Limits

if TYPE_CHECKING:
    import httpx

__all__ = ["JinaClient"]

T = TypeVar("T")


class JinaClient:
    """Embeds and reranks as :class:`~hybridrank.jina.AsyncJinaClient` does, which it runs; safe to share
    between threads, and usable where an event loop runs already.

    Arguments and errors are the same. Threads that call at one time have connections of their own, and each
    keeps to ``limits.concurrency``; the ledger's budget holds for all together. A forked process begins with
    connections of its own; budgets are of one process.

    >>> from hybridrank.jina import JinaClient
    >>> JinaClient(base_url="http://localhost:8080", api_key="not-told")
    JinaClient(base_url='http://localhost:8080')
    """

    def __init__(
        self,
        *,
        api_key: str | None = None,
        base_url: str = "https://api.jina.ai/v1",
        dialect: wire.Dialect = "jina",
        embedding_model: str = "jina-embeddings-v3",
        reranking_model: str = "jina-reranker-v2-base-multilingual",
        ledger: Ledger | None = None,
        cache: ResponseCache | None = None,
        limits: Limits | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
        trust_env: bool = False,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        secret = wire.check_key(api_key)

        def make() -> AsyncJinaClient:
            return AsyncJinaClient(
                api_key=secret,
                base_url=base_url,
                dialect=dialect,
                embedding_model=embedding_model,
                reranking_model=reranking_model,
                ledger=self.ledger,
                cache=cache,
                limits=limits,
                transport=transport,
                trust_env=trust_env,
                sleep=sleep,
            )

        self.ledger = check_ledger(ledger) or Ledger()
        self.cache = cache
        self._make = make
        self._lock = threading.Lock()
        self._process = os.getpid()
        first = make()  # so that what is wrong is known now
        self._idle = [_Worker(first)]
        self.base_url = first.base_url
        self.dialect = first.dialect
        self.embedding_model = embedding_model
        self.reranking_model = reranking_model
        self.limits = first.limits

    @classmethod
    def from_env(cls, *, environ: Mapping[str, str] | None = None, **options: Any) -> JinaClient:
        """A client with the key of ``JINA_API_KEY`` and the address of ``JINA_BASE_URL``, where these are
        set, and the proxies that the environment names; ``options`` are those of the class."""
        return cls(**{**options_from_env(environ), **options})

    def __repr__(self) -> str:
        return f"{type(self).__name__}(base_url={self.base_url!r})"

    def __enter__(self) -> JinaClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections; the next call opens new ones. The cache, which may be shared, stays open."""
        with self._lock:
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.stop()

    def embed(
        self,
        texts: Sequence[str],
        *,
        task: str | None = "retrieval.passage",
        model: str | None = None,
        dimensions: int | None = None,
        ledger: Ledger | None = None,
        deadline: float | None = None,
    ) -> Embeddings:
        """One vector a text; see :meth:`hybridrank.jina.AsyncJinaClient.embed`."""
        return self._run(
            lambda client: client.embed(
                texts, task=task, model=model, dimensions=dimensions, ledger=ledger, deadline=deadline
            )
        )

    def rerank(
        self,
        query: str,
        documents: Sequence[str],
        *,
        model: str | None = None,
        ledger: Ledger | None = None,
        deadline: float | None = None,
    ) -> Scores:
        """One score a document; see :meth:`hybridrank.jina.AsyncJinaClient.rerank`."""
        return self._run(
            lambda client: client.rerank(query, documents, model=model, ledger=ledger, deadline=deadline)
        )

    def _run(self, call: Callable[[AsyncJinaClient], Coroutine[Any, Any, T]]) -> T:
        with self._lock:
            if self._process != os.getpid():  # forked: what was opened before belongs to the other process
                _LEFT_ALONE.extend(self._idle)
                self._idle, self._process = [], os.getpid()
            worker = self._idle.pop() if self._idle else None
        worker = worker or _Worker(self._make())
        try:
            return _outside_of_loops(lambda: worker.run(call))
        finally:
            with self._lock:
                self._idle.append(worker)


_LEFT_ALONE: list[_Worker] = []  # of another process: even closing them here would disturb it


class _Worker:
    """A client with an event loop, which runs in the thread that calls, and only while it calls."""

    def __init__(self, client: AsyncJinaClient) -> None:
        self.client = client
        self.loop = asyncio.new_event_loop()
        self.stop = weakref.finalize(self, _stop, self.loop, client, os.getpid())

    def run(self, call: Callable[[AsyncJinaClient], Coroutine[Any, Any, T]]) -> T:
        task = self.loop.create_task(call(self.client))
        try:
            return self.loop.run_until_complete(task)
        except BaseException:
            if not task.done():  # Ctrl-C: what nobody waits for must not stay under way
                task.cancel()
                with suppress(asyncio.CancelledError):
                    self.loop.run_until_complete(task)
            raise


def _stop(loop: asyncio.AbstractEventLoop, client: AsyncJinaClient, process: int) -> None:
    def stop() -> None:
        loop.run_until_complete(client.aclose())
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()

    if process == os.getpid():
        _outside_of_loops(stop)


def _outside_of_loops(function: Callable[[], T]) -> T:
    """The function's result, from a thread without a loop where one runs already, as in a notebook."""
    running = True
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        running = False
    if not running:  # and not in the except block, for what is raised would carry that error along
        return function()
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(function).result()
