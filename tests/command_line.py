"""What the tests of the command line share."""

from __future__ import annotations

import importlib.resources
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

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


def says_in_json(capsys: pytest.CaptureFixture[str], arguments: Sequence[object]) -> dict[str, Any]:
    """What a command that succeeds says as one JSON object, and nothing else."""
    code, out, err = says(capsys, [*arguments, "--json"])
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert isinstance(found, dict)
    return found


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "hybridrank", *map(str, arguments)]
