"""What is sent to Jina's embedding and reranking services and to servers of their shape; the standard library
alone, no input or output.

The forms: ``POST /v1/embeddings`` and ``POST /v1/rerank`` of https://api.jina.ai (dialect ``jina``, which
vLLM, llama.cpp, Infinity and LocalAI speak too), ``POST /embed`` and ``POST /rerank`` of
text-embeddings-inference (dialect ``tei``). What comes back is read in :mod:`hybridrank.jina.answers`.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlsplit

from hybridrank.errors import InputError

__all__ = [
    "Call",
    "Dialect",
    "check_base_url",
    "check_key",
    "clean",
    "embedding_call",
    "is_blank",
    "rerank_call",
    "split",
    "token_bound",
]

Dialect = Literal["jina", "tei"]

_SPECIALS = 32  # more than any tokenizer adds to a text or a pair, task prompts included
_SURROGATES = re.compile("[\ud800-\udfff]")
_PATHS = {
    ("jina", "embeddings"): "v1/embeddings",
    ("jina", "rerank"): "v1/rerank",
    ("tei", "embeddings"): "embed",
    ("tei", "rerank"): "rerank",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """A request: the address, the body, how many results it asks for and the most bytes that an honest answer
    takes."""

    url: str
    body: bytes
    count: int
    max_answer: int


def embedding_call(
    base_url: str,
    texts: Sequence[str],
    *,
    model: str,
    task: str | None = None,
    dimensions: int | None = None,
    dialect: Dialect = "jina",
) -> Call:
    """The request for one vector a text, of unit length where the service can do that.

    >>> call = embedding_call("http://localhost:8080", ["Net sales rose."], model="m", task="text-matching")
    >>> print(call.url, call.body.decode())
    http://localhost:8080/v1/embeddings {"model": "m", "input": ["Net sales rose."],
    "embedding_type": "base64", "normalized": true, "truncate": true, "task": "text-matching"}
    """
    body: dict[str, Any]
    if dialect == "tei":
        body = {"inputs": list(texts), "normalize": True, "truncate": True}
    else:
        body = {
            "model": model,
            "input": list(texts),
            "embedding_type": "base64",
            "normalized": True,
            "truncate": True,  # what is cut at a size in bytes may still be long in tokens
        }
        if task is not None:
            body["task"] = task
    if dimensions is not None:
        body["dimensions"] = dimensions
    # Vectors of 4,096 numbers are the longest in use; a number takes less than 32 characters as text.
    largest = 65_536 + len(texts) * 32 * (dimensions or 4096)
    return _call(base_url, dialect, "embeddings", body, len(texts), largest)


def rerank_call(
    base_url: str, query: str, documents: Sequence[str], *, model: str, dialect: Dialect = "jina"
) -> Call:
    """The request for one score a document, for all of them and without their texts.

    >>> print(rerank_call("http://localhost/v1", "sales?", ["Sales rose."], model="m").body.decode())
    {"model": "m", "query": "sales?", "documents": ["Sales rose."], "top_n": 1, "return_documents": false,
    "truncation": true}
    """
    body: dict[str, Any]
    if dialect == "tei":
        body = {
            "query": query,
            "texts": list(documents),
            "raw_scores": False,
            "return_text": False,
            "truncate": True,
        }
    else:
        body = {
            "model": model,
            "query": query,
            "documents": list(documents),
            "top_n": len(documents),
            "return_documents": False,
            "truncation": True,
        }
    # A server that sends the documents back all the same escapes a character in at most 6 bytes.
    largest = 65_536 + sum(1024 + 6 * len(text.encode()) for text in documents)
    return _call(base_url, dialect, "rerank", body, len(documents), largest)


def _call(base_url: str, dialect: Dialect, what: str, body: dict[str, Any], count: int, largest: int) -> Call:
    base = check_base_url(base_url)
    path = _PATHS[dialect, what]
    if base.endswith("/v1"):
        path = path.removeprefix("v1/")
    return Call(url=f"{base}/{path}", body=json.dumps(body).encode(), count=count, max_answer=largest)


def check_base_url(base_url: str) -> str:
    """The address without slashes at its end; ``/v1`` may be part of it or not.

    Raises :class:`~hybridrank.errors.InputError` unless it is an ``http`` or ``https`` address of a host,
    without user, password, query and fragment. The error does not repeat it, for it may hold a secret.

    >>> check_base_url("https://api.jina.ai/v1/")
    'https://api.jina.ai/v1'
    """
    try:
        parts = urlsplit(base_url)
        fine = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except (AttributeError, TypeError, ValueError):  # no string, or no number where a port should be
        fine = False
    if not fine or not base_url.isascii() or not base_url.isprintable() or " " in base_url:
        raise InputError(
            "the base URL is not an http or https address", remedy="Give one such as https://api.jina.ai/v1."
        )
    if parts.username is not None or parts.password is not None or "?" in base_url or "#" in base_url:
        raise InputError(
            "the base URL holds a user, a password, a query or a fragment",
            remedy="Give the address alone, and the key as api_key.",
        )
    return base_url.rstrip("/")


def check_key(key: str | None) -> str | None:
    """The key, or ``None`` for an empty one.

    Raises :class:`~hybridrank.errors.InputError`, which does not repeat it, unless it can stand in a header.

    >>> check_key(" ") is None
    True
    """
    if key is None:
        return None
    if not isinstance(key, str) or not key.strip().isascii() or not key.strip().isprintable():
        raise InputError("the API key holds what no key can hold", remedy="Copy it anew.")
    return key.strip() or None


def is_blank(text: str) -> bool:
    """Whether a text is empty or white space alone, so that it is not sent."""
    return not text or text.isspace()


def clean(text: str, max_bytes: int) -> str:
    """A text as it is sent: at most ``max_bytes`` bytes of UTF-8, cut between characters, with U+FFFD for
    halves of surrogate pairs, which are no text.

    Raises :class:`~hybridrank.errors.InputError` when it is no string.

    >>> clean("naïve", 3)
    'na'
    """
    if not isinstance(text, str):
        raise InputError(f"a text is of type {type(text).__name__}, not str", remedy="Give strings.")
    if text.isascii():
        return text[:max_bytes]
    if len(text) > max_bytes:
        text = text[:max_bytes]
    text = _SURROGATES.sub("\N{REPLACEMENT CHARACTER}", text)
    return text.encode()[:max_bytes].decode(errors="ignore")


def token_bound(text: str) -> int:
    """What a text cannot exceed in tokens: its bytes and what a tokenizer adds to it.

    A subword tokenizer makes at most one token of a byte; those that normalize first may write a character
    in more bytes (``ﷺ`` becomes 18 letters), so that the longest of the forms counts.

    >>> token_bound("Sales rose.")
    43
    """
    if text.isascii():
        return len(text) + _SPECIALS
    forms = (text, *(unicodedata.normalize(form, text) for form in ("NFKC", "NFKD")))
    return max(len(form.encode(errors="replace")) for form in forms) + _SPECIALS


def split(bounds: Sequence[int], *, max_count: int, max_tokens: int) -> Iterator[range]:
    """Consecutive batches of items with the given bounds, as ranges of places: at most ``max_count`` items
    and ``max_tokens`` tokens in each, and an item that alone exceeds these in a batch of its own.

    >>> list(split([5, 5, 5, 20, 1], max_count=2, max_tokens=12))
    [range(0, 2), range(2, 3), range(3, 4), range(4, 5)]
    """
    start = tokens = 0
    for place, bound in enumerate(bounds):
        if place > start and (place - start >= max_count or tokens + bound > max_tokens):
            yield range(start, place)
            start, tokens = place, 0
        tokens += bound
    if start < len(bounds):
        yield range(start, len(bounds))
