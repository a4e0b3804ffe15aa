"""Thousands of seeded stories of failure, over real sockets.

A story is a call, a budget, and what happens to each of its requests. Waits between attempts take no time:
the clock jumps. There are 400, or as many as HYBRIDRANK_FAULT_STORIES says; `nox -s faults` tells 10,000.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import random
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from hybridrank.budget import Budget, Ledger
from hybridrank.errors import BudgetExhausted, ServiceError, ServiceRejected, ServiceTimeout
from hybridrank.jina import AsyncJinaClient, Embeddings, Limits, Scores
from tests.jina.fault_server import (
    DIMENSION,
    FAULTS,
    GOOD,
    PASSING,
    PERMANENT,
    SLOW,
    FaultServer,
    score_of,
    vector_of,
)

STORIES = int(os.environ.get("HYBRIDRANK_FAULT_STORIES", "400"))
SIDE_BY_SIDE = 8
KEY = "jina_0123456789abcdefghijklmnopqrstuvwxyzABCDEF"
ATTEMPTS = 4
PATIENT, HASTY = 30.0, 0.06  # seconds of an attempt: the latter where the story is about slowness
NOISE = 1.0  # seconds that a busy machine may take from one step of a story to the next
CHEAP = sorted(PASSING - {"ten_megabytes", "endless_chunks", "bomb"})  # those take tens of milliseconds
TEXTS = ["Net sales rose.", "Umsätze fielen.", "净销售额", "", "½ of ﷺ", "A" * 50, "Net sales rose."]


@dataclass
class Clock:
    """Time that a wait moves on instead of passing."""

    skipped: float = 0.0

    def __call__(self) -> float:
        return time.monotonic() + self.skipped

    async def sleep(self, seconds: float) -> None:
        self.skipped += seconds
        await asyncio.sleep(0)


@dataclass
class Leaks(logging.Handler):
    """Listens to every log at every level."""

    records: int = 0
    found: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(logging.DEBUG)

    def __hash__(self) -> int:
        return id(self)

    def emit(self, record: logging.LogRecord) -> None:
        self.records += 1
        if told(record.getMessage()):
            self.found.append(record.getMessage())


def told(text: str) -> bool:
    return any(KEY[at : at + 8] in text for at in range(len(KEY) - 7))


@pytest.fixture
def leaks() -> Iterator[Leaks]:
    handler = Leaks()
    loggers = [logging.getLogger(name) for name in ("httpx", "httpcore", "asyncio", "hybridrank")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.addHandler(handler)
        logger.setLevel(logging.DEBUG)
        logger.propagate = False  # pytest would keep hundreds of thousands of records
    yield handler
    for logger, level in zip(loggers, levels, strict=True):
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.propagate = True


class Story:
    """One call under one budget, by its seed."""

    def __init__(self, seed: int) -> None:
        chance = random.Random(seed)
        self.model = f"story-{seed}"
        self.slow = chance.random() < 0.02
        kinds = [(GOOD, 2), (PASSING, 5), (PERMANENT, 1)] + ([(SLOW, 6)] if self.slow else [])
        groups = chance.choices(
            [sorted(group) for group, _ in kinds], [w for _, w in kinds], k=chance.randrange(6)
        )
        if chance.random() < 0.97:
            groups = [CHEAP if "bomb" in group else group for group in groups]
        self.plan = [chance.choice(group) for group in groups]
        self.rerank = chance.random() < 0.5
        self.texts = chance.choices(TEXTS, k=chance.randrange(1, 5))
        self.budget = Budget(
            requests=chance.choice([None, None, None, 0, 1, 2, 3, 5]),
            tokens=chance.choice([None, None, None, 150, 400, 1500]),
            seconds=chance.choice([None, None, 0.5, 3.0]),
            concurrency=chance.choice([None, 1, 2]),
        )
        self.deadline = chance.choice([None, None, 0.05, 1.0, 10.0])
        self.batch = chance.choice([1, 2, 64])

    def __repr__(self) -> str:
        return f"{self.model}: {self.plan} {self.texts} {self.budget} {self.deadline} {self.batch}"


class Teller:
    """Tells stories to a server, one after another."""

    def __init__(self, server: FaultServer) -> None:
        self.server = server
        self.clock = Clock()
        self.outcomes: Counter[str] = Counter()
        self.clients = {
            (timeout, batch): AsyncJinaClient(
                api_key=KEY,
                base_url=server.url,
                limits=Limits(timeout=timeout, attempts=ATTEMPTS, max_texts=batch, max_documents=batch),
                sleep=self.clock.sleep,
            )
            for timeout in (PATIENT, HASTY)
            for batch in (1, 2, 64)
        }

    async def close(self) -> None:
        for client in self.clients.values():
            await client.aclose()

    async def tell(self, story: Story) -> None:
        timeout = HASTY if story.slow else PATIENT
        client = self.clients[timeout, story.batch]
        ledger = Ledger(story.budget, clock=self.clock)
        self.server.plan(story.model, story.plan)
        start = self.clock()
        result: Scores | Embeddings | None = None
        error: Exception | None = None
        try:
            if story.rerank:
                result = await client.rerank(
                    "sales?", story.texts, model=story.model, ledger=ledger, deadline=story.deadline
                )
            else:
                result = await client.embed(
                    story.texts,
                    model=story.model,
                    dimensions=DIMENSION,
                    ledger=ledger,
                    deadline=story.deadline,
                )
        except (BudgetExhausted, ServiceError) as caught:  # and nothing else: no query is lost
            error = caught
        self.outcomes[type(error or result).__name__] += 1
        taken = self.clock() - start
        self.judge_spending(story, ledger, taken, timeout)
        if error is not None:
            self.judge_error(story, error)
        else:
            judge_result(story, result)

    def judge_spending(self, story: Story, ledger: Ledger, taken: float, timeout: float) -> None:
        requests, tokens = self.server.requests[story.model], self.server.tokens[story.model]
        budget = story.budget
        assert requests <= ledger.usage.requests <= (math.inf if budget.requests is None else budget.requests)
        assert tokens <= ledger.usage.tokens <= (math.inf if budget.tokens is None else budget.tokens)
        limits = [limit for limit in (budget.seconds, story.deadline) if limit is not None]
        assert not limits or taken <= min(limits) + timeout + NOISE, (story, taken)
        if budget.concurrency is not None:
            assert self.server.most_under_way[story.model] <= budget.concurrency or story.slow

    def judge_error(self, story: Story, error: Exception) -> None:
        seen: list[BaseException] = []
        chain: BaseException | None = error
        while chain is not None and chain not in seen:
            seen.append(chain)
            assert isinstance(chain, BudgetExhausted | ServiceError)
            shown = [str(chain), repr(chain), repr(chain.args), repr(vars(chain))]
            if int(story.model[6:]) % 50 == 0:  # with the variables of all that was called
                shown += traceback.TracebackException.from_exception(chain, capture_locals=True).format()
            assert not any(told(text) for text in shown if "KEY" not in text), story
            chain = chain.__cause__ or chain.__context__
        limited = (story.budget.requests, story.budget.tokens, story.budget.seconds, story.deadline)
        if story.slow or any(limit is not None for limit in limited):
            return
        # With no limit only a permanent refusal, or as many failures as there are attempts, can end a call.
        failures = sum(name in PASSING for name in story.plan)
        refused = any(name in PERMANENT for name in story.plan)
        assert failures >= ATTEMPTS or refused or isinstance(error, ServiceTimeout), (story, error)
        assert failures >= ATTEMPTS or isinstance(error, ServiceRejected | ServiceTimeout), (story, error)


def judge_result(story: Story, result: Scores | Embeddings | None) -> None:
    if isinstance(result, Scores):
        expected = [score_of("sales?", text) if text else -math.inf for text in story.texts]
        assert result.scores.tolist() == expected, story
    elif isinstance(result, Embeddings):
        for text, row in zip(story.texts, result.vectors, strict=True):
            assert row.tolist() == (vector_of(text) if text else [0.0] * len(row)), story


async def tell_all(seeds: range) -> tuple[FaultServer, Counter[str]]:
    elsewhere, server = FaultServer(), FaultServer()
    listeners = [await elsewhere.start(), await server.start()]
    server.elsewhere = elsewhere.url
    tellers = [Teller(server) for _ in range(SIDE_BY_SIDE)]
    stories = map(Story, seeds)

    async def work(teller: Teller) -> None:
        for story in stories:
            await teller.tell(story)

    await asyncio.gather(*(work(teller) for teller in tellers))
    for teller in tellers:
        await teller.close()
    for listener in listeners:
        listener.close()
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    assert not elsewhere.requests  # no redirect was followed
    return server, sum((teller.outcomes for teller in tellers), Counter())


def test_no_query_is_lost_no_budget_exceeded_and_no_key_told() -> None:
    server, outcomes = asyncio.run(tell_all(range(STORIES)))
    assert sum(outcomes.values()) == STORIES
    assert server.keys == {f"Bearer {KEY}"}
    assert {"Scores", "Embeddings", "BudgetExhausted", "ServiceRejected"} <= outcomes.keys()


def test_no_key_is_in_any_log(leaks: Leaks) -> None:
    """A part of the stories again, listened to at every level, which takes three times as long."""
    some = max(1, STORIES // 20)
    asyncio.run(tell_all(range(some)))
    assert not leaks.found
    assert leaks.records > some


def test_every_fault_is_told_of() -> None:
    assert set(FAULTS) == GOOD | PASSING | PERMANENT | SLOW
    told_of = {name for seed in range(2000) for name in Story(seed).plan}
    assert told_of >= set(FAULTS) - SLOW - {"ten_megabytes", "endless_chunks", "bomb"}
