import asyncio
import math
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridrank.budget import Budget, Ledger, Remaining, Reservation, check_ledger
from hybridrank.errors import BudgetExhausted, InputError
from hybridrank.records import Usage


class Clock:
    """A clock that sleeping moves on."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.slept.append(seconds)
        self.now += seconds

    async def asleep(self, seconds: float) -> None:
        self.sleep(seconds)

    def ledger(self, budget: Budget | None = None) -> Ledger:
        return Ledger(budget, clock=self, sleep=self.sleep)


def spend(ledger: Ledger, clock: Clock, bound: int, counted: int | None, seconds: float) -> None:
    with ledger.reserve(bound) as reservation:
        clock.now += seconds
        if counted is not None:
            reservation.settle(counted)


@pytest.mark.parametrize(
    "name", ["requests", "tokens", "concurrency", "requests_per_minute", "tokens_per_minute"]
)
@pytest.mark.parametrize("value", [-1, 1.5, True, "3", math.inf])
def test_limits_are_whole_numbers(name: str, value: object) -> None:
    with pytest.raises(InputError, match=f"the budget's {name} is .* Give a whole number"):
        Budget(**{name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [-0.1, math.nan, math.inf, True, "3"])
def test_seconds_are_a_finite_number(value: object) -> None:
    with pytest.raises(InputError, match="the budget's seconds is"):
        Budget(seconds=value)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["concurrency", "requests_per_minute", "tokens_per_minute"])
def test_rates_are_above_0(name: str) -> None:
    with pytest.raises(InputError, match="1 or more"):
        Budget(**{name: 0})


def test_nothing_may_be_spent_of_0() -> None:
    assert Budget(requests=0, tokens=0, seconds=0).requests == 0
    for limit in ("requests", "tokens", "seconds"):
        with pytest.raises(BudgetExhausted) as caught:
            Ledger(Budget(**{limit: 0})).reserve(1)
        assert (caught.value.limit, caught.value.left) == (limit, 0)


def test_without_limits_everything_is_admitted() -> None:
    ledger = Ledger()
    for _ in range(100):
        ledger.reserve(10**9).close()
    assert ledger.remaining == Remaining()
    assert ledger.time_left == math.inf


def test_a_request_is_charged_at_its_bound_until_it_is_settled() -> None:
    clock = Clock()
    ledger = clock.ledger(Budget(tokens=100))
    with ledger.reserve(60) as reservation:
        assert ledger.remaining.tokens == 40
        reservation.settle(20)
        reservation.settle(25)
        assert ledger.remaining.tokens == 75
        clock.now += 2
    with pytest.raises(BudgetExhausted) as caught:
        ledger.reserve(76)
    assert (caught.value.limit, caught.value.asked, caught.value.left) == ("tokens", 76, 75)
    with pytest.raises(ZeroDivisionError), ledger.reserve(70):
        raise ZeroDivisionError
    assert ledger.usage == Usage(requests=2, tokens=95, seconds=2.0)


def test_a_service_that_counts_more_than_the_bound_is_believed() -> None:
    ledger = Ledger(Budget(tokens=100))
    with ledger.reserve(60) as reservation:
        reservation.settle(150)
    assert ledger.remaining.tokens == 0
    assert ledger.usage.tokens == 150
    with pytest.raises(BudgetExhausted):
        ledger.reserve(1)


@pytest.mark.parametrize("tokens", [-1, 1.0, True])
def test_tokens_are_whole_numbers(tokens: int) -> None:
    with pytest.raises(InputError, match="tokens are asked for"):
        Ledger().reserve(tokens)
    with Ledger().reserve(1) as reservation, pytest.raises(InputError, match="tokens were counted"):
        reservation.settle(tokens)


def test_an_ended_request_is_not_settled() -> None:
    ledger = Ledger()
    with ledger.reserve(1) as reservation:
        pass
    reservation.close()
    with pytest.raises(InputError, match="the request has ended"):
        reservation.settle(1)
    assert ledger.usage.requests == 1


def test_time_runs_out() -> None:
    clock = Clock()
    ledger = clock.ledger(Budget(seconds=10, requests_per_minute=1))
    ledger.reserve().close()
    with pytest.raises(BudgetExhausted) as caught:  # a minute's wait does not fit, and is not begun
        ledger.reserve()
    assert (caught.value.limit, caught.value.asked, caught.value.left) == ("seconds", 60, 10)
    assert not clock.slept
    clock.now += 10
    assert ledger.time_left == 0
    with pytest.raises(BudgetExhausted, match="the budget's seconds do not suffice"):
        ledger.reserve()


def test_a_minute_is_waited_for_from_the_end_of_a_request() -> None:
    clock = Clock()
    ledger = clock.ledger(Budget(requests_per_minute=2))
    spend(ledger, clock, 1, None, 5)
    spend(ledger, clock, 1, None, 5)
    ledger.reserve()
    assert clock.slept == [55]


def test_tokens_of_a_minute() -> None:
    clock = Clock()
    ledger = clock.ledger(Budget(tokens_per_minute=100))
    spend(ledger, clock, 90, 50, 10)
    spend(ledger, clock, 50, 10, 10)
    spend(ledger, clock, 40, 40, 0)
    assert not clock.slept
    spend(ledger, clock, 60, 60, 0)
    assert clock.slept == [pytest.approx(60)]  # now the first two are forgotten
    with pytest.raises(BudgetExhausted) as caught:
        ledger.reserve(101)
    assert caught.value.limit == "tokens_per_minute"


@given(
    st.integers(1, 5),
    st.integers(50, 200),
    st.lists(st.tuples(st.integers(0, 50), st.floats(0, 1), st.floats(0, 40), st.floats(0, 1)), max_size=40),
)
def test_no_minute_of_the_service_holds_more_than_the_budget(
    requests: int, tokens: int, story: list[tuple[int, float, float, float]]
) -> None:
    """Wherever between sending and answer the service counts, and with less than the bound."""
    clock = Clock()
    ledger = clock.ledger(Budget(requests_per_minute=requests, tokens_per_minute=tokens))
    arrivals: list[tuple[float, int]] = []
    for bound, counted, seconds, moment in story:
        with ledger.reserve(bound) as reservation:
            arrivals.append((clock.now + moment * seconds, int(counted * bound)))
            clock.now += seconds
            reservation.settle(int(counted * bound))
    for start, _ in arrivals:
        minute = [count for at, count in arrivals if start <= at < start + 60 - 1e-6]
        assert len(minute) <= requests
        assert sum(minute) <= tokens


@given(
    st.integers(0, 30),
    st.integers(0, 500),
    st.lists(st.tuples(st.integers(0, 60), st.floats(0, 1)), max_size=40),
)
def test_the_whole_is_never_exceeded(requests: int, tokens: int, story: list[tuple[int, float]]) -> None:
    ledger = Ledger(Budget(requests=requests, tokens=tokens))
    sent = counted_by_service = 0
    for bound, share in story:
        left = ledger.remaining
        assert left.requests is not None
        assert left.tokens is not None
        try:
            with ledger.reserve(bound) as reservation:
                sent += 1
                counted_by_service += int(share * bound)
                if share < 0.8:
                    reservation.settle(int(share * bound))
        except BudgetExhausted:
            assert left.requests == 0 or left.tokens < bound
        assert counted_by_service <= ledger.usage.tokens <= tokens
    assert sent == ledger.usage.requests <= requests


def test_threads_share_a_budget() -> None:
    ledger = Ledger(Budget(requests=50, concurrency=2))
    under_way = most = refused = 0
    lock = threading.Lock()

    def send(_: int) -> None:
        nonlocal under_way, most, refused
        try:
            with ledger.reserve(1):
                with lock:
                    under_way += 1
                    most = max(most, under_way)
                threading.Event().wait(0.0005)
                with lock:
                    under_way -= 1
        except BudgetExhausted:
            with lock:
                refused += 1

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(send, range(80)))
    assert most <= 2
    assert (ledger.usage.requests, refused) == (50, 30)


def test_an_event_loop_waits_without_blocking() -> None:
    clock = Clock()
    ledger = clock.ledger(Budget(requests_per_minute=1))

    async def send() -> Reservation:
        (await ledger.areserve(1, sleep=clock.asleep)).close()
        return await ledger.areserve(1, sleep=clock.asleep)

    asyncio.run(send()).close()
    assert clock.slept == [60]
    assert ledger.usage.seconds == 60


def test_an_event_loop_sleeps_by_itself() -> None:
    ledger = Ledger(Budget(concurrency=1))

    async def hold() -> None:
        with await ledger.areserve():
            await asyncio.sleep(0.01)

    async def both() -> None:
        await asyncio.gather(hold(), hold())

    asyncio.run(both())
    assert ledger.usage.requests == 2


def test_a_ledger_within_another_keeps_to_both() -> None:
    clock = Clock()
    job = clock.ledger(Budget(requests=3, tokens=100, seconds=100))
    query = job.within(Budget(requests=2, tokens=80, seconds=5))
    spend(query, clock, 50, 40, 1)
    assert query.remaining == Remaining(requests=1, tokens=40, seconds=4.0)
    spend(job, clock, 50, 50, 1)
    assert query.remaining == Remaining(requests=1, tokens=10, seconds=3.0)
    with pytest.raises(BudgetExhausted):
        query.reserve(11)
    query.count_cache_hits(2)
    assert query.usage == Usage(requests=1, tokens=40, seconds=1.0, cache_hits=2)
    assert job.usage == Usage(requests=2, tokens=90, seconds=2.0, cache_hits=2)
    clock.now += 3
    with pytest.raises(BudgetExhausted, match="seconds"):
        query.reserve(1)
    job.within().reserve(1).close()
    assert job.remaining.requests == 0


def test_what_is_left_is_shared() -> None:
    clock = Clock()
    ledger = clock.ledger(Budget(requests=10, tokens=1000, seconds=60))
    assert ledger.share(3) == Remaining(requests=3, tokens=333, seconds=20.0)
    assert Ledger().share(3) == Remaining()
    with pytest.raises(InputError, match="0 queries are left"):
        ledger.share(0)


def test_what_the_service_allows_is_learned() -> None:
    clock = Clock()
    ledger = clock.ledger()
    assert ledger.told == Remaining()
    with ledger.within().reserve(10) as reservation:
        reservation.settle(5)
        ledger.learn(requests=1, tokens=30)
    assert ledger.told == Remaining(requests=1, tokens=30)
    clock.now += 10
    spend(ledger, clock, 20, 20, 0)
    assert not clock.slept
    ledger.reserve(1).close()
    assert clock.slept == [50]  # until the first has been forgotten
    assert ledger.reserve(500).tokens == 500  # and by then the news is too old


def test_a_service_that_allows_less_than_a_request_is_tried_all_the_same() -> None:
    clock = Clock()
    ledger = clock.ledger()
    ledger.learn(requests=0, tokens=0)
    ledger.reserve(10).close()
    assert not clock.slept
    ledger.learn(requests=0, tokens=0)
    ledger.reserve(10)
    assert clock.slept == [60]


def test_what_is_under_way_is_waited_for() -> None:
    clock = Clock()
    ledger = clock.ledger(Budget(requests_per_minute=1, seconds=1000))
    first = ledger.reserve()
    wait = ledger.admit()
    assert isinstance(wait, float)
    assert 0 < wait < 0.1
    first.close()
    assert ledger.admit() == 60


def test_a_budget_is_no_ledger_nor_a_ledger_a_budget() -> None:
    ledger = Ledger()
    assert check_ledger(ledger) is ledger
    assert check_ledger(None) is None
    with pytest.raises(InputError, match=r"the ledger is a Budget. Give Ledger\(budget\)"):
        check_ledger(Budget(requests=1))
    with pytest.raises(InputError, match=r"the ledger is a int. Give a Ledger\."):
        check_ledger(3)
    for make in (Ledger, ledger.within):
        with pytest.raises(InputError, match=r"the budget is a Ledger. Give a Budget\."):
            make(ledger)  # type: ignore[arg-type]
