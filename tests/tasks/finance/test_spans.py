from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridrank.errors import InputError
from hybridrank.records import Span
from hybridrank.tasks.finance.spans import MOST_SPANS, check_span, choose, cover


class Window(NamedTuple):
    report: int
    start: int
    end: int
    score: float


windows = st.lists(
    st.builds(
        lambda report, start, length, score: Window(report, start, start + length, score),
        st.integers(0, 1),
        st.integers(0, 30),
        st.integers(1, 20),
        st.sampled_from([0.0, 0.5, 1.0, 2.0, 2.5]),  # few, so that there are ties
    ),
    max_size=25,
)


def choose_windows(given: list[Window], n_spans: int) -> list[int]:
    report, start, end = (np.array([window[at] for window in given], dtype=np.int64) for at in range(3))
    return choose(report, start, end, np.array([window.score for window in given], dtype=float), n_spans)


def shares_more_than_half(one: Window, other: Window) -> bool:
    """By counting characters: does either lie with more than half of itself in the other?"""
    if one.report != other.report:
        return False
    first, second = (set(range(window.start, window.end)) for window in (one, other))
    return 2 * len(first & second) > min(len(first), len(second))


def oracle(given: list[Window], n_spans: int) -> list[int]:
    """Take the best that is left, by score and then by place, and strike out what shares too much with it."""
    left = list(range(len(given)))
    chosen: list[int] = []
    while left and len(chosen) < n_spans:
        best = min(left, key=lambda place: (-given[place].score, place))
        chosen.append(best)
        left = [
            place for place in left if place != best and not shares_more_than_half(given[place], given[best])
        ]
    return chosen


@given(windows, st.integers(-1, 7))
def test_the_choice_is_that_of_plain_elimination(given: list[Window], n_spans: int) -> None:
    assert choose_windows(given, n_spans) == oracle(given, n_spans)


@given(windows)
def test_no_chosen_window_shares_more_than_half_with_another(given: list[Window]) -> None:
    chosen = choose_windows(given, MOST_SPANS)
    assert len(chosen) == len(set(chosen)) <= MOST_SPANS
    for place in chosen:
        assert not any(shares_more_than_half(given[place], given[one]) for one in chosen if one != place)


@given(windows)
def test_what_was_left_out_shares_too_much_with_something_better(given: list[Window]) -> None:
    chosen = choose_windows(given, len(given))
    for place in set(range(len(given))) - set(chosen):
        better = [one for one in chosen if (-given[one].score, one) < (-given[place].score, place)]
        assert any(shares_more_than_half(given[place], given[one]) for one in better)


@given(windows, st.integers(0, 5))
def test_fewer_are_the_first_of_more(given: list[Window], n_spans: int) -> None:
    assert choose_windows(given, n_spans) == choose_windows(given, MOST_SPANS)[:n_spans]


def test_exactly_half_is_allowed() -> None:
    assert choose_windows([Window(0, 0, 20, 2), Window(0, 15, 25, 1)], 5) == [0, 1]
    assert choose_windows([Window(0, 0, 20, 2), Window(0, 14, 25, 1)], 5) == [0]


def test_ties_go_to_the_first() -> None:
    assert choose_windows([Window(0, 10 * at, 10 * at + 10, 1.0) for at in range(9)], 5) == [0, 1, 2, 3, 4]


def test_only_the_best_hundreds_are_looked_at() -> None:
    crowd = [Window(0, 0, 10, 2.0)] * 400
    assert choose_windows([*crowd, Window(1, 0, 10, 1.0)], 5) == [0]
    assert choose_windows([*crowd[1:], Window(1, 0, 10, 1.0)], 5) == [0, 399]


# -- a choice that covers


def cover_windows(given: list[Window], n_spans: int = MOST_SPANS) -> list[int]:
    report, start, end = (np.array([window[at] for window in given], dtype=np.int64) for at in range(3))
    return cover(report, start, end, np.array([window.score for window in given], dtype=float), n_spans)


def characters(window: Window) -> set[tuple[int, int]]:
    return {(window.report, at) for at in range(window.start, window.end)}


def worths(given: list[Window], chosen: list[int]) -> list[float]:
    """What each window would add, by the rule in words: cell by cell, character by character."""
    best = max(window.score for window in given)
    chance = [math.exp((window.score - best) / 2) for window in given]
    around: dict[tuple[int, int], frozenset[int]] = {}
    for place, window in enumerate(given):
        for one in characters(window):
            around[one] = around.get(one, frozenset()) | {place}
    cuts = {(window.report, cut) for window in given for cut in (window.start, window.end)}
    cells: list[set[tuple[int, int]]] = []
    for report, at in sorted(around):
        if (report, at) in cuts or (report, at - 1) not in around:
            cells.append(set())
        cells[-1].add((report, at))
    covered = {one for place in chosen for one in characters(given[place])}
    worth = []
    for place, window in enumerate(given):
        whole = left = 0.0
        for cell in cells:
            if cell <= characters(window):
                holders = around[min(cell)]
                expected = (sum(chance[one] for one in holders) / len(holders)) ** 2 * math.sqrt(len(cell))
                whole += expected
                left += expected * (not cell <= covered)
        worth.append(chance[place] * left / whole)
    return worth


@given(windows.filter(bool), st.integers(1, 6))
def test_each_window_of_a_cover_is_worth_the_most_of_those_left(given: list[Window], n_spans: int) -> None:
    chosen = cover_windows(given, n_spans)
    assert 1 <= len(chosen) <= n_spans
    for turn, place in enumerate(chosen):
        worth = worths(given, chosen[:turn])
        assert worth[place] == pytest.approx(max(worth), rel=1e-9)
        assert worth[place] > 0
    if len(chosen) < n_spans:
        assert max(worths(given, chosen)) == 0


@given(windows, st.integers(-1, 7))
def test_a_cover_repeats_nothing_and_ends_when_everything_is_covered(
    given: list[Window], n_spans: int
) -> None:
    chosen = cover_windows(given, n_spans)
    assert len(set(chosen)) == len(chosen) <= max(n_spans, 0)
    covered: set[tuple[int, int]] = set()
    for place in chosen:
        assert not characters(given[place]) <= covered
        covered |= characters(given[place])
    if len(chosen) < n_spans:
        assert all(characters(window) <= covered for window in given)


@given(windows, st.integers(0, 5))
def test_a_smaller_cover_is_the_start_of_a_larger_one(given: list[Window], n_spans: int) -> None:
    assert cover_windows(given, n_spans) == cover_windows(given, MOST_SPANS)[:n_spans]


@given(windows.filter(bool))
def test_a_cover_starts_with_the_best_window_and_of_equals_with_the_first(given: list[Window]) -> None:
    best = max(window.score for window in given)
    assert cover_windows(given, 1) == [[window.score for window in given].index(best)]


@given(windows, st.integers(-3, 3))
def test_only_differences_of_scores_count_for_a_cover(given: list[Window], shift: int) -> None:
    shifted = [window._replace(score=window.score + shift) for window in given]
    assert cover_windows(shifted) == cover_windows(given)


def test_windows_apart_are_taken_by_score_and_equals_in_order() -> None:
    apart = [Window(at % 2, 10 * at, 10 * at + 10, 1.0 + (at == 6)) for at in range(9)]
    assert cover_windows(apart) == [6, 0, 1, 2, 3]


def test_a_window_that_repeats_a_better_one_gives_way_to_a_worse_one_elsewhere() -> None:
    given = [Window(0, 0, 100, 2.0), Window(0, 10, 110, 1.9), Window(0, 200, 300, 0.5)]
    assert cover_windows(given, 2) == [0, 2]
    assert cover_windows([given[0], given[1]], 2) == [0, 1]  # better than nothing: it holds some more
    assert cover_windows([given[0], Window(0, 20, 80, 1.9), given[2]], 3) == [0, 2]
    assert cover_windows([given[0], Window(1, 10, 110, 1.9), given[2]], 2) == [0, 1]  # another report


def test_a_cover_of_nothing_is_empty() -> None:
    assert cover_windows([]) == []


def test_a_cover_is_sought_among_the_best_alone() -> None:
    crowd = [Window(0, 0, 10, 2.0)] * 120
    assert cover_windows([*crowd, Window(1, 0, 10, 1.0)]) == [0]
    assert cover_windows([*crowd[1:], Window(1, 0, 10, 1.0)]) == [0, 119]


def test_a_window_without_a_chance_is_left_out() -> None:
    assert cover_windows([Window(0, 0, 10, 0.0), Window(0, 20, 30, -1e4), Window(1, 0, 9, -1.0)]) == [0, 2]


# -- spans and texts


def test_a_span_inside_its_text_is_fine() -> None:
    check_span(Span(document_id="a", start=0, end=512), "x" * 512)
    check_span(Span(document_id="a", start=600, end=601), "x" * 601)


@pytest.mark.parametrize(("start", "end", "length"), [(0, 513, 600), (0, 2, 1), (5, 9, 0)])
def test_a_span_that_is_too_long_or_outside_is_refused(start: int, end: int, length: int) -> None:
    with pytest.raises(
        InputError, match=rf"\[{start}, {end}\) of 'a' is longer than 512.* text of {length}"
    ) as caught:
        check_span(Span(document_id="a", start=start, end=end), "x" * length)
    assert "Build the index again" in caught.value.remedy
