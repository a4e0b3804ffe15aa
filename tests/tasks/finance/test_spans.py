from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridrank.errors import InputError
from hybridrank.records import Span
from hybridrank.tasks.finance.spans import MOST_SPANS, check_span, choose


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
