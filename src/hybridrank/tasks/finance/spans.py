"""The choice of at most five spans out of many windows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hybridrank.errors import InputError
from hybridrank.records import Span
from hybridrank.tasks.finance.layout import LONGEST

__all__ = ["MOST_SPANS", "check_span", "choose", "cover"]

MOST_SPANS = 5
_LOOKED_AT = 400  # best windows among which the choice is made
_OVERLAP = 0.5  # of the shorter one, at most
_COVERED_AMONG = 120  # best windows among which a cover is sought
_TEMPERATURE = 2.0  # score difference at which one window is e times as likely as another


def choose(
    report: NDArray[np.integer],
    start: NDArray[np.integer],
    end: NDArray[np.integer],
    score: NDArray[np.floating],
    n_spans: int = MOST_SPANS,
) -> list[int]:
    """The places of up to ``n_spans`` windows, by score, none sharing more than half with one before it.

    Ties go to the window that comes first. Windows of different reports share nothing.

    >>> choose(np.zeros(3, int), np.array([0, 10, 80]), np.array([100, 110, 180]), np.array([3.0, 2.0, 1.0]))
    [0, 2]
    """
    chosen: list[int] = []
    for place in np.argsort(-score, kind="stable")[:_LOOKED_AT].tolist():
        if len(chosen) >= n_spans:
            break
        if not any(report[place] == report[other] and _overlap(start, end, place, other) for other in chosen):
            chosen.append(place)
    return chosen


def cover(
    report: NDArray[np.integer],
    start: NDArray[np.integer],
    end: NDArray[np.integer],
    score: NDArray[np.floating],
    n_spans: int = MOST_SPANS,
) -> list[int]:
    """The places of up to ``n_spans`` windows that together are expected to hold the most evidence.

    A question's facts are often two rows of one table, or a row and a sentence further on, so the best
    windows are not the best choice: they repeat one another. The choice is greedy, as for a weighted set
    cover (Nemhauser et al., 1978). A window's chance falls off exponentially with its score; the starts and
    ends of windows cut a report into cells, and what a cell is expected to hold is the squared mean chance of
    the windows around it, times the root of its length. A window's worth is its chance times the share of its
    expected evidence that no chosen window holds yet.

    Scores are those of a learned ranker, whose differences are log odds. Ties go to the window that comes
    first.

    >>> report, start, end = np.zeros(3, int), np.array([0, 10, 80]), np.array([100, 110, 180])
    >>> cover(report, start, end, np.array([2.0, 1.9, 1.0]), n_spans=2)
    [0, 2]
    """
    best = np.argsort(-score, kind="stable")[:_COVERED_AMONG]
    chance = np.exp((score[best] - score[best[:1]]) / _TEMPERATURE)
    holds, expected = _cells(report[best], start[best], end[best], chance)
    # A score far behind the best leaves no chance that can be told from none, and so nothing to hold.
    whole = np.maximum(holds @ expected, np.finfo(np.float64).tiny)
    left = expected.copy()
    chosen: list[int] = []
    for _ in range(min(n_spans, len(best))):
        worth = chance * (holds @ left) / whole
        worth[chosen] = 0
        place = int(np.argmax(worth))
        if worth[place] <= 0:
            break
        chosen.append(place)
        left[holds[place]] = 0
    return [int(best[place]) for place in chosen]


def _cells(
    report: NDArray[np.integer],
    start: NDArray[np.integer],
    end: NDArray[np.integer],
    chance: NDArray[np.floating],
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Which window holds which cell, of shape ``(windows, cells)``, and what each is expected to hold."""
    held: list[NDArray[np.bool_]] = [np.zeros((0, len(report)), dtype=bool)]
    expected: list[NDArray[np.float64]] = [np.zeros(0)]
    for one in np.unique(report):
        its = report == one
        cuts = np.unique(np.concatenate((start[its], end[its])))
        around = its & (start <= cuts[:-1, None]) & (end >= cuts[1:, None])
        n_around = around.sum(axis=1)
        mean = (around @ chance) / np.maximum(n_around, 1)
        held.append(around[n_around > 0])
        expected.append((mean**2 * np.sqrt(np.diff(cuts)))[n_around > 0])
    return np.concatenate(held).T, np.concatenate(expected)


def _overlap(start: NDArray[np.integer], end: NDArray[np.integer], one: int, other: int) -> bool:
    shared = min(end[one], end[other]) - max(start[one], start[other])
    shorter = min(end[one] - start[one], end[other] - start[other])
    return bool(shared > _OVERLAP * shorter)


def check_span(span: Span, text: str) -> None:
    """Raise :class:`~hybridrank.errors.InputError` unless a span lies in its text and is short enough."""
    if span.end > len(text) or span.end - span.start > LONGEST:
        raise InputError(
            f"the span [{span.start}, {span.end}) of {span.document_id!r} is longer than {LONGEST} "
            f"characters or lies outside a text of {len(text)}",
            remedy="Build the index again from the reports as they are now.",
        )
