"""A chat service on loopback that does what it is told, one request after the other, and keeps count."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TEXT = "Grad C said that the pump leaks. PhD A will mend it."


class Handler(BaseHTTPRequestHandler):
    """One request; the server holds the plan."""

    server: ChatServer

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.body = json.loads(body)
        with self.server.lock:
            self.server.requests.append((self.path, dict(self.headers), self.body))
            at = min(len(self.server.requests), len(self.server.plan)) - 1
        self.server.plan[at](self)

    def do_GET(self) -> None:
        with self.server.lock:
            self.server.requests.append((self.path, dict(self.headers), None))
        self.send(200, b"{}")

    def send(self, status: int, content: bytes, *, kind: str = "application/json", **headers: str) -> None:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(content)), **named}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def send_json(self, status: int, content: object, **headers: str) -> None:
        self.send(status, json.dumps(content).encode("ascii"), **headers)

    def log_message(self, *_: object) -> None:
        pass


Behaviour = Callable[[Handler], None]


class ChatServer(ThreadingHTTPServer):
    """The service; ``requests`` holds path, headers and body of each request that reached it."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, plan: Sequence[Behaviour]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.plan = list(plan)
        self.lock = threading.Lock()
        self.requests: list[tuple[str, dict[str, str], Any]] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/api/v1"

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that has gone away is part of the play."""


@contextmanager
def chat_server(*plan: Behaviour) -> Iterator[ChatServer]:
    """A service that follows a plan; the last behaviour is kept up."""
    with ChatServer(plan) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def completion(message: object, **more: object) -> dict[str, object]:
    return {"id": "gen-1", "object": "chat.completion", "choices": [{"index": 0, "message": message}], **more}


def says(text: object) -> Behaviour:
    return lambda handler: handler.send_json(200, completion({"role": "assistant", "content": text}))


def replies(status: int, content: object, **headers: str) -> Behaviour:
    return lambda handler: handler.send_json(status, content, **headers)


def echo(handler: Handler) -> None:
    says(handler.body["messages"][-1]["content"])(handler)


def echo_all(handler: Handler) -> None:
    says("\n".join(message["content"] for message in handler.body["messages"]))(handler)


def silence(handler: Handler) -> None:
    time.sleep(30)


def drip(handler: Handler) -> None:
    """A body that never ends, though each byte comes in time."""
    handler.send_response(200)
    handler.end_headers()
    for _ in range(3000):
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(0.01)


def cut(handler: Handler) -> None:
    handler.send(200, b'{"choices": [', Content_Length="500")


def hang_up(handler: Handler) -> None:
    handler.connection.close()


def html(handler: Handler) -> None:
    handler.send(200, b"<!doctype html><title>Welcome</title><p>Log in first.", kind="text/html")


def endless(handler: Handler) -> None:
    handler.send(200, b'{"choices": "' + b"x" * (1 << 21) + b'"}')


def calls_tools(handler: Handler) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "search", "arguments": "{}"}}
    handler.send_json(200, completion({"role": "assistant", "content": None, "tool_calls": [call]}))


good = says(TEXT)
long_text = says("The pump leaks badly. " * 2500)
refusal = says("I'm sorry, but I can't help with that.")
marked_refusal = replies(200, completion({"role": "assistant", "content": "", "refusal": "No."}))
no_choices = replies(200, {"choices": []})
provider_error = replies(200, {"error": {"code": 502, "message": "The provider is down."}})

# What gives no answer, whatever is asked.
USELESS: dict[str, Behaviour] = {
    "echo": echo,
    "echo of everything": echo_all,
    "429": replies(429, {"error": {"message": "Slow down."}}, Retry_After="0"),
    "500": replies(500, {"error": {"message": "Oops."}}),
    "502 without a body": lambda handler: handler.send(502, b""),
    "html": html,
    "no choices": no_choices,
    "refusal": refusal,
    "marked refusal": marked_refusal,
    "tool calls": calls_tools,
    "error inside": provider_error,
    "blank": says(" \n"),
    "thoughts alone": says("<think>What do they want?"),
    "number": says(7),
    "no message": replies(200, {"choices": [{"text": "hm"}]}),
    "list": replies(200, [1, 2]),
    "null": replies(200, None),
    "not utf-8": lambda handler: handler.send(200, b'{"choices": "\xff'),
    "deep": lambda handler: handler.send(200, b"[" * 200_000),
    "cut": cut,
    "hang up": hang_up,
    "endless": endless,
}
