"""What the tests of the command line share."""

from __future__ import annotations

import importlib.resources
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from hybridrank.cli import main

DATA = Path(str(importlib.resources.files("hybridrank") / "data"))
QUESTIONS, LABELS = DATA / "finance" / "questions.jsonl", DATA / "finance" / "labels.jsonl"
QUERY = "How do I stop slugs?"


def says(capsys: pytest.CaptureFixture[str], arguments: Sequence[object]) -> tuple[int, str, str]:
    """The exit code of a command, and what it says on standard output and on standard error."""
    try:
        code = main([str(one) for one in arguments])
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else -1
    out, err = capsys.readouterr()
    assert "Traceback" not in err
    return code, out, err


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "hybridrank", *map(str, arguments)]
