import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridrank.errors import InputError
from hybridrank.tasks.meetings.memory import Memory, note_text, split_topic
from hybridrank.tasks.meetings.scoring import Source

NOTES = st.lists(st.lists(st.text(st.characters(exclude_categories=["Cs"]))))


def _stands_alone(text: str) -> bool:
    return re.search("[\ud800-\udbff][\udc00-\udfff]", text) is None  # JSON takes two halves for a whole


@given(NOTES)
def test_what_is_written_is_read(meetings: list[list[str]]) -> None:
    memory = Memory(meetings)
    again = Memory.from_json(memory.to_json())
    assert again.meetings == memory.meetings
    assert again.to_json() == memory.to_json()


@given(NOTES)
def test_every_note_is_a_string_of_the_json(meetings: list[list[str]]) -> None:
    memory = Memory(meetings)
    content = json.loads(memory.to_json())
    assert [note for notes in content["meetings"] for note in notes] == list(memory.notes)


@given(st.lists(st.from_regex(r"[a-z]+", fullmatch=True)), st.from_regex(r"[A-Z]: [a-z ]+", fullmatch=True))
def test_a_topic_is_found_again(topic: list[str], said: str) -> None:
    assert split_topic(note_text(topic, said)) == (topic, said)


def test_notes_of_a_meeting_are_brought_together() -> None:
    sources = [Source("a", "m", 0, 1), Source("b", "n", 2, 2), Source("c", "m", 3, 4)]
    memory = Memory.of_sources(sources)
    assert memory.meetings == (("a", "c"), ("b",))
    assert memory.sources() == [sources[0], sources[2], sources[1]]
    assert memory.provenance()[1] == {"text": "c", "meeting_id": "m", "turns": [3, 4]}


def test_a_note_of_two_places_stands_once() -> None:
    sources = [Source("a", "m", 0, 1), Source("a", "m", 5, 5), Source("b", "m", 7, 7)]
    memory = Memory.of_sources(sources)
    assert memory.notes == ("a", "b")
    assert memory.sources() == sources


def test_a_memory_that_was_read_has_no_sources() -> None:
    with pytest.raises(InputError, match="does not know where its notes came from"):
        Memory.from_json(Memory([["a"]]).to_json()).sources()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not valid JSON"),
        ("{", "not valid JSON"),
        ("[" * 100_000, "not valid JSON"),
        ("[]", "is no memory"),
        ('{"format": "else"}', "is no memory"),
        ('{"format": "hybridrank meeting memory", "version": 2}', "of version 2"),
        ('{"format": "hybridrank meeting memory", "version": 1}', "not a list of lists of notes"),
        ('{"format": "hybridrank meeting memory", "version": 1, "meetings": [[1]]}', "not a list of lists"),
        ('{"format": "hybridrank meeting memory", "version": 1, "meetings": ["a"]}', "not a list of lists"),
    ],
)
def test_what_is_no_memory_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Memory.from_json(text)


@given(st.lists(st.lists(st.text(st.characters(exclude_categories=[])).filter(_stands_alone))))
def test_halves_of_surrogate_pairs_are_kept(meetings: list[list[str]]) -> None:
    text = Memory(meetings).to_json()
    text.encode("utf-8")
    assert [list(notes) for notes in Memory.from_json(text).meetings] == meetings
