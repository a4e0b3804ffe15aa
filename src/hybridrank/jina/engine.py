"""The engine of the clients: asks for what the cache lacks, with retries and under a budget."""

from __future__ import annotations

import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio
import httpx
import tenacity

from hybridrank.budget import Ledger
from hybridrank.errors import BudgetExhausted, ServiceError, ServiceUnreachable
from hybridrank.jina import answers
from hybridrank.jina.cache import ResponseCache
from hybridrank.jina.jobs import Batch, Job, Limits
from hybridrank.jina.transport import Secret, exchange, http_client

__all__ = ["Engine"]

_BACKOFF = tenacity.wait_random_exponential(multiplier=0.5, max=20.0)
_JITTER = tenacity.wait_random(0.0, 0.25)  # so that those who were told the same time do not come at once


class Engine:
    """What sends; see :class:`~hybridrank.jina.AsyncJinaClient` for what it keeps to."""

    def __init__(
        self,
        *,
        secret: Secret,
        limits: Limits,
        cache: ResponseCache | None,
        encrypted: bool,
        transport: httpx.AsyncBaseTransport | None,
        trust_env: bool,
        sleep: Callable[[float], Awaitable[None]],
    ) -> None:
        self.limits = limits
        self.cache = cache
        self._secret = secret
        self._sleep = sleep
        self._slots = anyio.Semaphore(limits.concurrency)
        self._http = http_client(
            connections=limits.concurrency, encrypted=encrypted, transport=transport, trust_env=trust_env
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def ask(self, job: Job, kind: str, ledger: Ledger) -> dict[str, bytes]:
        """The answer to each text that is not blank: from the cache, or else from the service."""
        texts = job.different()
        keys: dict[str, bytes] = {}
        found: dict[str, bytes] = {}
        if self.cache is not None:
            keys = {text: job.key(text) for text in texts}
            known = self.cache.get(list(keys.values()))
            found = {text: known[key] for text, key in keys.items() if key in known}
            ledger.count_cache_hits(len(found))
        missing = list(job.batches([text for text in texts if text not in found]))
        batches = iter(missing)
        failures: list[Exception] = []

        async def work() -> None:
            # After a failure no batch is begun; those under way are paid for, and so they may end.
            while not failures and (batch := next(batches, None)) is not None:
                try:
                    new = await self._persist(job, batch, ledger)
                    found.update(new)
                    if self.cache is not None:
                        entries = {keys[text]: (blob, text) for text, blob in new.items()}
                        self.cache.put(kind, entries)
                except Exception as error:  # raised below, as it is and not in a group
                    failures.append(error)

        if len(missing) < 2:
            await work()
        else:
            async with anyio.create_task_group() as group:
                for _ in range(min(self.limits.concurrency, len(missing))):
                    group.start_soon(work)
        if failures:
            raise failures[0]
        return found

    async def _persist(self, job: Job, batch: Batch, ledger: Ledger) -> dict[str, bytes]:
        """Try a batch until it is answered, or cannot be."""
        try:
            return await self._attempt(job, batch, ledger)
        except ServiceError as error:
            if not error.passing:
                raise
            last = error
        return await self._retry(job, batch, ledger, last)

    async def _retry(self, job: Job, batch: Batch, ledger: Ledger, first: ServiceError) -> dict[str, bytes]:
        """Go on after a first attempt that failed."""
        pending: ServiceError | None = first
        last = first

        async def attempt() -> dict[str, bytes]:
            nonlocal last, pending
            if pending is not None:  # so that the waits and the counting begin with the first attempt
                pending = None
                raise first
            try:
                return await self._attempt(job, batch, ledger)
            except ServiceError as error:
                last = error
                raise
            except BudgetExhausted as exhausted:
                raise exhausted from last  # what the budget was spent on

        retrying = tenacity.AsyncRetrying(
            retry=tenacity.retry_if_exception(lambda e: isinstance(e, ServiceError) and e.passing),
            wait=_wait,
            stop=lambda state: (
                state.attempt_number >= self.limits.attempts
                or state.upcoming_sleep >= ledger.time_left
                or ledger.remaining.requests == 0
            ),
            sleep=self._sleep,
            reraise=True,
        )
        return await retrying(attempt)

    async def _attempt(self, job: Job, batch: Batch, ledger: Ledger) -> dict[str, bytes]:
        """One request, sent if the budget admits it, and charged for what the service says that it took."""
        call = job.call(batch.texts)
        async with self._slot(ledger):
            with await ledger.areserve(batch.tokens, sleep=self._sleep) as reservation:
                timeout = min(self.limits.timeout, ledger.time_left)
                reply = await exchange(self._http, call, self._secret, timeout)
                if isinstance(reply, ServiceError):
                    if isinstance(reply, ServiceUnreachable):
                        reservation.settle(0)
                    raise reply
                requests, tokens = answers.limits_left(reply.headers)
                if requests is not None or tokens is not None:
                    ledger.learn(requests=requests, tokens=tokens)
                error = answers.error_of(reply, self._secret.reveal(), time.time())
                if error is not None:
                    raise error
                blobs, counted = job.read(reply, call.count)
                if counted is not None:
                    reservation.settle(counted)
                return dict(zip(batch.texts, blobs, strict=True))

    @asynccontextmanager
    async def _slot(self, ledger: Ledger) -> AsyncIterator[None]:
        """A place among the requests under way, waited for no longer than there is time."""
        try:
            self._slots.acquire_nowait()
        except anyio.WouldBlock:
            with anyio.move_on_after(None if ledger.time_left == math.inf else ledger.time_left) as scope:
                await self._slots.acquire()
            if scope.cancelled_caught:
                raise BudgetExhausted("seconds", asked=0.0, left=0.0) from None
        try:
            yield
        finally:
            self._slots.release()


def _wait(state: tenacity.RetryCallState) -> float:
    """The seconds before the next attempt: never less than the service asks for."""
    error = state.outcome.exception() if state.outcome is not None else None
    asked = error.retry_after if isinstance(error, ServiceError) else None
    return _BACKOFF(state) if asked is None else asked + _JITTER(state)
