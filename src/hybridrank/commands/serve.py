"""``hybridrank serve``: searching an index and reranking documents over HTTP."""

from __future__ import annotations

import argparse
import ipaddress
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from hybridrank.commands.files import path_of
from hybridrank.commands.parsing import Parser
from hybridrank.commands.terminal import positive_number, tell
from hybridrank.errors import InputError, MissingExtra

if TYPE_CHECKING:
    from hybridrank.protocols import Retriever

__all__ = ["KEY_VARIABLE", "add_to", "serve"]

KEY_VARIABLE = "HYBRIDRANK_API_KEY"
"""The environment variable that holds the key to ask for; a key among the arguments would be seen by all."""

_GRACE = 10  # seconds that requests at work have left when the server is told to stop
_BACKLOG = 128  # connections that the system keeps while the server is busy
_CONNECTIONS = 4  # for each request that may be at work, so that memory for bodies has a bound


def add_to(parser: Parser) -> None:
    """Give the parser of ``serve`` its arguments.

    >>> parser = Parser()
    >>> add_to(parser)
    >>> parser.parse_args(["my.index", "--port", "8100"]).port
    8100
    """
    parser.description = "Serve POST /v1/rerank in Jina's wire format, GET and POST /search, and GET /health."
    parser.epilog = f"The key to ask for is taken from {KEY_VARIABLE}."
    parser.examples = [
        "hybridrank serve my.index & curl 'http://127.0.0.1:8000/search?query=boats&k=3'",
        "hybridrank serve my.index --model ranker/ --host 0.0.0.0 --port 8100",
    ]
    parser.add_argument(
        "index", type=path_of, nargs="?", metavar="DIR", help="the index that /search searches"
    )
    parser.add_argument(
        "--model", type=path_of, metavar="DIR", help="a learned ranker, to rank by in place of BM25"
    )
    parser.add_alias("--ranker", "--model")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at (default 127.0.0.1)")
    parser.add_argument("--port", type=_port, default=8000, metavar="N", help="0 for any (default 8000)")
    parser.add_argument(
        "--max-body", type=positive_number, default=8, metavar="N", help="largest body, in MiB (default 8)"
    )
    parser.add_argument(
        "--max-concurrency",
        type=positive_number,
        default=16,
        metavar="N",
        help="requests at work or waiting; more are told to come again (default 16)",
    )
    parser.set_defaults(command=lambda options: serve(options, os.environ))


def serve(
    options: argparse.Namespace,
    environ: Mapping[str, str],
    *,
    started: Callable[[str, Callable[[], None]], None] | None = None,
) -> int:
    """Serve until SIGTERM or Ctrl-C; returns exit code 0. Requests at work are answered first.

    ``started`` is given, once connections are taken, the address and a function that stops the server, for
    which one that runs beside the main thread has no signal. Raises
    :class:`~hybridrank.errors.MissingExtra` without the extra ``serve``,
    :class:`~hybridrank.errors.InputError` for an address that cannot be listened at, and what opening an
    index or a ranker raises.
    """
    try:
        import uvicorn
    except ModuleNotFoundError as error:
        raise MissingExtra("uvicorn", extra="serve") from error
    from hybridrank.integrations.scorers import Bm25Scorer, LearnedScorer
    from hybridrank.integrations.serve.app import ServerLimits, create_app

    key = environ.get(KEY_VARIABLE) or None
    reranker = Bm25Scorer() if options.model is None else LearnedScorer.open(options.model)
    retriever = _retriever(options.index, options.model)
    with _listen(options.host, options.port) as listening:
        address, port = listening.getsockname()[:2]
        local = ipaddress.ip_address(address.partition("%")[0]).is_loopback
        limits = ServerLimits(max_body=options.max_body << 20, max_concurrency=options.max_concurrency)
        app = create_app(reranker=reranker, retriever=retriever, api_key=key, limits=limits, local=local)
        server = uvicorn.Server(
            uvicorn.Config(
                app,
                log_level="warning",
                access_log=False,
                lifespan="off",
                ws="none",
                limit_concurrency=_CONNECTIONS * options.max_concurrency,
                timeout_graceful_shutdown=_GRACE,
                server_header=False,
            )
        )
        if not local and key is None:
            tell(f"warning: whoever reaches {address} is served; set {KEY_VARIABLE} to ask for a key")
        url = f"http://{f'[{address}]' if ':' in address else address}:{port}"
        tell(f"serving at {url}; Ctrl-C stops it")
        if started is not None:
            started(url, lambda: setattr(server, "should_exit", True))
        with _stopped_once():
            server.run(sockets=[listening])
    tell("stopped")
    return 0


@contextmanager
def _stopped_once() -> Iterator[None]:
    """Once it has stopped, the server sends itself again the signal that stopped it: by then no news."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _retriever(index: Path | None, ranker: Path | None) -> Retriever | None:
    if index is None:
        return None
    from hybridrank.learned import LearnedReranker
    from hybridrank.lexical import LexicalIndex
    from hybridrank.pipeline import Pipeline

    opened = LexicalIndex.open(index)
    if ranker is None:
        return opened
    return Pipeline(retrievers=[opened], rerankers=[LearnedReranker.open(ranker, opened)])


def _listen(host: str, port: int) -> socket.socket:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, address = found[0]
        return socket.create_server((str(address[0]), port), family=family, backlog=_BACKLOG)
    except (OSError, UnicodeError) as error:  # the latter for a name that is none
        raise InputError(
            f"{host} port {port} cannot be listened at ({getattr(error, 'strerror', None) or error})",
            remedy="Choose another --host or --port, or stop what listens there.",
        ) from error


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 6 and int(text) < 1 << 16):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 to 65535")
    return int(text)
