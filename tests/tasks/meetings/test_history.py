from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hybridrank.errors import InputError
from hybridrank.tasks.meetings.history import FIELDS, HistoryFields, Meeting, Turn, read_history

ROW = {"meeting_id": "m1", "turns": [{"speaker": "PhD A", "text": "So {disfmarker} hello ."}]}


def write(path: Path, *rows: Any) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_meetings_come_in_the_file_s_order_and_verbatim(tmp_path: Path) -> None:
    path = write(tmp_path / "history.jsonl", ROW, {"meeting_id": "m0", "turns": [], "date": "2001"})
    assert read_history(path) == [
        Meeting(meeting_id="m1", turns=(Turn("PhD A", "So {disfmarker} hello ."),)),
        Meeting(meeting_id="m0", turns=()),
    ]


def test_other_field_names_are_one_argument(tmp_path: Path) -> None:
    path = write(tmp_path / "h.jsonl", {"id": "m1", "dialogue": [{"who": "A", "said": "Hello ."}]})
    fields = HistoryFields(meeting_id="id", turns="dialogue", speaker="who", text="said")
    assert read_history(path, fields) == [Meeting(meeting_id="m1", turns=(Turn("A", "Hello ."),))]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (
            {"id": "m", "dialogue": []},
            "no 'meeting_id' and no 'turns'; the fields found are 'id', 'dialogue'",
        ),
        (
            {"meeting_id": "m", "utterances": []},
            "no 'turns'; the fields found are 'meeting_id', 'utterances'",
        ),
        ({}, "the fields found are none"),
        ({"meeting_id": 4, "turns": []}, "'meeting_id' is of type int, not a string"),
        ({"meeting_id": "m", "turns": "A: hello"}, "'turns' is of type str, not a list"),
        ({"meeting_id": "m", "turns": ["hello"]}, "turn 0 is of type str, not an object"),
        (
            {"meeting_id": "m", "turns": [*ROW["turns"], {"speaker": "A", "words": "x", "t": 0}]},
            "no 'text'; the fields found in turn 1 are 'speaker', 'words', 't'",
        ),
        (
            {"meeting_id": "m", "turns": [{"speaker": None, "text": ""}]},
            "'speaker' of turn 0 is of type NoneType, not a string",
        ),
        (ROW, "the meeting 'm1' stood on line 1 already"),
    ],
)
def test_another_layout_is_refused_with_line_and_fields(tmp_path: Path, row: Any, reason: str) -> None:
    path = write(tmp_path / "history.jsonl", ROW, row)
    with pytest.raises(InputError) as caught:
        read_history(path)
    assert reason in str(caught.value)
    assert (caught.value.file, caught.value.line) == (str(path), 2)
    assert caught.value.remedy


def test_the_remedy_shows_the_layout(tmp_path: Path) -> None:
    fields = HistoryFields(text="content")
    with pytest.raises(InputError, match=r'"speaker": "\.{3}", "content": "\.{3}"'):
        read_history(write(tmp_path / "history.jsonl", {}), fields)
    assert FIELDS.describe() == '{"meeting_id": "...", "turns": [{"speaker": "...", "text": "..."}, ...]}'


def test_a_history_without_meetings_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no meeting"):
        read_history(write(tmp_path / "history.jsonl"))
