"""Measure the finance pipeline beside the plain recipe, on every evaluation set that is found.

    python -m benchmarks.finance --data DIR [--sets NAME ...] [--corpora NAME ...] [--json FILE] [--work DIR]
    python -m benchmarks.finance --smoke

Each index is built, and each set answered, in a process of its own; searches run on one core.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from benchmarks.command_line import run_command
from benchmarks.measure import compare
from benchmarks.report import as_json, print_tables
from benchmarks.rows import BenchmarkError
from hybridrank.errors import InputError
from hybridrank.tasks.finance.datasets import find_sets, sample_sets

_WIDTH_WITHOUT_TERMINAL = 110  # wide enough that no cell is cut in a log or a file


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; 0 on success, 1 with a message where it cannot be run."""
    return run_command(_parser(), _run, arguments, BenchmarkError, InputError)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.finance",
        description="Measure the finance pipeline beside the plain recipe.",
    )
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument(
        "--data",
        type=Path,
        metavar="DIR",
        help="evaluation data (hybridrank/tasks/finance/datasets.py has the layout)",
    )
    source.add_argument(
        "--smoke", action="store_true", help="the sample reports that the package ships, in seconds"
    )
    parser.add_argument("--sets", nargs="+", metavar="NAME", help="only these sets, such as finqa-raw")
    parser.add_argument("--corpora", nargs="+", metavar="NAME", help="only these corpora, such as small")
    parser.add_argument(
        "--unlearned",
        action="store_true",
        help="rank without the model, which has seen the questions of the FinQA validation sets",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write everything measured as JSON")
    parser.add_argument("--work", type=Path, metavar="DIR", help="keep indexes and result rows here")
    return parser


def _run(options: argparse.Namespace, errors: Console) -> None:
    sets, homeless = (
        sample_sets() if options.smoke else find_sets(options.data, options.sets, options.corpora)
    )
    for name in homeless:
        errors.print(f"skipped {name}: no chosen corpus holds all its labelled reports")
    with contextlib.ExitStack() as stack:
        work = options.work or Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="hybridrank-bench-"))
        )
        status = stack.enter_context(errors.status("starting"))
        builds, comparisons = compare(sets, work, status.update, learned=not options.unlearned)
    output = Console()
    if not output.is_terminal:
        output = Console(width=_WIDTH_WITHOUT_TERMINAL)
    print_tables(output, builds, comparisons)
    if options.json:
        options.json.write_text(json.dumps(as_json(builds, comparisons), indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
