"""One measured step of one system, in a process of its own, so that time and peak memory are its alone.

    python -m benchmarks.worker build SYSTEM CORPUS_DIR INDEX_DIR
    python -m benchmarks.worker search SYSTEM INDEX_DIR QUERIES RESULTS

Prints one JSON object: the seconds taken (imports left out), the peak memory, and for a search each query's
milliseconds. Needs a POSIX system.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks import systems
from benchmarks.rows import read_rows

STATUS = Path("/proc/self/status")


def peak_memory() -> int:
    """Peak resident bytes of this process, or of its largest finished child, if that is more."""
    unit = 1 if sys.platform == "darwin" else 1024
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * unit
    if STATUS.exists():
        # Linux hands ru_maxrss down through fork and exec: a small child of a large parent would look large.
        for line in STATUS.read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return max(int(line.split()[1]) * 1024, children)
    return max(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit, children)


def build(system: str, corpus: Path, index_dir: Path) -> dict[str, object]:
    """Build one index and say what that took."""
    index_dir.mkdir(parents=True, exist_ok=True)
    chosen = systems.load(system)
    started = time.perf_counter()
    chosen.build(corpus, index_dir)
    return {"seconds": time.perf_counter() - started, "peak_bytes": peak_memory()}


def search(system: str, index_dir: Path, queries: Path, results: Path) -> dict[str, object]:
    """Answer every query on one core, write the result rows, and say what that took."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    rows = list(read_rows(queries))
    chosen = systems.load(system)
    started = time.perf_counter()
    searcher = chosen.open(index_dir)
    opened = time.perf_counter()
    times, answers = [], []
    for row in rows:
        begun = time.perf_counter()
        spans = searcher.spans(row["question"])
        times.append((time.perf_counter() - begun) * 1000)
        places = [{"document_id": span.document_id, "start": span.start, "end": span.end} for span in spans]
        answers.append({"query_id": row["query_id"], "spans": places})
    with results.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(json.dumps(answer) + "\n" for answer in answers)
    return {"open_seconds": opened - started, "peak_bytes": peak_memory(), "milliseconds": times}


STEPS: dict[str, Callable[..., dict[str, object]]] = {"build": build, "search": search}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the step that the arguments name (sys.argv by default)."""
    step, system, *paths = sys.argv[1:] if arguments is None else arguments
    # Standard output carries the measurement alone, whatever a library prints.
    with contextlib.redirect_stdout(sys.stderr):
        found = STEPS[step](system, *map(Path, paths))
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
