"""A service in Jina's wire format that knows no language: for smoke runs and examples.

A text's vector counts its words, each in one of 64 places that its digest picks; a score is a cosine.
"""

from __future__ import annotations

import base64
import contextlib
import http.server
import json
import re
import threading
import zlib
from collections import Counter
from collections.abc import Sequence
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["DIMENSION", "StubService", "vectors"]

DIMENSION = 64


def vectors(texts: Sequence[str]) -> NDArray[np.float32]:
    """One row a text, of unit length or all zeros.

    >>> same, other = vectors(["Net sales", "net SALES, net sales"]), vectors(["boats"])
    >>> round(float(same[0] @ same[1]), 3), same.shape, float(other[0] @ other[0])
    (1.0, (2, 64), 1.0)
    """
    rows = np.zeros((len(texts), DIMENSION), dtype=np.float32)
    for row, text in zip(rows, texts, strict=True):
        for word in re.findall(r"\w+", text.lower()):
            row[zlib.crc32(word.encode()) % DIMENSION] += 1
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    units: NDArray[np.float32] = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    return units


def _tokens(texts: Sequence[str]) -> int:
    return sum(len(text.split()) + 2 for text in texts)


def _embeddings(body: dict[str, Any]) -> dict[str, Any]:
    data = [
        {"index": at, "embedding": base64.b64encode(row.astype("<f4").tobytes()).decode()}
        for at, row in enumerate(vectors(body["input"]))
    ]
    return {"model": body["model"], "usage": {"total_tokens": _tokens(body["input"])}, "data": data}


def _rerank(body: dict[str, Any]) -> dict[str, Any]:
    query, *documents = vectors([body["query"], *body["documents"]])
    scores = [float(np.clip(document @ query, 0, 1)) for document in documents]
    order = sorted(range(len(scores)), key=lambda at: (-scores[at], at))
    return {
        "model": body["model"],
        "usage": {"total_tokens": sum(_tokens([body["query"], text]) for text in body["documents"])},
        "results": [{"index": at, "relevance_score": scores[at]} for at in order[: body.get("top_n")]],
    }


_ANSWERS = {"/v1/embeddings": _embeddings, "/v1/rerank": _rerank}


class StubService:
    """Serves on loopback as long as it is entered; ``requests`` counts what came, by path."""

    def __init__(self) -> None:
        self.requests: Counter[str] = Counter()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1  # head and body in one packet

            def do_POST(self) -> None:
                """Answer what is known, 404 otherwise."""
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.requests[self.path] += 1
                answer = _ANSWERS.get(self.path, lambda body: None)(body)
                content = json.dumps(answer or {"detail": "Not Found"}).encode()
                self.send_response(404 if answer is None else 200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *arguments: object) -> None:
                """Say nothing."""

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> StubService:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def main() -> None:
    """Serve until Ctrl-C."""
    with StubService() as service, contextlib.suppress(KeyboardInterrupt):
        print(f"JINA_BASE_URL={service.url}", flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
