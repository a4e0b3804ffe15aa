"""One measured step of one search engine, in a process of its own.

    python -m benchmarks.peers_worker build ENGINE TEXTS INDEX_DIR
    python -m benchmarks.peers_worker search ENGINE TEXTS INDEX_DIR QUERIES K SECONDS
    python -m benchmarks.peers_worker exact ENGINE TEXTS INDEX_DIR QUERIES K SECONDS

Prints one JSON object. Reading texts and importing libraries is not measured.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.peers_engines import ENGINES, Engine
from benchmarks.peers_texts import read_lines
from benchmarks.worker import peak_memory

_WARM_UP = 5  # queries
_TOLERANCE = 1e-5  # of scores


def build(engine: str, texts: Path, directory: Path) -> dict[str, Any]:
    """Build one index, and say what that took."""
    lines = read_lines(texts)
    chosen = _prepared(engine)
    before = peak_memory()
    started, cpu = time.perf_counter(), time.process_time()
    chosen.build(lines, directory)
    return {
        "seconds": time.perf_counter() - started,
        "cpu_seconds": time.process_time() - cpu,
        "megabytes": sum(map(len, lines)) / 1e6,
        "base_bytes": before,
        "peak_bytes": peak_memory(),
        "index_bytes": sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())
        if directory.is_dir()
        else 0,
    }


def search(engine: str, texts: Path, directory: Path, queries: Path, k: int, limit: float) -> dict[str, Any]:
    """Answer queries one by one and then all at once, and say what that took.

    Either ends after ``limit`` seconds at the latest, with the queries that were answered by then.
    """
    asked = read_lines(queries)
    # Only what stores no index is given the texts, for they would count as its memory.
    lines = read_lines(texts) if engine == "langchain-bm25" else []
    chosen = _prepared(engine)
    started = time.perf_counter()
    chosen.open(directory, lines)
    loaded = time.perf_counter() - started
    begun = time.perf_counter()
    for query in asked[:_WARM_UP]:  # compiled code is compiled now
        chosen.search(query, k)
    warmed = time.perf_counter() - begun
    times, cpu_times, answers = [], [], []
    end = time.perf_counter() + limit
    for query in asked:
        begun, cpu = time.perf_counter(), time.process_time()
        answers.append(chosen.search(query, k))
        cpu_times.append((time.process_time() - cpu) * 1000)
        times.append((time.perf_counter() - begun) * 1000)
        if time.perf_counter() > end:
            break
    many = asked[: len(times)]
    begun, cpu = time.perf_counter(), time.process_time()
    chosen.search_many(many, k)
    return {
        "load_seconds": loaded,
        "warm_up_seconds": warmed,
        "milliseconds": times,
        "cpu_milliseconds": cpu_times,
        "batch_queries": len(many),
        "batch_seconds": time.perf_counter() - begun,
        "batch_cpu_seconds": time.process_time() - cpu,
        "peak_bytes": peak_memory(),
        "answers": answers,
    }


def _prepared(name: str) -> Engine:
    make, modules = ENGINES[name]
    for module in modules:
        import_module(module)
    return make()


def exact(directory: Path, queries: Path, k: int) -> dict[str, Any]:
    """The exact best of each query, every document scored by this library, with all ties at the end."""
    import numpy as np

    from hybridrank import LexicalIndex

    index = LexicalIndex.open(directory)
    best = []
    for query in read_lines(queries):
        scores = index.postings.score(index.vocabulary.lookup(query))
        found = np.flatnonzero(scores > 0)
        if len(found) > k:
            least = np.partition(scores[found], len(found) - k)[len(found) - k]
            found = found[scores[found] >= least * (1 - _TOLERANCE)]
        best.append(found.tolist())
    return {"best": best}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the step that the arguments name (sys.argv by default)."""
    step, engine, texts, directory, *rest = sys.argv[1:] if arguments is None else arguments
    with contextlib.redirect_stdout(sys.stderr):
        if step == "build":
            found = build(engine, Path(texts), Path(directory))
        else:
            queries, k, limit = rest
            found = (
                exact(Path(directory), Path(queries), int(k))
                if step == "exact"
                else search(engine, Path(texts), Path(directory), Path(queries), int(k), float(limit))
            )
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
