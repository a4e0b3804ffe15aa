import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridrank.tasks.meetings.cleaning import clean_turn

SAID = """
    so the wizard wiz um uh mean you know pump leak i A {disfmarker} {pause} <laugh> , . ? - it 's it's n't
"""
WORDS = st.sampled_from(SAID.split())


def is_subsequence(part: str, whole: str) -> bool:
    characters = iter(whole)
    return all(character in characters for character in part if not character.isspace())


@given(st.lists(WORDS).map(" ".join) | st.text())
def test_nothing_is_added_or_moved(text: str) -> None:
    assert is_subsequence("".join(clean_turn(text)), text)


@given(st.lists(WORDS).map(" ".join) | st.text())
def test_sentences_say_something_and_can_be_written(text: str) -> None:
    for sentence in clean_turn(text):
        assert any(map(str.isalnum, sentence))
        assert sentence == sentence.strip()
        assert "{disfmarker}" not in sentence
        sentence.encode("utf-8")


@pytest.mark.parametrize(
    "said", ["", "Mm - hmm .", "OK .", "Yeah . Right .", "{vocalsound}", "Uh {disfmarker}", "?"]
)
def test_a_back_channel_says_nothing(said: str) -> None:
    assert clean_turn(said) == []


@pytest.mark.parametrize(
    ("said", "cleaned"),
    [
        ("I mean the the pump , you know , leaks .", ["the pump, leaks."]),
        (
            "how much w how much water {disfmarker} Well , all of it .",
            ["how much w how much water", "all of it."],
        ),
        (
            "So the f first one isn 't new . It 's a speech - recognizer",
            ["the first one isn't new.", "It's a speech-recognizer"],
        ),
        ("The \u201cpump\u201d is @ @ broken", ["The pump is broken"]),
    ],
)
def test_what_only_talking_leaves_is_dropped(said: str, cleaned: list[str]) -> None:
    assert clean_turn(said) == cleaned
