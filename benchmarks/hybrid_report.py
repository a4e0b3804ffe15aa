"""What the hybrid benchmark measured, as a table, a picture and JSON."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

from rich.table import Table

from benchmarks.hybrid_methods import LEARNED, LEXICAL, Method
from hybridrank.evaluation.plotting import pyplot_for_files
from hybridrank.evaluation.significance import CONFIDENCE, RESAMPLES, Interval, paired_interval
from hybridrank.records import Usage

__all__ = ["NOTES", "STAND_IN", "as_json", "draw", "table_of"]

FORMAT = 1
NOTES = (
    "Every method chooses five spans from the same candidates: the fusions and the frameworks from the best "
    "40 by the unlearned score, the learned ones from 600, of which the services see the best 40.",
    "'dense' orders those 40 candidates by cosine: it finds nothing that the words did not.",
    "What is learned or chosen is so from other companies' questions. Learned rankers see the "
    "questions of this run alone: a run on fewer corpora gives less than the published figures.",
    "Requests, tokens and milliseconds are those of a first run of a method alone, with an empty cache; the "
    "times of requests that ran at one time add up.",
)
STAND_IN = (
    "A stand-in on loopback shows that the parts work together, what they ask for, and what a sentence "
    "embedder's cosine adds. It is no trained reranker: it cannot show what Jina's rerankers would gain, nor "
    "their prices or speed. Where its reranker is that cosine, the cross-encoder says nothing that the dense "
    "scores do not."
)


def interval_of(one: Method, other: Method) -> Interval | None:
    """The paired interval of one method over another; ``None`` for a single question."""
    return None if len(one.quality) < 2 else paired_interval(one.quality, other.quality)


def total(method: Method) -> Usage:
    """What a method asked for, all questions together."""
    return reduce(add, method.usage, Usage())


def table_of(measured: Mapping[str, Sequence[Method]]) -> Table:
    """For each set and method the quality, the differences, and the cost of a question."""
    table = Table(title="Evidence in five answers, and what a question costs", title_justify="left")
    table.add_column("set", no_wrap=True)
    table.add_column("method", no_wrap=True)
    for heading in ("quality", f"over {LEXICAL}", f"over {LEARNED}", "requests", "tokens", "ms", "hits"):
        table.add_column(heading, justify="right", no_wrap=True)
    for set_name, methods in measured.items():
        by_name = {method.name: method for method in methods}
        for number, method in enumerate(methods):
            spent, count = total(method), len(method.quality)
            table.add_row(
                set_name if number == 0 else f"{count} questions" if number == 1 else "",
                method.name,
                f"{method.quality.mean():.3f}",
                *(_text(method, by_name[base]) for base in (LEXICAL, LEARNED)),
                f"{spent.requests / count:.2f}",
                f"{spent.tokens / count:,.0f}",
                f"{1000 * spent.seconds / count:.0f}",
                f"{spent.cache_hits / count:.1f}",
            )
        table.add_section()
    return table


def _text(method: Method, base: Method) -> str:
    found = None if method is base else interval_of(method, base)
    return "" if found is None else f"{found.difference:+.3f} [{found.low:+.3f}, {found.high:+.3f}]"


def as_json(
    measured: Mapping[str, Sequence[Method]], service: Mapping[str, Any], again: int, budget: Sequence[Any]
) -> dict[str, Any]:
    """Everything that was measured; ``again`` is the number of requests of a second run."""
    return {
        "format": FORMAT,
        "environment": {
            "python": platform.python_version(),
            "platform": platform.platform(),
            "cpus": os.cpu_count(),
        },
        "notes": [*NOTES, STAND_IN],
        "service": dict(service),
        "bootstrap": {"resamples": RESAMPLES, "confidence": CONFIDENCE, "method": "percentile, paired"},
        "requests_of_a_second_run": again,
        "sets": {
            name: [_method_json(one, {each.name: each for each in methods}) for one in methods]
            for name, methods in measured.items()
        },
        "budget": list(budget),
    }


def _method_json(one: Method, by_name: Mapping[str, Method]) -> dict[str, Any]:
    spent = total(one)
    intervals = {base: interval_of(one, by_name[base]) for base in (LEXICAL, LEARNED)}
    return {
        "method": one.name,
        "questions": len(one.quality),
        "quality": float(one.quality.mean()),
        "over": {base: None if found is None else found._asdict() for base, found in intervals.items()},
        "requests": spent.requests,
        "tokens": spent.tokens,
        "seconds": spent.seconds,
        "cache_hits": spent.cache_hits,
        "by_question": one.quality.tolist(),
    }


def draw(measured: Mapping[str, Sequence[Method]], path: Path) -> None:
    """The quality of each method, a picture for each set; bars are intervals of the difference to the learned
    order."""
    pyplot = pyplot_for_files()
    figure, axes = pyplot.subplots(
        1, len(measured), figsize=(2.2 + 3.2 * len(measured), 4.2), squeeze=False, sharey=True
    )
    for at, (set_name, methods) in zip(axes[0], measured.items(), strict=True):
        base = next(method for method in methods if method.name == LEARNED)
        for place, method in enumerate(reversed(methods)):
            mean = float(method.quality.mean())
            found = interval_of(method, base)
            if found is not None:
                middle = float(base.quality.mean())
                at.plot([middle + found.low, middle + found.high], [place, place], color="C0", linewidth=1)
            requests = total(method).requests / len(method.quality)
            at.plot([mean], [place], marker="o", color="C1" if requests else "C0")
        at.axvline(float(base.quality.mean()), color="grey", linewidth=0.8, linestyle=":")
        at.set_yticks(range(len(methods)), [method.name for method in reversed(methods)], fontsize=8)
        at.set_title(set_name, fontsize=9)
        at.set_xlabel("evidence in five answers", fontsize=8)
        at.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
