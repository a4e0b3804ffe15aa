"""Draw the README's picture of quality from what two commands have measured.

    python -m benchmarks.pictures --finance FILE.json --study FILE.json --output FILE.png

``--finance`` is from ``nox -s bench_finance -- --data DIR --unlearned --json FILE.json``, ``--study`` from
``nox -s train_finance -- --data DIR --report FILE.json``.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.command_line import run_command
from hybridrank.errors import InputError
from hybridrank.evaluation.plotting import pyplot_for_files

WAYS = ("plain recipe", "without a model", "learned, other companies")
_MEASURES = ("EvidenceRecall@5", "PageHit@5")
_COLORS = ("#b8bec8", "#6fa3d8", "#1d4f91")


def rows_of(finance: Mapping[str, Any], study: Mapping[str, Any]) -> dict[str, tuple[float, float, float]]:
    """The quality of each way of :data:`WAYS` by corpus and set, for the sets that both have measured.

    Raises :class:`~hybridrank.errors.InputError` when they share none.
    """
    rows: dict[str, tuple[float, float, float]] = {}
    for one in finance["sets"]:
        name = f"{one['corpus']}/{one['set']}"
        systems = one["systems"]
        if name in study["sets"] and "unlearned" in systems:
            measure = next(known for known in _MEASURES if known in systems["plain"])
            learned = study["sets"][name]["learned"]
            rows[name] = (systems["plain"][measure], systems["unlearned"][measure], learned)
    if not rows:
        raise InputError(
            "the two files have no set in common",
            remedy="Measure the same sets, and give bench_finance --unlearned.",
        )
    return rows


def draw(rows: Mapping[str, Sequence[float]], path: Path) -> None:
    """One group of bars for each set; raises :class:`~hybridrank.errors.MissingExtra` without matplotlib."""
    pyplot = pyplot_for_files()
    figure, axes = pyplot.subplots(figsize=(8, 0.62 * len(rows) + 1.1))
    height = 0.8 / len(WAYS)
    for number, (way, color) in enumerate(zip(WAYS, _COLORS, strict=True)):
        places = [place + number * height for place in range(len(rows))]
        bars = axes.barh(places, [values[number] for values in rows.values()], height, label=way, color=color)
        axes.bar_label(bars, fmt="%.2f", fontsize=7, padding=2)
    axes.set_yticks([place + height for place in range(len(rows))], list(rows))
    axes.invert_yaxis()
    axes.set_xlim(0, 1.06)
    axes.set_xlabel("EvidenceRecall@5; for financebench PageHit@5")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(WAYS), frameon=False, fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw; 0 on success, 1 with a message where it cannot be done."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.pictures",
        description="Draw the quality of finance evidence.",
        allow_abbrev=False,
    )
    for name in ("--finance", "--study"):
        parser.add_argument(name, type=Path, required=True, metavar="FILE.json")
    parser.add_argument("--output", type=Path, required=True, metavar="FILE.png")
    return run_command(parser, _run, arguments, InputError)


def _run(options: argparse.Namespace, errors: Console) -> None:
    finance, study = (
        json.loads(path.read_text(encoding="utf-8")) for path in (options.finance, options.study)
    )
    draw(rows_of(finance, study), options.output)


if __name__ == "__main__":
    sys.exit(main())
