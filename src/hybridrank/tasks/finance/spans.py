"""The choice of at most five spans out of many windows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hybridrank.errors import InputError
from hybridrank.records import Span
from hybridrank.tasks.finance.layout import LONGEST

__all__ = ["MOST_SPANS", "check_span", "choose"]

MOST_SPANS = 5
_LOOKED_AT = 400  # best windows among which the choice is made
_OVERLAP = 0.5  # of the shorter one, at most


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
