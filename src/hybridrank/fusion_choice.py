"""Choose how to fuse lists by judged queries, so that a further list does not hurt.

Candidates are each list by itself, convex combinations, and reciprocal-rank fusions with small and usual
``k``, with weights in steps. The choice is cross-validated: on each part of the queries the candidate is
measured that is best on the others. Unless that gains over the best list by itself, that list is chosen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

from hybridrank.errors import InputError
from hybridrank.fusion import ConvexCombination, Fusion, ReciprocalRankFusion
from hybridrank.records import Ranking

__all__ = ["FusionChoice", "choose_fusion", "ndcg"]

Measure = Callable[[Sequence[str], Mapping[str, int]], float]
"""Takes the ids of a ranking, best first, and the grades of judged passages; more is better."""

_STEPS_OF_TWO, _STEPS_OF_MORE = 10, 4  # in which the weights of two lists, and of more, are tried
_RRF_K = (10.0, 60.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class FusionChoice:
    """A fusion, and why it was chosen.

    ``quality`` is the cross-validated quality of fusing, ``lists`` the quality of each list by itself, all
    means over the queries. ``gains`` says whether fusing was better than the best list; if not, ``fusion``
    gives all weight to that.

    >>> lists = {"bm25": 0.69, "dense": 0.5}
    >>> FusionChoice(fusion=ReciprocalRankFusion(k=10), quality=0.71, lists=lists, gains=True).fusion
    ReciprocalRankFusion(k=10, weights={})
    """

    fusion: Fusion
    quality: float
    lists: Mapping[str, float]
    gains: bool


def choose_fusion(
    rankings: Mapping[str, Mapping[str, Ranking]],
    judgments: Mapping[str, Mapping[str, int]],
    *,
    groups: Mapping[str, Hashable] | None = None,
    folds: int = 5,
    lowest: Mapping[str, float] | None = None,
    measure: Measure | None = None,
) -> FusionChoice:
    """The fusion that is best on judged queries.

    ``rankings`` holds by query id what each retriever found, by its name, and ``judgments`` the grades of
    passages by their ids. Queries of a group (a company, a document) are kept in one fold; by default each is
    a group of its own. ``lowest`` is that of :class:`~hybridrank.fusion.ConvexCombination`; ``measure`` is
    :func:`ndcg` by default.

    Raises :class:`~hybridrank.errors.InputError` when no query is judged, when queries were searched by
    different retrievers or by less than two, and for less than two folds or groups.

    >>> from hybridrank.records import Hit
    >>> def found(*ids):
    ...     hits = (Hit(passage_id=id, position=ord(id), rank=n, score=1 / n) for n, id in enumerate(ids, 1))
    ...     return Ranking(query="q", hits=tuple(hits))
    >>> lists = {"bm25": found("a", "b"), "dense": found("c", "b")}
    >>> choice = choose_fusion({"q1": lists, "q2": lists}, {"q1": {"b": 1}, "q2": {"b": 2}}, folds=2)
    >>> round(choice.lists["bm25"], 3), choice.quality, choice.gains
    (0.631, 1.0, True)
    """
    judged = sorted(query for query in rankings if any(judgments.get(query, {}).values()))
    names = _names(rankings, judged)
    fold_of = _folds(judged, groups, folds)
    quality_of = measure or ndcg
    candidates = list(_candidates(names, lowest or {}))
    table = [
        [
            quality_of([hit.passage_id for hit in fusion(rankings[query])], judgments[query])
            for query in judged
        ]
        for fusion in candidates
    ]
    held_out: list[float] = []
    for fold in range(folds):
        others = [place for place in range(len(judged)) if fold_of[place] != fold]
        best = _best(table, others)
        held_out.extend(table[best][place] for place in range(len(judged)) if fold_of[place] == fold)
    quality = math.fsum(held_out) / len(judged)
    means = [math.fsum(row) / len(judged) for row in table]
    singles = means[: len(names)]  # the first candidates are the lists by themselves
    gains = quality > max(singles)
    chosen = _best(table, range(len(judged))) if gains else singles.index(max(singles))
    return FusionChoice(
        fusion=candidates[chosen],
        quality=quality,
        lists=dict(zip(names, singles, strict=True)),
        gains=gains,
    )


def ndcg(ids: Sequence[str], grades: Mapping[str, int], *, cutoff: int = 10) -> float:
    """Normalized discounted cumulative gain of the best ``cutoff`` ids, from 0 to 1; grades are the gains.

    Järvelin and Kekäläinen, *Cumulated Gain-Based Evaluation of IR Techniques*, TOIS 20(4), 2002.

    >>> round(ndcg(["x", "a"], {"a": 1}), 4)
    0.6309
    """
    best = sorted((grade for grade in grades.values() if grade > 0), reverse=True)
    ideal = _gain(best[:cutoff])
    return _gain([grades.get(id, 0) for id in ids[:cutoff]]) / ideal if ideal else 0.0


def _gain(grades: Sequence[int]) -> float:
    return math.fsum(max(grade, 0) / math.log2(rank + 1) for rank, grade in enumerate(grades, start=1))


def _names(rankings: Mapping[str, Mapping[str, Ranking]], judged: Sequence[str]) -> list[str]:
    if not judged:
        raise InputError("no query has a judged passage", remedy="Give grades above 0 by query and passage.")
    names = sorted(rankings[judged[0]])
    strange = [query for query in judged if sorted(rankings[query]) != names]
    if strange or len(names) < 2:
        raise InputError(
            f"query {(strange or judged)[0]!r} was searched by {sorted(rankings[(strange or judged)[0]])}",
            remedy="Search every query with the same two retrievers or more.",
        )
    return names


def _folds(judged: Sequence[str], groups: Mapping[str, Hashable] | None, folds: int) -> list[int]:
    """The fold of each query; the groups are dealt out in the order of their first queries."""
    homeless = [query for query in judged if groups is not None and query not in groups]
    if homeless:
        raise InputError(f"query {homeless[0]!r} has no group", remedy="Give one for each judged query.")
    of_query = [query if groups is None else groups[query] for query in judged]
    number = {group: place for place, group in enumerate(dict.fromkeys(of_query))}
    if type(folds) is not int or folds < 2 or len(number) < 2:
        raise InputError(
            f"{folds} folds of {len(number)} groups of queries", remedy="Give two folds and groups, or more."
        )
    return [number[group] % folds for group in of_query]


def _candidates(names: Sequence[str], lowest: Mapping[str, float]) -> Iterator[Fusion]:
    for chosen in names:
        yield ConvexCombination(weights={name: float(name == chosen) for name in names}, lowest=lowest)
    for shares in _shares(len(names), _STEPS_OF_TWO if len(names) == 2 else _STEPS_OF_MORE):
        if max(shares) < 1:
            weights = dict(zip(names, shares, strict=True))
            yield ConvexCombination(weights=weights, lowest=lowest)
            for k in _RRF_K:
                yield ReciprocalRankFusion(k=k, weights=weights)


def _shares(n: int, steps: int) -> Iterator[tuple[float, ...]]:
    """Every way to share 1 among ``n`` in steps of ``1 / steps``.

    >>> list(_shares(2, 2))
    [(0.0, 1.0), (0.5, 0.5), (1.0, 0.0)]
    """
    for bars in combinations(range(steps + n - 1), n - 1):
        yield tuple((b - a - 1) / steps for a, b in pairwise((-1, *bars, steps + n - 1)))


def _best(table: Sequence[Sequence[float]], places: Sequence[int]) -> int:
    """The first of the candidates that are best on some of the queries."""
    sums = [math.fsum(row[place] for place in places) for row in table]
    return sums.index(max(sums))
