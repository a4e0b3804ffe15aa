"""What comes back from embedding and reranking services: read strictly, or an error of its own type.

The standard library alone, no input or output. Nothing that a service says reaches a message before
:func:`hide` has taken the key out of it.
"""

from __future__ import annotations

import base64
import json
import math
import re
import sys
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timezone
from email.utils import parsedate_to_datetime
from typing import Any

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

__all__ = [
    "Reply",
    "RowsAnswer",
    "ScoresAnswer",
    "error_of",
    "hide",
    "limits_left",
    "read_embeddings",
    "read_scores",
    "retry_after",
]

_FLOAT32_MAX = 3.4028234663852886e38
_LONGEST_WORDS = 300  # characters of a service's own words that are kept
_MARK = "[key]"
_NO_JSON = object()
_SHORTEST_PART = 8  # characters of a key that, told, would tell too much


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply:
    """An HTTP response: header names in lower case, the body decoded."""

    url: str
    status: int
    headers: Mapping[str, str] = field(repr=False)  # a service may repeat the key in them
    content: bytes = field(repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class RowsAnswer:
    """Vectors in the order of the texts, each as float32 bytes, little-endian; ``tokens`` if reported."""

    rows: Sequence[bytes]
    tokens: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoresAnswer:
    """Scores in the order of the documents, higher is better, finite in float32; ``tokens`` if reported."""

    scores: Sequence[float]
    tokens: int | None


def read_embeddings(reply: Reply, count: int, dimension: int | None = None) -> RowsAnswer:
    """The vectors of ``count`` texts, sent as numbers or in base64, mapped by ``index``; a bare list of
    vectors (text-embeddings-inference) is in order.

    Raises :class:`~hybridrank.errors.BadAnswer` or one of its kinds: ``AnswerMismatch`` when a result is
    missing, doubled or out of range, ``AnswerNotFinite``, ``WrongDimension`` when the vectors differ in
    length or from ``dimension``.

    >>> content = b'{"data": [{"index": 0, "embedding": [1.0, 0.5]}], "usage": {"total_tokens": 4}}'
    >>> read_embeddings(Reply(url="", status=200, headers={}, content=content), 1)
    RowsAnswer(rows=[b'\\x00\\x00\\x80?\\x00\\x00\\x00?'], tokens=4)
    """
    answer = _parse(reply)
    if isinstance(answer, list):
        found = dict(enumerate(answer))
        _check_indexes(reply.url, list(found), count)
    else:
        found = _by_index(reply.url, _list_of(reply.url, answer, ("data",)), ("embedding",), count)
    rows = [_row(reply.url, found[place]) for place in range(count)]
    lengths = {len(row) // 4 for row in rows} | ({dimension} if dimension is not None else set())
    if len(lengths) > 1 or 0 in lengths:
        wanted = "" if dimension is None else f", not {dimension}"
        raise WrongDimension(
            reply.url,
            f"the vectors are of {' and '.join(str(len(row) // 4) for row in rows[:2])} numbers{wanted}",
            "Ask for the dimensions that the model has.",
        )
    return RowsAnswer(rows=rows, tokens=_tokens(answer))


def read_scores(reply: Reply, count: int) -> ScoresAnswer:
    """The scores of ``count`` documents, in ``results``, ``data`` or a bare list, in any order.

    Raises as :func:`read_embeddings` does.

    >>> content = b'{"results": [{"index": 1, "relevance_score": 9.5}, {"index": 0, "relevance_score": -2}]}'
    >>> read_scores(Reply(url="", status=200, headers={}, content=content), 2).scores
    [-2.0, 9.5]
    """
    answer = _parse(reply)
    results = answer if isinstance(answer, list) else _list_of(reply.url, answer, ("results", "data"))
    found = _by_index(reply.url, results, ("relevance_score", "score"), count)
    return ScoresAnswer(
        scores=[_score(reply.url, found[place]) for place in range(count)], tokens=_tokens(answer)
    )


def _parse(reply: Reply) -> Any:
    answer = _json(reply.content)
    if answer is _NO_JSON:
        about = reply.headers.get("content-type", "no content type")
        raise BadAnswer(
            reply.url,
            f"the answer is not JSON ({_words(about)}, {len(reply.content)} bytes)",
            "See whether a proxy answers in the service's place.",
            status=reply.status,
        )
    if not isinstance(answer, dict | list):
        raise BadAnswer(reply.url, "the answer is neither an object nor a list")
    return answer


def _json(content: bytes) -> Any:
    """What the bytes say, or ``_NO_JSON``. Nothing is raised from inside an ``except`` block in this module:
    the context of such an error holds what the service sent, which may be the key."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return _NO_JSON


def _list_of(url: str, answer: dict[str, Any], names: Sequence[str]) -> list[Any]:
    for name in names:
        if isinstance(answer.get(name), list):
            return list(answer[name])
    raise BadAnswer(url, f"the answer has no list {' or '.join(repr(name) for name in names)}")


def _by_index(url: str, results: list[Any], names: Sequence[str], count: int) -> dict[int, Any]:
    indexes, found = [], {}
    for result in results:
        held = [name for name in names if isinstance(result, dict) and name in result]
        if not held or "index" not in result:
            raise BadAnswer(url, f"a result has no 'index' or no {names[0]!r}")
        indexes.append(result["index"])
        if type(result["index"]) is int:
            found[result["index"]] = result[held[0]]
    _check_indexes(url, indexes, count)
    return found


def _check_indexes(url: str, indexes: list[Any], count: int) -> None:
    if any(type(index) is not int for index in indexes):  # True is an int to isinstance
        raise AnswerMismatch(url, "an index in the answer is no whole number")
    if len(set(indexes)) < len(indexes):
        raise AnswerMismatch(url, "an index stands twice in the answer")
    if any(not 0 <= index < count for index in indexes):
        raise AnswerMismatch(url, f"an index in the answer is not one of the {count} that were sent")
    if len(indexes) < count:
        raise AnswerMismatch(url, f"{len(indexes)} results were sent for {count} texts")


def _row(url: str, value: Any) -> bytes:
    if isinstance(value, str):
        row = _from_base64(value)
    elif isinstance(value, list) and {type(number) for number in value} <= {int, float}:
        row = _from_numbers(value)
    else:
        row = None
    if row is None:
        raise BadAnswer(url, "an embedding is neither a list of numbers nor base64 of 32-bit numbers")
    # Finite float32 numbers cannot overflow a sum of doubles, and no other value leaves it finite.
    if not math.isfinite(sum(row)):
        raise AnswerNotFinite(url, "a vector holds NaN or an infinite number")
    if sys.byteorder == "big":
        row.byteswap()
    return row.tobytes()


def _from_numbers(value: list[Any]) -> array[float]:
    try:
        return array("f", value)
    except OverflowError:  # an integer beyond all floats
        return array("f", [math.inf])


def _from_base64(value: str) -> array[float] | None:
    row = array("f")
    try:
        row.frombytes(base64.b64decode(value, validate=True))
    except ValueError:  # no base64, or bytes that are no whole number of floats
        return None
    if sys.byteorder == "big":
        row.byteswap()
    return row


def _score(url: str, value: Any) -> float:
    if type(value) not in (int, float):
        raise BadAnswer(url, f"a score is of type {type(value).__name__}")
    if not -_FLOAT32_MAX <= value <= _FLOAT32_MAX:  # which is false of NaN as well
        raise AnswerNotFinite(url, "a score is NaN, infinite or too large")
    return float(value)


def _tokens(answer: Any) -> int | None:
    usage = answer.get("usage") if isinstance(answer, dict) else None
    tokens = usage.get("total_tokens") if isinstance(usage, dict) else None
    return tokens if type(tokens) is int and tokens >= 0 else None


def error_of(reply: Reply, secret: str | None = None, now: float = 0.0) -> ServiceError | None:
    """The error that a reply stands for, in the service's own words, or ``None`` for one with status 2xx.

    ``now`` is the time in seconds since 1970, for a ``Retry-After`` that is a date.

    >>> reply = Reply(url="http://localhost/v1/rerank", status=429, headers={"retry-after": "2"},
    ...               content=b'{"detail": "Slow down.", "code": "RATE_TOKEN_LIMIT_EXCEEDED"}')
    >>> error_of(reply)
    RateLimited('http://localhost/v1/rerank: Slow down (status 429, code RATE_TOKEN_LIMIT_EXCEEDED)')
    """
    status = reply.status
    if 200 <= status < 300:
        return None
    said = _said(reply.content)
    reason = _words(hide(said.get("reason", ""), secret))
    code = _words(hide(said.get("code", ""), secret)) or None
    request = said.get("request") or reply.headers.get("x-request-id", "")
    kind: type[ServiceError] = ServiceRejected
    remedy = ""
    if status == 429 or (code or "").startswith("RATE_"):
        kind = RateLimited
    elif status in (401, 403):
        kind, remedy = ServiceDenied, "See that the key is right and its account has tokens left."
    elif status == 408 or status >= 500:
        kind = ServiceUnavailable
    elif 300 <= status < 400:
        place = _words(hide(reply.headers.get("location", "elsewhere"), secret))
        reason, remedy = f"it redirects to {place}", "Give that address as the base URL, if you trust it."
    return kind(
        hide(reply.url, secret),
        reason.rstrip(".") or "it gives no reason",
        remedy,
        status=status,
        code=code,
        request_id=_words(hide(request, secret)) or None,
        retry_after=retry_after(reply.headers, now),
    )


def _said(content: bytes) -> dict[str, str]:
    """What an error body says: its reason, code and request id, each as a string if it is there."""
    body = _json(content)
    if body is _NO_JSON:
        title = re.search(rb"<title[^>]*>(.*?)</title", content[:65_536], re.IGNORECASE | re.DOTALL)
        page = content[:2000] if title is None else title[1]
        return {"reason": re.sub(r"<[^>]*>", " ", page.decode(errors="replace"))}
    if isinstance(body, dict) and isinstance(body.get("error"), dict):  # the form of OpenAI's errors
        body = {**body, **body["error"]}
    if not isinstance(body, dict):
        return {}
    reason = next((body[name] for name in ("detail", "message", "error") if body.get(name)), "")
    if not isinstance(reason, str):
        reason = "; ".join(_complaints(reason))
    reason = "; ".join(filter(None, [reason, *_complaints(body.get("errors"))]))
    found = {"reason": reason, "code": body.get("code"), "request": body.get("request_id")}
    return {name: str(value) for name, value in found.items() if isinstance(value, str | int)}


def _complaints(errors: Any) -> Iterable[str]:
    """What validation errors say; not the ``input`` that they repeat."""
    for error in errors if isinstance(errors, list) else []:
        if isinstance(error, dict):
            field = error.get("field") or error.get("loc") or ""
            place = ".".join(map(str, field)) if isinstance(field, list) else str(field)
            yield f"{place}: {error.get('message') or error.get('msg') or 'invalid'}"


def _words(text: str) -> str:
    """A text of a service in one line without control characters, and not too long."""
    words = " ".join("".join(c if c.isprintable() else " " for c in text[:10_000]).split())
    return words if len(words) <= _LONGEST_WORDS else f"{words[:_LONGEST_WORDS]}…"


def hide(text: str, secret: str | None) -> str:
    """The text without any eight characters of the secret in a row, or without all of a shorter one.

    >>> hide("no such key: jina_0123456789abc", "jina_0123456789abcdef")
    'no such key: [key]'
    """
    if not secret:
        return text
    size = min(_SHORTEST_PART, len(secret))
    covered = bytearray(len(text))
    for start in range(len(secret) - size + 1):
        part = secret[start : start + size]
        at = text.find(part)
        while at >= 0:
            covered[at : at + size] = b"\1" * size
            at = text.find(part, at + 1)
    if not any(covered):
        return text
    runs = re.split(rb"(\x01+)", bytes(covered))
    kept, at = [], 0
    for run in runs:
        kept.append(_MARK if run.startswith(b"\1") else text[at : at + len(run)])
        at += len(run)
    return "".join(kept)


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """The seconds that ``Retry-After`` asks for, 0 or more, given in seconds or as a date (RFC 9110, 10.2.3).

    A date is compared with the reply's own ``Date``, for clocks differ, or else with ``now``.

    >>> retry_after({"retry-after": "Thu, 01 Jan 1970 00:01:00 GMT"}, now=45.0)
    15.0
    """
    value = headers.get("retry-after", "").strip()
    if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", value):
        return float(value)
    until = _seconds_of(value)
    if until is None:
        return None
    since = _seconds_of(headers.get("date", ""))
    return max(0.0, until - (now if since is None else since))


def _seconds_of(date: str) -> float | None:
    try:
        when = parsedate_to_datetime(date)
        return (when if when.tzinfo else when.replace(tzinfo=timezone.utc)).timestamp()
    except (IndexError, OverflowError, TypeError, ValueError):  # Python 3.10 raises several of them
        return None


def limits_left(headers: Mapping[str, str]) -> tuple[int | None, int | None]:
    """The requests and tokens that ``X-RateLimit-Remaining-*`` leaves for this minute.

    >>> limits_left({"x-ratelimit-remaining-requests": "59"})
    (59, None)
    """
    values = [headers.get(f"x-ratelimit-remaining-{what}", "").strip() for what in ("requests", "tokens")]
    requests, tokens = (int(value) if re.fullmatch("[0-9]{1,15}", value) else None for value in values)
    return requests, tokens
