"""The application, asked by a plain client over real sockets."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

import pytest

pytest.importorskip("starlette", reason="needs the extra: pip install 'hybridrank[serve]'")
pytest.importorskip("httpx", reason="needs the extra: pip install 'hybridrank[jina]'")

import httpx

from hybridrank import InputError, Ranking
from hybridrank.errors import ServiceUnavailable
from hybridrank.integrations.serve.app import ServerLimits, create_app
from tests.integrations.serve.live import serving
from tests.integrations.stubs import PASSAGES, QUERY, Away, Backwards, OnlyIds, index

TEXTS = [passage.text for passage in PASSAGES]
ASKED = {"model": "any", "query": QUERY, "documents": TEXTS}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(create_app(retriever=index(), limits=ServerLimits(max_body=2000, body_seconds=0.3))) as url:
        yield url


def told(response: Any, status: int, code: str) -> str:
    """The detail of an error, which has the form of all errors here."""
    answer = response.json()
    assert (response.status_code, answer["code"]) == (status, code)
    assert answer["request_id"] == response.headers["X-Request-ID"]
    assert isinstance(answer["detail"], str)
    return str(answer["detail"])


def test_documents_are_ranked_by_bm25(url: str) -> None:
    response = httpx.post(f"{url}/v1/rerank", json=ASKED)
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json"
    answer = response.json()
    assert answer["model"] == "hybridrank/bm25"
    assert [result["index"] for result in answer["results"]] == [2, 1, 0]
    assert [result["document"]["text"] for result in answer["results"]] == [TEXTS[2], TEXTS[1], TEXTS[0]]
    assert answer["results"][2]["relevance_score"] == 0
    assert answer["usage"]["total_tokens"] == len(f"{QUERY} {' '.join(TEXTS)}".split())


def test_fewer_results_without_documents(url: str) -> None:
    asked = {**ASKED, "top_n": 1, "return_documents": False}
    (result,) = httpx.post(f"{url}/v1/rerank", json=asked).json()["results"]
    assert {*result} == {"index", "relevance_score"}


def test_half_a_surrogate_pair_is_no_failure(url: str) -> None:
    body = b'{"query": "slug", "documents": ["\\udcff slug"]}'
    assert (
        httpx.post(f"{url}/v1/rerank", content=body).json()["results"][0]["document"]["text"] == "\udcff slug"
    )


def test_wrong_fields_are_named(url: str) -> None:
    response = httpx.post(f"{url}/v1/rerank", json={**ASKED, "top_n": 0})
    assert told(response, 422, "INVALID_REQUEST") == "top_n must be a whole number, at least 1"
    assert [error["field"] for error in response.json()["errors"]] == ["top_n"]


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_an_index_is_searched(url: str, method: str) -> None:
    asked: dict[str, str | int] = {"query": QUERY, "k": 1}
    if method == "GET":
        response = httpx.get(f"{url}/search", params=asked)
    else:
        response = httpx.post(f"{url}/search", json=asked)
    assert [hit["id"] for hit in response.json()["hits"]] == ["trap"]


def test_a_search_for_too_much_is_refused(url: str) -> None:
    assert told(httpx.get(f"{url}/search", params={"q": "a", "k": 1001}), 422, "INVALID_REQUEST")


def test_health_says_what_is_served(url: str) -> None:
    assert httpx.get(f"{url}/health").json() == {"status": "ok", "model": "hybridrank/bm25", "passages": 3}


def test_other_addresses_and_methods_are_errors_of_the_same_form(url: str) -> None:
    assert told(httpx.get(f"{url}/zebra"), 404, "NOT_FOUND")
    response = httpx.get(f"{url}/v1/rerank")
    assert told(response, 405, "METHOD_NOT_ALLOWED")
    assert response.headers["Allow"] == "POST"


def test_a_large_body_is_refused(url: str) -> None:
    response = httpx.post(f"{url}/v1/rerank", json={**ASKED, "documents": ["a" * 3000]})
    assert told(response, 413, "PAYLOAD_TOO_LARGE") == "the body is larger than 2000 bytes"


def test_so_is_one_that_does_not_say_how_large_it_is(url: str) -> None:
    response = httpx.post(f"{url}/search", content=(b" " * 100 for _ in range(50)))
    assert told(response, 413, "PAYLOAD_TOO_LARGE")


def connect(url: str) -> socket.socket:
    parts = urlsplit(url)
    return socket.create_connection((parts.hostname, parts.port or 0), timeout=30)


def send(url: str, request: bytes) -> bytes:
    """What comes back for bytes after which the connection stays open."""
    with connect(url) as connection:
        connection.sendall(request)
        return b"".join(iter(lambda: connection.recv(4096), b""))


def test_a_large_body_is_refused_before_it_is_sent(url: str) -> None:
    answer = send(url, b"POST /v1/rerank HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2001\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 413 ")


def test_a_body_that_does_not_come_is_not_waited_for(url: str) -> None:
    answer = send(url, b"POST /v1/rerank HTTP/1.1\r\nHost: localhost\r\nContent-Length: 20\r\n\r\n{")
    assert answer.startswith(b"HTTP/1.1 408 ")


def test_a_client_that_leaves_harms_nobody(url: str) -> None:
    with connect(url) as connection:
        connection.sendall(b"POST /search HTTP/1.1\r\nHost: localhost\r\nContent-Length: 20\r\n\r\n{")
    assert httpx.get(f"{url}/health").status_code == 200


def test_without_an_index_there_is_nothing_to_search() -> None:
    with serving(create_app()) as url:
        assert told(httpx.get(f"{url}/search", params={"q": "a"}), 404, "NOT_FOUND").startswith("no index")
        assert httpx.get(f"{url}/health").json()["passages"] is None


def test_a_key_is_asked_for_where_there_is_one() -> None:
    with serving(create_app(retriever=index(), api_key="sécret")) as url:
        for given in ("", "Bearer wrong", "Basic sécret", "é"):
            headers = {b"Authorization": given.encode()}
            response = httpx.post(f"{url}/v1/rerank", json=ASKED, headers=headers)
            assert "Bearer KEY" in told(response, 401, "UNAUTHORIZED")
            assert response.headers["WWW-Authenticate"] == "Bearer"
        assert httpx.get(f"{url}/search", params={"q": "a"}).status_code == 401
        assert httpx.get(f"{url}/health").status_code == 200
        headers = {b"Authorization": "bearer sécret".encode()}
        assert httpx.get(f"{url}/search", params={"q": "a"}, headers=headers).status_code == 200


def test_a_local_server_answers_to_no_other_name() -> None:
    with serving(create_app(local=True)) as url:
        for host in ("localhost", "LOCALHOST.:80", "127.0.0.1:8000", "[::1]:80", "127.8.8.8"):
            assert httpx.get(f"{url}/health", headers={"Host": host}).status_code == 200, host
        for host in ("example.org", "localhost.example.org", "10.0.0.1", "[::2]", ""):
            assert told(httpx.get(f"{url}/health", headers={"Host": host}), 403, "FORBIDDEN"), host


def test_a_reranker_of_rankings_serves_too() -> None:
    with serving(create_app(reranker=Backwards())) as url:
        answer = httpx.post(f"{url}/v1/rerank", json=ASKED).json()
    assert answer["model"] == "hybridrank/backwards"
    assert [result["index"] for result in answer["results"]] == [2, 1, 0]


class Blocked:
    """A scorer that waits until it is let go."""

    def __init__(self) -> None:
        self.at_work = threading.Semaphore(0)
        self.released = threading.Event()

    def rerank(self, query: str, documents: Sequence[str]) -> list[float]:
        self.at_work.release()
        assert self.released.wait(timeout=60)
        return [0.0] * len(documents)


def test_more_than_may_wait_are_told_to_come_again_and_those_at_work_are_answered_before_the_end() -> None:
    blocked = Blocked()
    answers: list[Any] = []
    with serving(create_app(reranker=blocked, limits=ServerLimits(max_concurrency=1))) as url:
        first = threading.Thread(
            target=lambda: answers.append(httpx.post(f"{url}/v1/rerank", json=ASKED, timeout=60))
        )
        first.start()
        assert blocked.at_work.acquire(timeout=60)
        refused = httpx.post(f"{url}/v1/rerank", json=ASKED)
        assert told(refused, 429, "RATE_CONCURRENCY_LIMIT_EXCEEDED")
        assert refused.headers["Retry-After"] == "1"
        assert httpx.get(f"{url}/health").status_code == 200
        threading.Timer(0.2, blocked.released.set).start()  # while the server is stopping
    first.join()
    assert [answer.status_code for answer in answers] == [200]


def test_a_scorer_that_fails_is_an_error_without_its_words() -> None:
    class Broken:
        def rerank(self, query: str, documents: Sequence[str]) -> list[float]:
            raise RuntimeError("the secret")

    with serving(create_app(reranker=Broken())) as url:
        response = httpx.post(f"{url}/v1/rerank", json=ASKED)
    assert "secret" not in told(response, 500, "INTERNAL_ERROR")


def test_a_lost_service_leaves_the_order_of_documents() -> None:
    with serving(create_app(reranker=Away(), retriever=OnlyIds())) as url:
        answer = httpx.post(f"{url}/v1/rerank", json=ASKED).json()
        found = httpx.get(f"{url}/search", params={"q": "a"}).json()
    assert [result["index"] for result in answer["results"]] == [0, 1, 2]
    assert found["degraded"] == "dense: the service is away"


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (InputError("there is no such passage"), 422, "INVALID_REQUEST"),
        (ServiceUnavailable("http://other", "no connection"), 503, "UNAVAILABLE"),
    ],
)
def test_what_a_retriever_raises_is_an_answer(error: Exception, status: int, code: str) -> None:
    class Raising(OnlyIds):
        def search(self, query: str, k: int = 10) -> Ranking:
            raise error

    with serving(create_app(retriever=Raising())) as url:
        detail = told(httpx.get(f"{url}/search", params={"q": "a"}), status, code)
    assert "http://other" not in detail
