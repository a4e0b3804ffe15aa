import math
from pathlib import Path

import numpy as np
import pytest

from hybridrank.errors import IndexNotFound
from hybridrank.tasks.meetings.history import Meeting, Turn
from hybridrank.tasks.meetings.segments import clean_meeting, cut
from hybridrank.tasks.meetings.worth import (
    NAMES,
    PLAIN_WEIGHTS,
    History,
    LearnedWorth,
    PlainWorth,
    term_table,
    worth_of,
)
from tests.tasks.meetings.sample import MEETINGS

TALK = Meeting(
    meeting_id="m",
    turns=(
        Turn("A", "The pump leaks. We should paint the Oslo pump slowly."),
        Turn("B", "The pump?"),
        Turn("A", "A pump leaks in Oslo's garden."),
    ),
)


def features(term: str) -> dict[str, float]:
    history = History([clean_meeting(TALK)])
    segments = cut(history.meetings, 7)
    table = term_table(history, segments)
    assert len(segments) == 2
    row = next(
        at
        for at, (where, one) in enumerate(zip(table.segment_of, table.terms, strict=True))
        if one == term and where == 0
    )
    return dict(zip(NAMES, table.features[row].tolist(), strict=True))


def test_features_count_what_was_said() -> None:
    pump = features("pump")
    assert pump["in_segment"] == pytest.approx(math.log(3))
    assert pump["turns"] == pump["speakers"] == pytest.approx(math.log(2))
    assert pump["beside"] == pytest.approx(math.log(2))
    assert pump["in_meeting"] == pytest.approx(math.log(4))
    assert pump["share"] == pytest.approx(math.log(3 / 4))
    assert pump["segments"] == pump["meetings"] == pump["lift"] == pump["digits"] == 0
    assert pump["letters"] == 4


def test_features_know_nouns_names_and_adverbs() -> None:
    assert features("pump")["noun"] > 0.5 > features("paint")["noun"]
    assert features("paint")["verb"] == 1
    assert features("oslo")["named"] == 1
    assert features("slowli")["adverb"] == 1


def test_the_plain_worth_needs_no_model() -> None:
    assert isinstance(worth_of("plain"), PlainWorth)
    rows = np.eye(len(NAMES))
    scores = dict(zip(NAMES, PlainWorth().score(rows).tolist(), strict=True))
    assert {name: score for name, score in scores.items() if score} == PLAIN_WEIGHTS


def test_the_shipped_model_agrees_with_the_plain_worth_in_the_main() -> None:
    history = History([clean_meeting(meeting) for meeting in MEETINGS])
    table = term_table(history, cut(history.meetings, 60))
    learned = worth_of("learned")
    assert isinstance(learned, LearnedWorth)
    ranks = [
        np.argsort(np.argsort(scores))
        for scores in (learned.score(table.features), PlainWorth().score(table.features))
    ]
    assert np.corrcoef(ranks).min() > 0.5


def test_a_model_that_is_not_there_is_missed(tmp_path: Path) -> None:
    with pytest.raises(IndexNotFound):
        worth_of(tmp_path / "none")
