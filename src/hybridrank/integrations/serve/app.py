"""The application behind ``hybridrank serve``: four addresses, guarded, for any ASGI server."""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import os
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from hybridrank.errors import InputError, MissingExtra, ServiceError
from hybridrank.integrations.reordering import check_reranker, reorder
from hybridrank.integrations.scorers import Scorer
from hybridrank.integrations.serve.wire import (
    Refusal,
    read_rerank,
    read_search,
    read_search_parameters,
    rerank_answer,
    search_answer,
    to_json,
)
from hybridrank.protocols import Reranker, Retriever

try:
    from anyio import CapacityLimiter, to_thread
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.requests import ClientDisconnect, Request
    from starlette.responses import Response
    from starlette.routing import Route
except ModuleNotFoundError as error:
    raise MissingExtra("starlette", extra="serve") from error

__all__ = ["ServerLimits", "create_app"]

T = TypeVar("T")
Handler = Callable[[Request], Awaitable[dict[str, Any]]]

_CODES = {404: "NOT_FOUND", 405: "METHOD_NOT_ALLOWED"}


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerLimits:
    """What a server takes: bytes of a body, documents of a request, hits of a search, requests at work or
    waiting for it at once, and seconds in which a body must have arrived.

    >>> ServerLimits(max_documents=64).max_documents
    64
    """

    max_body: int = 8 << 20
    max_documents: int = 2048
    max_hits: int = 1000
    max_concurrency: int = 16
    body_seconds: float = 30.0


def create_app(
    *,
    reranker: Reranker | Scorer | None = None,
    retriever: Retriever | None = None,
    api_key: str | None = None,
    limits: ServerLimits | None = None,
    local: bool = False,
) -> Starlette:
    """An ASGI application.

    ``POST /v1/rerank`` orders the documents of a request with ``reranker``, by default BM25 over them.
    ``GET`` or ``POST /search`` searches ``retriever``, when there is one. ``GET /health`` says what is
    served. With ``api_key``, all but the last ask for it as ``Authorization: Bearer``. With ``local``, a
    request that was sent to another name than this machine's own is refused: so a page in a browser cannot
    reach a server on the loopback address by a name that points there.

    >>> [route.path for route in create_app().routes]
    ['/v1/rerank', '/search', '/health']
    """
    server = _Server(check_reranker(reranker), retriever, api_key, limits or ServerLimits(), local)
    return Starlette(
        routes=[
            Route("/v1/rerank", server.endpoint(server.rerank), methods=["POST"]),
            Route("/search", server.endpoint(server.search), methods=["GET", "POST"]),
            Route("/health", server.endpoint(server.health, open_to_all=True), methods=["GET"]),
        ],
        exception_handlers={HTTPException: _no_such_address, Exception: _failed},
    )


class _Server:
    def __init__(
        self,
        reranker: Reranker | Scorer,
        retriever: Retriever | None,
        api_key: str | None,
        limits: ServerLimits,
        local: bool,
    ) -> None:
        self.reranker = reranker
        self.retriever = retriever
        self.key = None if api_key is None else api_key.encode()
        self.limits = limits
        self.local = local
        self.model = f"hybridrank/{getattr(reranker, 'name', type(reranker).__name__)}"
        self.busy = 0
        self.threads: CapacityLimiter | None = None

    def endpoint(
        self, handler: Handler, *, open_to_all: bool = False
    ) -> Callable[[Request], Awaitable[Response]]:
        """The handler behind what every request must pass, and with errors as answers."""

        async def answer(request: Request) -> Response:
            try:
                self.check_host(request)
                if not open_to_all:
                    self.check_key(request)
                return Response(to_json(await handler(request)), media_type="application/json")
            except Refusal as refusal:
                return _refused(refusal)
            except InputError as error:
                return _refused(Refusal(422, "INVALID_REQUEST", str(error)))
            except ServiceError:
                # What the other service said stays here: it may name what this one's callers need not know.
                text = "the service behind this one did not answer"
                return _refused(Refusal(503, "UNAVAILABLE", text, headers={"Retry-After": "1"}))
            except ClientDisconnect:
                return Response(status_code=400)  # which nobody reads

        return answer

    async def rerank(self, request: Request) -> dict[str, Any]:
        body = await self.body(request)
        return await self.work(partial(self.rerank_now, body))

    def rerank_now(self, body: bytes) -> dict[str, Any]:
        asked = read_rerank(body, max_documents=self.limits.max_documents)
        order = reorder(self.reranker, asked.query, asked.documents).order
        return rerank_answer(asked, order, model=self.model)

    async def search(self, request: Request) -> dict[str, Any]:
        if self.retriever is None:
            raise Refusal(404, "NOT_FOUND", "no index is served here: start the server with one")
        if request.method == "POST":
            asked = read_search(await self.body(request), max_hits=self.limits.max_hits)
        else:
            asked = read_search_parameters(request.query_params, max_hits=self.limits.max_hits)
        return search_answer(await self.work(partial(self.retriever.search, asked.query, asked.k)))

    async def health(self, request: Request) -> dict[str, Any]:
        passages = None if self.retriever is None else len(self.retriever)
        return {"status": "ok", "model": self.model, "passages": passages}

    def check_host(self, request: Request) -> None:
        if self.local and not _is_loopback(request.headers.get("host", "")):
            raise Refusal(403, "FORBIDDEN", "this server answers to localhost alone")

    def check_key(self, request: Request) -> None:
        if self.key is None:
            return
        kind, _, given = request.headers.get("authorization", "").partition(" ")
        # Headers are bytes that Starlette reads as Latin-1.
        if kind.lower() != "bearer" or not hmac.compare_digest(given.strip().encode("latin-1"), self.key):
            text = "the API key is missing or wrong: send it as 'Authorization: Bearer KEY'"
            raise Refusal(401, "UNAUTHORIZED", text, headers={"WWW-Authenticate": "Bearer"})

    async def body(self, request: Request) -> bytes:
        """The body, not a byte more than is allowed, nor a second later."""
        most = self.limits.max_body
        closing = {"Connection": "close"}  # for what is still to come would be taken for the next request
        refusal = Refusal(413, "PAYLOAD_TOO_LARGE", f"the body is larger than {most} bytes", headers=closing)
        declared = request.headers.get("content-length", "0")
        if declared.isdigit() and len(declared) < 20 and int(declared) > most:
            raise refusal

        async def read() -> bytes:
            parts = bytearray()
            async for part in request.stream():
                parts += part
                if len(parts) > most:
                    raise refusal
            return bytes(parts)

        try:
            return await asyncio.wait_for(read(), self.limits.body_seconds)
        except asyncio.TimeoutError:  # another class than TimeoutError before Python 3.11
            text = "the body took too long to arrive"
            raise Refusal(408, "REQUEST_TIMEOUT", text, headers=closing) from None

    async def work(self, job: Callable[[], T]) -> T:
        """Do a job in a thread, unless too many are waiting already."""
        if self.busy >= self.limits.max_concurrency:
            text = f"{self.busy} requests are at work here, the most that may be: try again"
            headers = {"Retry-After": "1"}
            raise Refusal(429, "RATE_CONCURRENCY_LIMIT_EXCEEDED", text, headers=headers)
        if self.threads is None:  # made here, for it belongs to a running event loop
            self.threads = CapacityLimiter(max(1, min(self.limits.max_concurrency, os.cpu_count() or 1)))
        self.busy += 1
        try:
            return await to_thread.run_sync(job, limiter=self.threads)
        finally:
            self.busy -= 1


def _is_loopback(host: str) -> bool:
    name = host.rpartition("]")[0].lstrip("[") or host.partition(":")[0]
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name.lower().rstrip(".") == "localhost"


def _refused(refusal: Refusal) -> Response:
    request_id = uuid.uuid4().hex
    return Response(
        to_json(refusal.answer(request_id)),
        status_code=refusal.status,
        headers={**refusal.headers, "X-Request-ID": request_id},
        media_type="application/json",
    )


async def _no_such_address(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 404
    headers = dict(getattr(error, "headers", None) or {})
    detail = str(getattr(error, "detail", ""))
    return _refused(Refusal(status, _CODES.get(status, "ERROR"), detail, headers=headers))


async def _failed(request: Request, error: Exception) -> Response:
    # The server logs the error itself.
    return _refused(Refusal(500, "INTERNAL_ERROR", "something went wrong here; the server's log says what"))
