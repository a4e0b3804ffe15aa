"""What was measured, as tables for people and as JSON for programs."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import statistics
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.measure import MEBIBYTE, Build, Comparison, Run
from benchmarks.systems import OURS, PLAIN
from hybridrank.evaluation.significance import CONFIDENCE, RESAMPLES, Interval, paired_interval
from hybridrank.tasks.finance.scoring import REFERENCE_QUALITY, reward

FORMAT = 1
SEED = 0
REWARD_NOTE = (
    f"reward*: the contract's mapping (a quality of {REFERENCE_QUALITY:.3f} earns 0.2) of a proxy's quality; "
    "it is not a result on the real set."
)


def print_tables(console: Console, builds: Sequence[Build], comparisons: Sequence[Comparison]) -> None:
    """Print what the sets gave and what the builds took, both systems side by side."""
    console.print(quality_table(comparisons))
    console.print(REWARD_NOTE, style="dim")
    console.print(build_table(builds))


def quality_table(comparisons: Sequence[Comparison]) -> Table:
    """Lay out, for each set, the qualities with their differences, and the time of a query."""
    table = Table(title="Answers: five spans a question", title_justify="left")
    for heading in ("set", "corpus", "measure"):
        table.add_column(heading, no_wrap=True)
    for heading in (PLAIN, OURS, f"difference [{CONFIDENCE:.0%} interval]"):
        table.add_column(heading, justify="right", no_wrap=True)
    for one in comparisons:
        plain, ours = one.plain, one.ours
        table.add_row(
            one.set_name,
            one.corpus,
            one.metric,
            f"{plain.quality:.3f}",
            f"{ours.quality:.3f}",
            _interval_text(interval_of(one, "quality")),
        )
        if one.metric == "EvidenceRecall@5":
            rewards = [reward(run.quality) for run in (plain, ours)]
            table.add_row(
                "", "", "  reward*", *(f"{value:.3f}" for value in rewards), f"{rewards[1] - rewards[0]:+.3f}"
            )
        table.add_row(
            f"{len(ours.scores)} questions",
            "",
            "DocHit@5",
            f"{plain.document_hit:.3f}",
            f"{ours.document_hit:.3f}",
            _interval_text(interval_of(one, "document")),
        )
        if plain.invalid or ours.invalid:
            table.add_row("", "", "invalid rows", str(plain.invalid), str(ours.invalid), "")
        times = [statistics.fmean(run.milliseconds) for run in (plain, ours)]
        table.add_row("", "", "ms a query, one core", *(f"{value:.1f}" for value in times), _ratio(*times))
        table.add_section()
    return table


def build_table(builds: Sequence[Build]) -> Table:
    """Lay out, for each corpus, the time, speed, memory and size of the builds."""
    table = Table(title="Builds", title_justify="left")
    for heading in ("corpus", "measure"):
        table.add_column(heading, no_wrap=True)
    for heading in (PLAIN, OURS, f"{OURS} / {PLAIN}"):
        table.add_column(heading, justify="right", no_wrap=True)
    for corpus in dict.fromkeys(build.corpus for build in builds):
        pair = {build.system: build for build in builds if build.corpus == corpus}
        plain, ours = pair[PLAIN], pair[OURS]
        for measure, values, digits in (
            ("build seconds", (plain.seconds, ours.seconds), 2),
            ("MB a second", (plain.megabytes_per_second, ours.megabytes_per_second), 2),
            ("peak memory, MiB", (plain.peak_bytes / MEBIBYTE, ours.peak_bytes / MEBIBYTE), 0),
            ("index, MiB", (plain.index_bytes / MEBIBYTE, ours.index_bytes / MEBIBYTE), 1),
        ):
            name = corpus if measure == "build seconds" else ""
            table.add_row(name, measure, *(f"{value:,.{digits}f}" for value in values), _ratio(*values))
        table.add_section()
    return table


def interval_of(one: Comparison, field: str) -> Interval | None:
    """Give the paired interval of ours over plain for a field of the scores; None for a single question."""
    if len(one.ours.scores) < 2:
        return None
    ours, plain = ([getattr(score, field) for score in run.scores] for run in (one.ours, one.plain))
    return paired_interval(ours, plain, seed=SEED)


def _interval_text(interval: Interval | None) -> str:
    if interval is None:
        return "-"
    return f"{interval.difference:+.3f} [{interval.low:+.3f}, {interval.high:+.3f}]"


def _ratio(plain: float, ours: float) -> str:
    return f"x {ours / plain:.2f}" if plain else "-"


def as_json(builds: Sequence[Build], comparisons: Sequence[Comparison]) -> dict[str, Any]:
    """Give everything that was measured, with the machine and the versions that it was measured on."""
    return {
        "format": FORMAT,
        "environment": {
            "python": platform.python_version(),
            "platform": platform.platform(),
            "cpus": os.cpu_count(),
            "packages": {name: _version(name) for name in (OURS, "bm25s", "numpy", "scipy")},
        },
        "bootstrap": {
            "resamples": RESAMPLES,
            "confidence": CONFIDENCE,
            "seed": SEED,
            "method": "percentile, paired",
        },
        "reward_note": REWARD_NOTE,
        "builds": [_build_json(build) for build in builds],
        "sets": [_comparison_json(one) for one in comparisons],
    }


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "run from source, not installed"


def _build_json(build: Build) -> dict[str, Any]:
    return {
        "corpus": build.corpus,
        "system": build.system,
        "seconds": build.seconds,
        "megabytes_per_second": build.megabytes_per_second,
        "corpus_bytes": build.corpus_bytes,
        "peak_mib": build.peak_bytes / MEBIBYTE,
        "index_mib": build.index_bytes / MEBIBYTE,
    }


def _comparison_json(one: Comparison) -> dict[str, Any]:
    intervals = {
        name: interval_of(one, field) for name, field in ((one.metric, "quality"), ("DocHit@5", "document"))
    }
    return {
        "set": one.set_name,
        "corpus": one.corpus,
        "queries": len(one.ours.scores),
        "systems": {run.system: _run_json(one.metric, run) for run in (one.plain, one.ours)},
        "difference": {name: None if found is None else found._asdict() for name, found in intervals.items()},
    }


def _run_json(metric: str, run: Run) -> dict[str, Any]:
    found = {
        metric: run.quality,
        "DocHit@5": run.document_hit,
        "invalid": run.invalid,
        "milliseconds_mean": statistics.fmean(run.milliseconds),
        "milliseconds_median": statistics.median(run.milliseconds),
        "milliseconds_max": max(run.milliseconds),
        "open_seconds": run.open_seconds,
        "peak_mib": run.peak_bytes / MEBIBYTE,
    }
    if metric == "EvidenceRecall@5":
        found["reward_mapping_of_proxy"] = reward(run.quality)
    return found
