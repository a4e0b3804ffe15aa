"""Reading JSONL, for all the benchmarks; it knows nothing of the systems that are measured."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

REPORTS = "reports.jsonl"


class BenchmarkError(Exception):
    """The benchmark cannot go on; the message names the place and the remedy."""


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of a JSONL file.

    Raises BenchmarkError, with file and line, where a line is not a JSON object or the file cannot be read.
    """
    try:
        # Only "\n" ends a line: a report's text may hold "\r" or U+2028 as characters of its own.
        with path.open(encoding="utf-8", newline="\n") as lines:
            for number, line in enumerate(lines, start=1):
                if not line.strip():
                    continue
                try:
                    row = json.loads(line)
                except json.JSONDecodeError as error:
                    raise BenchmarkError(f"{path}:{number}: not JSON: {error.msg}") from error
                if not isinstance(row, dict):
                    raise BenchmarkError(
                        f"{path}:{number}: expected a JSON object, found {type(row).__name__}"
                    )
                yield row
    except (OSError, UnicodeDecodeError) as error:
        raise BenchmarkError(f"cannot read {path}: {error}") from error
