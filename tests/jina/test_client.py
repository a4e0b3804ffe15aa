"""Both clients against the fault server: whatever holds for one holds for the other."""

from __future__ import annotations

import asyncio
import copy
import json
import logging
import math
import os
import pickle
import random
import signal
import subprocess
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from hybridrank.budget import Budget, Ledger
from hybridrank.errors import (
    AnswerTooLarge,
    BadAnswer,
    BudgetExhausted,
    HybridrankWarning,
    InputError,
    RateLimited,
    ServiceDenied,
    ServiceRejected,
    ServiceTimeout,
    ServiceUnavailable,
    ServiceUnreachable,
    WrongDimension,
)
from hybridrank.jina import AsyncJinaClient, Embeddings, JinaClient, Limits, ResponseCache, Scores
from hybridrank.records import Usage
from tests.jina.fault_server import DIMENSION, FaultServer, running, score_of, vector_of

KEY = "jina_0123456789abcdefghij"


class Sleeper:
    """Waits in no time, and remembers for how long."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.slept.append(seconds)
        await asyncio.sleep(0)


class Waiting(JinaClient):
    """The asynchronous client, called as the other is."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.open: Callable[[], AsyncJinaClient] = lambda: AsyncJinaClient(
            **{**options, "ledger": self.ledger}
        )

    def embed(self, texts: Sequence[str], **options: Any) -> Embeddings:
        async def call() -> Embeddings:
            async with self.open() as client:
                return await client.embed(texts, **options)

        return asyncio.run(call())

    def rerank(self, query: str, documents: Sequence[str], **options: Any) -> Scores:
        async def call() -> Scores:
            async with self.open() as client:
                return await client.rerank(query, documents, **options)

        return asyncio.run(call())


@pytest.fixture(scope="module")
def server() -> Iterator[FaultServer]:
    with running() as found:
        yield found


@pytest.fixture
def sleeper() -> Sleeper:
    return Sleeper()


@pytest.fixture(params=[JinaClient, Waiting])
def make(request: pytest.FixtureRequest, server: FaultServer, sleeper: Sleeper) -> Iterator[Any]:
    made: list[JinaClient] = []

    def make_client(**options: Any) -> JinaClient:
        named = {"base_url": server.url, "api_key": KEY, "sleep": sleeper}
        client: JinaClient = request.param(**{**named, **options})
        made.append(client)
        return client

    yield make_client
    for client in made:
        client.close()


@pytest.fixture
def model(request: pytest.FixtureRequest, server: FaultServer) -> str:
    """A model of the test's own, about which the server has heard nothing."""
    name = request.node.name
    server.requests[name] = server.tokens[name] = server.most_under_way[name] = 0
    return str(name)


def test_texts_are_embedded_in_order(make: Any, model: str, server: FaultServer) -> None:
    found = make().embed(["a", "", "ü", "a"], model=model)
    assert found.vectors.tolist() == [vector_of("a"), [0.0] * DIMENSION, vector_of("ü"), vector_of("a")]
    assert found.vectors.dtype == np.float32
    assert (found.model, found.usage.requests, found.usage.tokens) == (model, 1, server.tokens[model])


def test_documents_are_scored_in_order(make: Any, model: str, server: FaultServer) -> None:
    client = make(reranking_model=model)
    found = client.rerank("q", ["a", " ", "b"])
    assert found.scores.tolist() == [score_of("q", "a"), -math.inf, score_of("q", "b")]
    assert found.scores.dtype == np.float32
    assert (found.usage.requests, found.usage.tokens) == (1, server.tokens[model])
    assert client.ledger.usage.requests == 1
    assert server.keys == {f"Bearer {KEY}"}


def test_nothing_is_asked_about_nothing(make: Any) -> None:
    client = make()
    assert client.embed([]).vectors.shape == (0, 0)
    assert client.embed(["", " "], dimensions=3).vectors.tolist() == [[0, 0, 0]] * 2
    assert client.rerank("q", []).scores.shape == (0,)
    assert client.rerank("q", ["", " "]).scores.tolist() == [-math.inf] * 2
    assert client.ledger.usage == Usage()


def test_batches_go_side_by_side_but_not_too_many(make: Any, model: str, server: FaultServer) -> None:
    texts = [f"text {number}" for number in range(25)]
    client = make(limits=Limits(max_texts=2, max_documents=3, concurrency=3))
    server.plan(model, ["late"] * 22)
    assert client.embed(texts, model=model).vectors.tolist() == [vector_of(text) for text in texts]
    assert client.rerank("q", texts, model=model).scores.tolist() == [score_of("q", text) for text in texts]
    assert server.requests[model] == 13 + 9
    assert 2 <= server.most_under_way[model] <= 3


def test_a_long_text_is_cut(make: Any, model: str, server: FaultServer) -> None:
    client = make(limits=Limits(max_text_bytes=5))
    assert client.embed(["ab üüü"], model=model).vectors.tolist() == [vector_of("ab ü")]
    assert server.bodies[-1]["input"] == ["ab ü"]


def test_passing_failures_are_waited_out(
    make: Any, model: str, server: FaultServer, sleeper: Sleeper
) -> None:
    server.plan(model, ["status_503", "reset_in_body", "nan"])
    found = make().rerank("q", ["a"], model=model)
    assert found.scores.tolist() == [score_of("q", "a")]
    assert found.usage.requests == server.requests[model] == 4
    assert len(sleeper.slept) == 3
    assert all(0 <= seconds <= bound for seconds, bound in zip(sleeper.slept, [0.5, 1.0, 2.0], strict=True))


@pytest.mark.parametrize(("fault", "seconds"), [("limited_for_seconds", 2.0), ("limited_until", 3.0)])
def test_retry_after_is_obeyed(
    make: Any, model: str, server: FaultServer, sleeper: Sleeper, fault: str, seconds: float
) -> None:
    server.plan(model, [fault])
    make().rerank("q", ["a"], model=model)
    (slept,) = sleeper.slept
    assert seconds <= slept <= seconds + 0.25


def test_a_wait_that_does_not_fit_is_not_begun(
    make: Any, model: str, server: FaultServer, sleeper: Sleeper
) -> None:
    server.plan(model, ["limited_for_seconds"])
    with pytest.raises(RateLimited) as caught:
        make().rerank("q", ["a"], model=model, deadline=1.9)
    assert caught.value.retry_after == 2.0
    assert not sleeper.slept


def test_attempts_are_limited(make: Any, model: str, server: FaultServer) -> None:
    server.plan(model, ["status_500"] * 9)
    with pytest.raises(ServiceUnavailable):
        make(limits=Limits(attempts=3)).rerank("q", ["a"], model=model)
    assert server.requests[model] == 3


def test_a_permanent_failure_is_raised_at_once(make: Any, model: str, server: FaultServer) -> None:
    server.plan(model, ["status_503", "status_401"])
    with pytest.raises(ServiceDenied, match="status 401"):
        make().embed(["a"], model=model)
    assert server.requests[model] == 2


def test_no_batch_is_begun_after_a_failure(make: Any, model: str, server: FaultServer) -> None:
    server.plan(model, ["status_400"] * 9)
    with pytest.raises(ServiceRejected):
        make(limits=Limits(max_texts=1, concurrency=2)).embed(list("abcdefgh"), model=model)
    assert server.requests[model] <= 2


def test_a_budget_is_kept_by_every_attempt(make: Any, model: str, server: FaultServer) -> None:
    server.plan(model, ["status_500"] * 9)
    client = make(ledger=Ledger(Budget(requests=3)))
    with pytest.raises(ServiceUnavailable):
        client.rerank("q", ["a"], model=model, ledger=client.ledger.within(Budget(requests=2)))
    assert server.requests[model] == 2
    with pytest.raises(ServiceUnavailable):
        client.rerank("q", ["a"], model=model)
    with pytest.raises(BudgetExhausted, match="the budget's requests do not suffice"):
        client.rerank("q", ["a"], model=model)
    assert server.requests[model] == client.ledger.usage.requests == 3


def test_what_the_budget_went_for_is_told(make: Any, model: str, server: FaultServer) -> None:
    server.plan(model, ["status_500"])
    with pytest.raises(BudgetExhausted) as caught:  # the failed attempt stays charged at its bound
        make().rerank("q", ["a"], model=model, ledger=Ledger(Budget(tokens=100)))
    assert isinstance(caught.value.__cause__, ServiceUnavailable)
    assert server.requests[model] == 1


def test_what_was_never_sent_costs_no_tokens(make: Any) -> None:
    client = make(base_url="http://127.0.0.1:1", limits=Limits(attempts=2))
    with pytest.raises(ServiceUnreachable):
        client.embed(["a"])
    assert (client.ledger.usage.requests, client.ledger.usage.tokens) == (2, 0)


def test_what_the_service_allows_is_learned(make: Any, model: str, server: FaultServer) -> None:
    client = make()
    server.plan(model, ["with_documents"])
    client.rerank("q", ["a"], model=model)
    assert client.ledger.told.requests == 500


def test_a_second_run_asks_for_nothing(make: Any, model: str, server: FaultServer, tmp_path: Path) -> None:
    texts = [f"text {number}" for number in range(10)]
    runs = []
    for limits in (Limits(max_texts=4, max_documents=4), Limits(max_texts=3, max_documents=7)):
        with ResponseCache(tmp_path / "cache.db") as cache:
            client = make(cache=cache, limits=limits)
            vectors = client.embed([*texts, texts[0]], model=model)
            scores = client.rerank("q", texts, model=model)
            runs.append((vectors.vectors.tolist(), scores.scores.tolist(), client.ledger.usage))
    assert runs[0][:2] == runs[1][:2]
    assert runs[0][2].requests == server.requests[model] == 6
    assert runs[1][2] == Usage(cache_hits=20)
    content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert KEY.encode() not in content
    assert b"text 7" not in content


def test_what_was_paid_for_is_kept_when_the_rest_fails(
    make: Any, model: str, server: FaultServer, tmp_path: Path
) -> None:
    server.plan(model, ["ok", "ok", "status_400"])
    with ResponseCache(tmp_path / "cache.db") as cache:
        client = make(cache=cache, limits=Limits(max_texts=1, concurrency=1))
        with pytest.raises(ServiceRejected):
            client.embed(["a", "b", "c"], model=model)
        assert client.embed(["a", "b", "c"], model=model).usage.cache_hits == 2
    assert server.requests[model] == 4


def test_a_failing_cache_is_done_without(make: Any, model: str, server: FaultServer, tmp_path: Path) -> None:
    with ResponseCache(tmp_path / "cache.db") as cache:
        assert cache._connection is not None
        cache._connection.execute("DROP TABLE answers")
        with pytest.warns(HybridrankWarning, match="done without"):
            assert make(cache=cache).embed(["a"], model=model).usage.requests == 1


def test_a_model_that_changes_under_its_name_is_noticed(
    make: Any, model: str, server: FaultServer, tmp_path: Path
) -> None:
    server.plan(model, ["ok", "other_dimension"])
    with ResponseCache(tmp_path / "cache.db") as cache:
        client = make(cache=cache)
        client.embed(["a"], model=model)
        with pytest.raises(WrongDimension, match=f"of {DIMENSION} and {DIMENSION + 1} numbers"):
            client.embed(["a", "b"], model=model)


def test_a_thousand_calls_through_a_bad_network(make: Any, model: str, server: FaultServer) -> None:
    chance = random.Random(7)
    faults = ["status_500", "limited", "reset_at_once", "cut_body", "nan", "page_502", "close_at_once"]
    server.plan(model, [chance.choice(faults) if chance.random() < 0.05 else "ok" for _ in range(2000)])
    client = make()
    documents = ["a", "b", "c"]
    if isinstance(client, Waiting):

        async def call() -> list[Scores]:
            async with client.open() as one:
                calls = (one.rerank(f"q{n}", documents, model=model) for n in range(1000))
                return await asyncio.gather(*calls)

        found = asyncio.run(call())
    else:
        found = [client.rerank(f"q{n}", documents, model=model) for n in range(1000)]
    for number, result in enumerate(found):
        assert result.scores.tolist() == [score_of(f"q{number}", text) for text in documents]
    assert 1000 < server.requests[model] == client.ledger.usage.requests <= 1080


@pytest.mark.parametrize("fault", ["silent", "dripping_headers", "half_a_body", "dripping_body"])
def test_one_attempt_takes_no_longer_than_its_timeout(
    make: Any, model: str, server: FaultServer, fault: str
) -> None:
    server.plan(model, [fault])
    with pytest.raises(ServiceTimeout, match=r"no whole answer within 0\.05 s"):
        make(limits=Limits(timeout=0.05, attempts=1)).embed(["a"], model=model)


def test_the_deadline_ends_an_attempt_too(make: Any, model: str, server: FaultServer) -> None:
    server.plan(model, ["silent"])
    with pytest.raises(ServiceTimeout):
        make().embed(["a"], model=model, deadline=0.05)
    with pytest.raises(BudgetExhausted, match="the budget's seconds"):
        make().embed(["a"], model=model, deadline=0)
    assert server.requests[model] == 1


def test_a_key_is_shown_nowhere(
    make: Any, model: str, server: FaultServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    client = make(limits=Limits(attempts=1))
    server.plan(model, ["status_401", "status_500", "redirect_302", "reset_in_headers", "invalid_json"])
    shown = [repr(client), repr(vars(client)), str(client)]
    for _ in range(5):
        with pytest.raises((ServiceRejected, ServiceUnavailable, BadAnswer)) as caught:
            client.embed(["a"], model=model)
        chain: BaseException | None = caught.value
        while chain is not None:
            shown += [str(chain), repr(chain), repr(vars(chain)), repr(pickle.dumps(chain))]
            shown += traceback.TracebackException.from_exception(chain, capture_locals=True).format()
            chain = chain.__cause__ or chain.__context__
    assert caplog.text.count("[key]") >= 3  # what the service repeated
    # This file has its key in a line of its own, which a traceback does not show.
    assert not [text for text in [*shown, caplog.text] if KEY[:8] in text]


def test_a_key_is_not_copied_into_files(make: Any) -> None:
    from hybridrank.jina.transport import Secret

    with pytest.raises(TypeError, match="a key is not written"):
        pickle.dumps(Secret(KEY))
    with pytest.raises(TypeError):
        copy.deepcopy(Secret(KEY))
    assert (repr(Secret(KEY)), repr(Secret(None))) == ("Secret(***)", "Secret(None)")


def test_a_key_is_optional(make: Any, model: str, server: FaultServer) -> None:
    before = set(server.keys)
    server.keys.clear()
    make(api_key=None).embed(["a"], model=model)
    assert server.keys == {""}
    server.keys.clear()
    server.keys |= before


def test_a_redirect_is_not_followed(make: Any, model: str, server: FaultServer) -> None:
    with running() as elsewhere:
        server.elsewhere = elsewhere.url
        for status in (301, 307, 308):
            server.plan(model, [f"redirect_{status}"])
            with pytest.raises(ServiceRejected, match=f"it redirects to {elsewhere.url}"):
                make().embed(["a"], model=model)
        assert not elsewhere.requests


@pytest.mark.parametrize("client", [JinaClient, AsyncJinaClient])
def test_the_environment_is_read_where_it_is_asked_for(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    found = client.from_env(
        environ={"JINA_API_KEY": KEY, "JINA_BASE_URL": "http://own:80/"}, embedding_model="m"
    )
    assert (found.base_url, found.embedding_model) == ("http://own:80", "m")
    assert client.from_env(environ={"JINA_BASE_URL": ""}).base_url == "https://api.jina.ai/v1"
    monkeypatch.setenv("JINA_BASE_URL", "http://other")
    assert client.from_env().base_url == "http://other"
    assert client.from_env(base_url="http://given").base_url == "http://given"
    assert client().base_url == "https://api.jina.ai/v1"
    assert repr(client(base_url="http://own")) == f"{client.__name__}(base_url='http://own')"


@pytest.mark.parametrize(
    "options",
    [{"dialect": "other"}, {"base_url": "nowhere"}, {"api_key": "a\nb"}, {"limits": None, "dialect": 3}],
)
def test_what_cannot_be_used_is_known_at_once(make: Any, options: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        make(**options)


@pytest.mark.parametrize("client", [JinaClient, AsyncJinaClient])
def test_a_budget_in_place_of_a_ledger_is_told(client: Any, make: Any) -> None:
    budget = Budget(requests=3)
    with pytest.raises(InputError, match=r"Give Ledger\(budget\)"):
        client(ledger=budget)
    with pytest.raises(InputError, match=r"Give Ledger\(budget\)"):
        make().embed(["a"], ledger=budget)
    with pytest.raises(InputError, match=r"Give Ledger\(budget\)"):
        make().rerank("a", ["b"], ledger=budget)


def answer(request: httpx.Request) -> httpx.Response:
    body = json.loads(request.content)
    if request.url.path == "/rerank":
        found = [{"index": at, "score": at * 0.5} for at in reversed(range(len(body["texts"])))]
        return httpx.Response(200, json=found)
    if request.url.path == "/embed":
        return httpx.Response(200, json=[[1.0, 2.0]] * len(body["inputs"]))
    return httpx.Response(int(body["model"]), content=b" " * 400_000)


def test_another_dialect_through_a_transport_of_one_s_own(make: Any) -> None:
    client = make(dialect="tei", transport=httpx.MockTransport(answer))
    assert client.rerank("q", ["a", "b"]).scores.tolist() == [0.0, 0.5]
    found = client.embed(["a", "b"])
    assert found.vectors.tolist() == [[1, 2], [1, 2]]
    assert found.usage.tokens == 2 * 33  # nothing was reported, so that the bound counts


def test_bodies_are_bounded_there_too(make: Any) -> None:
    client = make(transport=httpx.MockTransport(answer), limits=Limits(attempts=1))
    with pytest.raises(AnswerTooLarge):
        client.embed(["a"], model="200")
    with pytest.raises(ServiceRejected, match="it gives no reason"):
        client.embed(["a"], model="400")


def test_an_unforeseen_error_is_raised_as_it_is(make: Any) -> None:
    def fail(request: httpx.Request) -> httpx.Response:
        raise ZeroDivisionError

    client = make(transport=httpx.MockTransport(fail), limits=Limits(max_texts=1))
    with pytest.raises(ZeroDivisionError):
        client.embed(["a", "b", "c"])


def test_a_connection_that_takes_too_long_was_none(make: Any) -> None:
    def fail(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectTimeout(f"for {KEY}")

    def fail_later(request: httpx.Request) -> httpx.Response:
        raise httpx.ReadTimeout("")

    for handler, kind in ((fail, ServiceUnreachable), (fail_later, ServiceTimeout)):
        with pytest.raises(kind):
            make(transport=httpx.MockTransport(handler), limits=Limits(attempts=1)).embed(["a"])


def test_threads_share_a_client_and_its_budget(server: FaultServer, model: str) -> None:
    with JinaClient(base_url=server.url, ledger=Ledger(Budget(requests=30, concurrency=2))) as client:

        def call(number: int) -> bool:
            try:
                return bool(client.rerank("q", [f"text {number}"], model=model).usage.requests)
            except BudgetExhausted:
                return False

        with ThreadPoolExecutor(6) as threads:
            assert sum(threads.map(call, range(40))) == 30
    assert server.requests[model] == 30
    assert server.most_under_way[model] <= 2


def test_it_works_where_a_loop_runs_already(server: FaultServer, model: str) -> None:
    async def notebook() -> list[float]:
        with JinaClient(base_url=server.url) as client:
            return list(client.rerank("q", ["a"], model=model).scores.tolist())

    assert asyncio.run(notebook()) == [score_of("q", "a")]


def test_a_closed_client_opens_again(server: FaultServer, model: str) -> None:
    client = JinaClient(base_url=server.url)
    for _ in range(2):
        client.rerank("q", ["a"], model=model)
        client.close()
    client.close()
    assert server.requests[model] == 2


def test_waiting_for_a_place_is_part_of_the_time(server: FaultServer, model: str) -> None:
    async def both() -> None:
        async with AsyncJinaClient(base_url=server.url, limits=Limits(concurrency=1, timeout=5)) as client:
            first = asyncio.create_task(client.rerank("q", ["a"], model=model))
            await asyncio.sleep(0.02)
            with pytest.raises(BudgetExhausted, match="the budget's seconds"):
                await client.rerank("q", ["b"], model="other", deadline=0.05)
            first.cancel()
            await asyncio.gather(first, return_exceptions=True)
            assert (await client.rerank("q", ["b"], model=model)).scores.tolist() == [score_of("q", "b")]

    server.plan(model, ["silent"])
    asyncio.run(both())
    assert "other" not in server.requests


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_has_connections_of_its_own(server: FaultServer, model: str) -> None:
    with JinaClient(base_url=server.url) as client:
        client.rerank("q", ["a"], model=model)
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", DeprecationWarning
            )  # from Python 3.12 on, where there are threads
            child = os.fork()
        if child == 0:  # pragma: no cover
            code = 1
            try:
                code = int(client.rerank("q", ["b"], model=model).scores.tolist() != [score_of("q", "b")])
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        client.rerank("q", ["a"], model=model)
    assert server.requests[model] == 3


@pytest.mark.skipif(os.name == "nt", reason="needs signals")
def test_ctrl_c_ends_a_call_and_leaves_nothing_under_way(server: FaultServer, model: str) -> None:
    server.plan(model, ["silent"])

    def interrupt() -> None:
        while not server.under_way[model]:
            time.sleep(0.01)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    with JinaClient(base_url=server.url) as client:
        thread = threading.Thread(target=interrupt)
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            client.rerank("q", ["a"], model=model)
        thread.join()
        assert client.rerank("q", ["a"], model=model).scores.tolist() == [score_of("q", "a")]


@pytest.mark.parametrize("package", ["httpx", "anyio", "tenacity"])
def test_the_extra_is_named_where_it_is_missing(package: str) -> None:
    code = f"""
import sys
sys.modules[{package!r}] = None
from hybridrank.jina import AsyncJinaClient, JinaClient, JinaEmbedder, ResponseCache, wire
from hybridrank import MissingExtra
try:
    JinaClient()
except MissingExtra as error:
    print(error)
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == f"{package} is not installed. Install it with: pip install 'hybridrank[jina]'\n"


def test_a_client_that_is_left_open_ends_with_the_interpreter(server: FaultServer) -> None:
    code = f"""
from hybridrank.jina import JinaClient
client = JinaClient(base_url={server.url!r})
print(client.rerank("q", ["a"]).scores[0])
"""
    found = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
    )
    assert float(found.stdout) == score_of("q", "a")
    assert found.stderr == ""
