"""What the search engines took, as one row each: a table, JSON, and plots."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

_MEBIBYTE = 2**20
_COLUMNS = (
    ("index s", "index_seconds", "{:.2f}"),
    ("CPU s", "index_cpu_seconds", "{:.1f}"),
    ("MB/s", "megabytes_per_second", "{:.2f}"),
    ("build MiB", "build_mebibytes", "{:.0f}"),
    ("index MiB", "index_mebibytes", "{:.1f}"),
    ("load s", "load_seconds", "{:.3f}"),
    ("median ms", "median_milliseconds", "{:.3f}"),
    ("CPU ms", "median_cpu_milliseconds", "{:.3f}"),
    ("p99 ms", "p99_milliseconds", "{:.3f}"),
    ("batch q/s", "queries_per_second", "{:,.0f}"),
    ("q/CPU s", "queries_per_cpu_second", "{:,.0f}"),
    ("search MiB", "search_mebibytes", "{:.0f}"),
    ("recall", "recall", "{:.3f}"),
)


def summary(
    engine: str,
    build: dict[str, Any],
    rounds: Sequence[dict[str, Any]],
    best: Sequence[Sequence[int]] | None,
    k: int,
) -> dict[str, Any]:
    """One row: medians over the rounds; a build's memory without the texts that the benchmark holds."""
    return {
        "engine": engine,
        "index_seconds": build["seconds"],
        "index_cpu_seconds": build["cpu_seconds"],
        "megabytes_per_second": build["megabytes"] / build["seconds"],
        "build_mebibytes": (build["peak_bytes"] - build["base_bytes"]) / _MEBIBYTE,
        "index_mebibytes": build["index_bytes"] / _MEBIBYTE,
        "load_seconds": statistics.median(one["load_seconds"] for one in rounds),
        "warm_up_seconds": statistics.median(one["warm_up_seconds"] for one in rounds),
        "median_milliseconds": statistics.median(statistics.median(one["milliseconds"]) for one in rounds),
        "median_cpu_milliseconds": statistics.median(
            statistics.median(one["cpu_milliseconds"]) for one in rounds
        ),
        "p99_milliseconds": statistics.median(
            float(np.percentile(one["milliseconds"], 99)) for one in rounds
        ),
        "queries_per_second": statistics.median(
            one["batch_queries"] / one["batch_seconds"] for one in rounds
        ),
        "queries_per_cpu_second": statistics.median(
            one["batch_queries"] / one["batch_cpu_seconds"] for one in rounds
        ),
        "queries": min(one["batch_queries"] for one in rounds),
        "search_mebibytes": max(one["peak_bytes"] for one in rounds) / _MEBIBYTE,
        "recall": None if best is None else recall(rounds[0]["answers"], best, k),
    }


def recall(answers: Sequence[Sequence[int]], best: Sequence[Sequence[int]], k: int) -> float:
    """The share of the best that was found, over queries that have any; ties for the last place all count.

    >>> recall([[1, 2], []], [[2, 3, 4], []], k=2)
    0.5
    """
    shares = [
        len(set(found) & set(good)) / min(k, len(good))
        for found, good in zip(answers, best, strict=False)
        if good
    ]
    return statistics.fmean(shares) if shares else 1.0


def print_table(console: Console, measured: dict[str, Any]) -> None:
    """Print the engines, one a row."""
    title = f"{measured['corpus']}: {measured['texts']:,} texts, {measured['megabytes']:.1f} MB"
    table = Table(title=title, title_justify="left")
    table.add_column("engine", no_wrap=True)
    for heading, _, _ in _COLUMNS:
        table.add_column(heading, justify="right", no_wrap=True)
    for row in measured["engines"]:
        cells = ("–" if row[key] is None else form.format(row[key]) for _, key, form in _COLUMNS)
        table.add_row(row["engine"], *cells)
    console.print(table)


def save_plots(measured: dict[str, Any], folder: Path) -> None:
    """Draw latency against size and throughput against memory."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    for name, across, upward in (
        ("latency-size", ("index on disk, MiB", "index_mebibytes"), ("median ms", "median_milliseconds")),
        (
            "throughput-memory",
            ("peak memory, MiB", "search_mebibytes"),
            ("batch queries/s", "queries_per_second"),
        ),
    ):
        figure, axes = pyplot.subplots(figsize=(7, 4.5), layout="constrained")
        for row in measured["engines"]:
            place = max(row[across[1]], 0.01), row[upward[1]]
            axes.scatter(*place)
            axes.annotate(row["engine"], place, xytext=(4, 4), textcoords="offset points", fontsize=8)
        axes.set(xlabel=across[0], ylabel=upward[0], xscale="log", yscale="log")
        axes.set_title(f"{measured['corpus']}: {measured['texts']:,} texts, k = {measured['k']}")
        figure.savefig(folder / f"peers-{measured['corpus']}-{name}.png", dpi=150)
        pyplot.close(figure)
