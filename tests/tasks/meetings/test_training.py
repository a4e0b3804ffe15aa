from pathlib import Path

import numpy as np
import pytest

from hybridrank.errors import InputError
from hybridrank.tasks.meetings.history import Meeting, Turn
from hybridrank.tasks.meetings.questions import LabelledQuestion
from hybridrank.tasks.meetings.training import examples, main, train
from hybridrank.tasks.meetings.worth import NAMES, LearnedWorth
from tests.tasks.meetings.sample import FOLDER, MEETINGS, QUESTIONS

GIVEN = examples(MEETINGS, QUESTIONS, size=60)


def test_terms_of_answers_are_right() -> None:
    meeting = Meeting(
        meeting_id="m", turns=(Turn("A", "The pump leaks in Oslo."), Turn("B", "The garden is green."))
    )
    question = LabelledQuestion(
        question_id="q",
        question="What was said about the pump?",
        reference_answer="It leaks.",
        meeting_id="m",
        evidence_turns=((0, 0),),
    )
    found = examples([meeting], [question], size=3)
    assert found.features.shape == (3, len(NAMES))
    assert found.right.tolist() == [1, 1, 0]
    assert found.meeting_ids == ["m"] * 3
    assert found.segment_of == [0] * 3


def test_training_is_repeatable_and_tells_right_terms_from_others() -> None:
    model = train(GIVEN)
    scores = model.predict(GIVEN.features)
    assert np.array_equal(scores, train(GIVEN).predict(GIVEN.features))
    assert scores[GIVEN.right == 1].mean() > scores[GIVEN.right == 0].mean()


def test_meetings_can_be_left_out() -> None:
    left_out = {MEETINGS[0].meeting_id}
    model = train(GIVEN, without=left_out)
    assert model.training["rows"] == sum(meeting_id not in left_out for meeting_id in GIVEN.meeting_ids)


def test_questions_about_other_meetings_are_refused() -> None:
    with pytest.raises(InputError, match="not in the history"):
        examples(MEETINGS[1:], QUESTIONS)


def test_questions_without_evidence_teach_nothing() -> None:
    with pytest.raises(InputError, match="no question is about a segment"):
        examples(MEETINGS, [])


def test_the_command_saves_a_model(tmp_path: Path) -> None:
    files = ["--history", str(FOLDER / "history.jsonl"), "--questions", str(FOLDER / "validation.jsonl")]
    main([*files, "--output", str(tmp_path / "model"), "--size", "60"])
    scores = LearnedWorth.open(tmp_path / "model").score(GIVEN.features)
    assert np.array_equal(scores, train(GIVEN).predict(GIVEN.features))
