"""What a report says of each query, before any of it is HTML: who found what where, and what changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from hybridrank.records import Hit, Ranking

__all__ = ["HitRow", "QueryRow", "Side", "SideRow", "rows_of"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Side:
    """A system: its name, and its rankings by query; a query without one found nothing."""

    name: str
    rankings: Mapping[str, Ranking]


@dataclass(frozen=True, kw_only=True, slots=True)
class HitRow:
    """A hit: its judged ``grade``, if there is one, and its rank on the other side, if it is there.

    ``compared`` says whether there is another side.
    """

    hit: Hit
    grade: int | None
    other_rank: int | None
    compared: bool

    @property
    def good(self) -> bool:
        """Whether it is judged to help."""
        return self.grade is not None and self.grade > 0

    @property
    def changed(self) -> bool:
        """Whether the other side has it elsewhere, or not at all."""
        return self.compared and self.other_rank != self.hit.rank


@dataclass(frozen=True, kw_only=True, slots=True)
class SideRow:
    """What one side found for a query, and the rank of its first good hit."""

    name: str
    ranking: Ranking
    hits: tuple[HitRow, ...]
    first_good: int | None
    missed: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class QueryRow:
    """A query: its place in the file, from 0, its text, whether anything is judged good, and its sides."""

    place: int
    query_id: str
    text: str
    judged: bool
    sides: tuple[SideRow, ...]

    @property
    def failed(self) -> bool:
        """Whether a side shows nothing good, though there is something."""
        return self.judged and any(side.first_good is None for side in self.sides)

    @property
    def changed(self) -> bool:
        """Whether the sides differ in a hit or its rank."""
        return any(row.changed for side in self.sides for row in side.hits)

    @property
    def trouble(self) -> tuple[int, int, int]:
        """By which queries are sorted: failures first, then those whose first good hit comes late, those
        without judgments last, else as in the file."""
        if not self.judged:
            return 2, 0, self.place
        if self.failed:
            return 0, -sum(side.first_good is None for side in self.sides), self.place
        return 1, -max(side.first_good or 0 for side in self.sides), self.place


def rows_of(
    sides: Sequence[Side],
    queries: Mapping[str, str],
    judgments: Mapping[str, Mapping[str, int]] | None = None,
    *,
    k: int = 10,
) -> list[QueryRow]:
    """The rows of a report, failures first. A hit is judged by its id or else by its document's.

    ``sides`` are one or two, of each the best ``k`` hits are looked at; ``judgments`` are grades by query and
    id.
    """
    graded = judgments or {}
    rows = [
        _query_row(place, query_id, text, sides, graded.get(query_id, {}), k)
        for place, (query_id, text) in enumerate(queries.items())
    ]
    return sorted(rows, key=lambda row: row.trouble)


def _query_row(
    place: int, query_id: str, text: str, sides: Sequence[Side], grades: Mapping[str, int], k: int
) -> QueryRow:
    rankings = [side.rankings.get(query_id, Ranking(query=text)).top(k) for side in sides]
    ranks = [{hit.passage_id: hit.rank for hit in ranking} for ranking in rankings]
    others: list[dict[str, int] | None] = [ranks[1], ranks[0]] if len(ranks) == 2 else [None] * len(ranks)
    return QueryRow(
        place=place,
        query_id=query_id,
        text=text,
        judged=any(grade > 0 for grade in grades.values()),
        sides=tuple(
            _side_row(side.name, ranking, other, grades)
            for side, ranking, other in zip(sides, rankings, others, strict=True)
        ),
    )


def _side_row(
    name: str, ranking: Ranking, other: Mapping[str, int] | None, grades: Mapping[str, int]
) -> SideRow:
    hits = tuple(
        HitRow(
            hit=hit,
            grade=_first(grades, _ids(hit)),
            other_rank=None if other is None else other.get(hit.passage_id),
            compared=other is not None,
        )
        for hit in ranking
    )
    seen = {one for hit in ranking for one in _ids(hit)}
    return SideRow(
        name=name,
        ranking=ranking,
        hits=hits,
        first_good=next((row.hit.rank for row in hits if row.good), None),
        missed=tuple(one for one, grade in grades.items() if grade > 0 and one not in seen),
    )


def _ids(hit: Hit) -> list[str]:
    document = None if hit.passage is None else hit.passage.document_id
    return [hit.passage_id] if document is None else [hit.passage_id, document]


def _first(grades: Mapping[str, int], ids: Iterable[str]) -> int | None:
    return next((grades[one] for one in ids if one in grades), None)
