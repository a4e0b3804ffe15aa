import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hybridrank.tasks.meetings.history import Meeting, Turn
from hybridrank.tasks.meetings.segments import CleanMeeting, Segment, clean_meeting, cut
from hybridrank.tasks.meetings.selection import best_excerpt, best_excerpts, key_terms, term_weights
from hybridrank.tasks.meetings.worth import History, PlainWorth, term_table
from tests.tasks.meetings.sample import MEETINGS

WORDS = ["so", "the", "pump", "leaks", ",", "oslo", "garden", ".", "paint", "{pause}", "ok", "bars"]
TALK = st.lists(
    st.tuples(
        st.sampled_from(["A", "PhD B", ""]),
        st.lists(st.sampled_from(WORDS), max_size=15).map(" ".join),
    ),
    min_size=1,
    max_size=12,
)


def cleaned(talk: list[tuple[str, str]]) -> CleanMeeting:
    return clean_meeting(Meeting(meeting_id="m", turns=tuple(Turn(*turn) for turn in talk)))


@given(TALK, st.integers(10, 200))
def test_an_excerpt_is_short_and_in_order_and_of_its_turns(talk: list[tuple[str, str]], n_bytes: int) -> None:
    meeting = cleaned(talk)
    weights = {term: 1.0 for turn in meeting.turns for term in turn.all_terms()}
    excerpt = best_excerpt(meeting, Segment(0, 0, len(talk) - 1), weights, n_bytes)
    if excerpt is None:
        return
    assert 0 <= excerpt.first <= excerpt.last < len(talk)
    assert excerpt.last - excerpt.first < 5
    assert len(excerpt.text.encode("utf-8")) <= n_bytes * 1.15
    at = excerpt.first
    spoken = [f"{turn.speaker}: {' '.join(turn.sentences)}" for turn in meeting.turns[at : excerpt.last + 1]]
    source = iter(" ".join(spoken).split())
    assert all(any(word == there for there in source) for word in excerpt.text.split())


def test_silence_has_no_excerpt() -> None:
    assert best_excerpt(cleaned([("A", "OK ."), ("B", "Mm - hmm .")]), Segment(0, 0, 1), {}, 100) is None


@given(TALK, st.integers(10, 100))
def test_excerpts_of_both_halves_stand_apart(talk: list[tuple[str, str]], n_bytes: int) -> None:
    meeting = cleaned(talk)
    weights = {term: 1.0 for turn in meeting.turns for term in turn.all_terms()}
    whole = Segment(0, 0, len(talk) - 1)
    found = best_excerpts(meeting, whole, weights, n_bytes)
    assert len(found) <= 2
    if len(found) == 2:
        assert found[0].last < found[1].first
        assert all(len(one.text.encode("utf-8")) <= n_bytes * 1.15 for one in found)
    else:
        assert found == [one for one in [best_excerpt(meeting, whole, weights, 2 * n_bytes)] if one]


def test_a_single_turn_is_quoted_once_at_twice_the_length() -> None:
    meeting = cleaned([("A", "The pump leaks . Paint the garden .")])
    weights = dict.fromkeys(["pump", "leak", "paint", "garden"], 1.0)
    found = best_excerpts(meeting, Segment(0, 0, 0), weights, 20)
    assert [one.text for one in found] == ["A: The pump leaks. Paint the garden."]


def test_what_was_set_out_at_length_is_preferred() -> None:
    talk = [
        ("A", "pump leaks"),
        ("B", "ok"),
        ("B", "ok"),
        ("B", "ok"),
        ("B", "ok"),
        ("C", "pump leaks . oslo garden paint . oslo"),
    ]
    excerpt = best_excerpt(cleaned(talk), Segment(0, 0, 5), {"pump": 1.0, "leak": 1.0}, 15)
    assert excerpt is not None
    assert (excerpt.text, excerpt.first) == ("C: pump leaks.", 5)


def test_a_speaker_who_goes_on_is_named_once() -> None:
    talk = [("A", "The pump leaks ."), ("B", "OK ."), ("A", "Paint the garden ."), ("B", "In Oslo bars .")]
    weights = dict.fromkeys(["pump", "leak", "paint", "garden", "oslo", "bar"], 1.0)
    excerpt = best_excerpt(cleaned(talk), Segment(0, 0, 3), weights, 200)
    assert excerpt is not None
    assert excerpt.text == "A: The pump leaks. Paint the garden.\nB: In Oslo bars."


def test_a_term_is_listed_where_it_was_said_most() -> None:
    history = History([cleaned([("A", f"{'Pump. ' * (1 + at % 3)}w{at}x v{at}x")]) for at in range(40)])
    segments = cut(history.meetings, 1000)
    table = term_table(history, segments)
    worth = np.array([0.0 if term == "pump" else -1.0 for term in table.terms])
    listed = [topic[:1] == ["pump"] for topic in key_terms(table, segments, worth, 2)]
    assert sum(listed) == 27  # log(10 / 27) is still above -1, log(10 / 28) is not
    assert all(listed[at] for at in range(40) if at % 3 == 2)


def test_key_terms_are_terms_of_their_segment_and_no_more_than_asked() -> None:
    history = History([clean_meeting(meeting) for meeting in MEETINGS])
    segments = cut(history.meetings, 50)
    table = term_table(history, segments)
    for n_terms in (0, 1, 7):
        topics = key_terms(table, segments, PlainWorth().score(table.features), n_terms)
        for topic, counts in zip(topics, table.counts, strict=True):
            assert len(topic) == len(set(topic)) == min(n_terms, len(counts))
            assert set(topic) <= counts.keys()


def test_rare_terms_weigh_more() -> None:
    history = History([cleaned([("A", "Pump. Oslo.")]), cleaned([("A", "Pump. Garden. Garden.")])])
    weights = term_weights(term_table(history, cut(history.meetings, 100)))
    assert weights[0]["oslo"] > weights[0]["pump"]
    assert weights[1]["garden"] == 2 * weights[0]["oslo"]
