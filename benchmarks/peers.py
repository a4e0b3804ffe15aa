"""Search engines side by side: the same texts, queries and k, each in its own process, in alternation.

    python -m benchmarks.peers --smoke
    python -m benchmarks.peers --corpus DIR --queries FILE... [--blocks]
    python -m benchmarks.peers --zipf 1000000

Engines that are not installed are left out by name. Times are medians of rounds in which every engine has its
turn; all run on one thread. "recall" is the share of the exact ten best by this library's terms that an
engine returns: engines that cut or stem words in another way lose there without being worse.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.measure import ROOT, SINGLE_THREADED
from benchmarks.peers_engines import BUILT_BY, ENGINES, OURS, missing
from benchmarks.peers_report import print_table, save_plots, summary
from benchmarks.peers_texts import blocks, questions, windows, write_lines, zipf_passages, zipf_queries
from benchmarks.rows import BenchmarkError

SAMPLE = ROOT / "src" / "hybridrank" / "data" / "finance"
K = 10


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what the arguments name (sys.argv by default)."""
    options = parse(arguments)
    console = Console(width=None if sys.stdout.isatty() else 160)
    chosen = options.engines or list(ENGINES)
    for name in [name for name in chosen if missing(name)]:
        console.print(f"{name} is left out: {', '.join(missing(name))} is not installed", style="dim")
    chosen = [name for name in chosen if not missing(name)]
    try:
        with tempfile.TemporaryDirectory(dir=options.work) as work:
            measured = measure(options, chosen, Path(work), console)
    except BenchmarkError as error:
        console.print(str(error), style="red", markup=False)
        return 1
    print_table(console, measured)
    if options.output is not None:
        options.output.mkdir(parents=True, exist_ok=True)
        text = json.dumps(measured, indent=1) + "\n"
        (options.output / f"peers-{measured['corpus']}.json").write_text(text, encoding="ascii")
        save_plots(measured, options.output)
        console.print(f"JSON and plots are in {options.output}", markup=False)
    return 0


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="benchmarks.peers", description="Measure search engines side by side."
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--smoke", action="store_true", help="windows of the sample reports, one round")
    what.add_argument("--corpus", type=Path, help="a folder with reports.jsonl, cut into windows")
    what.add_argument("--zipf", type=int, metavar="N", help="N generated short passages")
    parser.add_argument(
        "--queries", type=Path, nargs="+", default=[], help="finance query files, with --corpus"
    )
    parser.add_argument("--blocks", action="store_true", help="blocks of some 2,000 characters, not windows")
    parser.add_argument("--engines", nargs="+", choices=list(ENGINES), help="these alone")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=int, default=1000, help="queries at most")
    parser.add_argument(
        "--seconds", type=float, default=30, help="for an engine's queries in a round, at most"
    )
    parser.add_argument("--output", type=Path, help="where JSON and plots go")
    parser.add_argument("--work", type=Path, help="where texts and indexes lie meanwhile")
    options = parser.parse_args(arguments)
    if options.smoke:
        options.corpus, options.queries = SAMPLE, [SAMPLE / "questions.jsonl"]
        options.rounds, options.limit, options.seconds = 1, 20, 2
    if options.corpus is not None and not options.queries:
        parser.error("--corpus needs --queries")
    return options


def measure(
    options: argparse.Namespace, engines: Sequence[str], work: Path, console: Console
) -> dict[str, Any]:
    """Build with each engine, search in rounds, and sum up."""
    texts, queries = work / "texts.jsonl", work / "queries.jsonl"
    if options.zipf is not None:
        corpus = f"zipf-{options.zipf}"
        count = write_lines(texts, zipf_passages(options.zipf))
        asked = write_lines(queries, zipf_queries(options.limit))
    else:
        corpus = "blocks" if options.blocks else "windows"
        count = write_lines(texts, (blocks if options.blocks else windows)(options.corpus))
        asked = write_lines(queries, questions(options.queries)[: options.limit])
    console.print(f"{count:,} texts, {asked:,} queries, k = {K}")
    builds = {}
    for engine in dict.fromkeys(BUILT_BY.get(engine, engine) for engine in engines):
        builds[engine] = run("build", engine, texts, work / engine)
        console.print(f"  built {engine} in {builds[engine]['seconds']:.1f} s", style="dim")
    rounds: dict[str, list[dict[str, Any]]] = {engine: [] for engine in engines}
    for number in range(options.rounds):
        for engine in engines:
            index = work / BUILT_BY.get(engine, engine)
            rounds[engine].append(run("search", engine, texts, index, queries, K, options.seconds))
        console.print(f"  round {number + 1} of {options.rounds}", style="dim")
    best = None
    if OURS in builds:
        best = run("exact", OURS, texts, work / OURS, queries, K, 0)["best"]
    rows = [
        summary(engine, builds[BUILT_BY.get(engine, engine)], found, best, K)
        for engine, found in rounds.items()
    ]
    megabytes = statistics.fmean(build["megabytes"] for build in builds.values())
    return {
        "corpus": corpus,
        "texts": count,
        "megabytes": megabytes,
        "queries": asked,
        "k": K,
        "engines": rows,
    }


def run(step: str, engine: str, *arguments: object) -> dict[str, Any]:
    """One step in a process of its own, on one thread.

    Raises :class:`~benchmarks.rows.BenchmarkError` when it fails.
    """
    return run_module("benchmarks.peers_worker", f"{engine} failed to {step}", step, engine, *arguments)


def run_module(module: str, failure: str, *arguments: object) -> dict[str, Any]:
    """Run a module in a process of its own, on one thread, for the JSON object that it prints.

    Raises :class:`~benchmarks.rows.BenchmarkError`, which begins with ``failure``, when it fails.
    """
    command = [sys.executable, "-m", module, *map(str, arguments)]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | SINGLE_THREADED, stdout=subprocess.PIPE, text=True, check=False
    )
    if done.returncode != 0:
        raise BenchmarkError(f"{failure}; its own words are above")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


if __name__ == "__main__":
    sys.exit(main())
