from __future__ import annotations

import socket
import time
from typing import Any

import pytest

from hybridrank.errors import AnswerTooLarge, ServiceTimeout, ServiceUnavailable
from hybridrank.plain_http import post
from tests.chat_server import chat_server, cut, drip, endless, good, hang_up, replies, silence

KEY = "secret-0123456789"


def test_an_answer_of_any_status_comes_back_whole() -> None:
    with chat_server(replies(503, {"a": 1}, X_Request_Id="r1")) as server:
        reply = post(f"{server.address}/x", b'{"b": 2}', seconds=20)
    assert (reply.status, reply.content, reply.headers["x-request-id"]) == (503, b'{"a": 1}', "r1")
    ((path, headers, body),) = server.requests
    assert (path, body) == ("/api/v1/x", {"b": 2})
    assert headers["Content-Type"] == "application/json"
    assert "Authorization" not in headers


def test_the_key_goes_where_it_was_sent_and_nowhere_else() -> None:
    with chat_server(good) as other, chat_server(replies(307, {}, Location=f"{other.address}/x")) as server:
        reply = post(f"{server.address}/x", b"{}", key=KEY, seconds=20)
    assert reply.status == 307
    assert server.requests[0][1]["Authorization"] == f"Bearer {KEY}"
    assert other.requests == []


@pytest.mark.parametrize("behaviour", [silence, drip])
def test_the_deadline_holds_whatever_the_other_side_does(behaviour: Any) -> None:
    with chat_server(behaviour) as server:
        started = time.monotonic()
        with pytest.raises(ServiceTimeout):
            post(f"{server.address}/x", b"{}", seconds=0.3)
        assert time.monotonic() - started < 15  # the server would take 30 s


def test_a_deadline_that_is_past_sends_nothing_that_is_waited_for() -> None:
    with chat_server(silence) as server, pytest.raises(ServiceTimeout):
        post(f"{server.address}/x", b"{}", seconds=0)


@pytest.mark.parametrize("behaviour", [cut, hang_up])
def test_a_broken_connection_is_said_to_be_one(behaviour: Any) -> None:
    with (
        chat_server(behaviour) as server,
        pytest.raises(ServiceUnavailable, match=r"broke|cannot be reached"),
    ):
        post(f"{server.address}/x", b"{}", seconds=20)


def test_where_nobody_listens_nothing_is_reached() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/x"
        with pytest.raises(ServiceUnavailable, match="cannot be reached"):
            post(url, b"{}", seconds=20)


def test_a_body_without_bounds_is_not_read_to_its_end() -> None:
    with chat_server(endless) as server:
        with pytest.raises(AnswerTooLarge, match="more than 1,000 bytes"):
            post(f"{server.address}/x", b"{}", seconds=20, most_bytes=1000)
        with pytest.raises(AnswerTooLarge):
            post(f"{server.address}/x", b"{}", seconds=20)


def test_what_cannot_be_sent_is_an_error_without_the_key() -> None:
    with pytest.raises(ServiceUnavailable, match="cannot be sent") as caught:
        post("http://127.0.0.1:9/x", b"{}", key=f"{KEY}\n", seconds=20)
    assert KEY not in str(caught.value)
