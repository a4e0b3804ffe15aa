"""The benchmark of the move to Milvus runs, and its ways are told apart."""

from __future__ import annotations

import json
from pathlib import Path

import pytest


def test_ways_are_compared_on_the_sample(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for package in ("pymilvus", "milvus_lite"):
        pytest.importorskip(package, reason="needs Milvus Lite: pip install 'hybridrank[milvus]'")
    from benchmarks import milvus

    file = tmp_path / "measured.json"
    assert milvus.main(["--smoke", "--passages", "30", "--json", str(file)]) == 0
    measured = json.loads(file.read_text())
    same = {row["way"]: (row["same of ten"], row["same order"]) for row in measured["words"]}
    assert same["MilvusIndex, in one segment"] == same["MilvusIndex, in 6 segments"] == (1, 1)
    assert same["Milvus's words and BM25, in one segment"][0] < 0.9
    embedded, moved, *_, other = measured["learned"]
    assert list(moved.values())[1:] == list(embedded.values())[1:]
    assert list(other.values())[1:] != list(embedded.values())[1:]
    printed = capsys.readouterr().out
    assert "30 passages" in printed
    assert "held out by company" in printed


def test_bad_data_is_told_in_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from benchmarks import milvus

    assert milvus.main(["--data", str(tmp_path)]) == 1
    assert capsys.readouterr().err.startswith("error: ")
