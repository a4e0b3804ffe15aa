"""What an evaluation found, as records that are never changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from hybridrank.errors import InputError

__all__ = ["Difference", "Evaluation", "Latency", "QueryDifference", "SystemResult"]


class Latency(NamedTuple):
    """The seconds that a query takes, searched alone: the median, and what one in a hundred exceeds."""

    median: float
    p99: float


class QueryDifference(NamedTuple):
    """What two systems score on one query."""

    query_id: str
    query: str
    ours: float
    theirs: float

    @property
    def difference(self) -> float:
        """``ours - theirs``."""
        return self.ours - self.theirs


@dataclass(frozen=True, kw_only=True, slots=True)
class SystemResult:
    """A system's mean of each measure, and its value for each query, in the order of the evaluation's
    ``queries``; ``latency`` where it was searched and not read; ``notes`` on what is odd about it."""

    name: str
    means: Mapping[str, float]
    by_query: Mapping[str, tuple[float, ...]]
    latency: Latency | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """How a system differs from the baseline by a measure.

    ``difference`` is the mean over the queries, with the bounds of its 95 % interval; ``p_value`` is that of
    the paired test, ``p_adjusted`` the same raised for several systems. These are ``None`` for a single
    query. ``better`` and ``worse`` count the queries.
    """

    system: str
    baseline: str
    measure: str
    difference: float
    low: float | None
    high: float | None
    p_value: float | None
    p_adjusted: float | None
    better: int
    worse: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Evaluation:
    """Systems compared on the same judged queries, whose texts are in ``queries`` by id."""

    baseline: str
    measures: tuple[str, ...]
    queries: Mapping[str, str]
    systems: tuple[SystemResult, ...]
    differences: tuple[Difference, ...]

    def system(self, name: str) -> SystemResult:
        """The result of a system; raises :class:`~hybridrank.errors.InputError` for one that is not there."""
        for one in self.systems:
            if one.name == name:
                return one
        names = ", ".join(one.name for one in self.systems)
        raise InputError(f"no system is named {name!r}", remedy=f"Name one of {names}.")

    def query_differences(self, system: str, measure: str) -> list[QueryDifference]:
        """Each query's values of a system and of the baseline, from the worst difference to the best; equal
        differences in the order of the queries.

        Raises :class:`~hybridrank.errors.InputError` for a system or a measure that is not there.
        """
        if measure not in self.measures:
            raise InputError(
                f"{measure!r} was not measured", remedy=f"Name one of {', '.join(self.measures)}."
            )
        ours, theirs = self.system(system), self.system(self.baseline)
        rows = zip(self.queries.items(), ours.by_query[measure], theirs.by_query[measure], strict=True)
        found = [QueryDifference(query_id, text, mine, other) for (query_id, text), mine, other in rows]
        return sorted(found, key=lambda one: one.difference)

    def to_json(self) -> dict[str, Any]:
        """The evaluation as JSON values, with each query's values by its id."""
        ids = list(self.queries)
        return {
            "baseline": self.baseline,
            "measures": list(self.measures),
            "queries": len(ids),
            "systems": {
                one.name: {
                    "means": dict(one.means),
                    "seconds": None if one.latency is None else one.latency._asdict(),
                    "notes": list(one.notes),
                    "by_query": {
                        measure: dict(zip(ids, values, strict=True))
                        for measure, values in one.by_query.items()
                    },
                }
                for one in self.systems
            },
            "differences": [asdict(one) for one in self.differences],
        }
