from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hybridrank.tasks.meetings.extract import extract, pieces

TEXT = st.text(st.sampled_from("ab pump leak. ?!:\n'é[]") | st.characters(exclude_categories=()), max_size=60)
NOTES = [
    "[pump seal rubber] Grad B: Uh, okay. The pump leaks at the seal. It has leaked for weeks.",
    "PhD A: Let's order paint for the hull. Grad B: Right. The hull needs two coats",
]


def test_a_note_s_topic_and_sentences_know_whose_they_are() -> None:
    found = pieces("[pump seal] PhD A: It leaks. Really? Grad B: No. At 10:30, we saw.\nProf: Hm", 4)
    assert [(one.note, one.speaker, one.words, one.is_topic) for one in found] == [
        (4, "", ("pump", "seal"), True),
        (4, "PhD A", ("It leaks.",), False),
        (4, "PhD A", ("Really?",), False),
        (4, "Grad B", ("No.",), False),
        (4, "Grad B", ("At 10:30, we saw.",), False),
        (4, "Prof", ("Hm",), False),
    ]


def test_a_note_may_name_nobody_and_no_topic() -> None:
    assert [(one.speaker, one.words) for one in pieces("  it leaks  a lot ")] == [("", ("it leaks a lot",))]
    assert pieces(" \n ") == []


def test_what_says_nothing_new_is_left_out_and_the_rest_keeps_its_order() -> None:
    assert extract("pump?", NOTES, 2_000) == (
        "On rubber: Grad B: The pump leaks at the seal. It has leaked for weeks. "
        "PhD A: Let's order paint for the hull. Grad B: The hull needs two coats."
    )


def test_what_was_asked_about_comes_in_first() -> None:
    assert extract("What about paint for the hull?", NOTES, 45) == "PhD A: Let's order paint for the hull."
    assert extract("What about the pump?", NOTES, 45) == "Grad B: The pump leaks at the seal."


def test_a_topic_stands_alone_where_nothing_of_its_note_does() -> None:
    assert extract("pump?", ["[pump seal rubber] A: Uh."], 100) == "On pump, seal, rubber."


def test_nothing_is_said_twice() -> None:
    assert extract("pump?", [NOTES[0], NOTES[0], "PhD C: The pump leaks."], 500).count("pump") == 1


@given(TEXT, st.lists(TEXT, max_size=5), st.integers(0, 200))
def test_it_is_made_of_the_notes_and_never_too_long(question: str, notes: list[str], longest: int) -> None:
    text = extract(question, notes, longest)
    assert len(text) <= longest
    said = {
        word.strip(".,:")
        for note in notes
        for one in pieces(note)
        for word in (*one.speaker.split(), *" ".join(one.words).split())
    }
    assert {word.strip(".,:") for word in text.split()} <= said | {"On"}
    assert extract(question, notes, longest) == text
