from __future__ import annotations

import importlib.util
import json
import random
import sys
from pathlib import Path
from typing import Any

import pytest

from hybridrank.tasks.meetings.history import Meeting, Turn, read_history
from hybridrank.tasks.meetings.questions import FineSentence, LabelledQuestion, read_labelled_questions
from hybridrank.tasks.meetings.scoring import MEASURES, QuestionScore, Scorer, Source, content_words
from tests.command_line import DATA

SHARED = Path(__file__).parents[4] / "shared"
PUMP = "The pump leaks at the rubber seal ."
PAINT = "Red paint costs forty euros a bucket ."
MEETINGS = [
    Meeting(meeting_id="m1", turns=(Turn("A", PUMP), Turn("B", "Uh-huh ."), Turn("A", PAINT))),
    Meeting(meeting_id="m2", turns=(Turn("A", PUMP),)),
]
QUESTION = LabelledQuestion(
    question_id="q",
    question="What about the pump?",
    reference_answer="The pump leaks at its old seal.",
    meeting_id="m1",
    evidence_turns=((0, 1),),
    fine_sentences=(FineSentence(turn=0, text=PUMP),),
)
NOTE = Source("A: The pump leaks at the rubber seal.", "m1", 0, 0)
BESIDE = Source("A: Red paint costs forty euros.", "m1", 2, 2)
ELSEWHERE = Source("A: The pump leaks at a rubber seal.", "m2", 0, 0)
SCANT = Source("A: The pump leaks.", "m1", 0, 1)


def score(held: list[Source], *recalled: Source) -> QuestionScore:
    return Scorer(MEETINGS, held).score(QUESTION, [one.text for one in recalled])


def test_a_note_of_the_evidence_is_a_hit() -> None:
    found = score([NOTE, BESIDE], BESIDE, NOTE)
    assert found.evidence_hit == found.fine_hit == found.meeting_recall == found.answer_hit == 1
    assert found.memory_hit == found.memory_fine_hit == 1
    assert found.word_recall == found.word_recall_right == 3 / 4  # pump, leaks and seal, of those and "old"
    assert found.outcome == "hit"


@pytest.mark.parametrize(
    ("held", "recalled", "outcome"),
    [
        ([NOTE, BESIDE], [BESIDE], "wrong notes"),
        ([NOTE, ELSEWHERE], [ELSEWHERE], "meeting missed"),
        ([NOTE], [], "meeting missed"),
        ([BESIDE, SCANT], [SCANT], "nothing in memory"),
        ([], [], "nothing in memory"),
    ],
)
def test_what_is_lost_is_lost_somewhere(held: list[Source], recalled: list[Source], outcome: str) -> None:
    found = score(held, *recalled)
    assert found.evidence_hit == found.fine_hit == 0
    assert found.outcome == outcome


def test_words_of_another_meeting_s_notes_count_for_the_whole_alone() -> None:
    found = score([NOTE, ELSEWHERE], ELSEWHERE)
    assert (found.word_recall, found.word_recall_right) == (3 / 4, 0)
    assert found.answer_hit == found.meeting_recall == 0


def test_ten_notes_count_and_those_that_are_none_do_not() -> None:
    scorer = Scorer(MEETINGS, [NOTE, BESIDE])
    assert scorer.score(QUESTION, [BESIDE.text] * 10 + [NOTE.text]).evidence_hit == 0
    assert scorer.score(QUESTION, ["no note"] * 9 + [NOTE.text]).evidence_hit == 1


def test_a_note_that_stands_twice_is_of_both_meetings() -> None:
    twin = NOTE._replace(meeting_id="m2")
    assert score([NOTE, twin], twin).evidence_hit == 1


def test_short_evidence_needs_no_more_words_than_it_has() -> None:
    question = LabelledQuestion(
        question_id="q",
        question="",
        reference_answer="Seal!",
        meeting_id="m1",
        evidence_turns=(),
        fine_sentences=(FineSentence(turn=0, text="pump seal"), FineSentence(turn=1, text="Uh-huh .")),
    )
    found = Scorer(MEETINGS, [NOTE]).score(question, [NOTE.text])
    assert (found.evidence_hit, found.fine_hit, found.answer_hit) == (0, 1, 1)
    silent = LabelledQuestion(
        question_id="q",
        question="",
        reference_answer="",
        meeting_id="m1",
        evidence_turns=(),
        fine_sentences=(FineSentence(turn=0, text="Uh ."),),
    )
    assert Scorer(MEETINGS, [NOTE]).score(silent, [NOTE.text]).fine_hit == 0
    assert Scorer(MEETINGS, [NOTE]).score(silent, [NOTE.text]).word_recall == 0


def test_content_words_leave_out_what_says_nothing() -> None:
    assert content_words("{laugh} <b> Yeah, it’s the BOSS's x 7 pump, isn't it?") == ["boss", "7", "pump"]
    assert content_words("the pump", {"pump"}) == ["the"]


def reference_scorer() -> Any:
    path = SHARED / "tools" / "score_meetings.py"
    if not path.exists():
        pytest.skip("the contract's scorer is not here")
    spec = importlib.util.spec_from_file_location("contract_scorer", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


@pytest.mark.parametrize("data", [DATA / "meetings", SHARED / "data" / "meetings"], ids=["sample", "shared"])
def test_the_measures_are_those_of_the_contract_s_scorer(data: Path) -> None:
    if not data.exists():
        pytest.skip("the contract's data is not here")
    theirs = reference_scorer()
    meetings = read_history(data / "history.jsonl")
    questions = read_labelled_questions(data / "validation.jsonl")
    chance = random.Random(5)
    sources = [
        Source(f"{turn.speaker}: {turn.text}", meeting.meeting_id, at, at + chance.randrange(2))
        for meeting in meetings
        for at, turn in enumerate(meeting.turns)
        if chance.random() < 0.5
    ]
    held: dict[str, list[str]] = {meeting.meeting_id: [] for meeting in meetings}
    for source in sources:
        held[source.meeting_id].append(source.text)
    recalled = {
        one.question_id: chance.sample(held[one.meeting_id], 6)
        + [source.text for source in chance.sample(sources, 6)]
        for one in questions
    }
    rows, _, _ = theirs.Scorer(
        lines(data / "history.jsonl"),
        lines(data / "validation.jsonl"),
        [{"text": one.text, "meeting_id": one.meeting_id, "turns": [one.first, one.last]} for one in sources],
    ).run([{"question_id": name, "memories": texts} for name, texts in recalled.items()])
    scorer = Scorer(meetings, sources, dropped=theirs.DROP)
    names = (
        "EvidenceHit",
        "FineHit",
        "MeetingRecall",
        "AnsHit",
        "R1rec",
        "R1rec_right",
        "MemHit",
        "MemFineHit",
    )
    for question, row in zip(questions, rows, strict=True):
        found = scorer.score(question, recalled[question.question_id])
        assert dict(zip(names, found[1:], strict=True)) == {name: row[name] for name in names}, json.dumps(
            row
        )
    assert len(MEASURES) == len(names)
