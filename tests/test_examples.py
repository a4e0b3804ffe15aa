"""The examples run as they are, with no key and no network."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SAYS = {
    "finance_evidence": "1. CORRIMONT_2021_10K, characters 5931 to 6412",
    "hybrid_under_a_budget": "left are 0 requests",
    "learn_from_clicks": "nDCG@10 for companies held out: BM25 0.780, learned from clicks 0.8",
    "meeting_memory": "note 1: [minutes readings packet humidity",
    "rank_your_notes": "1. garden-slugs.txt, characters 0 to 312   (slug 1.82)",
}
SERVICES = ("JINA_", "OPENROUTER_")


def run(example: str, *arguments: str) -> str:
    # Nothing that leaves the machine would arrive; and compiling takes longer than the examples.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(SERVICES)}
    nowhere = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), "http://127.0.0.1:9")
    done = subprocess.run(
        [sys.executable, "-W", "error", str(ROOT / "examples" / f"{example}.py"), *arguments],
        env={**environment, **nowhere, "NO_PROXY": "127.0.0.1", "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_there_are_no_others() -> None:
    assert {path.stem for path in (ROOT / "examples").glob("*.py")} == SAYS.keys()


@pytest.mark.parametrize("example", SAYS)
def test_an_example_shows_something(example: str) -> None:
    assert SAYS[example] in run(example)


@pytest.mark.parametrize("example", SAYS)
def test_an_example_says_how_to_run_it(example: str) -> None:
    text = (ROOT / "examples" / f"{example}.py").read_text(encoding="utf-8")
    assert f"python examples/{example}.py" in (ast.get_docstring(ast.parse(text)) or "")


def test_notes_of_your_own_are_ranked(tmp_path: Path) -> None:
    (tmp_path / "boat.md").write_text("The boat needs paint before June.", encoding="utf-8")
    assert "1. boat.md, characters 0 to 33" in run("rank_your_notes", str(tmp_path), "paint for boats")
