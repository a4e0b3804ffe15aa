from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.meetings import main
from benchmarks.meetings_measure import OUTCOMES, read_set
from tests.command_line import DATA


def test_the_sample_is_measured_from_end_to_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found, picture = tmp_path / "found.json", tmp_path / "curve.png"
    assert main(["--smoke", "--json", str(found), "--plot", str(picture)]) == 0
    report = json.loads(found.read_text(encoding="utf-8"))
    assert (report["meetings"], report["questions"], report["budget"]) == (6, 32, 6_000)
    systems = {(one["selection"], one["recall"]): one for one in report["systems"]}
    assert {name for name, _ in systems} >= {"first", "random", "LexRank", "idf coverage", "plain"}
    assert systems["plain", "ours"]["EvidenceHit@10"] >= systems["first", "BM25"]["EvidenceHit@10"] > 0
    for one in systems.values():
        assert sum(one["outcomes"].values()) == pytest.approx(1)
        assert list(one["outcomes"]) == list(OUTCOMES)
        low, high = one["intervals"]["EvidenceHit@10"]
        assert low <= one["EvidenceHit@10"] <= high
        assert one["EvidenceHit@10"] <= one["MemHit"]
    assert 0 < report["word_recall"]["extracted_answers"] <= report["word_recall"]["notes"] + 1e-9
    assert report["seconds"]["run"] > 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    printed = capsys.readouterr().out
    assert "not a result on the real set" in printed
    assert "…" not in printed, "a cell was cut"


def test_qmsum_s_files_are_read(tmp_path: Path) -> None:
    turns = [{"speaker": "Chair", "content": "The pump leaks ."}]
    query = {"query": "Leaks?", "answer": "Yes.", "relevant_text_span": [["0", "0"]]}
    row = {"meeting_transcripts": turns, "specific_query_list": [query]}
    (tmp_path / "a.json").write_text(json.dumps(row), encoding="utf-8")
    for path in (tmp_path, tmp_path / "a.json"):
        data = read_set(path)
        assert [meeting.meeting_id for meeting in data.meetings] == ["a"]
        assert data.questions[0].evidence_turns == ((0, 0),)


def test_the_budget_goes_by_the_number_of_meetings() -> None:
    assert read_set(DATA / "meetings").budget == 183_981 * 6 // 67


def test_what_cannot_be_run_is_said_on_standard_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--data", str(tmp_path)]) == 1
    assert capsys.readouterr().err.startswith("error: ")
    (tmp_path / "a.json").write_text(
        '{"meeting_transcripts": [], "specific_query_list": []}', encoding="utf-8"
    )
    assert main(["--data", str(tmp_path)]) == 1
    assert "holds no question about its meetings" in capsys.readouterr().err
