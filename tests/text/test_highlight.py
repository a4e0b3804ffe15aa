from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridrank.text.highlight import Excerpt, Match, excerpts, find_matches
from hybridrank.text.tokens import Tokenizer

TOKENIZER = Tokenizer()
WORDS = st.sampled_from(
    ["boat", "boats", "plan", "plans", "paint", "東京都", "10-K", "été", "\n", "…", "<b>", "x" * 90]
)
TEXTS = st.lists(WORDS, max_size=120).map(" ".join)
TERMS = frozenset(TOKENIZER.terms("boat plan 東京 10-K été"))


def test_words_are_found_in_any_form_and_at_their_places() -> None:
    text = "Boats’ planning; the 東京都 10-K, and the planner's BOATS."
    found = find_matches(text, TERMS, TOKENIZER)
    assert [(text[start:end], term) for start, end, term in found] == [
        ("Boats", "boat"),
        ("planning", "plan"),
        ("東", "東"),
        ("東京", "東京"),
        ("京", "京"),
        ("10-K", "10k"),
        ("BOATS", "boat"),
    ]


@given(TEXTS)
def test_all_tokens_that_are_asked_for_are_found_and_no_others(text: str) -> None:
    found = find_matches(text, TERMS, TOKENIZER)
    assert [match.term for match in found] == [term for term in TOKENIZER.terms(text) if term in TERMS]
    assert not find_matches(text, frozenset(), TOKENIZER)


def test_a_text_of_megabytes_is_looked_at_in_part() -> None:
    assert find_matches("x " * 60_000 + "boat", TERMS, TOKENIZER) == []


@given(TEXTS, st.integers(20, 300), st.integers(1, 4))
def test_excerpts_are_short_disjoint_and_in_order_and_marks_lie_within(
    text: str, width: int, most: int
) -> None:
    matches = find_matches(text, TERMS, TOKENIZER)
    parts = excerpts(text, matches, width=width, most=most)
    assert 1 <= len(parts) <= most
    assert sum(end - start for start, end, _ in parts) <= max(width, 0)
    assert parts == sorted(parts)
    assert all(one.end <= other.start for one, other in pairwise(parts))
    for start, end, marks in parts:
        assert 0 <= start <= end <= len(text)
        edges = [start, *(edge for mark in marks for edge in mark), end]
        assert edges == sorted(edges)
        covered = {at for mark in marks for at in range(*mark)}
        inside = {
            at for one in matches if start <= one.start and one.end <= end for at in range(one.start, one.end)
        }
        assert covered == inside
    if len(text) <= width:
        assert [(start, end) for start, end, _ in parts] == [(0, len(text))]


@given(st.lists(st.sampled_from(["water", "sand", "stone"]), min_size=30, max_size=200), st.data())
def test_what_matches_is_shown_wherever_it_stands(words: list[str], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(words)))
    text = " ".join([*words[:place], "boats", *words[place:]])
    parts = excerpts(text, find_matches(text, {"boat"}, TOKENIZER), width=90)
    assert [text[start:end] for part in parts for start, end in part.marks] == ["boats"]


def test_far_apart_terms_get_a_part_each_and_repeats_do_not() -> None:
    gap = " nothing" * 60
    text = f"A boat{gap} a plan{gap} a boat{gap}"
    parts = excerpts(text, find_matches(text, {"boat", "plan"}, TOKENIZER), width=240, most=3)
    assert [[text[start:end] for start, end in part.marks] for part in parts] == [["boat"], ["plan"]]
    assert all(not text[part.start].isspace() and part.end <= len(text) for part in parts)


def test_a_cluster_beats_a_lone_word() -> None:
    text = "boat" + " nothing" * 60 + " the boat has a plan" + " nothing" * 60
    (part,) = excerpts(text, find_matches(text, {"boat", "plan"}, TOKENIZER), width=60, most=1)
    assert [text[start:end] for start, end in part.marks] == ["boat", "plan"]


def test_without_matches_the_beginning_is_shown_cut_between_words() -> None:
    text = "one two three " * 20
    assert excerpts(text, [], width=30) == [Excerpt(0, 27)]
    assert excerpts("x" * 50, [], width=30) == [Excerpt(0, 30)]
    assert excerpts("", []) == [Excerpt(0, 0)]


def test_overlapping_matches_become_one_mark() -> None:
    matches = [Match(0, 2, "東京"), Match(1, 3, "京都")]
    assert excerpts("東京都に", matches) == [Excerpt(0, 4, ((0, 3),))]


@pytest.mark.parametrize("width", [20, 40])
def test_a_match_longer_than_a_part_leaves_the_beginning(width: int) -> None:
    text = "begin " + "y" * 200 + " end"
    (part,) = excerpts(text, [Match(6, 206, "y")], width=width)
    assert part.start == 0
    assert not part.marks
