from __future__ import annotations

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.meetings_methods import ORDERS, Candidate, candidates, json_bytes, select
from hybridrank.tasks.meetings.history import Meeting, Turn, read_history
from hybridrank.tasks.meetings.scoring import Source
from tests.command_line import DATA

SAMPLE = candidates(read_history(DATA / "meetings" / "history.jsonl"))
LONG = "The pump leaks at the rubber seal and we {gap} replace it ."


def test_short_turns_are_no_candidates_and_tags_are_gone() -> None:
    turns = (Turn("A", "Yeah {vocalsound} <laugh> right ."), Turn("B", LONG))
    ((found,),) = candidates([Meeting(meeting_id="m", turns=turns)])
    assert found.source == Source("B: The pump leaks at the rubber seal and we replace it .", "m", 1, 1)
    assert found.words == ["pump", "leaks", "rubber", "seal", "replace"]


@pytest.mark.parametrize("name", ORDERS)
def test_each_way_orders_every_candidate_once_and_always_alike(name: str) -> None:
    for found in (*SAMPLE, []):
        order = list(ORDERS[name](found, random.Random(1)))
        assert sorted(order) == list(range(len(found)))
        assert order == list(ORDERS[name](found, random.Random(1)))


@pytest.mark.parametrize("name", ORDERS)
@settings(max_examples=15)  # LexRank takes its time
@given(size=st.integers(0, 20_000))
def test_what_is_kept_fits_and_stands_in_the_history_s_order(name: str, size: int) -> None:
    kept = select(SAMPLE, ORDERS[name], size)
    assert len(json.dumps([one.text for one in kept], ensure_ascii=False, indent=0).encode()) <= max(size, 4)
    assert kept == sorted(kept, key=lambda one: (one.meeting_id, one.first))
    assert json_bytes(kept) <= size or not kept


def test_the_budget_is_shared_among_the_meetings() -> None:
    kept = select(SAMPLE, ORDERS["first"], 6_000)
    meetings = {one.meeting_id for one in kept}
    sizes = [json_bytes(one for one in kept if one.meeting_id == meeting) for meeting in meetings]
    assert len(meetings) == len(SAMPLE)
    assert max(sizes) < 2 * min(sizes)


def named(*texts: str) -> list[Candidate]:
    return [Candidate(Source(text, "m", at, at), text.split()) for at, text in enumerate(texts)]


def test_each_way_prefers_what_it_says() -> None:
    chance = random.Random(0)
    found = named(
        "pump seal pump",
        "seal paint oil",
        "oil paint pump seal",
        "lunch",
        "lunch lunch lunch lunch lunch lunch",
    )
    best = {name: next(iter(order(found, chance))) for name, order in ORDERS.items()}
    assert best["first"] == 0
    assert best["longest"] == 4
    assert best["TF-ISF"] == 4
    assert best["BM25 centrality"] == best["LexRank"] == 2
    assert best["idf coverage"] == 2
    covered = list(ORDERS["idf coverage"](found, chance))
    assert covered[1] == 3  # what the first one has not, rather than the same again
