"""What a job may spend on outside services, and the ledger that never lets it spend more."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, fields
from types import TracebackType

from hybridrank.errors import BudgetExhausted, InputError
from hybridrank.records import Usage

__all__ = ["Budget", "Ledger", "Remaining", "Reservation", "check_ledger"]

_MINUTE = 60.0
_POLL = 0.002  # seconds between two looks for a free place among the requests under way
_POSITIVE = ("concurrency", "requests_per_minute", "tokens_per_minute")


@dataclass(frozen=True, kw_only=True, slots=True)
class Budget:
    """What may be spent; ``None`` sets no limit.

    ``requests`` counts every attempt, retries too; ``tokens`` is what the service counts; ``seconds`` runs
    from the making of the ledger; ``concurrency`` is the number of requests under way at one time; the last
    two hold for every stretch of 60 seconds. The first three may be 0, the others not; all are whole numbers
    but ``seconds``, which is finite. Raises :class:`~hybridrank.errors.InputError` otherwise.

    >>> Budget(requests=100, seconds=30).tokens is None
    True
    """

    requests: int | None = None
    tokens: int | None = None
    seconds: float | None = None
    concurrency: int | None = None
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None

    def __post_init__(self) -> None:
        for name in (field.name for field in fields(self)):
            value = getattr(self, name)
            lowest = 1 if name in _POSITIVE else 0
            kinds = (int, float) if name == "seconds" else (int,)
            if value is None or (type(value) in kinds and math.isfinite(value) and value >= lowest):
                continue
            kind = "number" if name == "seconds" else "whole number"
            raise InputError(
                f"the budget's {name} is {value!r}", remedy=f"Give a {kind} of {lowest} or more, or None."
            )


@dataclass(frozen=True, kw_only=True, slots=True)
class Remaining:
    """What is left of a budget, or a query's part of that; ``None`` stands for no limit.

    >>> Ledger(Budget(requests=3)).remaining
    Remaining(requests=3, tokens=None, seconds=None)
    """

    requests: int | None = None
    tokens: int | None = None
    seconds: float | None = None


class Ledger:
    """Admits requests as long as the budget lasts, and accounts for them; safe to share between threads.

    A request is admitted for an upper bound of its tokens and settled at what the service reports; one that
    is never settled stays charged at its bound. It belongs to the minute's windows from its admission until
    60 seconds after its end, so that the service, which counts somewhere in between, never sees more in any
    minute than the budget allows. ``clock`` gives seconds that never run backwards, ``sleep`` waits.

    >>> ledger = Ledger(Budget(requests=2, tokens=100))
    >>> with ledger.reserve(60) as reservation:
    ...     reservation.settle(45)  # what the service has counted
    >>> ledger.remaining
    Remaining(requests=1, tokens=55, seconds=None)
    >>> ledger.reserve(60)
    Traceback (most recent call last):
    ...
    hybridrank.errors.BudgetExhausted: the budget's tokens do not suffice: 60 asked for, 55 left
    """

    def __init__(
        self,
        budget: Budget | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        if not isinstance(budget, Budget | None):
            raise InputError(f"the budget is a {type(budget).__name__}", remedy="Give a Budget.")
        self.budget = Budget() if budget is None else budget
        self.clock = clock
        self._sleep = sleep
        self._lock = threading.Lock()
        self._chain: tuple[Ledger, ...] = (self,)
        self._start()

    def _start(self) -> None:
        self._started = self.clock()
        self._requests = self._tokens = self._cache_hits = self._in_flight = 0
        self._seconds = 0.0
        self._told = Remaining()
        self._window = _Window()

    def within(self, budget: Budget | None = None) -> Ledger:
        """A ledger inside this one: it admits what fits into ``budget`` and into this ledger's too, and its
        ``usage`` is its own part.

        >>> job = Ledger(Budget(requests=10))
        >>> query = job.within(Budget(requests=1, seconds=2.0))
        >>> with query.reserve(5): pass
        >>> query.remaining.requests, query.usage.requests, job.remaining.requests
        (0, 1, 9)
        """
        inner = Ledger(budget, clock=self.clock, sleep=self._sleep)
        inner._lock = self._lock
        inner._chain = (inner, *self._chain)
        return inner

    @property
    def time_left(self) -> float:
        """Seconds left, 0 at least; infinite without a limit."""
        now = self.clock()
        return min(ledger._time_left(now) for ledger in self._chain)

    @property
    def remaining(self) -> Remaining:
        """What is left, at least 0 of each."""
        return self.share(1)

    @property
    def usage(self) -> Usage:
        """What was spent: attempts, tokens settled or still bound, seconds from asking to the end of each
        request (those that ran at one time add up), and answers from a cache."""
        with self._lock:
            return Usage(
                requests=self._requests,
                tokens=self._tokens,
                seconds=self._seconds,
                cache_hits=self._cache_hits,
            )

    def share(self, queries_left: int) -> Remaining:
        """The part of one query when what is left is divided evenly among ``queries_left``, rounded down.

        Raises :class:`~hybridrank.errors.InputError` for less than one query.

        >>> Ledger(Budget(requests=10, tokens=1000)).share(4)
        Remaining(requests=2, tokens=250, seconds=None)
        """
        if queries_left < 1:
            raise InputError(f"{queries_left} queries are left", remedy="Share among at least 1.")
        with self._lock:
            requests = [ledger._requests_left() for ledger in self._chain]
            tokens = [ledger._tokens_left() for ledger in self._chain]
        left, least, seconds = min(requests), min(tokens), self.time_left
        return Remaining(
            requests=None if left == math.inf else int(left) // queries_left,
            tokens=None if least == math.inf else int(least) // queries_left,
            seconds=None if seconds == math.inf else seconds / queries_left,
        )

    def reserve(self, tokens: int = 0) -> Reservation:
        """Admit one request of at most ``tokens`` tokens, waiting for a place among the requests under way
        and in the minute's windows as long as the time left allows.

        Raises :class:`~hybridrank.errors.BudgetExhausted` when it does not fit: then it must not be sent.
        """
        asked = self.clock()
        while not isinstance(admitted := self.admit(tokens, asked=asked), Reservation):
            self._sleep(admitted)
        return admitted

    async def areserve(
        self, tokens: int = 0, *, sleep: Callable[[float], Awaitable[object]] | None = None
    ) -> Reservation:
        """The same as :meth:`reserve`, for an event loop; ``sleep`` is asyncio's if not given."""
        if sleep is None:
            import asyncio  # which is heavy, and of no use to most

            sleep = asyncio.sleep
        asked = self.clock()
        while not isinstance(admitted := self.admit(tokens, asked=asked), Reservation):
            await sleep(admitted)
        return admitted

    def admit(self, tokens: int = 0, *, asked: float | None = None) -> Reservation | float:
        """A reservation, or the seconds after which to ask again; never waits.

        ``asked`` is when the waiting began. Raises as :meth:`reserve` does.
        """
        if type(tokens) is not int or tokens < 0:
            raise InputError(f"{tokens!r} tokens are asked for", remedy="Give a whole number of 0 or more.")
        with self._lock:
            now = self.clock()
            wait = max(ledger._obstacle(tokens, now) for ledger in self._chain)
            left = min(ledger._time_left(now) for ledger in self._chain)
            if left <= 0:
                raise BudgetExhausted("seconds", asked=wait, left=0.0)
            if wait >= left:
                raise BudgetExhausted("seconds", asked=wait, left=left)
            if wait > 0:
                return wait
            return Reservation(self._chain, tokens, now, now if asked is None else asked)

    def count_cache_hits(self, hits: int) -> None:
        """Account for answers that cost nothing."""
        with self._lock:
            for ledger in self._chain:
                ledger._cache_hits += hits

    def learn(self, *, requests: int | None = None, tokens: int | None = None) -> None:
        """Take to heart what the service says is left of the present minute; it holds for a minute."""
        with self._lock:
            self._chain[-1]._told = Remaining(requests=requests, tokens=tokens)
            self._chain[-1]._window.learn(self.clock(), requests, tokens)

    @property
    def told(self) -> Remaining:
        """What the service last said of the minute then present; without limits when it has said nothing."""
        return self._chain[-1]._told

    def _time_left(self, now: float) -> float:
        limit = self.budget.seconds
        return math.inf if limit is None else max(0.0, limit - (now - self._started))

    def _requests_left(self) -> float:
        limit = self.budget.requests
        return math.inf if limit is None else max(0, limit - self._requests)

    def _tokens_left(self) -> float:
        limit = self.budget.tokens
        return math.inf if limit is None else max(0, limit - self._tokens)

    def _obstacle(self, tokens: int, now: float) -> float:
        """The seconds to wait before this ledger may admit a request; raises when it never will."""
        if self._requests_left() < 1:
            raise BudgetExhausted("requests", asked=1, left=0)
        if tokens > self._tokens_left():
            raise BudgetExhausted("tokens", asked=tokens, left=int(self._tokens_left()))
        per_minute = self.budget.tokens_per_minute
        if per_minute is not None and tokens > per_minute:
            raise BudgetExhausted("tokens_per_minute", asked=tokens, left=per_minute)
        if self.budget.concurrency is not None and self._in_flight >= self.budget.concurrency:
            return _POLL
        return self._window.wait(now, tokens, self.budget.requests_per_minute, per_minute)


class Reservation:
    """An admitted request; a context manager around its sending, to be settled inside."""

    def __init__(self, chain: tuple[Ledger, ...], tokens: int, now: float, asked: float) -> None:
        self.tokens = tokens
        self._chain = chain
        self._asked = asked
        self._open = True
        for ledger in chain:
            ledger._requests += 1
            ledger._tokens += tokens
            ledger._in_flight += 1
            ledger._window.begin(tokens)

    def settle(self, tokens: int) -> None:
        """Charge what the service has counted instead of the bound; the last call before the end holds."""
        if type(tokens) is not int or tokens < 0:
            raise InputError(
                f"{tokens!r} tokens were counted", remedy="Settle at a whole number of 0 or more."
            )
        with self._chain[0]._lock:
            if not self._open:
                raise InputError("the request has ended", remedy="Settle inside the with block.")
            for ledger in self._chain:
                ledger._tokens += tokens - self.tokens
                ledger._window.change(tokens - self.tokens)
            self.tokens = tokens

    def close(self) -> None:
        """End the request; done by leaving the ``with`` block. Further calls do nothing."""
        with self._chain[0]._lock:
            if not self._open:
                return
            self._open = False
            now = self._chain[0].clock()
            for ledger in self._chain:
                ledger._in_flight -= 1
                ledger._seconds += max(0.0, now - self._asked)
                ledger._window.end(now, self.tokens)

    def __enter__(self) -> Reservation:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Window:
    """The requests under way and those that ended within the last minute; used under the ledger's lock.

    A kept rate limiter counts a request when it is admitted. This one keeps it for a minute after its *end*,
    corrects its tokens afterwards, and can tell beforehand how long the wait would be, so that a wait that
    does not fit into the time left is not begun.
    """

    def __init__(self) -> None:
        self._ended: deque[tuple[float, int]] = deque()  # when, tokens; in the order of time
        self._under_way = self._tokens_under_way = self._tokens_ended = 0
        self._learned: tuple[float, float | None, float | None] = (-math.inf, None, None)

    def begin(self, tokens: int) -> None:
        self._under_way += 1
        self._tokens_under_way += tokens

    def change(self, difference: int) -> None:
        self._tokens_under_way += difference

    def end(self, now: float, tokens: int) -> None:
        self._under_way -= 1
        self._tokens_under_way -= tokens
        self._tokens_ended += tokens
        self._ended.append((now, tokens))
        self._forget(now)

    def learn(self, now: float, requests: int | None, tokens: int | None) -> None:
        """The service's limits are what it has left plus what it has counted: at least what has ended here,
        and the request that brings the news."""
        self._forget(now)
        self._learned = (
            now + _MINUTE,
            None if requests is None else requests + len(self._ended) + 1,
            None if tokens is None else tokens + self._tokens_ended,
        )

    def wait(self, now: float, tokens: int, requests_limit: int | None, tokens_limit: int | None) -> float:
        """The seconds until one more request of ``tokens`` fits under both limits and the learned ones."""
        self._forget(now)
        until, requests_learned, tokens_learned = self._learned
        if now >= until or not (self._ended or self._under_way):
            # What was learned is too old to count, or too small for even one request.
            requests_learned = tokens_learned = None
        requests_limit_ = min(_or_infinite(requests_limit), _or_infinite(requests_learned))
        tokens_limit_ = min(_or_infinite(tokens_limit), _or_infinite(tokens_learned))
        requests = self._under_way + len(self._ended) + 1
        used = self._tokens_under_way + self._tokens_ended + tokens
        if requests <= requests_limit_ and used <= tokens_limit_:
            return 0.0
        for ended, amount in self._ended:
            requests -= 1
            used -= amount
            if requests <= requests_limit_ and used <= tokens_limit_:
                return max(ended + _MINUTE - now, _POLL)
        if self._under_way:
            return _POLL  # what is under way stands in the way: when it ends, the wait is known
        return max(self._ended[-1][0] + _MINUTE - now, _POLL)

    def _forget(self, now: float) -> None:
        while self._ended and self._ended[0][0] + _MINUTE <= now:
            self._tokens_ended -= self._ended.popleft()[1]


def check_ledger(ledger: object) -> Ledger | None:
    """``ledger`` itself, when it is one or ``None``.

    Raises :class:`~hybridrank.errors.InputError` otherwise, as for a budget, of which nobody would know how
    much is spent.

    >>> check_ledger(Budget(requests=3))
    Traceback (most recent call last):
    ...
    hybridrank.errors.InputError: the ledger is a Budget. Give Ledger(budget), which keeps account of it.
    """
    if ledger is None or isinstance(ledger, Ledger):
        return ledger
    remedy = (
        "Give Ledger(budget), which keeps account of it." if isinstance(ledger, Budget) else "Give a Ledger."
    )
    raise InputError(f"the ledger is a {type(ledger).__name__}", remedy=remedy)


def _or_infinite(limit: float | None) -> float:
    return math.inf if limit is None else limit
