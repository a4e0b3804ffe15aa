"""Searches of a Milvus collection in our order: by score, then by place in the corpus.

Milvus returns the best so many rows, ties in an order of its own, and knows no function of ours as a
condition. So a few more rows are asked for than are wanted, and many more where the last of them ties with
what is wanted, or where a condition leaves too few.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from more_itertools import chunked
from numpy.typing import NDArray

from hybridrank.engines.milvus_collection import Collection
from hybridrank.engines.milvus_rows import FIELDS, MOST_HITS, Row, in_list, passage_of
from hybridrank.errors import InputError
from hybridrank.records import Passage

__all__ = ["Found", "Judged", "Where", "search"]

_MARGIN = 16  # rows asked for beyond those wanted
_DEEPER = 4  # so many times more are asked for where these do not settle the matter
_TIES = 256  # rows looked at beyond those wanted, at most, to settle ties
_CLOSE = 1e-6  # relative difference up to which scores of single precision may be the same
_QUERIES_AT_ONCE = 64
_ROWS_AT_ONCE = 20_000
_IN_FILTER = 10_000  # positions that a filter may list

Where = Callable[[Passage], bool] | NDArray[np.bool_] | str
# What the rows that a query has found are worth, and their distances, given the query's number; ``None`` for
# rows that do not belong.
Judge = Callable[[int, Sequence[Row], Sequence[float]], "list[Judged | None]"]


class Judged(NamedTuple):
    """What a row is found to be worth: its score, and what each matched term gave to it."""

    score: float
    terms: dict[str, float]


class Found(NamedTuple):
    """A passage that was found, with its place in the corpus."""

    passage: Passage
    position: int
    score: float
    terms: dict[str, float]


class _Condition(NamedTuple):
    """What may be found: a filter of Milvus's, and what is asked of each row besides."""

    filter: str = ""
    allows: Callable[[Passage, int], bool] | None = None


@dataclass
class _Pending:
    """A query that is not settled."""

    number: int
    vector: Any
    found: list[Found] = field(default_factory=list)
    cut: bool = False


def search(
    collection: Collection,
    vector_field: str,
    vectors: Sequence[Any],
    k: int,
    where: Where | None,
    judge: Judge,
) -> list[tuple[list[Found], bool]]:
    """The best ``k`` passages for each vector, and whether Milvus's limit cut the search short.

    Raises :class:`~hybridrank.errors.InputError` for a condition that is an array of another shape than one
    for each position.
    """
    condition = _condition(where, collection)
    queries = [_Pending(number, vector) for number, vector in enumerate(vectors)]
    pending = queries
    depth = min(k * (1 if condition.allows is None else _DEEPER) + _MARGIN, MOST_HITS)
    while pending:
        left = []
        for some in chunked(pending, max(1, min(_QUERIES_AT_ONCE, _ROWS_AT_ONCE // depth))):
            answers = collection.server.call(
                "search",
                collection_name=collection.name,
                anns_field=vector_field,
                data=[query.vector for query in some],
                limit=depth,
                filter=condition.filter,
                output_fields=list(FIELDS),
            )
            for query, answer in zip(some, answers, strict=True):
                if not _settle(query, answer, k, depth, condition, judge):
                    left.append(query)
        pending, depth = left, min(depth * _DEEPER, MOST_HITS)
    return [(query.found[:k], query.cut) for query in queries]


def _settle(query: _Pending, answer: Any, k: int, depth: int, condition: _Condition, judge: Judge) -> bool:
    """Take what a search brought back; returns whether more rows would change nothing."""
    rows = [hit["entity"] for hit in answer]
    distances = [float(hit["distance"]) for hit in answer]
    found: list[tuple[float, Found]] = []
    for row, distance, judged in zip(rows, distances, judge(query.number, rows, distances), strict=True):
        if judged is None:
            continue
        passage, position = passage_of(row), int(row["position"])
        if condition.allows is None or condition.allows(passage, position):
            found.append((distance, Found(passage, position, judged.score, judged.terms)))
    found.sort(key=lambda pair: (-pair[1].score, pair[1].position, pair[1].passage.id))
    query.found = [one for _, one in found]
    if len(rows) < depth:
        return True
    query.cut = depth >= MOST_HITS and len(found) < k
    if depth >= MOST_HITS:
        return True
    if len(found) < k:
        return False
    least, last = min(distance for distance, _ in found[:k]), distances[-1]
    return least - last > _CLOSE * abs(least) or depth >= k + _TIES


def _condition(where: Where | None, collection: Collection) -> _Condition:
    if where is None:
        return _Condition()
    if isinstance(where, str):
        return _Condition(filter=where)
    if not isinstance(where, np.ndarray):
        return _Condition(allows=lambda passage, _: where(passage))
    size = collection.n_positions()
    if where.dtype != np.bool_ or where.shape != (size,):
        raise InputError(
            f"where is an array of {where.dtype} of shape {where.shape}, and there are {size} positions",
            remedy="Give one bool for each position, as mask() does.",
        )
    allowed = np.flatnonzero(where).tolist()
    if len(allowed) <= _IN_FILTER:
        return _Condition(filter=in_list("position", allowed))
    return _Condition(allows=lambda _, position: bool(where[position]))
