"""Requests to the server and its answers, as values: the standard library alone, no input or output.

``POST /v1/rerank`` has the form of Jina's, whose errors are ``{"detail", "code", "request_id"}``, and
``"errors"`` besides where fields are wrong.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hybridrank.records import Ranking

__all__ = [
    "Refusal",
    "RerankRequest",
    "SearchRequest",
    "read_rerank",
    "read_search",
    "read_search_parameters",
    "rerank_answer",
    "search_answer",
    "to_json",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class RerankRequest:
    """What to order, and how many of it to give back."""

    query: str
    documents: tuple[str, ...]
    top_n: int
    return_documents: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchRequest:
    """What to look for, and how many hits to give back."""

    query: str
    k: int


@dataclass(eq=False)
class Refusal(Exception):
    """A request that is not answered, and what its sender is told instead."""

    status: int
    code: str
    detail: str
    errors: list[dict[str, str]] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)

    def answer(self, request_id: str) -> dict[str, Any]:
        """The body of the answer.

        >>> Refusal(401, "UNAUTHORIZED", "no key").answer("7f3")
        {'detail': 'no key', 'code': 'UNAUTHORIZED', 'request_id': '7f3'}
        """
        body: dict[str, Any] = {"detail": self.detail, "code": self.code, "request_id": request_id}
        return {**body, "errors": self.errors} if self.errors else body


def to_json(value: Any) -> bytes:
    """JSON in ASCII: half of a surrogate pair, which a request may hold as an escape, has no other form."""
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode("ascii")


def read_rerank(body: bytes, *, max_documents: int) -> RerankRequest:
    """The request that a body holds.

    ``query`` and each of ``documents`` are strings, or objects with ``text``; ``top_n`` may be left out, for
    all, or exceed the documents; ``return_documents`` is true unless said otherwise, as with Jina. ``model``
    and what else Jina knows may be there and changes nothing. Raises :class:`Refusal`.

    >>> read_rerank(b'{"query": "q", "documents": ["a", {"text": "b"}], "top_n": 1}', max_documents=9)
    RerankRequest(query='q', documents=('a', 'b'), top_n=1, return_documents=True)
    """
    fields = _object(body)
    query = _text(fields, "query")
    documents = fields.get("documents")
    if not isinstance(documents, list) or not documents:
        raise _wrong("documents", "must be a list of at least one string, or of objects with a text")
    if len(documents) > max_documents:
        raise _wrong("documents", f"holds {len(documents)}, where {max_documents} are the most")
    names = [f"documents[{place}]" for place in range(len(documents))]
    texts = tuple(_text({name: one}, name) for name, one in zip(names, documents, strict=True))
    top_n = _whole(fields, "top_n", len(texts))
    with_texts = fields.get("return_documents")
    if not (with_texts is None or isinstance(with_texts, bool)):
        raise _wrong("return_documents", "must be true or false")
    return RerankRequest(
        query=query, documents=texts, top_n=min(top_n, len(texts)), return_documents=with_texts is not False
    )


def read_search(body: bytes, *, max_hits: int) -> SearchRequest:
    """The request ``{"query", "k"}`` that a body holds; ``k`` is 10 unless said otherwise.

    Raises :class:`Refusal`.

    >>> read_search(b'{"query": "Which sales?"}', max_hits=100)
    SearchRequest(query='Which sales?', k=10)
    """
    fields = _object(body)
    return _search(_text(fields, "query"), _whole(fields, "k", 10), max_hits)


def read_search_parameters(parameters: Mapping[str, str], *, max_hits: int) -> SearchRequest:
    """The same of the parameters of an address, ``?query=...&k=...``; ``q`` stands for ``query`` too."""
    query = parameters.get("query", parameters.get("q"))
    if query is None:
        raise _wrong("query", "is missing")
    k = parameters.get("k", "10")
    if not (k.isascii() and k.isdigit() and len(k) < 10):
        raise _wrong("k", "must be a whole number, at least 1")
    return _search(query, _whole({"k": int(k)}, "k", 10), max_hits)


def _search(query: str, k: int, max_hits: int) -> SearchRequest:
    if k > max_hits:
        raise _wrong("k", f"is {k}, where {max_hits} are the most")
    return SearchRequest(query=query, k=k)


def rerank_answer(
    request: RerankRequest, order: Sequence[tuple[int, float]], *, model: str
) -> dict[str, Any]:
    """Jina's answer: ``order`` has the place and the score of each document, best first.

    ``usage`` counts the words sent, as separated by white space.

    >>> request = RerankRequest(query="q", documents=("a", "b"), top_n=1, return_documents=True)
    >>> rerank_answer(request, [(1, 0.5), (0, 0.0)], model="hybridrank/bm25")["results"]
    [{'index': 1, 'relevance_score': 0.5, 'document': {'text': 'b'}}]
    """
    results: list[dict[str, Any]] = []
    for place, score in order[: request.top_n]:
        result: dict[str, Any] = {"index": place, "relevance_score": score}
        if request.return_documents:
            result["document"] = {"text": request.documents[place]}
        results.append(result)
    words = sum(len(text.split()) for text in (request.query, *request.documents))
    return {
        "model": model,
        "object": "list",
        "usage": {"total_tokens": words, "prompt_tokens": words},
        "results": results,
    }


def search_answer(ranking: Ranking) -> dict[str, Any]:
    """A ranking, each hit with its passage, where the retriever keeps passages."""
    hits: list[dict[str, Any]] = []
    for hit in ranking:
        row: dict[str, Any] = {"id": hit.passage_id, "rank": hit.rank, "score": hit.score}
        if (passage := hit.passage) is not None:
            row |= {
                "text": passage.text,
                "document_id": passage.document_id,
                "start": passage.start,
                "metadata": dict(passage.metadata),
            }
        hits.append(row)
    return {"query": ranking.query, "hits": hits, "degraded": ranking.degraded}


def _object(body: bytes) -> dict[str, Any]:
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError):  # the former also for what is not UTF-8
        raise _wrong("body", "must be JSON in UTF-8") from None
    if not isinstance(fields, dict):
        raise _wrong("body", "must be a JSON object")
    return fields


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    if isinstance(value, dict):
        value = value.get("text")
    if not isinstance(value, str):
        raise _wrong(name, "must be a string" if name in fields else "is missing")
    return value


def _whole(fields: Mapping[str, Any], name: str, otherwise: int) -> int:
    value = fields.get(name)
    if value is None:
        return otherwise
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise _wrong(name, "must be a whole number, at least 1")
    return value


def _wrong(name: str, message: str) -> Refusal:
    return Refusal(
        422,
        "INVALID_REQUEST",
        f"{name} {message}",
        errors=[{"field": name, "message": message, "type": "value_error"}],
    )
