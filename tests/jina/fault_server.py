"""A service on loopback that counts what it is asked for, and fails in the ways that services fail.

Each model is a client's story of its own: its plan names what happens to its requests, one after the other;
after the plan all goes well. Failures are real: sockets are reset, bodies cut, bytes dripped.
"""

from __future__ import annotations

import asyncio
import base64
import gzip
import hashlib
import json
import socket
import struct
import threading
from collections import Counter, defaultdict, deque
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

DIMENSION = 4
DRIP = 0.02  # seconds between two bytes


@dataclass
class Request:
    """What was asked, and where to answer."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    writer: asyncio.StreamWriter
    dimension: int = DIMENSION

    @property
    def texts(self) -> list[str]:
        found: list[str] = self.body.get("input") or self.body["documents"]
        return found

    @property
    def tokens(self) -> int:
        """As a tokenizer of bytes counts, with what it adds to each text or pair."""
        query = len(self.body.get("query", "").encode())
        return sum(query + len(text.encode()) + 4 for text in self.texts)

    def answer(self) -> dict[str, Any]:
        if "query" in self.body:
            results = [
                {"index": at, "relevance_score": score_of(self.body["query"], text)}
                for at, text in enumerate(self.texts)
            ]
            return {"model": "m", "usage": {"total_tokens": self.tokens}, "results": results}
        data = [
            {
                "object": "embedding",
                "index": at,
                "embedding": base64.b64encode(struct.pack("<4f", *vector_of(text))).decode(),
            }
            for at, text in enumerate(self.texts)
        ]
        return {"model": "m", "object": "list", "usage": {"total_tokens": self.tokens}, "data": data}

    def results(self) -> tuple[dict[str, Any], list[dict[str, Any]], str]:
        """The answer, its list, and the name of what each result holds."""
        answer = self.answer()
        return (
            (answer, answer["results"], "relevance_score")
            if "results" in answer
            else (answer, answer["data"], "embedding")
        )

    async def send(
        self, status: int, content: bytes, *, kind: str = "application/json", head: str = "", length: int = -1
    ) -> None:
        reason = "OK" if status == 200 else "Whatever"
        size = len(content) if length < 0 else length
        top = f"HTTP/1.1 {status} {reason}\r\nContent-Type: {kind}\r\nContent-Length: {size}\r\n{head}\r\n"
        self.writer.write(top.encode() + content)
        await self.writer.drain()

    async def send_json(self, status: int, value: object, *, head: str = "") -> None:
        await self.send(status, json.dumps(value).encode(), head=head)

    async def drip(self, data: bytes) -> None:
        for byte in data:
            self.writer.write(bytes([byte]))
            await self.writer.drain()
            await asyncio.sleep(DRIP)

    def reset(self) -> None:
        """End the connection as a crash does, with what was sent lost."""
        connection = self.writer.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


def score_of(query: str, text: str) -> float:
    digest = hashlib.blake2b(f"{query}\0{text}".encode(), digest_size=2).digest()
    return int.from_bytes(digest, "big") / 64 - 512.0  # exact in float32, negative too: a logit


def vector_of(text: str) -> list[float]:
    return [byte / 128 - 1.0 for byte in hashlib.blake2b(text.encode(), digest_size=DIMENSION).digest()]


Fault = Callable[[Request], Awaitable[None]]
FAULTS: dict[str, Fault] = {}
GOOD, PASSING, PERMANENT, SLOW = set[str](), set[str](), set[str](), set[str]()


def fault(*groups: set[str]) -> Callable[[Fault], Fault]:
    def add(function: Fault) -> Fault:
        name = function.__name__.strip("_")
        FAULTS[name] = function
        for group in groups:
            group.add(name)
        return function

    return add


# Answers that are as good as any.


@fault(GOOD)
async def ok(request: Request) -> None:
    await request.send_json(200, request.answer())


@fault(GOOD)
async def late(request: Request) -> None:
    await asyncio.sleep(DRIP)
    await ok(request)


@fault(GOOD)
async def unsorted(request: Request) -> None:
    answer, results, _ = request.results()
    results.reverse()
    await request.send_json(200, answer)


@fault(GOOD)
async def in_data(request: Request) -> None:
    answer, results, _ = request.results()
    await request.send_json(200, {"id": "vllm-1", "data": results, "usage": answer["usage"]})


@fault(GOOD)
async def with_documents(request: Request) -> None:
    answer, results, _ = request.results()
    for result in results:
        result["document"] = {"text": request.texts[result["index"]]}
    await request.send_json(200, answer, head="X-RateLimit-Remaining-Requests: 500\r\n")


@fault(GOOD)
async def compressed(request: Request) -> None:
    content = gzip.compress(json.dumps(request.answer()).encode(), 1)
    await request.send(200, content, head="Content-Encoding: gzip\r\n")


@fault(GOOD)
async def chunked(request: Request) -> None:
    content = json.dumps(request.answer()).encode()
    parts = [content[:10], content[10:]]
    body = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"
    request.writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body)
    await request.writer.drain()


@fault(GOOD)
async def wrong_content_type(request: Request) -> None:
    await request.send(200, json.dumps(request.answer()).encode(), kind="text/html")


@fault(GOOD)
async def as_numbers(request: Request) -> None:
    answer, results, name = request.results()
    if name == "embedding":
        for result, text in zip(results, request.texts, strict=True):
            result["embedding"] = vector_of(text)
    await request.send_json(200, answer)


# Statuses.


def _status(name: str, status: int, *, head: str = "", page: bool = False, group: set[str] = PASSING) -> None:
    async def respond(request: Request) -> None:
        if page:
            text = f"<html><head><title>{status} Bad</title></head><body>{'x' * 5000}</body></html>"
            await request.send(status, text.encode(), kind="text/html", head=head)
        else:
            key = request.headers.get("authorization", "")  # an impolite service repeats it
            detail = {"detail": f"failed for {key}", "code": f"CODE {key}", "request_id": key}
            await request.send_json(status, detail, head=f"{head}X-Key: {key}\r\n")

    respond.__name__ = name
    fault(group)(respond)


for _number in (408, 500, 501, 502, 503, 504):
    _status(f"status_{_number}", _number)
    _status(f"page_{_number}", _number, page=True)
_status("limited", 429)
_status("limited_for_seconds", 429, head="Retry-After: 2\r\n")
_status(
    "limited_until",
    429,
    head="Retry-After: Wed, 21 Oct 2015 07:28:03 GMT\r\nDate: Wed, 21 Oct 2015 07:28:00 GMT\r\n",
)
_status("limited_somehow", 503, head="Retry-After: soon\r\nX-RateLimit-Remaining-Tokens: many\r\n")
for _number in (400, 401, 403, 404, 413):
    _status(f"status_{_number}", _number, group=PERMANENT)
for _number in (301, 302, 307, 308):
    _status(f"redirect_{_number}", _number, head="Location: {elsewhere}\r\n", group=PERMANENT)


@fault(PERMANENT)
async def status_422(request: Request) -> None:
    complaint = {"field": "input", "message": "is too long", "type": "value_error", "input": request.texts}
    await request.send_json(422, {"detail": "invalid", "errors": [complaint]})


# What takes too long.


@fault(SLOW)
async def silent(request: Request) -> None:
    await asyncio.sleep(3600)


@fault(SLOW)
async def dripping_headers(request: Request) -> None:
    await request.drip(b"HTTP/1.1 200 OK\r\nX-Filler: " + b"x" * 10_000)


@fault(SLOW)
async def half_a_body(request: Request) -> None:
    content = json.dumps(request.answer()).encode()
    await request.send(200, content[: len(content) // 2], length=len(content))
    await asyncio.sleep(3600)


@fault(SLOW)
async def dripping_body(request: Request) -> None:
    await request.send(200, b"", length=10_000)
    await request.drip(b" " * 10_000)


# Bodies that are none.


def _body(name: str, content: bytes, *, head: str = "", length: int = -1) -> None:
    async def respond(request: Request) -> None:
        await request.send(200, content, head=head, length=length)
        if length >= 0:
            request.writer.close()

    respond.__name__ = name
    fault(PASSING)(respond)


_body("cut_body", b'{"results": [', length=1000)
_body("cut_gzip", gzip.compress(b" " * 1000 + b"{}")[:-9], head="Content-Encoding: gzip\r\n")
_body("page_200", b"<html><title>Welcome</title>Log in to the hotel's network</html>")
_body("invalid_json", b'{"results": [{"index": 0,}]}')
_body("no_utf8", b'{"results": "\xff\xfe"}')
_body("empty_body", b"")
_body("scalar", b"17")
_body("null", b"null")
_body("deep", b"[" * 200_000)
_body("long_number", b'{"results": [{"index": 0, "relevance_score": ' + b"9" * 5000 + b"}]}")
_body("no_results", b'{"results": null, "data": {}}')
_body("no_gzip", b"this is no gzip", head="Content-Encoding: gzip\r\n")
_body("brotli", b"\x8b\x02\x80{}\x03", head="Content-Encoding: br\r\n")
_body("bomb", gzip.compress(b" " * 10_000_000), head="Content-Encoding: gzip\r\n")
_body("ten_megabytes", b" " * 10_000_000)


@fault(PASSING)
async def cut_chunks(request: Request) -> None:
    request.writer.write(b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"dat')
    await request.writer.drain()
    request.writer.close()


@fault(PASSING)
async def endless_chunks(request: Request) -> None:
    request.writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    for _ in range(200):
        request.writer.write(b"%x\r\n%s\r\n" % (65_536, b" " * 65_536))
        await request.writer.drain()


@fault(PASSING)
async def no_http(request: Request) -> None:
    request.writer.write(b"SSH-2.0-OpenSSH_9.6\r\n")
    await request.writer.drain()
    request.writer.close()


# Answers of the right form with the wrong content.


def _spoilt(name: str, spoil: Callable[[list[dict[str, Any]], str], None]) -> None:
    async def respond(request: Request) -> None:
        answer, results, value = request.results()
        spoil(results, value)
        await request.send_json(200, answer)

    respond.__name__ = name
    fault(PASSING)(respond)


_spoilt("too_few", lambda results, value: results.__delitem__(0))
_spoilt("too_many", lambda results, value: results.append({**results[0], "index": len(results)}))
_spoilt("double", lambda results, value: results.append(dict(results[0])))
_spoilt("out_of_range", lambda results, value: results[-1].update(index=len(results)))
_spoilt("negative_index", lambda results, value: results[0].update(index=-1))
_spoilt("float_index", lambda results, value: results[0].update(index=0.0))
_spoilt("bool_index", lambda results, value: results[0].update(index=False))
_spoilt("text_index", lambda results, value: results[0].update(index="0"))
_spoilt("no_index", lambda results, value: results[0].pop("index"))
_spoilt("no_value", lambda results, value: results[0].pop(value))
_spoilt("null_value", lambda results, value: results[0].update({value: None}))
_spoilt("text_value", lambda results, value: results[0].update({value: "0.5"}))
for _name, _number_ in (("nan", float("nan")), ("infinite", float("inf")), ("too_large", 1e300)):
    _spoilt(
        _name,
        lambda results, value, number=_number_: results[0].update(  # type: ignore[misc]
            {value: number if value != "embedding" else [number] * DIMENSION}
        ),
    )
_spoilt(
    "other_dimension",
    lambda results, value: results[0].update(
        {value: [1.0] * (DIMENSION + 1) if value == "embedding" else []}
    ),
)


# Connections that break.


@fault(PASSING)
async def reset_at_once(request: Request) -> None:
    request.reset()


@fault(PASSING)
async def reset_in_headers(request: Request) -> None:
    request.writer.write(b"HTTP/1.1 200 O")
    await request.writer.drain()
    request.reset()


@fault(PASSING)
async def reset_in_body(request: Request) -> None:
    await request.send(200, b'{"results": [{"ind', length=500)
    request.reset()


@fault(PASSING)
async def close_at_once(request: Request) -> None:
    request.writer.close()


@fault(GOOD)
async def reset_afterwards(request: Request) -> None:
    await ok(request)
    await asyncio.sleep(0)
    request.writer.close()


class FaultServer:
    """The service; counts what it is sent, by model."""

    def __init__(self) -> None:
        self.plans: defaultdict[str, deque[str]] = defaultdict(deque)
        self.requests: Counter[str] = Counter()
        self.tokens: Counter[str] = Counter()
        self.under_way: Counter[str] = Counter()
        self.most_under_way: Counter[str] = Counter()
        self.keys: set[str] = set()
        self.bodies: deque[dict[str, Any]] = deque(maxlen=100)
        self.elsewhere = "http://127.0.0.1:9"
        self.url = ""

    def plan(self, model: str, faults: Iterable[str]) -> None:
        self.plans[model] = deque(faults)

    async def start(self) -> asyncio.Server:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        return server

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while not writer.is_closing():
                head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
                headers = {
                    name.lower(): value for name, value in (line.split(": ", 1) for line in head[1:] if line)
                }
                body = json.loads(await reader.readexactly(int(headers.get("content-length", 0))) or b"{}")
                await self._respond(Request(head[0].split()[1], headers, body, writer))
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _respond(self, request: Request) -> None:
        model = str(request.body.get("model", request.path))
        self.requests[model] += 1
        self.bodies.append(request.body)
        self.keys.add(request.headers.get("authorization", ""))
        if request.body:
            self.tokens[model] += request.tokens
        self.under_way[model] += 1
        self.most_under_way[model] = max(self.under_way[model], self.most_under_way[model])
        plan = self.plans[model]
        name = plan.popleft() if plan else "ok"
        try:
            if name.startswith("redirect_"):
                place = self.elsewhere if name != "redirect_302" else "http://host:port"
                head = f"Location: {place}/v1/rerank?{request.headers.get('authorization')}\r\n"
                await request.send_json(int(name[-3:]), {}, head=head)
            else:
                await FAULTS[name](request)
        finally:
            self.under_way[model] -= 1


@contextmanager
def running() -> Iterator[FaultServer]:
    """A server in a thread of its own."""
    server = FaultServer()
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    listener = asyncio.run_coroutine_threadsafe(server.start(), loop).result()

    async def stop() -> None:
        listener.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    try:
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(stop(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
