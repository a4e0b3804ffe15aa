import base64
import json
import math
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridrank.errors import (
    AnswerMismatch,
    AnswerNotFinite,
    BadAnswer,
    RateLimited,
    ServiceDenied,
    ServiceError,
    ServiceRejected,
    ServiceUnavailable,
    WrongDimension,
)
from hybridrank.jina.answers import (
    Reply,
    error_of,
    hide,
    limits_left,
    read_embeddings,
    read_scores,
    retry_after,
)

KEY = "jina_0123456789abcdefghij"


def reply(value: object, status: int = 200, **headers: str) -> Reply:
    content = value if isinstance(value, bytes) else json.dumps(value).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(url="http://host/v1/x", status=status, headers=named, content=content)


def scores(*pairs: tuple[object, object], name: str = "relevance_score") -> list[dict[str, object]]:
    return [{"index": index, name: score} for index, score in pairs]


def vectors(*rows: object) -> dict[str, object]:
    return {"data": [{"index": at, "embedding": row} for at, row in enumerate(rows)]}


float32 = st.floats(width=32, allow_nan=False, allow_infinity=False)


@given(st.lists(float32, min_size=1), st.randoms(use_true_random=False), st.sampled_from(["results", "data"]))
def test_scores_come_by_index_in_any_order(expected: list[float], chance: Any, name: str) -> None:
    results = scores(*enumerate(expected))
    chance.shuffle(results)
    answer = read_scores(reply({name: results, "usage": {"total_tokens": 9}}), len(expected))
    assert answer.scores == expected
    assert answer.tokens == 9


def test_a_bare_list_of_scores_is_read() -> None:
    answer = read_scores(reply(scores((1, 0.5), (0, 7), name="score")), 2)
    assert (answer.scores, answer.tokens) == ([7.0, 0.5], None)


@given(st.lists(st.lists(float32, min_size=3, max_size=3), min_size=1))
def test_vectors_come_as_numbers_and_in_base64(rows: list[list[float]]) -> None:
    packed = [struct.pack("<3f", *row) for row in rows]
    encoded = [base64.b64encode(row).decode() for row in packed]
    for answer in (vectors(*rows), vectors(*encoded), rows):
        assert read_embeddings(reply(answer), len(rows), 3).rows == packed


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"<html>",
        b"17",
        b"null",
        b'"x"',
        b"[" * 200_000,
        b'{"results": ' + b"9" * 5000 + b"}",
        b"\xff",
        b"{}",
    ],
)
def test_what_is_no_answer_is_an_error(content: bytes) -> None:
    for read in (read_scores, read_embeddings):
        with pytest.raises(BadAnswer) as caught:
            read(reply(content), 1)
        assert caught.value.__context__ is None  # which might hold what the service sent
        assert caught.value.passing


@pytest.mark.parametrize(
    ("results", "problem"),
    [
        (scores((0, 1.0)), "1 results were sent for 2 texts"),
        ([], "0 results"),
        (scores((0, 1.0), (0, 1.0)), "an index stands twice"),
        (scores((0, 1.0), (1, 1.0), (1, 2.0)), "an index stands twice"),
        (scores((0, 1.0), (2, 1.0)), "not one of the 2"),
        (scores((0, 1.0), (-1, 1.0)), "not one of the 2"),
        (scores((0, 1.0), (1.0, 1.0)), "no whole number"),
        (scores((0, 1.0), (True, 1.0)), "no whole number"),
        (scores((0, 1.0), ("1", 1.0)), "no whole number"),
        (scores((0, 1.0), (None, 1.0)), "no whole number"),
    ],
)
def test_indexes_are_judged_strictly(results: list[dict[str, object]], problem: str) -> None:
    with pytest.raises(AnswerMismatch, match=problem):
        read_scores(reply({"results": results}), 2)


@pytest.mark.parametrize("score", [math.nan, math.inf, -math.inf, 1e39, -(10**400)])
def test_a_score_is_finite_in_32_bits(score: float) -> None:
    with pytest.raises(AnswerNotFinite):
        read_scores(reply(scores((0, score))), 1)
    with pytest.raises(AnswerNotFinite):
        read_embeddings(reply(vectors([0.5, score])), 1)


@pytest.mark.parametrize("score", [None, "0.5", True, [0.5], {}])
def test_a_score_is_a_number(score: object) -> None:
    with pytest.raises(BadAnswer, match="a score is of type"):
        read_scores(reply(scores((0, score))), 1)


@pytest.mark.parametrize("results", [[7], [{"index": 0}], [{"relevance_score": 1}]])
def test_a_result_has_an_index_and_a_value(results: list[object]) -> None:
    with pytest.raises(BadAnswer, match="a result has no"):
        read_scores(reply({"results": results}), 1)


@pytest.mark.parametrize(
    "row", [None, 7, {}, [True], ["1"], [None], "***", "AAA=", base64.b64encode(b"abc").decode()]
)
def test_a_vector_is_numbers(row: object) -> None:
    with pytest.raises(BadAnswer, match="an embedding is neither") as caught:
        read_embeddings(reply(vectors(row)), 1)
    assert caught.value.__context__ is None


@pytest.mark.parametrize(
    ("rows", "dimension"), [([[1.0], [1.0, 2.0]], None), ([[1.0]], 2), ([[]], None), (["", ""], None)]
)
def test_vectors_are_of_one_length(rows: list[object], dimension: int | None) -> None:
    with pytest.raises(WrongDimension, match="the vectors are of"):
        read_embeddings(reply(vectors(*rows)), len(rows), dimension)


def test_a_bare_list_of_vectors_is_counted() -> None:
    with pytest.raises(AnswerMismatch):
        read_embeddings(reply([[1.0]]), 2)
    with pytest.raises(AnswerMismatch):
        read_embeddings(reply([[1.0]] * 3), 2)


@pytest.mark.parametrize(
    "usage", [None, 7, {}, {"total_tokens": -1}, {"total_tokens": True}, {"total_tokens": "5"}]
)
def test_tokens_that_are_no_number_are_not_reported(usage: object) -> None:
    assert read_scores(reply({"results": scores((0, 1)), "usage": usage}), 1).tokens is None


@pytest.mark.parametrize(
    ("status", "kind", "passing"),
    [
        (302, ServiceRejected, False),
        (400, ServiceRejected, False),
        (401, ServiceDenied, False),
        (403, ServiceDenied, False),
        (404, ServiceRejected, False),
        (408, ServiceUnavailable, True),
        (413, ServiceRejected, False),
        (422, ServiceRejected, False),
        (429, RateLimited, True),
        (500, ServiceUnavailable, True),
        (503, ServiceUnavailable, True),
        (504, ServiceUnavailable, True),
    ],
)
def test_a_status_has_its_error(status: int, kind: type[ServiceError], passing: bool) -> None:
    error = error_of(reply({"detail": "It is so.", "code": "WHY", "request_id": "r7"}, status))
    assert type(error) is kind
    assert error.passing is passing
    assert (error.status, error.code, error.request_id) == (status, "WHY", "r7")
    assert "It is so" in str(error) or status == 302


def test_success_is_no_error() -> None:
    assert error_of(reply({}, 200)) is None


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (
            {"detail": "a", "errors": [{"field": "input", "message": "too long", "input": "TEXT"}]},
            "a; input: too long",
        ),
        ({"detail": [{"loc": ["body", "x"], "msg": "bad", "input": "TEXT"}, 7]}, "body.x: bad"),
        ({"detail": [{}]}, ": invalid"),
        ({"error": {"message": "no model", "code": 404}}, "no model (status 400, code 404)"),
        ({"error": "short"}, "short"),
        ({"message": "m\x1b[31m\nn"}, "m [31m n"),
        (["x"], "it gives no reason"),
        ({}, "it gives no reason"),
        ({"detail": {"a": 1}}, "it gives no reason"),
        (b"<html><TITLE>502 Bad\n Gateway</TITLE><p>x</html>", "502 Bad Gateway"),
        (b"<p>plain</p>", "plain"),
        ({"detail": "x" * 400}, "x" * 300 + "…"),
    ],
)
def test_the_service_s_own_words_are_kept(body: object, words: str) -> None:
    error = str(error_of(reply(body, 400)))
    assert words in error
    assert "TEXT" not in error


def test_a_redirect_says_where_to() -> None:
    error = error_of(reply(b"", 307, location=f"http://other/?{KEY}"), KEY)
    assert "it redirects to http://other/?[key]" in str(error)


def test_a_limit_is_known_by_its_code() -> None:
    error = error_of(reply({"code": "RATE_CONCURRENCY_LIMIT_EXCEEDED"}, 400))
    assert type(error) is RateLimited


def test_a_key_that_the_service_repeats_is_hidden() -> None:
    body = {
        "detail": f"no {KEY}",
        "code": KEY,
        "request_id": KEY[:12],
        "errors": [{"field": KEY, "msg": KEY[5:]}],
    }
    error = error_of(reply(body, 401, x_request_id=KEY), KEY)
    assert not any(KEY[at : at + 8] in str(vars(error)) + str(error) for at in range(len(KEY) - 7))


@given(st.text(alphabet="abc", min_size=0, max_size=30), st.text(alphabet="abc", max_size=12))
def test_no_part_of_a_secret_is_left(text: str, secret: str) -> None:
    shown = hide(text, secret)
    size = min(8, len(secret))
    for part in shown.split("[key]"):
        assert not size or not any(secret[at : at + size] in part for at in range(len(secret) - size + 1))
    if not secret or not any(secret[at : at + size] in text for at in range(len(secret) - size + 1)):
        assert shown == text
    assert hide(text, None) == text


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("3", 3.0),
        (" 0.25 ", 0.25),
        ("0", 0.0),
        ("-1", None),
        ("soon", None),
        ("", None),
        ("1e9", None),
        ("9" * 40, None),
        ("Thu, 01 Jan 1970 00:00:50 GMT", 10.0),
        ("Thu, 01 Jan 1970 00:00:50", 10.0),
        ("Thu, 01 Jan 1970 00:00:10 GMT", 0.0),
        ("Thu, 99 Jan 1970 00:00:10 GMT", None),
    ],
)
def test_retry_after(value: str, seconds: float | None) -> None:
    assert retry_after({"retry-after": value}, 40.0) == seconds
    error = error_of(reply({}, 429, retry_after=value), None, 40.0)
    assert error is not None
    assert error.retry_after == seconds


def test_a_date_is_compared_with_the_service_s_own_clock() -> None:
    headers = {"retry-after": "Thu, 01 Jan 1970 00:00:50 GMT", "date": "Thu, 01 Jan 1970 00:00:45 GMT"}
    assert retry_after(headers, 1e9) == 5.0


@pytest.mark.parametrize(
    ("requests", "tokens", "found"),
    [("5", "700", (5, 700)), ("many", "-1", (None, None)), ("1.5", "", (None, None))],
)
def test_limits_left(requests: str, tokens: str, found: tuple[int | None, int | None]) -> None:
    headers = {"x-ratelimit-remaining-requests": requests, "x-ratelimit-remaining-tokens": tokens}
    assert limits_left(headers) == found
