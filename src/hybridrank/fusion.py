"""Make one ranking out of several.

The functions take ids and work on anything hashable; the two classes apply them to rankings. Nothing here
depends on the order in which the lists are given: sums are exactly rounded (``math.fsum``) and ties are
settled by a key.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import chain
from operator import add
from typing import Any, Protocol, TypeVar

from hybridrank.errors import InputError
from hybridrank.records import Hit, Ranking, Usage

__all__ = [
    "ConvexCombination",
    "Fusion",
    "ReciprocalRankFusion",
    "convex_combination",
    "reciprocal_rank_fusion",
]

Id = TypeVar("Id", bound=Hashable)


def reciprocal_rank_fusion(
    lists: Sequence[Sequence[Id]],
    *,
    k: float = 60,
    weights: Sequence[float] | None = None,
    position: Callable[[Id], Any] | None = None,
) -> list[tuple[Id, float]]:
    """Fuse lists of ids, each best first, by the ranks in them.

    An id scores the sum over lists of ``weight / (k + rank)``, ranks counting from 1; in a list that repeats
    it, its best rank counts. ``weights`` are 1 by default; a list of weight 0 is left out. Ties go to the
    smaller ``position(id)``, by default the smaller id.

    Returns ``(id, score)``, best first. Raises :class:`~hybridrank.errors.InputError` for ``k < 0`` and for
    weights that are not one finite number of 0 or more for each list, with a finite sum.

    Cormack, Clarke and Büttcher, *Reciprocal Rank Fusion outperforms Condorcet and individual Rank Learning
    Methods*, SIGIR 2009.

    >>> [(id, round(score, 4)) for id, score in reciprocal_rank_fusion([["a", "b"], ["b", "c"], []])]
    [('b', 0.0325), ('a', 0.0164), ('c', 0.0161)]
    """
    if not (math.isfinite(k) and k >= 0):
        raise InputError(f"reciprocal rank fusion with k={k}", remedy="Give k >= 0.")
    shares: dict[Id, list[float]] = {}
    for ids, weight in zip(lists, _check_weights(weights, len(lists)), strict=True):
        if weight > 0:
            # Repeats after the first are passed over but keep their places, so that ranks are those of the
            # list.
            ranks = {id: rank for rank, id in reversed(list(enumerate(ids, start=1)))}
            for id, rank in ranks.items():
                shares.setdefault(id, []).append(weight / (k + rank))
    return _sorted({id: math.fsum(given) for id, given in shares.items()}, position)


def convex_combination(
    lists: Sequence[Mapping[Id, float]],
    *,
    weights: Sequence[float] | None = None,
    lowest: Sequence[float | None] | None = None,
    position: Callable[[Id], Any] | None = None,
) -> list[tuple[Id, float]]:
    """Fuse lists of scores by their weighted mean, after each list is brought to the range from 0 to 1.

    In a list the best score becomes 1 and the lowest 0, as does what the list lacks; ``lowest`` may give for
    a list the lowest score that is possible at all (0 for BM25, -1 for a cosine), which then becomes 0 in
    place of the lowest score found. In a list whose scores are all alike each becomes 1. ``weights`` are
    equal by default and need not sum to 1; a list of weight 0 is left out. Ties go to the smaller
    ``position(id)``, by default the smaller id.

    Returns ``(id, score)``, best first. Raises :class:`~hybridrank.errors.InputError` for a score that is not
    finite or lies below the lowest possible, for a lowest possible score that is not finite, for scores too
    far apart for a ``float``, and for weights that are not one finite number of 0 or more for each list, with
    a finite sum.

    Bruch, Gai and Ingber, *An Analysis of Fusion Functions for Hybrid Retrieval*, TOIS 42(1), 2023.

    >>> convex_combination([{"a": 9.0, "b": 1.0}, {"b": 0.5, "c": 0.0}], weights=[1, 3])
    [('b', 0.75), ('a', 0.25), ('c', 0.0)]
    """
    if lowest is not None and len(lowest) != len(lists):
        raise InputError(
            f"{len(lowest)} lowest scores for {len(lists)} lists", remedy="Give one for each list."
        )
    for number, low in enumerate(lowest or ()):
        if low is not None and not math.isfinite(low):
            raise InputError(
                f"the lowest possible score of list {number} (counted from 0) is {low}",
                remedy="Give a finite number, or None.",
            )
    given_weights = _check_weights(weights, len(lists))
    shares: dict[Id, list[float]] = {}
    for number, (scores, weight) in enumerate(zip(lists, given_weights, strict=True)):
        if weight > 0:
            for id, score in _to_unit(scores, None if lowest is None else lowest[number]).items():
                shares.setdefault(id, []).append(weight * score)
    total = math.fsum(given_weights)
    return _sorted({id: math.fsum(given) / total for id, given in shares.items()}, position)


class Fusion(Protocol):
    """Makes one ranking out of the rankings of one query, which come by retriever name, in any order.

    >>> def only_words(rankings):  # one of your own, for Pipeline(fusion=only_words)
    ...     return rankings["bm25"]
    >>> only_words({"dense": Ranking(query="boats"), "bm25": Ranking(query="boats")})
    Ranking(query='boats', ...)
    """

    def __call__(self, rankings: Mapping[str, Ranking]) -> Ranking:
        """The fused ranking: every passage of a list whose weight is above 0, each once."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class ReciprocalRankFusion:
    """:func:`reciprocal_rank_fusion` of rankings; ``weights`` go by retriever (``"bm25"``), 1 by default.

    >>> from hybridrank import rank
    >>> texts = ["A boat.", "Paint for the boat.", "Paint."]
    >>> lists = {"bm25": rank("paint a boat", texts), "titles": rank("boat", texts)}
    >>> fused = ReciprocalRankFusion(weights={"titles": 0.1})(lists)
    >>> [(hit.passage_id, round(hit.score, 4)) for hit in fused]
    [('1', 0.018), ('0', 0.0178), ('2', 0.0159)]
    """

    k: float = 60
    weights: Mapping[str, float] = field(default_factory=dict, hash=False)

    def __call__(self, rankings: Mapping[str, Ranking]) -> Ranking:
        """The fused ranking: every passage of a list whose weight is above 0, each once."""

        def fuse(position: Callable[[str], Any]) -> list[tuple[str, float]]:
            return reciprocal_rank_fusion(
                [[hit.passage_id for hit in ranking] for ranking in rankings.values()],
                k=self.k,
                weights=[self.weights.get(name, 1.0) for name in rankings],
                position=position,
            )

        return _fused(rankings, fuse)


@dataclass(frozen=True, kw_only=True, slots=True)
class ConvexCombination:
    """:func:`convex_combination` of rankings.

    ``weights`` and ``lowest`` go by retriever (``"bm25"``); weights are 1 by default.

    >>> from hybridrank import rank
    >>> texts = ["A boat.", "Paint for the boat.", "Paint."]
    >>> lists = {"bm25": rank("paint a boat", texts), "titles": rank("boat", texts)}
    >>> fused = ConvexCombination(weights={"titles": 0.5}, lowest={"bm25": 0.0, "titles": 0.0})(lists)
    >>> [(hit.passage_id, round(hit.score, 2)) for hit in fused]
    [('1', 0.91), ('0', 0.79), ('2', 0.46)]
    """

    weights: Mapping[str, float] = field(default_factory=dict, hash=False)
    lowest: Mapping[str, float] = field(default_factory=dict, hash=False)

    def __call__(self, rankings: Mapping[str, Ranking]) -> Ranking:
        """The fused ranking: every passage of a list whose weight is above 0, each once."""

        def fuse(position: Callable[[str], Any]) -> list[tuple[str, float]]:
            return convex_combination(
                # From last to first, so that of a repeated passage the best score stays.
                [{hit.passage_id: hit.score for hit in reversed(ranking)} for ranking in rankings.values()],
                weights=[self.weights.get(name, 1.0) for name in rankings],
                lowest=[self.lowest.get(name) for name in rankings],
                position=position,
            )

        return _fused(rankings, fuse)


def _fused(
    rankings: Mapping[str, Ranking], fuse: Callable[[Callable[[str], Any]], list[tuple[str, float]]]
) -> Ranking:
    """A ranking of what ``fuse`` returns, given the key that settles ties; a hit keeps all its reasons."""
    if not rankings:
        raise InputError("there are no rankings to fuse", remedy="Give at least one.")
    in_order = [ranking for _, ranking in sorted(rankings.items())]  # whatever the order they came in
    found: dict[str, list[Hit]] = {}
    for hit in chain.from_iterable(in_order):
        found.setdefault(hit.passage_id, []).append(hit)
    places = {id: min(hit.position for hit in same) for id, same in found.items()}
    fused = fuse(lambda id: (places[id], id))
    hits = tuple(
        _merge(found[id], position=places[id], rank=rank, score=score)
        for rank, (id, score) in enumerate(fused, start=1)
    )
    degraded = sorted({ranking.degraded for ranking in in_order if ranking.degraded is not None})
    usage = reduce(add, (ranking.usage for ranking in in_order), Usage())
    return Ranking(
        query=in_order[0].query,
        hits=hits,
        degraded="; ".join(degraded) or None,
        usage=replace(usage, seconds=math.fsum(ranking.usage.seconds for ranking in in_order)),
    )


def _merge(same: Sequence[Hit], *, position: int, rank: int, score: float) -> Hit:
    reasons = chain.from_iterable(hit.reasons for hit in same)
    return Hit(
        passage_id=same[0].passage_id,
        position=position,
        rank=rank,
        score=score,
        passage=next((hit.passage for hit in same if hit.passage is not None), None),
        reasons=tuple(sorted(reasons, key=lambda reason: (reason.source, reason.rank))),
    )


def _sorted(scores: Mapping[Id, float], position: Callable[[Id], Any] | None) -> list[tuple[Id, float]]:
    key = position or (lambda id: id)
    return sorted(scores.items(), key=lambda item: (-item[1], key(item[0])))


def _check_weights(weights: Sequence[float] | None, n_lists: int) -> Sequence[float]:
    if weights is None:
        return [1.0] * n_lists
    if len(weights) != n_lists or not all(math.isfinite(weight) and weight >= 0 for weight in weights):
        raise InputError(
            f"{list(weights)} are not weights for {n_lists} lists",
            remedy="Give one finite number of 0 or more for each list.",
        )
    try:
        math.fsum(weights)
    except OverflowError:
        raise InputError(
            f"the sum of the weights {list(weights)} is beyond a float", remedy="Give smaller weights."
        ) from None
    return weights


def _to_unit(scores: Mapping[Id, float], lowest: float | None) -> dict[Id, float]:
    if not all(map(math.isfinite, scores.values())):
        raise InputError("a score is NaN or infinite", remedy="Leave such passages out of the list.")
    low = min(scores.values(), default=0.0)
    if lowest is not None:
        if low < lowest:
            raise InputError(
                f"the score {low} lies below {lowest}, which was said to be the lowest possible",
                remedy="Correct `lowest`.",
            )
        low = lowest
    high = max(scores.values(), default=0.0)
    span = high - low
    if not math.isfinite(span):
        raise InputError(
            f"the scores from {low} to {high} are too far apart",
            remedy="Scale them down, or correct `lowest`.",
        )
    return {id: (score - low) / span if span > 0 else 1.0 for id, score in scores.items()}
