"""Is a difference between two systems more than chance? A paired bootstrap over the questions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats

RESAMPLES = 10_000
CONFIDENCE = 0.95


class Interval(NamedTuple):
    """A mean difference and the bounds of its confidence interval."""

    difference: float
    low: float
    high: float


def paired_interval(
    ours: Sequence[float], theirs: Sequence[float], *, resamples: int = RESAMPLES, seed: int = 0
) -> Interval:
    """Mean of `ours - theirs` with its 95 % percentile bootstrap interval, the questions resampled in pairs.

    The same input and seed give the same bounds. Raises ValueError where the two do not pair, or where fewer
    than two questions leave nothing to resample. (Efron and Tibshirani, An Introduction to the Bootstrap,
    1993, chapter 13.)

    >>> paired_interval([1.0, 1.0, 0.5], [0.5, 0.5, 0.0])
    Interval(difference=0.5, low=0.5, high=0.5)
    """
    if len(ours) != len(theirs) or len(ours) < 2:
        raise ValueError(
            f"a paired bootstrap needs two or more pairs, found {len(ours)} and {len(theirs)} scores"
        )
    differences = np.asarray(ours, dtype=np.float64) - np.asarray(theirs, dtype=np.float64)
    # Percentile, not BCa: that one is undefined where all differences are equal, as on an easy set.
    found = stats.bootstrap(
        (differences,),
        np.mean,
        n_resamples=resamples,
        confidence_level=CONFIDENCE,
        method="percentile",
        rng=np.random.default_rng(seed),
    ).confidence_interval
    return Interval(float(differences.mean()), float(found.low), float(found.high))
