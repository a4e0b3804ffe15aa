from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridrank.tasks.finance.streams import TermSlots, held, ranges

N_TERMS = 9
term_sets = st.lists(st.integers(0, N_TERMS - 1), unique=True, max_size=N_TERMS)


@given(st.lists(term_sets, max_size=4))
def test_slots_are_lent_and_given_back(questions: list[list[int]]) -> None:
    slots = TermSlots(N_TERMS)
    for terms in [*questions, []]:
        with slots.of(np.array(terms, dtype=np.int32)) as slot_of:
            assert slot_of.dtype == np.int32
            assert slot_of.tolist() == [terms.index(term) if term in terms else -1 for term in range(N_TERMS)]


def test_slots_are_given_back_after_a_failure_too() -> None:
    slots = TermSlots(3)
    with pytest.raises(KeyError), slots.of(np.array([0, 2], dtype=np.int32)):
        raise KeyError
    with slots.of(np.array([1], dtype=np.int32)) as slot_of:
        assert slot_of.tolist() == [-1, 0, -1]


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 6)), max_size=8))
def test_ranges_are_python_s_one_after_the_other(given: list[tuple[int, int]]) -> None:
    starts, lengths = (np.array([one[at] for one in given], dtype=np.int64) for at in range(2))
    assert ranges(starts, lengths).tolist() == [
        number for start, length in given for number in range(start, start + length)
    ]


@given(st.lists(st.lists(st.integers(-1, 3), max_size=6), max_size=5))
def test_held_notes_who_holds_what(holders: list[list[int]]) -> None:
    slots = np.array([slot for tokens in holders for slot in tokens], dtype=np.int32)
    of = np.repeat(np.arange(len(holders)), [len(tokens) for tokens in holders])
    table = np.zeros((4, len(holders)), dtype=bool)
    found = held(slots, of, table)
    assert found is table
    assert found.tolist() == [[term in tokens for tokens in holders] for term in range(4)]
