"""How the search index grows: build, open, memory, search, add, delete and merge at several sizes.

    python -m benchmarks.scaling --smoke
    python -m benchmarks.scaling --passages 100000 1000000 5000000 --output FOLDER

The texts are generated passages of made-up words (see :mod:`benchmarks.peers_texts`). Each step runs in a
process of its own, on one thread; times are of the processor, so that a busy machine disturbs little. Only
opening is timed by the clock.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.command_line import run_command
from benchmarks.measure import MEBIBYTE
from benchmarks.peers import run_module
from benchmarks.peers_texts import zipf_passages, zipf_queries
from benchmarks.rows import BenchmarkError
from benchmarks.worker import peak_memory

K = 10
SHARE = 100  # one passage in so many is added, and as many deleted
QUERIES = 400
RESIDENT_AFTER = 100  # queries
STATM = Path("/proc/self/statm")
_COLUMNS = (
    ("passages", "passages", "{:,}"),
    ("build s", "build_seconds", "{:.1f}"),
    ("save s", "save_seconds", "{:.1f}"),
    ("peak MiB", "build_mebibytes", "{:,.0f}"),
    ("index MiB", "index_mebibytes", "{:,.0f}"),
    ("open ms", "open_milliseconds", "{:.0f}"),
    ("resident", "resident_share", "{:.0%}"),
    ("numba ms", "numba_milliseconds", "{:.3f}"),
    ("numpy ms", "numpy_milliseconds", "{:.3f}"),
    ("add 1 %", "add_share", "{:.1%}"),
    ("delete 1 % s", "delete_seconds", "{:.1f}"),
    ("merge s", "merge_seconds", "{:.1f}"),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what the arguments name (sys.argv by default)."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    if given[:1] == ["--step"]:
        with contextlib.redirect_stdout(sys.stderr):
            found = STEPS[given[1]](Path(given[2]), int(given[3]))
        print(json.dumps(found))
        return 0
    parser = argparse.ArgumentParser(prog="benchmarks.scaling", description="Measure growth.")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--smoke", action="store_true", help="two small sizes")
    what.add_argument("--passages", type=int, nargs="+", metavar="N", help="sizes, ascending")
    parser.add_argument("--output", type=Path, help="where JSON goes")
    parser.add_argument("--work", type=Path, help="where indexes lie meanwhile")
    return run_command(parser, measure, given, BenchmarkError)


def measure(options: argparse.Namespace, console: Console) -> None:
    """Measure each size, print a table, and store what was found."""
    rows = []
    for size in options.passages or [500, 2000]:
        with tempfile.TemporaryDirectory(dir=options.work) as work:
            row: dict[str, Any] = {"passages": size}
            for step in STEPS:
                failure = f"the step {step!r} failed at {size:,} passages"
                index = Path(work) / "index"
                row |= run_module("benchmarks.scaling", failure, "--step", step, index, size)
                console.print(f"  {size:,}: {step}", style="dim")
        row["add_share"] = row["add_seconds"] / (row["build_seconds"] + row["save_seconds"])
        rows.append(row)
    out = Console(width=None if sys.stdout.isatty() else 160)
    table = Table(title="Growth")
    for heading, _, _ in _COLUMNS:
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*("–" if row[key] is None else form.format(row[key]) for _, key, form in _COLUMNS))
    out.print(table)
    grown = {}
    for backend in ("numba", "numpy"):
        times = [row[f"{backend}_milliseconds"] for row in rows]
        grown[backend] = None if None in times else exponent([row["passages"] for row in rows], times)
        if grown[backend] is not None:
            out.print(f"query time, {backend}: passages ** {grown[backend]:.2f}")
    if options.output is not None:
        options.output.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"sizes": rows, "exponents": grown}, indent=1) + "\n"
        (options.output / "scaling.json").write_text(text, encoding="ascii")


def exponent(sizes: Sequence[float], times: Sequence[float]) -> float:
    """The exponent of the power of the size that fits times best, by least squares of logarithms.

    >>> round(exponent([10, 100, 1000], [1, 4, 16]), 3)
    0.602
    """
    slope, _ = statistics.linear_regression(list(map(math.log, sizes)), list(map(math.log, times)))
    return slope


def build(directory: Path, size: int) -> dict[str, Any]:
    """Build and save an index; what the passages themselves take in memory is in the peak."""
    import scipy.sparse  # noqa: F401  (building loads it)

    from hybridrank import LexicalIndex, Passage

    passages = [Passage(id=str(at), text=text) for at, text in enumerate(zipf_passages(size))]
    begun = time.process_time()
    index = LexicalIndex.build(passages)
    built = time.process_time()
    index.save(directory)
    return {
        "build_seconds": built - begun,
        "save_seconds": time.process_time() - built,
        "build_mebibytes": peak_memory() / MEBIBYTE,
        "index_mebibytes": sum(path.stat().st_size for path in directory.iterdir()) / MEBIBYTE,
    }


def search(directory: Path, size: int) -> dict[str, Any]:
    """Open the index, and search it as an application does, with and without compiled kernels."""
    import scipy.sparse  # noqa: F401  (searches load it)

    from hybridrank import LexicalIndex
    from hybridrank.accelerators import use_backend
    from hybridrank.errors import MissingExtra

    queries = zipf_queries(QUERIES)
    before = _resident()
    begun = time.perf_counter()
    index = LexicalIndex.open(directory)
    opened = time.perf_counter() - begun
    use_backend("numpy")
    for query in queries[:RESIDENT_AFTER]:
        index.search(query, K)
    held = sum(path.stat().st_size for path in directory.iterdir())
    found: dict[str, Any] = {
        "open_milliseconds": 1000 * opened,
        "resident_share": (_resident() - before) / held,
        "numpy_milliseconds": _milliseconds(index, queries),
        "numba_milliseconds": None,
    }
    with contextlib.suppress(MissingExtra):
        use_backend("numba")
        index.top_many(queries[:1], K)
        found["numba_milliseconds"] = _milliseconds(index, queries)
    return found


def change(directory: Path, size: int) -> dict[str, Any]:
    """Add passages and save, delete as many and save, and merge all and save."""
    import scipy.sparse  # noqa: F401  (to be paid once in a process, whatever is added)

    from hybridrank import LexicalIndex, Passage

    some = max(size // SHARE, 1)
    index = LexicalIndex.open(directory)
    new = [Passage(id=f"new-{at}", text=text) for at, text in enumerate(zipf_passages(some, seed=9))]
    seconds = []
    steps: tuple[Callable[[LexicalIndex], LexicalIndex], ...] = (
        lambda index: index.add(new),
        lambda index: index.delete(map(str, range(some))),
        lambda index: index.merge(),
    )
    for step in steps:
        begun = time.process_time()
        index = step(index)
        index.save(directory)
        seconds.append(time.process_time() - begun)
        index = LexicalIndex.open(directory)
    return dict(zip(("add_seconds", "delete_seconds", "merge_seconds"), seconds, strict=True))


STEPS: dict[str, Callable[[Path, int], dict[str, Any]]] = {"build": build, "search": search, "change": change}


def _milliseconds(index: Any, queries: Sequence[str]) -> float:
    """Of the processor, a query: the median of five rounds through all, positions and scores alone."""
    times = []
    for _ in range(5):
        begun = time.process_time()
        index.top_many(queries, K)
        times.append(time.process_time() - begun)
    return 1000 * statistics.median(times) / len(queries)


def _resident() -> int:
    """Bytes of this process in memory; 0 where the system does not tell."""
    if not STATM.exists():
        return 0
    return int(STATM.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    sys.exit(main())
