from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from hybridrank.tasks.meetings.history import Meeting, Turn
from hybridrank.tasks.meetings.segments import CleanMeeting, CleanTurn, Segment, clean_meeting, cut

COUNTS = st.lists(st.lists(st.integers(0, 6), max_size=12), max_size=4)


def meeting(counts: list[int]) -> CleanMeeting:
    return CleanMeeting("m", tuple(CleanTurn("A", ("said",), (("x",) * count,)) for count in counts))


@given(COUNTS, st.floats(0.5, 30))
def test_every_turn_is_in_one_segment(counts: list[list[int]], size: float) -> None:
    found = cut([meeting(one) for one in counts], size)
    covered = [(one.meeting, at) for one in found for at in range(one.first, one.last + 1)]
    assert covered == [(place, at) for place, one in enumerate(counts) for at in range(len(one))]


@given(COUNTS, st.floats(0.5, 30))
def test_all_segments_but_the_last_of_a_meeting_hold_the_size(counts: list[list[int]], size: float) -> None:
    found = cut([meeting(one) for one in counts], size)
    for one, following in pairwise(found):
        if one.meeting == following.meeting:
            assert sum(counts[one.meeting][one.first : one.last + 1]) >= size


def test_a_small_rest_joins_the_segment_before() -> None:
    assert cut([meeting([5, 5, 1])], 5) == [Segment(0, 0, 0), Segment(0, 1, 2)]
    assert cut([meeting([5, 5, 3])], 5) == [Segment(0, 0, 0), Segment(0, 1, 1), Segment(0, 2, 2)]


def test_turns_stand_where_they_stood() -> None:
    given_turns = (Turn("A", "OK ."), Turn("B", "So the pump leaks . Right ."))
    cleaned = clean_meeting(Meeting(meeting_id="m", turns=given_turns))
    assert [turn.sentences for turn in cleaned.turns] == [(), ("the pump leaks.",)]
    assert list(cleaned.turns[1].all_terms()) == ["pump", "leak"]


def test_a_speaker_s_label_can_be_written_as_utf_8() -> None:
    cleaned = clean_meeting(Meeting(meeting_id="m", turns=(Turn("PhD \ud800", "The pump leaks ."),)))
    assert cleaned.turns[0].speaker == "PhD ?"
