from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from hybridrank.errors import InputError
from hybridrank.evaluation import significance
from hybridrank.evaluation.significance import holm, paired_interval, paired_test

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
    with pytest.raises(InputError, match="two or more pairs"):
        paired_interval(ours, theirs)
    with pytest.raises(InputError, match="two or more pairs"):
        paired_test(ours, theirs)


@pytest.mark.parametrize("size", [2, 3, 50, 300])
def test_the_bounds_are_those_of_scipy(size: int) -> None:
    differences = np.random.default_rng(size).normal(0.1, 0.4, size)
    theirs = np.zeros(size)
    expected = stats.bootstrap(
        (differences,),
        np.mean,
        n_resamples=999,
        confidence_level=0.95,
        method="percentile",
        rng=np.random.default_rng(7),
    ).confidence_interval
    found = paired_interval(differences, theirs, resamples=999, seed=7)
    assert found[1:] == pytest.approx((expected.low, expected.high), rel=1e-12)


def test_drawing_in_parts_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    differences = np.random.default_rng(2).normal(size=31)
    whole = paired_interval(differences, np.zeros(31), resamples=500)
    monkeypatch.setattr(significance, "_AT_ONCE", 100)
    assert paired_interval(differences, np.zeros(31), resamples=500) == whole


@settings(max_examples=25)
@given(st.lists(st.tuples(scores, scores), min_size=2, max_size=8))
def test_the_test_counts_the_tosses_as_extreme(pairs: list[tuple[float, float]]) -> None:
    differences = np.array([a - b for a, b in pairs])
    means = [np.mean(differences * signs) for signs in itertools.product((1, -1), repeat=len(pairs))]
    near = 100 * np.finfo(float).eps  # what scipy, too, takes for the same
    extreme = np.abs(means) >= abs(differences.mean()) * (1 - near)
    # scipy doubles the smaller tail, which is the same for a distribution that mirrors itself.
    ours, theirs = zip(*pairs, strict=True)
    assert paired_test(ours, theirs) == pytest.approx(extreme.mean())


def test_many_queries_are_tested_by_drawing_and_agree_with_a_t_test() -> None:
    generator = np.random.default_rng(4)
    ours, theirs = generator.random(400) + 0.03, generator.random(400)
    p_value = paired_test(ours, theirs)
    assert p_value == paired_test(ours, theirs) == pytest.approx(paired_test(theirs, ours), abs=0.02)
    assert p_value == pytest.approx(stats.ttest_rel(ours, theirs).pvalue, abs=0.02)
    assert paired_test(theirs, theirs) == 1.0


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_only_raises_keeps_the_order_and_is_bonferroni_for_the_least(p_values: list[float]) -> None:
    raised = holm(p_values)
    assert len(raised) == len(p_values)
    assert all(before <= after <= 1 for before, after in zip(p_values, raised, strict=True))
    assert all(
        raised[one] <= raised[other]
        for one, other in itertools.permutations(range(len(p_values)), 2)
        if p_values[one] < p_values[other]
    )
    if p_values:
        assert min(raised) == min(1.0, len(p_values) * min(p_values))


def test_holm_rejects_what_the_step_down_procedure_rejects() -> None:
    # The procedure as Holm states it: from the smallest on, reject while p <= alpha / (tests left).
    generator = np.random.default_rng(1)
    for _ in range(50):
        p_values = (generator.random(6) ** 3).tolist()
        rejected, order = set(), sorted(range(6), key=p_values.__getitem__)
        for left, number in zip(range(6, 0, -1), order, strict=True):
            if p_values[number] > 0.05 / left:
                break
            rejected.add(number)
        assert {number for number, raised in enumerate(holm(p_values)) if raised <= 0.05} == rejected
