"""Is a difference between two systems more than chance? Paired over the queries, both have seen the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hybridrank.errors import InputError

__all__ = ["CONFIDENCE", "RESAMPLES", "Interval", "holm", "paired_interval", "paired_test"]

RESAMPLES = 10_000
CONFIDENCE = 0.95
_AT_ONCE = 1 << 22  # numbers drawn before their means are taken: bounds the memory


class Interval(NamedTuple):
    """A mean difference and the bounds of its confidence interval."""

    difference: float
    low: float
    high: float


def paired_interval(
    ours: ArrayLike, theirs: ArrayLike, *, resamples: int = RESAMPLES, seed: int = 0
) -> Interval:
    """Mean of ``ours - theirs`` with its 95 % percentile bootstrap interval, the queries resampled in pairs.

    The same input and seed give the same bounds. Raises :class:`~hybridrank.errors.InputError` where the two
    do not pair, or where fewer than two queries leave nothing to resample. (Efron and Tibshirani, *An
    Introduction to the Bootstrap*, 1993, chapter 13.)

    >>> paired_interval([1.0, 1.0, 0.5], [0.5, 0.5, 0.0])
    Interval(difference=0.5, low=0.5, high=0.5)
    """
    differences = _differences(ours, theirs)
    random = np.random.default_rng(seed)
    rows = max(1, _AT_ONCE // len(differences))
    # Drawing in parts gives the same numbers as drawing all at once.
    means = [
        differences[random.integers(0, len(differences), size=(some, len(differences)))].mean(axis=1)
        for some in (min(rows, resamples - done) for done in range(0, resamples, rows))
    ]
    # Percentile, not BCa: that one is undefined where all differences are equal, as on an easy set.
    tail = round(50 * (1 - CONFIDENCE), 6)
    low, high = np.percentile(np.concatenate(means), (tail, 100 - tail))
    return Interval(float(differences.mean()), float(low), float(high))


def paired_test(ours: ArrayLike, theirs: ArrayLike, *, resamples: int = RESAMPLES, seed: int = 0) -> float:
    """The two-sided p-value of the mean difference: how often it is as large when each query's two scores
    change places by the toss of a coin (Fisher's randomization test; Smucker, Allan and Carterette, *A
    Comparison of Statistical Significance Tests for Information Retrieval Evaluation*, CIKM 2007).

    Exact when there are at most ``resamples`` ways to toss, else ``resamples`` are drawn. Raises
    :class:`~hybridrank.errors.InputError` as :func:`paired_interval` does.

    >>> paired_test([0.5, 0.7, 0.9, 0.4], [0.4, 0.5, 0.6, 0.0])  # 2 of the 16 ways are as extreme
    0.125
    """
    from scipy import stats

    differences = _differences(ours, theirs)
    found = stats.permutation_test(
        (differences,),
        np.mean,
        permutation_type="samples",
        vectorized=True,
        n_resamples=resamples,
        batch=max(1, _AT_ONCE // len(differences)),
        rng=np.random.default_rng(seed),
    )
    return float(found.pvalue)


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values of several tests, raised so that the chance of any false alarm among them stays bounded.

    The smallest of ``m`` is multiplied by ``m``, the next by ``m - 1``, and so on, none falling below the one
    before it, and none above 1. (Holm, *A Simple Sequentially Rejective Multiple Test Procedure*, 1979.)

    >>> holm([0.01, 0.5, 0.02])
    [0.03, 0.5, 0.04]
    """
    order = np.argsort(p_values, kind="stable")
    steps = np.arange(len(order), 0, -1)
    raised = np.empty(len(order))
    raised[order] = np.minimum(1.0, np.maximum.accumulate(np.asarray(p_values, dtype=float)[order] * steps))
    values: list[float] = raised.tolist()
    return values


def _differences(ours: ArrayLike, theirs: ArrayLike) -> NDArray[np.float64]:
    first, second = np.asarray(ours, dtype=np.float64), np.asarray(theirs, dtype=np.float64)
    if first.shape != second.shape or first.size < 2:
        raise InputError(
            f"a paired comparison needs two or more pairs, found {first.size} and {second.size} scores",
            remedy="Give both systems' scores of the same queries.",
        )
    return first - second
