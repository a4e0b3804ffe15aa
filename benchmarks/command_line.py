"""What the benchmarks' command lines have in common."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

from rich.console import Console

__all__ = ["run_command"]


def run_command(
    parser: argparse.ArgumentParser,
    run: Callable[[argparse.Namespace, Console], object],
    arguments: Sequence[str] | None,
    *failures: type[Exception],
) -> int:
    """Run a benchmark on arguments, by default those of the process; ``run`` is given the options and where
    to tell of progress.

    Returns the exit code: 0, or 1 after telling of an error of one of the kinds in ``failures``.
    """
    options = parser.parse_args(arguments)
    errors = Console(stderr=True)
    try:
        run(options, errors)
    except failures as error:
        errors.print(f"error: {error}", markup=False, highlight=False, soft_wrap=True)
        return 1
    return 0
