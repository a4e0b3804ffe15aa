"""The measures of ``ir-measures``, named as it names them: ``nDCG@10``, ``R@100``, ``RR@10``, ``AP``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

from hybridrank.errors import InputError, MissingExtra

__all__ = ["DEFAULT_MEASURES", "check_measures", "depth_of", "score_queries"]

DEFAULT_MEASURES = ("nDCG@10", "R@100", "RR@10", "P@5")
_DEEP = 1000  # hits looked at by a measure without a cut-off, as TREC's tracks do
_LEAST = 10


def _ir_measures() -> ModuleType:
    try:
        import ir_measures
    except ImportError:
        raise MissingExtra("ir-measures", extra="evaluate") from None
    module: ModuleType = ir_measures
    return module


def _parse(names: Sequence[str]) -> dict[str, Any]:
    library = _ir_measures()
    measures: dict[str, Any] = {}
    for name in names:
        try:
            measure = library.parse_measure(name)
            library.evaluator([measure], [])
        except (LookupError, NameError, RuntimeError, SyntaxError, TypeError, ValueError) as error:
            raise InputError(
                f"there is no measure {name!r} ({error})",
                remedy=f"Name measures as ir-measures does, such as {', '.join(DEFAULT_MEASURES)}, AP.",
            ) from None
        measures[str(measure)] = measure
    if not measures:
        raise InputError("no measure is named", remedy=f"Name one, such as {DEFAULT_MEASURES[0]}.")
    return measures


def check_measures(names: Sequence[str]) -> tuple[str, ...]:
    """The measures' full names, each once.

    Raises :class:`~hybridrank.errors.InputError` for a name that ``ir-measures`` does not know and for a
    measure that it cannot compute here, and :class:`~hybridrank.errors.MissingExtra` when it is not
    installed.

    >>> check_measures(["nDCG@10", "AP(rel=2)", "NDCG@10"])
    ('nDCG@10', 'AP(rel=2)')
    """
    return tuple(_parse(names))


def depth_of(names: Sequence[str]) -> int:
    """How many hits the measures look at: the largest cut-off, or 1,000 when one of them has none."""
    cutoffs = (measure.params.get("cutoff", _DEEP) for measure in _parse(names).values())
    return max(_LEAST, *map(int, cutoffs))


def score_queries(
    names: Sequence[str], judgments: Mapping[str, Mapping[str, int]], ranked: Mapping[str, Sequence[str]]
) -> dict[str, dict[str, float]]:
    """The value of each measure for each judged query, by measure and then by query.

    ``ranked`` holds the ids found, best first. A query without any scores what an empty ranking scores.

    >>> score_queries(["RR"], {"q1": {"a": 1}, "q2": {"b": 1}}, {"q1": ["x", "a"]})
    {'RR': {'q1': 0.5, 'q2': 0.0}}
    """
    measures = _parse(names)
    library = _ir_measures()
    # Scores that fall with the rank, for the order is settled and ties are not to be broken anew.
    run = {
        query_id: {one: -float(rank) for rank, one in enumerate(ranked.get(query_id, ()))}
        for query_id in judgments
    }
    grades = {query_id: dict(of_query) for query_id, of_query in judgments.items()}
    values: dict[str, dict[str, float]] = {name: dict.fromkeys(judgments, 0.0) for name in measures}
    for found in library.iter_calc(list(measures.values()), grades, run):
        values[str(found.measure)][found.query_id] = float(found.value)
    return values
