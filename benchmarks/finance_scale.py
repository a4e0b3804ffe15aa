"""Measure the finance pipeline at the size of the real job: 885 reports of 660 MB, 4,000 questions.

    python -m benchmarks.finance_scale --data DIR [--workers N ...] [--work DIR] [--json FILE]
    python -m benchmarks.finance_scale --smoke

The reports and questions are grown out of those below ``--data`` (see :mod:`benchmarks.grow`). The commands
``hybridrank finance build`` and ``finance run`` are measured from start to end, once for each number of
processes; results must be the same, byte for byte. Memory is that of all processes of a command together,
looked at twice a second: pages that several share count once. Those of mapped files count too, though the
system may take them back. ``processors`` says how many were at work on the mean, so that it shows when the
machine had something else to do. Memory needs Linux; elsewhere it is left out.
"""

from __future__ import annotations

import argparse
import contextlib
import filecmp
import importlib.resources
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.command_line import run_command
from benchmarks.grow import QUESTIONS, grow
from benchmarks.measure import SINGLE_THREADED
from benchmarks.rows import REPORTS, BenchmarkError, read_rows
from hybridrank.errors import InputError
from hybridrank.tasks.finance.datasets import QUERIES_SUFFIX
from hybridrank.tasks.finance.workers import processors

__all__ = ["LIMITS", "Step", "main", "measure"]

PROC = Path("/proc")
GIB = 2**30
_EVERY = 0.5  # seconds between two looks at the memory
_WIDTH_WITHOUT_TERMINAL = 110

# What the contract allows, for each call; its machine has 8 processors.
LIMITS: Mapping[str, Mapping[str, float]] = {
    "build": {"seconds": 1800, "memory": 32 * GIB, "disk": 100 * GIB},
    "run": {"seconds": 3600, "memory": 32 * GIB, "disk": 100 * GIB},
}
SMOKE = {"corpus": "sample", "reports": 30, "megabytes": 0.2, "questions": 140, "shortest": 0}
FULL = {"corpus": "full", "reports": 885, "megabytes": 660.0, "questions": 4000, "shortest": 20_000}


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """What a command took: wall-clock and processor seconds, bytes at the most, bytes of what it wrote.

    ``own`` are the bytes that belong to no file; both are 0 where they cannot be known.
    """

    name: str
    workers: int
    seconds: float
    cpu_seconds: float
    memory: int
    own: int
    disk: int

    @property
    def processors(self) -> float:
        """How many processors were at work, on the mean."""
        return self.cpu_seconds / self.seconds


def measure(grown: Path, work: Path, workers: Iterable[int]) -> Iterator[Step]:
    """Build an index of the grown reports and answer the questions, for each number of processes.

    Raises :class:`~benchmarks.rows.BenchmarkError` when a command fails, and when results differ.
    """
    first: Path | None = None
    for number in workers:
        place = work / f"workers-{number}"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        index, rows = place / "index", place / "rows.jsonl"
        yield _step("build", number, index, "--corpus", grown, "--index-dir", index)
        asked = ("--index-dir", index, "--queries", grown / QUESTIONS, "--output", rows, "--no-services")
        yield _step("run", number, rows, *asked)
        answered = [row["query_id"] for row in read_rows(rows)]
        if answered != [row["query_id"] for row in read_rows(grown / QUESTIONS)]:
            raise BenchmarkError(
                f"{rows}: {len(answered)} rows, which are not those of the questions in order"
            )
        first = first or place
        names = [path.relative_to(place) for path in place.rglob("*") if path.is_file()]
        _, different, odd = filecmp.cmpfiles(first, place, map(str, names), shallow=False)
        if different or odd:
            raise BenchmarkError(f"{place}: {sorted(different + odd)} are not those of {first}")
        if place != first:
            shutil.rmtree(place)


def _step(name: str, workers: int, written: Path, *arguments: object) -> Step:
    """Run one command in a process of its own, and say what it took."""
    command = [sys.executable, "-m", "hybridrank", "finance", name, "--workers", str(workers)]
    before, begun = _cpu_of_children(), time.perf_counter()
    with tempfile.TemporaryFile("w+", encoding="utf-8") as said:
        process = subprocess.Popen(
            [*command, *map(str, arguments)], stdout=said, stderr=said, env=os.environ | SINGLE_THREADED
        )
        memory = _Memory(process.pid)
        try:
            code = process.wait()
        finally:
            process.kill()
            process.wait()
            memory.stop()
        seconds = time.perf_counter() - begun
        said.seek(0)
        if code:
            raise BenchmarkError(f"hybridrank finance {name} failed (exit {code}):\n{said.read()[-4000:]}")
    return Step(
        name=name,
        workers=workers,
        seconds=seconds,
        cpu_seconds=_cpu_of_children() - before,
        memory=memory.most,
        own=memory.most_own,
        disk=sum(path.stat().st_size for path in (written, *written.rglob("*")) if path.is_file()),
    )


def _cpu_of_children() -> float:
    """Processor seconds of the children that have ended, and of theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class _Memory:
    """Looks at the memory of a process and of those that it started, until it is stopped."""

    def __init__(self, process: int) -> None:
        self.most = self.most_own = 0
        self._process = process
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._look_on, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Look no more."""
        self._stopped.set()
        self._thread.join()

    def _look_on(self) -> None:
        while True:
            sizes = [_size(one) for one in _family(self._process)]
            self.most = max(self.most, sum(whole for whole, _ in sizes))
            self.most_own = max(self.most_own, sum(own for _, own in sizes))
            if self._stopped.wait(_EVERY):
                return


def _family(process: int) -> set[int]:
    """A process and those that it started, and these, and so on."""
    parents: dict[int, int] = {}
    for path in PROC.glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
    family, size = {process}, 0
    while len(family) > size:
        size = len(family)
        family |= {child for child, parent in parents.items() if parent in family}
    return family


def _size(process: int) -> tuple[int, int]:
    """The bytes of a process in memory, shared ones by share, and those of them that belong to no file."""
    try:
        lines = (PROC / str(process) / "smaps_rollup").read_text().splitlines()
    except OSError:
        return 0, 0
    sizes = {line.partition(":")[0]: line.split()[1] for line in lines[1:]}
    return int(sizes["Pss"]) * 1024, int(sizes.get("Pss_Anon", 0)) * 1024


def _grown(data: Path, folder: Path, size: Mapping[str, Any], errors: Console) -> dict[str, Any]:
    """Grow reports and questions, unless the folder has them from another time; returns their numbers."""
    note = folder / "grown.json"
    wanted = {"data": str(data.resolve()), **size}
    if note.exists():
        written: dict[str, Any] = json.loads(note.read_text(encoding="utf-8"))
        if written["wanted"] == wanted:
            return dict(written["found"])
    with errors.status("growing reports and questions"):
        found = grow(data, folder, **size)
    note.write_text(json.dumps({"wanted": wanted, "found": found}), encoding="utf-8")
    return found


def _sample(folder: Path) -> Path:
    """The sample that the package brings, in the layout of evaluation data."""
    source = Path(str(importlib.resources.files("hybridrank") / "data" / "finance"))
    for name, target in (
        (REPORTS, folder / "corpus-sample" / REPORTS),
        ("questions.jsonl", folder / "validation" / f"sample{QUERIES_SUFFIX}"),
    ):
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / name, target)
    return folder


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; 0 on success, 1 with a message where it cannot be run."""
    return run_command(_parser(), _run, arguments, BenchmarkError, InputError)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.finance_scale",
        description="Measure the finance pipeline at the size of the real job.",
    )
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--data", type=Path, metavar="DIR", help="evaluation data with corpus-full")
    source.add_argument("--smoke", action="store_true", help="out of the sample reports, in seconds")
    parser.add_argument(
        "--workers", nargs="+", type=int, default=[min(2, processors())], metavar="N", help="default: 2"
    )
    for name in ("reports", "questions"):
        parser.add_argument(f"--{name}", type=int, metavar="N", help=f"default: {FULL[name]}")
    parser.add_argument("--megabytes", type=float, metavar="N", help=f"default: {FULL['megabytes']:.0f}")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write everything measured as JSON")
    parser.add_argument(
        "--work", type=Path, metavar="DIR", help="keep what is grown, and the first index, here"
    )
    return parser


def _run(options: argparse.Namespace, errors: Console) -> None:
    given = {name: getattr(options, name) for name in ("reports", "questions", "megabytes")}
    size = (SMOKE if options.smoke else FULL) | {name: one for name, one in given.items() if one is not None}
    with contextlib.ExitStack() as stack:
        work = options.work or Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="hybridrank-scale-"))
        )
        data = _sample(work / "data") if options.smoke else options.data
        grown = _grown(data, work / "grown", size, errors)
        steps: list[Step] = []
        with errors.status("measuring"):
            for step in measure(work / "grown", work, options.workers):
                steps.append(step)
                errors.print(f"{step.name} with {step.workers} workers: {step.seconds:.1f} s")
    _show(grown, steps)
    if options.json:
        found = [asdict(step) | {"processors": step.processors} for step in steps]
        options.json.write_text(
            json.dumps({"grown": grown, "steps": found, "limits": LIMITS}, indent=2) + "\n"
        )


def _show(grown: Mapping[str, Any], steps: Sequence[Step]) -> None:
    output = Console()
    if not output.is_terminal:
        output = Console(width=_WIDTH_WITHOUT_TERMINAL)
    table = Table(
        title=f"{grown['reports']} reports of {grown['characters'] / 1e6:,.1f} million characters, "
        f"{grown['questions']} questions"
    )
    for column in (
        "",
        "workers",
        "seconds",
        "limit",
        "processors",
        "CPU s",
        "GiB",
        "of its own",
        "limit",
        "GiB on disk",
    ):
        table.add_column(column, justify="right" if column else "left")
    for step in steps:
        limits = LIMITS[step.name]
        table.add_row(
            step.name,
            str(step.workers),
            f"{step.seconds:,.1f}",
            f"{limits['seconds']:,.0f}",
            f"{step.processors:.2f}",
            f"{step.cpu_seconds:,.1f}",
            f"{step.memory / GIB:.2f}" if step.memory else "-",
            f"{step.own / GIB:.2f}" if step.own else "-",
            f"{limits['memory'] / GIB:.0f}",
            f"{step.disk / GIB:.2f}",
        )
    output.print(table)


if __name__ == "__main__":
    sys.exit(main())
