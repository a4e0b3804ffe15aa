from hybridrank.text.stopwords import ENGLISH, stop_words_for


def test_is_a_real_list() -> None:
    assert len(ENGLISH) >= 170
    assert {"the", "of", "which", "were", "couldn", "themselves"} <= ENGLISH


def test_words_are_as_folding_leaves_them() -> None:
    assert all(word == word.lower() and word.isascii() for word in ENGLISH)


def test_no_single_letter_but_a_and_i() -> None:
    assert {word for word in ENGLISH if len(word) == 1} == {"a", "i"}


def test_words_that_are_also_names_stay() -> None:
    assert ENGLISH.isdisjoint({"us", "may", "mine", "won", "per", "total", "million", "percent"})


def test_other_languages_have_none() -> None:
    assert stop_words_for("english") is ENGLISH
    assert stop_words_for("french") == frozenset()
