"""The scoring rules of finance evidence: which rows are valid, and what a valid row earns.

A result row is {"query_id": str, "spans": [...]}: at most five spans of at most 512 characters, each
{"document_id", "start", "end"}. A missing, duplicate or invalid row scores zero and harms no other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from hybridrank.errors import InputError
from hybridrank.tasks.finance.layout import LONGEST
from hybridrank.tasks.finance.spans import MOST_SPANS
from hybridrank.text.json_lines import read_json_lines

__all__ = [
    "REFERENCE_QUALITY",
    "Label",
    "Place",
    "QueryScore",
    "covers",
    "evidence_recall",
    "find_problem",
    "page_hit",
    "read_labels",
    "reward",
    "score",
]

_Value = TypeVar("_Value")

REFERENCE_QUALITY = 0.6831800740440966
"""EvidenceRecall@5 of the published reference on the real held-out questions."""


class Place(NamedTuple):
    """Characters `start` to `end` (exclusive) of one report."""

    document_id: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """What answers a question: evidence units (tuples of alternative places) or, without units, pages."""

    query_id: str
    units: tuple[tuple[Place, ...], ...] = ()
    pages: tuple[Place, ...] = ()

    @property
    def documents(self) -> frozenset[str]:
        """The reports that hold the evidence."""
        return frozenset(place.document_id for places in (*self.units, self.pages) for place in places)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryScore:
    """One question's score: quality and document hit in 0 to 1, and the rule that its row broke, if any."""

    query_id: str
    quality: float
    document: float
    invalid: str | None = None


def score(
    queries: Sequence[str],
    labels: Mapping[str, Label],
    rows: Iterable[Mapping[str, Any]],
    lengths: Mapping[str, int],
) -> list[QueryScore]:
    """Score result rows, one score a query in the order of `queries`.

    `lengths` maps each document id to its length in characters. Rows of other queries are ignored.
    """
    rows = list(rows)
    count = Counter(row.get("query_id") for row in rows)
    by_query = {row.get("query_id"): row for row in rows}
    scores = []
    for query in queries:
        row = by_query.get(query)
        if row is None:
            problem: str | None = "missing"
        elif count[query] > 1:
            problem = "duplicate"
        else:
            problem = find_problem(row, lengths)
        spans = [Place(**span) for span in row["spans"]] if row is not None and problem is None else []
        label = labels[query]
        scores.append(
            QueryScore(
                query_id=query,
                quality=page_hit(label.pages, spans) if label.pages else evidence_recall(label.units, spans),
                document=float(any(span.document_id in label.documents for span in spans)),
                invalid=problem,
            )
        )
    return scores


def read_labels(path: str | PathLike[str]) -> dict[str, Label]:
    """Read evidence labels, by query id: ``{"query_id", "units": [[place, ...], ...]}`` or
    ``{"query_id", "pages": [place, ...]}`` a line, a place being ``{"document_id", "start", "end"}``.

    A unit lists the places of which any one holds it. Raises :class:`~hybridrank.errors.InputError`, with
    file and line, for a row that is not so, and for a query that has a label already.
    """
    file = Path(path)
    labels: dict[str, Label] = {}
    for number, row in read_json_lines(file, "Give a file of labels, one JSON object a line."):
        try:
            label = _label(row)
        except (KeyError, TypeError) as error:
            raise InputError(
                f"malformed label {row.get('query_id')!r} ({error!r})",
                file=file,
                line=number,
                remedy='Give "query_id" and "units" or "pages".',
            ) from error
        if not label.documents or not all(label.units):
            raise InputError(
                f"the label {label.query_id!r} has no evidence among its {', '.join(map(repr, row))}",
                file=file,
                line=number,
                remedy="Give 'units' or 'pages', or remove the question and its label.",
            )
        if label.units and label.pages:
            raise InputError(
                f"the label {label.query_id!r} has units and pages",
                file=file,
                line=number,
                remedy="Give one of them.",
            )
        if label.query_id in labels:
            raise InputError(
                f"{label.query_id!r} has a label already",
                file=file,
                line=number,
                remedy="Give each question one label.",
            )
        labels[label.query_id] = label
    return labels


def _label(row: Mapping[str, Any]) -> Label:
    return Label(
        query_id=_of_type(str, row["query_id"]),
        units=tuple(_places(unit) for unit in row.get("units", ())),
        pages=_places(row.get("pages", ())),
    )


def _places(rows: Iterable[Mapping[str, Any]]) -> tuple[Place, ...]:
    places = [
        Place(_of_type(str, row["document_id"]), _of_type(int, row["start"]), _of_type(int, row["end"]))
        for row in rows
    ]
    for place in places:
        if not 0 <= place.start < place.end:
            raise TypeError(f"the place [{place.start}, {place.end}) is empty or starts before 0")
    return tuple(places)


def _of_type(kind: type[_Value], value: _Value) -> _Value:
    # An exact type: JSON's true is no offset, though Python's bool is an int.
    if type(value) is not kind:
        raise TypeError(f"{value!r} is not of type {kind.__name__}")
    return value


def find_problem(row: Mapping[str, Any], lengths: Mapping[str, int]) -> str | None:
    """Name the first rule that a result row breaks; None for a valid one.

    >>> find_problem({"query_id": "q", "spans": [{"document_id": "d", "start": 3, "end": 3}]}, {"d": 10})
    'offsets'
    """
    if set(row) != {"query_id", "spans"}:
        return "keys"
    if not isinstance(row["spans"], list) or len(row["spans"]) > MOST_SPANS:
        return "span count"
    for span in row["spans"]:
        if not isinstance(span, dict) or set(span) != {"document_id", "start", "end"}:
            return "span keys"
        document_id, start, end = span["document_id"], span["start"], span["end"]
        if not isinstance(document_id, str) or document_id not in lengths:
            return "unknown document"
        if type(start) is not int or type(end) is not int or not 0 <= start < end <= lengths[document_id]:
            return "offsets"
        if end - start > LONGEST:
            return "span too long"
    return None


def evidence_recall(units: Sequence[Sequence[Place]], spans: Sequence[Place]) -> float:
    """Share of the units of which at least one place is covered completely.

    >>> evidence_recall([[Place("d", 0, 9)], [Place("d", 40, 50)]], [Place("d", 0, 5), Place("d", 5, 10)])
    0.5
    """
    return sum(any(covers(spans, place) for place in unit) for unit in units) / len(units)


def covers(spans: Iterable[Place], place: Place) -> bool:
    """True where the union of the spans holds every character of the place.

    >>> covers([Place("d", 4, 9), Place("d", 0, 4)], Place("d", 2, 8))
    True
    >>> covers([Place("d", 5, 9), Place("d", 0, 4)], Place("d", 2, 8))
    False
    """
    reach = place.start
    for span in sorted(spans):
        if span.document_id == place.document_id and span.start <= reach:
            reach = max(reach, span.end)
    return reach >= place.end


def page_hit(pages: Iterable[Place], spans: Sequence[Place]) -> float:
    """1.0 where some span lies on one of the pages with at least half of its length, else 0.0.

    >>> page = Place("d", 0, 100)
    >>> page_hit([page], [Place("d", 90, 110)]), page_hit([page], [Place("d", 91, 111)])
    (1.0, 0.0)
    """
    return float(any(_on_page(page, span) for page in pages for span in spans))


def _on_page(page: Place, span: Place) -> bool:
    if page.document_id != span.document_id:
        return False
    shared = min(page.end, span.end) - max(page.start, span.start)
    return 2 * shared >= span.end - span.start


def reward(quality: float, reference: float = REFERENCE_QUALITY, anchor: float = 20.0) -> float:
    """Map a quality to the published reward: the reference earns `anchor` percent, a perfect quality 1.

    Linear below the reference and, more steeply, above it. Of a proxy set it is the mapping only, never a
    result.

    >>> reward(0.0), reward(REFERENCE_QUALITY), reward(1.0)
    (0.0, 0.2, 1.0)
    """
    share = anchor / 100
    if quality <= reference:
        return share * quality / reference
    return share + (1 - share) * ((quality - reference) / (1 - reference))
