"""What each extra is needed for: with it, `nox -s package` sees that it suffices; without, here."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import package
from benchmarks.package import USES
from tests.integrations.test_missing_extras import NEEDS

ROOT = Path(__file__).resolve().parents[2]
# What the benchmarks, the tests and the site are made with; the package itself never asks for it.
OF_THE_CHECKOUT = {"bench", "browser", "dev", "docs", "peers"}


def test_every_extra_is_looked_at() -> None:
    section = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    section = section.partition("[project.optional-dependencies]\n")[2].partition("\n[")[0]
    assert set(re.findall(r"^([a-z-]+) = \[", section, re.MULTILINE)) == USES.keys() | OF_THE_CHECKOUT


@pytest.mark.parametrize("extra", sorted(USES.keys() - {extra for _, extra in NEEDS.values()}))
def test_the_absence_of_an_extra_is_a_message_that_names_it(extra: str) -> None:
    missing, code = USES[extra]
    block = f"import sys; sys.modules[{missing!r}] = None"
    if extra == "fast":  # whose absence is not found by importing it
        block = "import importlib.util as util; find = util.find_spec"
        block += f"; util.find_spec = lambda name, *rest: None if name == {missing!r} else find(name, *rest)"
    ran = subprocess.run(
        [sys.executable, "-c", f"{block}\n{code}"], capture_output=True, text=True, check=False
    )
    assert ran.returncode != 0
    last = ran.stderr.rstrip().splitlines()[-1]
    assert last.endswith(f" is not installed. Install it with: pip install 'hybridrank[{extra}]'")


def test_bars_are_held_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wheel = tmp_path / "x.whl"
    wheel.write_bytes(bytes(10))
    found: dict[str, Any] = {"packages": ["hybridrank", "numpy"], "time": 0.1, "used": []}
    monkeypatch.setattr(package, "_installed", lambda wheel, extra, folder: Path(sys.executable))
    monkeypatch.setattr(package, "_packages", lambda python: found["packages"])
    monkeypatch.setattr(package, "_import_time", lambda python: found["time"])
    monkeypatch.setattr(package, "_CORE", "pass")
    monkeypatch.setitem(USES, "jina", ("httpx", "pass"))
    assert package.main([str(wheel), "jina"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "bytes of the wheel: 10, at most 2e+06",
        "packages that come with it: 1, at most 12",
        "time to import, beside numpy: 0.1, at most 1.5",
        "no extra: used",
        "jina: used",
    ]
    for name, value in (("packages", ["x"] * 14), ("time", 1.6)):
        monkeypatch.setitem(found, name, value)
        assert package.main([str(wheel), "jina"]) == 1
        assert ": TOO MUCH" in capsys.readouterr().out
        monkeypatch.setitem(found, name, ["x"] if name == "packages" else 0.1)
    monkeypatch.setitem(USES, "jina", ("httpx", "raise SystemExit('broken')"))
    assert package.main([str(wheel), "jina"]) == 1
    assert "jina: FAILS: broken" in capsys.readouterr().out


def test_times_are_taken_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package, "_ROUNDS", 1)
    monkeypatch.setattr(package, "_TIMER", "print({{'hybridrank': 1, 'numpy': 2}}['{}'])")
    assert package._import_time(Path(sys.executable)) == 0.5
