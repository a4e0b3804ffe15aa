from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hybridrank.errors import InputError
from hybridrank.tasks.meetings.questions import (
    FineSentence,
    LabelledQuestion,
    Question,
    read_labelled_questions,
    read_questions,
)

ROW = {
    "question_id": "q1",
    "question": "What about the pump?",
    "reference_answer": "It leaks.",
    "meeting_id": "m1",
    "evidence_turns": [[0, 3], [7, 7]],
    "fine_sentences": [{"turn": 2, "type": "CES", "text": "It leaks ."}],
}


def write(path: Path, *rows: Any) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_questions_are_read_with_and_without_labels(tmp_path: Path) -> None:
    path = write(tmp_path / "questions.jsonl", ROW, {**ROW, "question_id": "q0"})
    assert read_questions(path) == [
        Question(question_id=name, question="What about the pump?") for name in ("q1", "q0")
    ]
    assert read_labelled_questions(path)[0] == LabelledQuestion(
        question_id="q1",
        question="What about the pump?",
        reference_answer="It leaks.",
        meeting_id="m1",
        evidence_turns=((0, 3), (7, 7)),
        fine_sentences=(FineSentence(turn=2, text="It leaks ."),),
    )


def test_sentences_need_not_be_marked(tmp_path: Path) -> None:
    row = {key: value for key, value in ROW.items() if key != "fine_sentences"}
    (found,) = read_labelled_questions(write(tmp_path / "questions.jsonl", row))
    assert found.fine_sentences == ()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"question_id": 3}, "'question_id' is of type int, not a string"),
        ({"question": None}, "'question' is of type NoneType"),
        ({"meeting_id": ["m1"]}, "'meeting_id' is of type list"),
        ({"evidence_turns": None}, "no list of ranges"),
        ({"evidence_turns": [[3, 1]]}, "no list of ranges"),
        ({"evidence_turns": [["0", "1"]]}, "no list of ranges"),
        ({"evidence_turns": [[-1, 1]]}, "no list of ranges"),
        ({"evidence_turns": [[1]]}, "no list of ranges"),
        ({"evidence_turns": [1]}, "no list of ranges"),
        ({"fine_sentences": {}}, "'fine_sentences' is no list"),
        ({"fine_sentences": [{"turn": True, "text": ""}]}, "'fine_sentences' is no list"),
        ({"fine_sentences": [{"turn": -1, "text": ""}]}, "'fine_sentences' is no list"),
        ({"fine_sentences": [{"turn": 1}]}, "'fine_sentences' is no list"),
        ({"fine_sentences": ["It leaks ."]}, "'fine_sentences' is no list"),
        ({}, "the question_id 'q1' stood on line 1 already"),
    ],
)
def test_a_bad_label_is_refused_with_its_line(tmp_path: Path, change: dict[str, Any], reason: str) -> None:
    rows = [ROW, {**ROW, "question_id": "q2", **change} if change else ROW]
    path = write(tmp_path / "questions.jsonl", *rows)
    with pytest.raises(InputError, match=reason) as caught:
        read_labelled_questions(path)
    assert (caught.value.file, caught.value.line) == (str(path), 2)


def test_a_missing_field_is_named_beside_those_found(tmp_path: Path) -> None:
    path = write(tmp_path / "questions.jsonl", {"question_id": "q1", "text": "What?"})
    with pytest.raises(InputError, match=r"no 'question' among \['question_id', 'text'\], not a string"):
        read_questions(path)


def test_a_file_without_questions_is_refused(tmp_path: Path) -> None:
    for read in (read_questions, read_labelled_questions):
        with pytest.raises(InputError, match="holds no question"):
            read(write(tmp_path / "questions.jsonl"))
