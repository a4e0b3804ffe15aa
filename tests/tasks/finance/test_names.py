from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hybridrank.postings import Postings
from hybridrank.tasks.finance.names import Names
from hybridrank.tasks.finance.profile import Profile, profile_report
from hybridrank.tasks.finance.question import QuestionParser
from hybridrank.text.tokens import Tokenizer, Vocabulary

TOKENIZER = Tokenizer()
PARSE = QuestionParser(TOKENIZER)
WORDS = ("zorvan", "quill", "tarn", "brick", "olmet", "ferrow")
names_of_companies = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3, unique=True).map(" ".join)


def make(names: Sequence[str], blocks: Sequence[tuple[int, str]] = ()) -> tuple[Names, Vocabulary]:
    """The names of reports whose covers bear them, and the blocks of their texts, each after its report."""
    profiles = [profile(name) for name in names]
    vocabulary = Vocabulary(TOKENIZER)
    ids, indptr = vocabulary.encode([text for _, text in blocks])
    postings = Postings.build(ids, indptr, n_terms=len(vocabulary))
    return Names(
        profiles, vocabulary, postings, np.array([report for report, _ in blocks], dtype=np.int32)
    ), vocabulary


def profile(name: str) -> Profile:
    return profile_report("", f"{name}\n(Exact name of registrant as specified in its charter)", TOKENIZER)


def match(names: Names, question: str) -> NDArray[np.float64]:
    return names.match(PARSE(question))


@given(
    st.lists(names_of_companies, max_size=6), st.lists(st.sampled_from([*WORDS, "sales", "2019"]), max_size=8)
)
def test_matches_are_never_negative_and_at_most_one_for_each_word(names: list[str], words: list[str]) -> None:
    found = match(make(names)[0], f"What of {' '.join(words)}?")
    assert found.shape == (len(names),)
    for value, name in zip(found.tolist(), names, strict=True):
        assert 0 <= value <= len(name.split()) + 1e-9
        if not set(name.split()) & set(words):
            assert value == 0


@settings(max_examples=50)
@given(st.lists(names_of_companies, min_size=2, max_size=6, unique_by=lambda name: frozenset(name.split())))
def test_the_one_that_is_named_in_full_matches_best_unless_another_holds_its_name(names: list[str]) -> None:
    found = match(make(names)[0], f"How much did {names[0]} earn in 2019?")
    inside = [set(name.split()) < set(names[0].split()) for name in names]
    assert found[0] > 0
    for value, within in zip(found[1:].tolist(), inside[1:], strict=True):
        assert within or value < found[0]


@settings(max_examples=50)
@given(st.lists(names_of_companies, min_size=1, max_size=5), st.data())
def test_a_full_name_beats_a_part_of_it(names: list[str], data: st.DataObject) -> None:
    words = names[0].split()
    part = data.draw(st.lists(st.sampled_from(words), max_size=len(words) - 1, unique=True))
    all_names = make(names)[0]
    assert match(all_names, names[0])[0] > match(all_names, " ".join(part))[0]


@settings(max_examples=50)
@given(st.lists(names_of_companies, min_size=1, max_size=5), names_of_companies, st.data())
def test_the_order_of_reports_does_not_matter(names: list[str], question: str, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(names))))
    shuffled = match(make([names[place] for place in order])[0], question)
    np.testing.assert_allclose(shuffled, match(make(names)[0], question)[list(order)], rtol=1e-12)


@settings(max_examples=50)
@given(st.lists(names_of_companies, min_size=1, max_size=5), st.lists(st.sampled_from(WORDS)), st.data())
def test_the_order_of_words_that_stand_apart_and_their_repeats_change_no_bit(
    names: list[str], words: list[str], data: st.DataObject
) -> None:
    others = data.draw(st.permutations([*words, *words]))
    found, again = (match(make(names)[0], " of ".join(some)) for some in (words, others))
    assert found.tobytes() == again.tobytes()


def test_without_reports_nothing_matches() -> None:
    names, _ = make([])
    assert match(names, "zorvan").shape == (0,)
    assert match(make(["", "zorvan"])[0], "zorvan").tolist()[0] == 0


def test_a_rare_name_counts_more_than_a_frequent_one() -> None:
    found = match(make(["zorvan"] * 4 + ["quill"])[0], "zorvan or quill?")
    assert found[4] > found[0] > 0


def test_a_word_that_other_reports_use_counts_by_its_share() -> None:
    blocks = [
        (0, "paper is ours"),
        (0, "we sell"),
        (1, "we buy paper"),
        (1, "paper costs"),
        (1, "paper again"),
    ]
    names, vocabulary = make(["Paper Inc", "Zorvan Inc"], blocks)
    assert match(names, "paper")[0] == pytest.approx(0.25)  # one of four blocks that hold it
    assert match(names, "zorvan")[1] == pytest.approx(1.0)
    paper, sell = (vocabulary.id_of(word) for word in ("paper", "sell"))
    assert paper is not None
    assert sell is not None
    named = names.named_by(paper)
    assert named is not None
    assert named.tolist() == [True, False]
    assert names.named_by(sell) is None


@pytest.mark.parametrize(
    "question",
    [
        "BestBuy's sales",
        "the BBXW deal",
        "Buy X10",
        "best-buy x10",
        "What is BB\u2019s?",
        "bestbuyx10works",
        "Best",
    ],
)
def test_names_in_one_word_and_initials(question: str) -> None:
    names, _ = make(["Best Buy", "Best Buy X10 Works", "Quill"])
    found = match(names, question)
    assert found[:2].max() > 0
    assert found[2] == 0


def test_a_part_counts_by_the_square_of_its_share() -> None:
    names, _ = make(["Zorvan Quill", "Tarn Brick Olmet", "Ferrow"])
    assert match(names, "zorvan tarn brick ferrow").tolist() == pytest.approx([1 / 4, 2 * 4 / 9, 1])


def test_initials_are_a_little_less_than_a_name() -> None:
    names, _ = make(["Zorvan Quill", "Tarn"])
    assert match(names, "ZQ sales")[0] == pytest.approx(0.8)
    assert match(names, "zq sales")[0] == 0  # initials are capitals
    assert match(names, "ZorvanQuill sales")[0] == pytest.approx(1.0)
