"""The bundled sample of meetings: built from its sources, well formed."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import make_meetings_sample as maker
from hybridrank.tasks.meetings.history import read_history
from hybridrank.tasks.meetings.questions import read_labelled_questions, read_questions

NAMES = ("history.jsonl", "validation.jsonl", "validation_questions.jsonl")


def test_files_are_what_the_script_builds(tmp_path: Path) -> None:
    assert maker.main(["--output", str(tmp_path)]) == 0
    for name in NAMES:
        assert (tmp_path / name).read_bytes() == (maker.OUTPUT / name).read_bytes(), (
            f"{name} is out of date; run benchmarks/make_meetings_sample.py"
        )


def test_labels_point_into_the_meetings() -> None:
    meetings = {one.meeting_id: one.turns for one in read_history(maker.OUTPUT / "history.jsonl")}
    labelled = read_labelled_questions(maker.OUTPUT / "validation.jsonl")
    assert len(meetings) == 6
    assert all(60 <= len(turns) <= 120 for turns in meetings.values())
    assert len(labelled) >= 24
    for one in labelled:
        turns = meetings[one.meeting_id]
        assert all(last < len(turns) for _, last in one.evidence_turns)
        assert all(turns[fine.turn].text == fine.text for fine in one.fine_sentences)
        assert all(any(a <= fine.turn <= b for a, b in one.evidence_turns) for fine in one.fine_sentences)
    assert [one.question for one in labelled] == [
        one.question for one in read_questions(maker.OUTPUT / "validation_questions.jsonl")
    ]


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("A: Hello.\nno turn\n---\n", "line 2: no turn"),
        ("A: Hello.\n---\n1 | What? | That.\n", "no question with marked turns"),
        ("[1] A: Hello.\n---\nWhat? | That.\n", "no question with marked turns"),
        ("[1] A: Hello.\n", "marked for 1, of which there is no question"),
    ],
)
def test_a_faulty_source_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], source: str, reason: str
) -> None:
    (tmp_path / "m.txt").write_text(source, encoding="utf-8")
    assert maker.main(["--sources", str(tmp_path), "--output", str(tmp_path)]) == 1
    assert reason in capsys.readouterr().err


def test_where_there_is_no_source_it_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert maker.main(["--sources", str(tmp_path)]) == 1
    assert "no .txt file found" in capsys.readouterr().err
