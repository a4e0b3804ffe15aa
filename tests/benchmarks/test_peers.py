import json
from pathlib import Path

import pytest

from benchmarks import peers, peers_report
from benchmarks.peers_engines import BUILT_BY, ENGINES, OURS, missing
from benchmarks.rows import BenchmarkError


def test_engines_are_measured_side_by_side(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    engines = [name for name in (OURS, "hybridrank-numba", "sqlite-fts5", "rank-bm25") if not missing(name)]
    command = [
        "--zipf",
        "300",
        "--limit",
        "8",
        "--rounds",
        "2",
        "--output",
        str(tmp_path),
        "--work",
        str(tmp_path),
    ]
    assert peers.main([*command, "--engines", *engines]) == 0
    printed = capsys.readouterr().out
    measured = json.loads((tmp_path / "peers-zipf-300.json").read_text())
    assert (measured["texts"], measured["queries"], measured["k"]) == (300, 8, 10)
    assert [row["engine"] for row in measured["engines"]] == engines
    for row in measured["engines"]:
        assert row["engine"] in printed
        assert row["queries"] == 8
        assert row["median_milliseconds"] > 0
        if row["engine"].startswith("hybridrank"):
            assert row["recall"] == 1
    assert {path.suffix for path in tmp_path.iterdir()} == {".json", ".png"}  # nothing is left of the work


def test_the_sample_is_cut_into_windows_or_blocks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert peers.main(["--smoke", "--engines", "hybridrank-numpy"]) == 0
    assert "windows" in capsys.readouterr().out
    questions = str(peers.SAMPLE / "questions.jsonl")
    command = ["--corpus", str(peers.SAMPLE), "--queries", questions, "--limit", "2", "--rounds", "1"]
    assert peers.main([*command, "--blocks", "--engines", "hybridrank-numpy"]) == 0
    assert "blocks" in capsys.readouterr().out


def test_what_is_not_installed_is_left_out(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ENGINES, "tantivy", (ENGINES["tantivy"][0], ("no_such_module",)))
    assert peers.main(["--smoke", "--engines", "tantivy", "hybridrank-numpy"]) == 0
    assert "tantivy is left out: no_such_module is not installed" in capsys.readouterr().out


def test_a_corpus_needs_queries() -> None:
    with pytest.raises(SystemExit):
        peers.parse(["--corpus", "somewhere"])


def test_a_step_that_fails_is_named(tmp_path: Path) -> None:
    with pytest.raises(BenchmarkError, match="hybridrank-numpy failed to build"):
        peers.run("build", "hybridrank-numpy", tmp_path / "none", tmp_path / "index")


def test_what_fails_ends_the_run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert peers.main(["--corpus", str(tmp_path), "--queries", str(tmp_path / "none")]) == 1
    assert "cannot read" in capsys.readouterr().out


def test_who_builds_for_another_is_an_engine() -> None:
    assert set(BUILT_BY) | set(BUILT_BY.values()) <= set(ENGINES)


def test_recall_counts_what_was_found_of_the_best() -> None:
    assert peers_report.recall([[5, 6, 7]], [[5, 6, 8]], 3) == pytest.approx(2 / 3)
    assert peers_report.recall([[]], [[]], 3) == 1
