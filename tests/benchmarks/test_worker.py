from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.rows import read_rows
from benchmarks.worker import STATUS, main, peak_memory

ROOT = Path(__file__).resolve().parents[2]
MIB = 2**20


def run(*arguments: object) -> dict[str, Any]:
    """Run the worker as the benchmark does: a search would pin this process to one core."""
    command = [sys.executable, "-m", "benchmarks.worker", *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_build_and_a_search_are_measured_and_answered(tmp_path: Path) -> None:
    reports = [{"document_id": "a", "text": "alpha beta"}, {"document_id": "b", "text": "gamma"}]
    (tmp_path / "reports.jsonl").write_text("\n".join(map(json.dumps, reports)), encoding="utf-8")
    queries = [{"query_id": "2", "question": "gamma?"}, {"query_id": "1", "question": "alpha?"}]
    (tmp_path / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)), encoding="utf-8")

    built = run("build", "plain", tmp_path, tmp_path / "new" / "index")
    searched = run(
        "search", "plain", tmp_path / "new" / "index", tmp_path / "queries.jsonl", tmp_path / "results.jsonl"
    )

    assert built.keys() == {"seconds", "peak_bytes"}
    assert searched.keys() == {"open_seconds", "peak_bytes", "milliseconds"}
    assert len(searched["milliseconds"]) == 2
    assert min(built["seconds"], searched["open_seconds"], *searched["milliseconds"]) > 0
    results = list(read_rows(tmp_path / "results.jsonl"))
    assert [row["query_id"] for row in results] == ["2", "1"]
    assert [row["spans"][0] for row in results] == [
        {"document_id": "b", "start": 0, "end": 5},
        {"document_id": "a", "start": 0, "end": 10},
    ]


def test_the_measurement_alone_goes_to_standard_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def talkative(system: str) -> dict[str, object]:
        print("indexing", system)
        return {"seconds": 1.0}

    monkeypatch.setattr("benchmarks.worker.STEPS", {"build": talkative})
    assert main(["build", "plain"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out) == {"seconds": 1.0}
    assert captured.err == "indexing plain\n"


def test_memory_that_was_held_and_freed_counts() -> None:
    code = (
        f"from benchmarks.worker import peak_memory; a = bytearray({96 * MIB}); del a; print(peak_memory())"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert 96 * MIB < int(done.stdout) < 400 * MIB


@pytest.mark.skipif(not STATUS.exists(), reason="only Linux tells a process's own peak")
def test_the_parent_s_memory_does_not_count() -> None:
    parent = (
        f"import subprocess, sys; a = b'x' * {400 * MIB}; code = sys.argv[1];"
        "sys.exit(subprocess.run([sys.executable, '-c', code]).returncode)"
    )
    child = "from benchmarks.worker import peak_memory; print(peak_memory())"
    done = subprocess.run(
        [sys.executable, "-c", parent, child], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert int(done.stdout) < 400 * MIB


def test_without_the_status_file_the_system_s_own_accounting_is_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("benchmarks.worker.STATUS", tmp_path / "absent")
    assert peak_memory() > MIB
