"""Servers of the tests: real ones, on sockets of this machine's own."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from queue import Queue
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="needs the extra: pip install 'hybridrank[serve]'")

import uvicorn

from hybridrank.commands.parsing import Parser
from hybridrank.commands.serve import add_to, serve


@contextmanager
def serving(app: Any) -> Iterator[str]:
    """The address of an application that is served while the block runs."""
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan="off", ws="none"))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


@contextmanager
def commanded(*arguments: object, environ: Mapping[str, str] | None = None) -> Iterator[str]:
    """The address of what the command serves while the block runs."""
    parser = Parser()
    add_to(parser)
    options = parser.parse_args(["--port", "0", *map(str, arguments)])
    started: Queue[tuple[str, Callable[[], None]] | Exception] = Queue()

    def run() -> None:
        try:
            serve(options, environ or {}, started=lambda url, stop: started.put((url, stop)))
        except Exception as error:  # which would be lost in a thread
            started.put(error)

    thread = threading.Thread(target=run)
    thread.start()
    answer = started.get(timeout=60)
    if isinstance(answer, Exception):
        raise answer
    url, stop = answer
    try:
        yield url
    finally:
        stop()
        thread.join()
