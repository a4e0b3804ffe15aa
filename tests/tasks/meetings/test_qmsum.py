from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hybridrank.errors import InputError
from hybridrank.tasks.meetings.history import Meeting, Turn
from hybridrank.tasks.meetings.qmsum import read_qmsum


def query(text: str, *spans: list[str]) -> dict[str, Any]:
    return {"query": text, "answer": f"{text} Yes.", "relevant_text_span": list(spans)}


def meeting(*queries: dict[str, Any]) -> dict[str, Any]:
    """A meeting of five turns in the published layout."""
    return {
        "topic_list": [{"topic": "The pump", "relevant_text_span": [["0", "4"]]}],
        "general_query_list": [{"query": "Summarize the whole meeting.", "answer": "They met."}],
        "specific_query_list": list(queries),
        "meeting_transcripts": [{"speaker": "Chair", "content": f"Turn {at} ."} for at in range(5)],
    }


def test_a_folder_gives_its_meetings_by_name(tmp_path: Path) -> None:
    for name in ("b", "a"):
        row = meeting(query("Leaks?", ["0", "1"], ["3", "3"]), query("Paint?", ["2", "4"]))
        (tmp_path / f"{name}.json").write_text(json.dumps(row, indent=1), encoding="utf-8")
    found = read_qmsum(tmp_path)
    assert found.meetings[0] == Meeting(
        meeting_id="a", turns=tuple(Turn("Chair", f"Turn {at} .") for at in range(5))
    )
    assert [one.question_id for one in found.questions] == ["a-s00", "a-s01", "b-s00", "b-s01"]
    assert found.questions[0].evidence_turns == ((0, 1), (3, 3))
    assert found.questions[0].reference_answer == "Leaks? Yes."
    assert {one.meeting_id for one in found.questions} == {one.meeting_id for one in found.meetings}


def test_a_file_of_lines_gives_a_meeting_for_each(tmp_path: Path) -> None:
    path = tmp_path / "val.jsonl"
    path.write_text("\n".join(json.dumps(meeting(query(q, ["0", "1"]))) for q in "xy"), encoding="utf-8")
    found = read_qmsum(path)
    assert [one.meeting_id for one in found.meetings] == ["val-1", "val-2"]
    assert [one.question_id for one in found.questions] == ["val-1-s00", "val-2-s00"]


def test_spans_stay_inside_the_meeting(tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text(
        json.dumps(meeting(query("Beyond?", ["9", "12"]), query("Over?", ["3", "12"], ["7", "8"]))),
        encoding="utf-8",
    )
    (found,) = read_qmsum(tmp_path / "m.json").questions
    assert (found.question_id, found.evidence_turns) == ("m-s01", ((3, 4),))


@pytest.mark.parametrize(
    "row",
    [
        {},
        {"meeting_transcripts": []},
        {**meeting(), "meeting_transcripts": ["Chair: hello"]},
        meeting({"query": "Leaks?", "answer": "Yes."}),
        meeting(query("Leaks?", ["0", "end"])),
        meeting(query("Leaks?", ["0"])),
    ],
)
def test_another_layout_is_refused_with_its_place(tmp_path: Path, row: dict[str, Any]) -> None:
    path = tmp_path / "m.jsonl"
    path.write_text(json.dumps(meeting()) + "\n" + json.dumps(row), encoding="utf-8")
    with pytest.raises(InputError, match="not in QMSum's layout") as caught:
        read_qmsum(path)
    assert (caught.value.file, caught.value.line) == (str(path), 2)


def test_where_nothing_is_to_be_read_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds no \.json file"):
        read_qmsum(tmp_path)
    with pytest.raises(InputError, match="cannot be read"):
        read_qmsum(tmp_path / "nowhere.json")
