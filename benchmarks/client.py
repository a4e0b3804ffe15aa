"""What the clients add to a request beside bare httpx: `python -m benchmarks.client [--calls N]`.

Both ask the same server on loopback in another process, one request after the other, for the scores of 20
documents; rounds alternate, so that what else the machine does strikes both.
"""

from __future__ import annotations

import argparse
import asyncio
import http.server
import json
import multiprocessing
import statistics
import time
from collections.abc import Callable
from multiprocessing.connection import Connection

import httpx

from hybridrank.jina import AsyncJinaClient, JinaClient

_QUERY = "How did net sales develop?"
_DOCUMENTS = [f"Net sales of unit {n} rose by {n}.5 percent to $ {n * 37} million. " * 12 for n in range(20)]
_BODY = {
    "model": "m",
    "query": _QUERY,
    "documents": _DOCUMENTS,
    "top_n": len(_DOCUMENTS),
    "return_documents": False,
    "truncation": True,
}
_ANSWER = {
    "model": "m",
    "usage": {"total_tokens": 4000},
    "results": [{"index": at, "relevance_score": 1 / (at + 1)} for at in range(len(_DOCUMENTS))],
}
_CONTENT = json.dumps(_ANSWER).encode()
_ROUNDS = 10


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Answer at once, in one packet."""
        self.rfile.read(int(self.headers["Content-Length"]))
        self.wfile.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
            % (len(_CONTENT), _CONTENT)
        )

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


def _serve(connection: Connection) -> None:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    connection.send(server.server_address[1])
    server.serve_forever()


def measure(calls: int) -> dict[str, dict[str, float]]:
    """Milliseconds a request, by way of asking: the median, the tenth percentile, which says more on a busy
    machine, and the processor's, of this process alone."""
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=(theirs,), daemon=True)
    process.start()
    url = f"http://127.0.0.1:{ours.recv()}"
    try:
        return _measure(url, calls)
    finally:
        process.terminate()
        process.join()


def _measure(url: str, calls: int) -> dict[str, dict[str, float]]:
    times: dict[str, list[float]] = {}
    processor: dict[str, float] = {}
    loop = asyncio.new_event_loop()
    bare, client = httpx.Client(), JinaClient(base_url=url)
    bare_async, client_async = httpx.AsyncClient(), AsyncJinaClient(base_url=url)

    async def send() -> None:
        (await bare_async.post(f"{url}/v1/rerank", json=_BODY)).raise_for_status().json()

    ways: dict[str, Callable[[], object]] = {
        "httpx.Client": lambda: bare.post(f"{url}/v1/rerank", json=_BODY).raise_for_status().json(),
        "JinaClient": lambda: client.rerank(_QUERY, _DOCUMENTS),
        "httpx.AsyncClient": lambda: loop.run_until_complete(send()),
        "AsyncJinaClient": lambda: loop.run_until_complete(client_async.rerank(_QUERY, _DOCUMENTS)),
    }
    for each in ways.values():
        each()
    for _ in range(_ROUNDS):
        for name, each in ways.items():
            before = time.process_time()
            for _ in range(max(1, calls // _ROUNDS)):
                start = time.perf_counter()
                each()
                times.setdefault(name, []).append(1000 * (time.perf_counter() - start))
            processor[name] = processor.get(name, 0.0) + 1000 * (time.process_time() - before)
    loop.run_until_complete(bare_async.aclose())
    loop.run_until_complete(client_async.aclose())
    loop.close()
    client.close()
    bare.close()
    return {
        name: {
            "median": statistics.median(values),
            "tenth percentile": statistics.quantiles(values, n=10)[0],
            "processor": processor[name] / len(values),
        }
        for name, values in times.items()
    }


def main() -> None:
    """Measure and print, as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--calls", type=int, default=1000, metavar="N", help="requests each (default 1000)")
    found = measure(parser.parse_args().calls)
    pairs = (("JinaClient", "httpx.Client"), ("AsyncJinaClient", "httpx.AsyncClient"))
    overhead = {
        ours: {kind: found[ours][kind] - found[bare][kind] for kind in found[ours]} for ours, bare in pairs
    }
    print(json.dumps({"milliseconds": found, "overhead_milliseconds": overhead}, indent=2))


if __name__ == "__main__":
    main()
