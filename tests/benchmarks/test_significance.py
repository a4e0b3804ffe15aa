from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.significance import paired_interval

scores = st.floats(0, 1)
pairs = st.lists(st.tuples(scores, scores), min_size=2, max_size=40)


@settings(max_examples=40, deadline=None)
@given(pairs)
def test_the_interval_lies_within_the_differences_and_is_repeatable(pairs: list[tuple[float, float]]) -> None:
    ours, theirs = zip(*pairs, strict=True)
    differences = [a - b for a, b in pairs]
    found = paired_interval(ours, theirs, resamples=200)
    assert found == paired_interval(ours, theirs, resamples=200)
    assert math.isclose(found.difference, math.fsum(differences) / len(pairs), abs_tol=1e-12)
    assert min(differences) - 1e-12 <= found.low <= found.high <= max(differences) + 1e-12


def test_the_bounds_agree_with_the_normal_approximation_on_many_questions() -> None:
    generator = np.random.default_rng(5)
    ours, theirs = generator.random(2000), generator.random(2000)
    found = paired_interval(ours.tolist(), theirs.tolist())
    error = (ours - theirs).std(ddof=1) / math.sqrt(2000)
    assert math.isclose(found.low, found.difference - 1.96 * error, abs_tol=0.1 * error)
    assert math.isclose(found.high, found.difference + 1.96 * error, abs_tol=0.1 * error)


def test_pairing_matters() -> None:
    generator = random.Random(3)
    theirs = [generator.random() for _ in range(100)]
    shuffled = generator.sample(theirs, len(theirs))
    better = [value + 0.01 for value in theirs]
    assert paired_interval(better, theirs).low > 0
    assert paired_interval(better, shuffled).low < 0


def test_another_seed_gives_other_bounds_around_the_same_difference() -> None:
    ours, theirs = [1.0, 0.2, 0.4, 0.9, 0.3], [0.1, 0.8, 0.35, 0.0, 0.2]
    first, second = (paired_interval(ours, theirs, resamples=100, seed=seed) for seed in (1, 2))
    assert first.difference == second.difference
    assert first != second


@pytest.mark.parametrize(("ours", "theirs"), [([], []), ([1.0], [0.0]), ([1.0, 0.0], [0.0])])
def test_what_cannot_be_resampled_in_pairs_is_refused(ours: list[float], theirs: list[float]) -> None:
    with pytest.raises(ValueError, match="two or more pairs"):
        paired_interval(ours, theirs)
