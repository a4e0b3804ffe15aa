from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from benchmarks import finance_scale
from benchmarks.finance_scale import main, measure
from benchmarks.rows import BenchmarkError


def test_the_sample_is_grown_and_measured_from_end_to_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--smoke", "--work", str(tmp_path), "--workers", "1", "2", "--questions", "20"]
    assert main([*given, "--json", str(tmp_path / "found.json")]) == 0
    found = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    assert (found["grown"]["reports"], found["grown"]["questions"]) == (30, 20)
    steps = [(step["name"], step["workers"]) for step in found["steps"]]
    assert steps == [("build", 1), ("run", 1), ("build", 2), ("run", 2)]
    for step in found["steps"]:
        assert step["cpu_seconds"] > 0
        assert 0 < step["processors"] < 16
        assert step["disk"] > 1000
        assert not sys.platform.startswith("linux") or 10**7 < step["own"] <= step["memory"] < 10**10
    captured = capsys.readouterr()
    assert "30 reports of 0.2 million characters, 20 questions" in captured.out
    assert "…" not in captured.out, "a cell was cut"
    assert (tmp_path / "workers-1" / "rows.jsonl").read_bytes().count(b"\n") == 20


def test_what_is_grown_already_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finance_scale, "measure", lambda *_: iter(()))
    assert main(["--smoke", "--work", str(tmp_path)]) == 0
    first = (tmp_path / "grown" / "reports.jsonl").stat()
    assert main(["--smoke", "--work", str(tmp_path)]) == 0
    assert (tmp_path / "grown" / "reports.jsonl").stat().st_mtime_ns == first.st_mtime_ns
    assert main(["--smoke", "--work", str(tmp_path), "--reports", "14"]) == 0
    assert (tmp_path / "grown" / "reports.jsonl").stat().st_size < first.st_size


def test_a_command_that_fails_is_quoted(tmp_path: Path) -> None:
    with pytest.raises(BenchmarkError, match=r"finance build failed \(exit 2\):\nerror: .*reports\.jsonl"):
        list(measure(tmp_path / "nothing", tmp_path, [1]))


def test_data_that_will_not_do_is_said_on_standard_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--data", str(tmp_path)]) == 1
    assert capsys.readouterr().err.startswith("error: ")
