from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridrank.errors import (
    BadAnswer,
    InputError,
    RateLimited,
    ServiceDenied,
    ServiceError,
    ServiceRejected,
    ServiceUnavailable,
)
from hybridrank.generation import MOST_TOKENS, ChatService, Message, chat_body, named_models, read_chat_reply
from hybridrank.jina.answers import Reply

KEY = "sk-or-0123456789abcdef"
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["choices", "message", "content", "text", "error", "x"]), inner)
    ),
    max_leaves=12,
)


def reply(content: object, status: int = 200, **headers: str) -> Reply:
    raw = content if isinstance(content, bytes) else json.dumps(content).encode("ascii")
    return Reply(url="http://host/v1/chat/completions", status=status, headers=headers, content=raw)


def saying(content: object, **more: object) -> Reply:
    return reply({"choices": [{"message": {"content": content, **more}}]})


def test_the_environment_names_the_service() -> None:
    found = ChatService.from_environment(
        {
            "OPENROUTER_BASE_URL": " https://gateway.example/api/v1/ ",
            "OPENROUTER_API_KEY": f"{KEY}\n",
            "OPENROUTER_MODEL": "a/b, c/d,,a/b",
        }
    )
    assert found == ("https://gateway.example/api/v1/chat/completions", ("a/b", "c/d"), KEY)
    assert KEY not in repr(found)


def test_a_key_alone_means_openrouter_itself() -> None:
    found = ChatService.from_environment({"OPENROUTER_API_KEY": KEY})
    assert found is not None
    assert found.url == "https://openrouter.ai/api/v1/chat/completions"
    assert len(found.models) == 2


@pytest.mark.parametrize("environ", [{}, {"OPENROUTER_API_KEY": " "}, {"OPENROUTER_MODEL": "a/b"}])
def test_without_address_and_key_there_is_no_service(environ: dict[str, str]) -> None:
    assert ChatService.from_environment(environ) is None


def test_the_whole_endpoint_will_do_as_an_address() -> None:
    found = ChatService.from_environment({"OPENROUTER_BASE_URL": "http://h/v1/chat/completions"})
    assert found is not None
    assert found.url == "http://h/v1/chat/completions"


@pytest.mark.parametrize(
    "environ", [{"OPENROUTER_BASE_URL": "file:///etc/passwd"}, {"OPENROUTER_API_KEY": "schlüssel"}]
)
def test_an_address_or_a_key_that_is_none_is_refused(environ: dict[str, str]) -> None:
    with pytest.raises(InputError):
        ChatService.from_environment(environ)


def test_a_request_never_asks_for_more_than_the_limit() -> None:
    for asked, sent in ((10_000, MOST_TOKENS), (7, 7), (0, 1)):
        body = json.loads(chat_body("a/b", [Message("user", "x")], max_tokens=asked))
        assert body["max_tokens"] == sent
    assert body["stream"] is False
    assert json.loads(chat_body("a/b", []))["max_tokens"] == MOST_TOKENS == 2_000


@given(st.text(st.characters(exclude_categories=())))
def test_any_text_can_be_sent(text: str) -> None:
    sent = json.loads(chat_body("a/b", [Message("system", "s"), Message("user", text)]))
    assert sent["messages"] == [{"role": "system", "content": "s"}, {"role": "user", "content": text}]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("The pump leaks.", "The pump leaks."),
        (" <think>The pump?\nHm.</think>\nIt leaks. ", "It leaks."),
        ([{"type": "text", "text": "It "}, {"type": "image"}, "x", {"text": "leaks."}], "It leaks."),
        ("I cannot say more than that it leaks.", "I cannot say more than that it leaks."),
        ("Sorry states of affairs were reported.", "Sorry states of affairs were reported."),
    ],
)
def test_the_text_is_taken_from_the_first_choice(content: object, text: str) -> None:
    assert read_chat_reply(saying(content)) == text


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't help with that.",
        "I’m sorry, I cannot assist with this request.",
        "Unfortunately, I am unable to answer this.",
        "As an AI language model, I have no meetings.",
        "I won't comply.",
    ],
)
def test_a_refusal_is_no_answer(text: str) -> None:
    with pytest.raises(BadAnswer, match="the model refuses"):
        read_chat_reply(saying(text))


@pytest.mark.parametrize(
    ("status", "content", "kind", "passing"),
    [
        (400, {"error": {"message": "x/y is not admitted"}}, ServiceRejected, False),
        (401, {"error": {"message": "no key"}}, ServiceDenied, False),
        (403, b"", ServiceDenied, False),
        (404, {"error": "no such model"}, ServiceRejected, False),
        (302, b"", ServiceRejected, False),
        (429, {}, RateLimited, True),
        (500, b"<title>Oops</title>", ServiceUnavailable, True),
        (200, {"error": {"code": 429, "message": "slow"}}, RateLimited, True),
        (200, {"error": {"code": "odd"}, "choices": []}, ServiceUnavailable, True),
        (200, {"error": "down"}, ServiceUnavailable, True),
        (200, b"<html>", BadAnswer, True),
        (200, {"choices": [{"message": {"content": None, "tool_calls": []}}]}, BadAnswer, True),
        (200, {"choices": [{"message": {"content": "Yes.", "refusal": "No."}}]}, BadAnswer, True),
    ],
)
def test_each_failure_says_whether_to_try_again(
    status: int, content: object, kind: type[ServiceError], passing: bool
) -> None:
    with pytest.raises(ServiceError) as caught:
        read_chat_reply(reply(content, status))
    assert type(caught.value) is kind
    assert caught.value.passing is passing


@given(JSON, st.sampled_from([200, 400, 429, 500]))
def test_whatever_comes_back_is_a_text_or_a_service_error(content: Any, status: int) -> None:
    try:
        text = read_chat_reply(reply(content, status))
    except ServiceError:
        return
    assert text.strip()


def test_no_message_repeats_the_key() -> None:
    for content in (
        {"error": {"message": f"bad key {KEY}"}},
        {"choices": [], "key": KEY},
        f"<p>{KEY}".encode(),
    ):
        for status in (200, 401):
            with pytest.raises(ServiceError) as caught:
                read_chat_reply(reply(content, status), KEY)
            assert KEY not in str(caught.value)


def test_models_that_are_named_are_found() -> None:
    told = "'o/x-1' is not admitted (text/html). See https://h.ai/docs-1. Use \"a/b-1.5\" and/or c/2d:free."
    assert named_models(ServiceRejected("http://host/v1", told)) == ["o/x-1", "a/b-1.5", "c/2d:free"]
    assert named_models(ServiceRejected("http://host/v1", "no")) == []
