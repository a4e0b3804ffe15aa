from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import systems

ROOT = Path(__file__).resolve().parents[2]


def test_an_unknown_system_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="no system named 'lucene'; there are plain, hybridrank"):
        systems.load("lucene")


@pytest.mark.parametrize(("name", "other"), [("plain", "hybridrank"), ("hybridrank", "benchmarks.plain")])
def test_a_system_is_measured_without_the_other_in_memory(name: str, other: str) -> None:
    code = (
        f"import sys; from benchmarks.systems import load; load({name!r}); sys.exit({other!r} in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
