"""The BM25 formula, in the exact variant of Lucene, and the order of results.

Kamphuis et al., *Which BM25 do you mean?*, ECIR 2020, table 1::

    idf(t)        = ln(1 + (N - df(t) + 0.5) / (df(t) + 0.5))
    gain(tf, len) = tf / (tf + k1 * (1 - b + b * len / average length))
    impact(t, d)  = idf(t) * gain(tf(t, d), length(d))

A query's score of a document is the sum of the impacts of its terms, a term that is repeated counting as
often.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hybridrank.errors import InputError

__all__ = ["best", "check_parameters", "gain", "lucene_idf"]

_Integer = TypeVar("_Integer", bound=np.integer)
_Float = TypeVar("_Float", bound=np.floating)


def lucene_idf(document_frequency: ArrayLike, n_documents: int) -> NDArray[np.float64]:
    """Inverse document frequency, always positive.

    >>> lucene_idf([1, 10], 10).round(4).tolist()
    [1.9924, 0.0465]
    """
    df = np.asarray(document_frequency, dtype=np.float64)
    return np.log1p((n_documents - df + 0.5) / (df + 0.5))


def gain(
    frequencies: NDArray[np.integer], lengths: NDArray[np.integer], average: float, *, k1: float, b: float
) -> NDArray[np.float64]:
    """What is left of a term's frequency in a document of some length, from 0 to 1.

    >>> gain(np.array([1, 9]), np.array([50, 50]), 50.0, k1=1.5, b=0.75).round(3).tolist()
    [0.4, 0.857]
    """
    damping = k1 * (1 - b + b * lengths / average)
    tf = frequencies.astype(np.float64)
    left: NDArray[np.float64] = tf / (tf + damping)
    return left


def check_parameters(k1: float, b: float) -> None:
    """Raise :class:`~hybridrank.errors.InputError` unless ``k1 >= 0`` and ``0 <= b <= 1``."""
    if not (np.isfinite(k1) and k1 >= 0 and 0 <= b <= 1):
        raise InputError(f"BM25 with k1={k1} and b={b}", remedy="Give k1 >= 0 and 0 <= b <= 1.")


def best(
    positions: NDArray[_Integer], scores: NDArray[_Float], k: int
) -> tuple[NDArray[_Integer], NDArray[_Float]]:
    """The ``k`` highest scores, fewer if there are fewer, by score descending and then position ascending.

    ``positions`` must ascend.

    >>> positions, scores = best(np.arange(4), np.array([1.0, 3.0, 1.0, 2.0]), 3)
    >>> positions.tolist(), scores.tolist()
    ([1, 3, 0], [3.0, 2.0, 1.0])
    """
    if len(scores) > k:
        least = np.partition(scores, len(scores) - k)[len(scores) - k]
        # At the cut all ties are kept, so that the stable sort below lets the first positions win.
        kept = np.flatnonzero(scores >= least)
        positions, scores = positions[kept], scores[kept]
    order = np.argsort(-scores, kind="stable")[:k]
    return positions[order], scores[order]
