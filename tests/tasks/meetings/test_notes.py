from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybridrank.errors import InputError
from hybridrank.tasks.meetings.history import Meeting, Turn
from hybridrank.tasks.meetings.memory import Memory, split_topic
from hybridrank.tasks.meetings.notes import TRIALS, make_memory
from hybridrank.tasks.meetings.vocabulary import terms
from tests.tasks.meetings.sample import MAX_BYTES, MEETINGS

HISTORIES = st.lists(
    st.lists(
        st.tuples(
            st.sampled_from(["A", "PhD B"]),
            st.text(max_size=80) | st.sampled_from(["The pump leaks .", "OK ."]),
        ),
        max_size=8,
    ),
    max_size=3,
)


@settings(max_examples=30, deadline=None)
@given(HISTORIES, st.integers(100, 2000))
def test_the_budget_is_never_exceeded(history: list[list[tuple[str, str]]], max_bytes: int) -> None:
    meetings = [
        Meeting(meeting_id=str(at), turns=tuple(Turn(*turn) for turn in turns))
        for at, turns in enumerate(history)
    ]
    text = make_memory(meetings, max_bytes=max_bytes).to_json()
    assert len(text.encode("utf-8")) <= max_bytes
    assert Memory.from_json(text).to_json() == text


@pytest.mark.parametrize("max_bytes", [1_000, 4_000, 8_000])
def test_a_larger_budget_is_made_use_of(max_bytes: int) -> None:
    size = len(make_memory(MEETINGS, max_bytes=max_bytes).to_json().encode("utf-8"))
    assert 0.5 * max_bytes < size <= max_bytes


def test_the_same_meetings_give_the_same_bytes(sample_memory: Memory) -> None:
    assert make_memory(MEETINGS, max_bytes=MAX_BYTES).to_json() == sample_memory.to_json()


@pytest.mark.parametrize("max_bytes", [100, MAX_BYTES])
def test_progress_is_told_by_the_sizes_that_were_tried(max_bytes: int) -> None:
    told: list[int] = []
    make_memory(MEETINGS, max_bytes=max_bytes, progress=told.append)
    assert told[:3] == [1, 2, 3]
    assert told == sorted(told)
    assert told[-1] <= TRIALS


def test_every_word_comes_from_the_meeting_and_what_was_said_from_the_turns(sample_memory: Memory) -> None:
    turns_of = {meeting.meeting_id: meeting.turns for meeting in MEETINGS}
    sources = sample_memory.sources()
    assert list(dict.fromkeys(source.text for source in sources)) == list(sample_memory.notes)
    for note in sample_memory.notes:
        places = [source for source in sources if source.text == note]
        assert len({source.meeting_id for source in places}) == 1
        turns = turns_of[places[0].meeting_id]
        topic, said = split_topic(note)
        assert set(terms(" ".join(topic))) <= set(terms(" ".join(turn.text for turn in turns)))
        own = [turn for place in places for turn in turns[place.first : place.last + 1]]
        assert {line.partition(": ")[0] for line in said.split("\n")} <= {turn.speaker for turn in own}
        assert set(terms(said)) <= set(terms(" ".join(f"{turn.speaker} {turn.text}" for turn in own)))


def test_a_note_quotes_both_halves_of_its_stretch_of_talk(sample_memory: Memory) -> None:
    sources = sample_memory.sources()
    assert len(sources) > 1.5 * len(sample_memory.notes)
    for one, next_one in pairwise(sources):
        assert one.last - one.first < 5
        if one.text == next_one.text:
            assert one.last < next_one.first


def test_the_learned_selector_makes_another_memory(sample_memory: Memory) -> None:
    learned = make_memory(MEETINGS, max_bytes=MAX_BYTES, selector="learned")
    assert len(learned.to_json().encode("utf-8")) <= MAX_BYTES
    assert learned.notes != sample_memory.notes


def test_too_few_bytes_for_anything_are_refused() -> None:
    with pytest.raises(InputError, match="max_bytes is 10; a memory of 6 meetings"):
        make_memory(MEETINGS, max_bytes=10)


def test_no_meetings_make_an_empty_memory() -> None:
    assert make_memory([]).notes == ()
