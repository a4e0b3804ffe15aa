from hypothesis import given
from hypothesis import strategies as st

from hybridrank.tasks.meetings.vocabulary import (
    FRAME_WORDS,
    SPOKEN_WORDS,
    question_terms,
    spoken_labels,
    terms,
    words,
)


@given(st.text())
def test_terms_are_stems_of_words_without_function_words(text: str) -> None:
    kept = [word for word in words(text) if word not in SPOKEN_WORDS or word.isdigit()]
    assert len(terms(text)) <= len(kept)


def test_a_question_is_stripped_of_its_frame_and_its_speakers() -> None:
    asked = "What did Grad D and the Professor think about managing the size of the input?"
    assert question_terms(asked, ["grad d", "professor"]) == ["manag", "size", "input"]
    assert question_terms("Summarize the discussion on noise", []) == ["nois"]
    assert question_terms("Summarize the discussion", []) == ["summar", "discuss"]
    assert question_terms("What did Project Manager say about the remote?", ["project manager"]) == ["remot"]


def test_a_term_is_asked_for_once() -> None:
    assert question_terms("noise, noises and more noise") == ["nois"]


def test_words_of_other_scripts_and_numbers_survive() -> None:
    assert terms("音 und 7 Überläufe") == ["音", "und", "7", "überläuf"]


def test_speakers_are_named_in_whole_or_by_letter() -> None:
    labels = ["phd a", "phd b", "professor b", "me"]
    assert spoken_labels("What did PhD A say?", labels) == ["phd a"]
    assert spoken_labels("What did speaker B say?", labels) == ["phd b", "professor b"]
    assert spoken_labels("What did they say of phd ab?", labels) == []


def test_frame_words_are_no_function_words() -> None:
    assert not FRAME_WORDS & SPOKEN_WORDS
