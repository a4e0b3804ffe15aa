"""Reranking by a model that reads query and passage together, under a budget.

By default a score is mixed half and half with that of the order given, both brought to the range from 0 to 1:
a good cross-encoder gains most of what it can, and a middling one does no harm. Measured on five sets of
FinQA and FinanceBench questions at the depth 40, with a learned ranker, and labels with noise of two
strengths, in place of a cross-encoder: 0.5 was the largest weight (of 0.25, 0.5, 0.6, 0.7, 0.8, 0.9 and 1) at
which no set lost evidence by any of them, while noise with the weight 1 took up to 0.41 of the evidence in
the best five. Give a weight nearer 1 to a model that is known to be good, and one of 0.1 to 0.3 to one that
ranks clearly worse than what is given: with the cosine of MiniLM in place of a cross-encoder the weight 0.5
gained 0.01 on one set and lost 0.02 on another, the weight 0.2 gained 0.02 and lost 0.002.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hybridrank.budget import Ledger, check_ledger
from hybridrank.errors import BudgetExhausted, InputError
from hybridrank.fusion import convex_combination
from hybridrank.planner import OnlinePlan, Planner, allocate
from hybridrank.protocols import check_depth
from hybridrank.records import Hit, Ranking, Reason, Usage

__all__ = ["CrossEncoderReranker", "Scored", "Scorer", "mix"]

_PLANS = 32  # times that a plan for many queries is made anew on the way


class Scored(Protocol):
    """Scores of documents, one each, higher is better; and what they have cost."""

    @property
    def scores(self) -> NDArray[np.float32]:
        """In the order of the documents; finite."""
        ...

    @property
    def usage(self) -> Usage:
        """What the call has cost."""
        ...


class Scorer(Protocol):
    """Scores documents for a query; :class:`hybridrank.jina.JinaClient` is one."""

    def rerank(
        self,
        query: str,
        documents: Sequence[str],
        *,
        ledger: Ledger | None = None,
        deadline: float | None = None,
    ) -> Scored:
        """The scores of documents, none of which is blank.

        What is sent is reserved in ``ledger`` first; ``deadline`` is the seconds that the call may take.
        """
        ...


class CrossEncoderReranker:
    """Orders the best hits by a scorer; a :class:`~hybridrank.protocols.Reranker` that never fails.

    The best ``depth`` hits are scored, or as many as ``planner`` gives to the query. In place of the score
    given a hit gets ``weight`` times its cross-encoder score plus ``1 - weight`` times the score given, both
    brought to the range from 0 to 1 over the hits scored; ties go to the place in the corpus. A hit without
    text keeps the score given, at that range; so do the last ones when the budget has no tokens for all. The
    hits beyond keep their order behind.

    What is sent is paid from ``ledger``, by default that of the scorer. Without ``expected`` a planner plans
    each query as if it were the last; with it, as one of that number, of which one comes after the other.
    When the budget runs out, or the scorer fails in whatever way, the ranking comes back as it was given,
    with ``degraded`` and the ``usage`` so far. ``name`` is what its list is called in the reasons of a hit,
    which hold the raw scores. Threads may share it if they may share the scorer, but not one with
    ``expected``.

    Raises :class:`~hybridrank.errors.InputError` for a depth below 1, a weight beyond 0 to 1, and a ledger
    that is none.

    >>> class Longest:
    ...     def rerank(self, query, documents, *, ledger=None, deadline=None):
    ...         class Answer: scores, usage = [len(text) for text in documents], Usage()
    ...         return Answer
    >>> from hybridrank.pipeline import rank
    >>> found = rank("boats", ["A boat.", "A boat and its paint."])
    >>> print(CrossEncoderReranker(Longest(), weight=0.8).rerank(found).explain())
    2 hits for 'boats'
    1. 1  score 0.8
       bm25: rank 2, score 0.06... = boat 0.06...
       cross_encoder: rank 1, score 21
       A boat and its paint.
    2. 0  score 0.2
       bm25: rank 1, score 0.08... = boat 0.08...
       cross_encoder: rank 2, score 7
       A boat.
    """

    def __init__(
        self,
        scorer: Scorer,
        *,
        depth: int = 40,
        weight: float = 0.5,
        ledger: Ledger | None = None,
        planner: Planner | None = None,
        expected: int | None = None,
        name: str = "cross_encoder",
    ) -> None:
        if not 0 <= weight <= 1:
            raise InputError(
                f"the weight of a cross-encoder is {weight}", remedy="Give a number from 0 to 1."
            )
        self.scorer = scorer
        self.depth = check_depth(depth)
        self.weight = weight
        self.ledger = check_ledger(ledger) or check_ledger(getattr(scorer, "ledger", None)) or Ledger()
        self.planner = planner
        self.name = name
        self._plan: OnlinePlan | None = None
        if planner is not None and expected is not None:
            self._plan = planner.online(expected)

    def rerank(self, ranking: Ranking) -> Ranking:
        """The same hits, by mixed score descending and then by place in the corpus."""
        queries_left = 1
        if self.planner is None:
            depth = self.depth
        elif self._plan is None:
            (depth,) = self.planner.plan([ranking], self.ledger.remaining, pace=self._pace())
        else:
            queries_left = max(1, self._plan.queries_left)
            depth = self._plan.depth(ranking, self.ledger.remaining, pace=self._pace())
        return self._rerank(ranking, depth, queries_left)

    def rerank_many(self, rankings: Sequence[Ranking]) -> list[Ranking]:
        """The same of each, in order, where a planner weighs all of them against each other."""
        done: list[Ranking] = []
        depths = [self.depth] * len(rankings)
        planner = self.planner
        prospects = [] if planner is None else [planner.prospect(ranking) for ranking in rankings]
        every = max(1, len(rankings) // _PLANS)
        for place, ranking in enumerate(rankings):
            if planner is not None and place % every == 0:  # with what those before have really taken
                depths[place:] = allocate(
                    prospects[place:],
                    self.ledger.remaining,
                    per_request=planner.per_request,
                    pace=self._pace(),
                )
            done.append(self._rerank(ranking, depths[place], len(rankings) - place))
        return done

    def _rerank(self, ranking: Ranking, depth: int, queries_left: int) -> Ranking:
        if depth == 0:
            return self._passed_over(ranking)
        worded = [
            place
            for place, hit in enumerate(ranking.hits[:depth])
            if hit.passage is not None and hit.passage.text.strip()
        ]
        if len(worded) < 2 or not ranking.query.strip():
            return ranking  # there is no order to change, or no question to change it by
        # A part of the ledger of its own tells what was spent even when the scorer fails.
        spent = self.ledger.within()
        try:
            scores, usage = self._score(ranking, worded, spent, queries_left)
            hits = self._mixed(ranking.hits[:depth], dict(zip(worded[: len(scores)], scores, strict=True)))
        except Exception as error:  # whatever a service, or a stand-in for it, may come up with
            reason = f"{self.name} left out: {str(error) or type(error).__name__}"
            return _degraded(replace(ranking, usage=ranking.usage + spent.usage), reason)
        lowest = min(hit.score for hit in hits)
        behind = (
            replace(hit, rank=depth + place, score=lowest - place)
            for place, hit in enumerate(ranking.hits[depth:], start=1)
        )
        reranked = replace(ranking, hits=(*hits, *behind), usage=ranking.usage + usage)
        if len(scores) == len(worded):
            return reranked
        short = f"{self.name} cut short after {len(scores)} of {len(worded)} hits, for want of tokens"
        return _degraded(reranked, short)

    def _score(
        self, ranking: Ranking, worded: Sequence[int], ledger: Ledger, queries_left: int
    ) -> tuple[list[float], Usage]:
        """The scores of the first of the hits ``worded``: of all that the budget has tokens for."""
        texts = [hit.passage.text for hit in (ranking.hits[place] for place in worded) if hit.passage]
        deadline = ledger.share(queries_left).seconds
        try:
            found = self.scorer.rerank(ranking.query, texts, ledger=ledger, deadline=deadline)
        except BudgetExhausted as error:
            fewer = int(len(texts) * error.left / error.asked) if error.limit == "tokens" else 0
            if fewer < 2:
                raise
            texts = texts[:fewer]
            found = self.scorer.rerank(ranking.query, texts, ledger=ledger, deadline=deadline)
        scores = [float(score) for score in found.scores]
        if len(scores) != len(texts) or not all(map(math.isfinite, scores)):
            raise InputError(
                f"the scorer gave {len(scores)} scores for {len(texts)} documents, or one that is not finite",
                remedy="One finite number a document is what a scorer must give.",
            )
        return scores, found.usage

    def _mixed(self, hits: Sequence[Hit], scores: dict[int, float]) -> list[Hit]:
        """The hits in their new order; ``scores`` go by place among them."""
        ranked = sorted(scores, key=lambda place: (-scores[place], hits[place].position))
        reasons = {
            place: Reason(source=self.name, rank=rank, score=scores[place])
            for rank, place in enumerate(ranked, start=1)
        }
        mixed = mix([hit.score for hit in hits], scores, self.weight)
        order = sorted(range(len(hits)), key=lambda place: (-mixed[place], hits[place].position, place))
        return [
            replace(
                hits[place],
                rank=rank,
                score=mixed[place],
                reasons=(
                    *(reason for reason in hits[place].reasons if reason.source != self.name),
                    *([reasons[place]] if place in reasons else []),
                ),
            )
            for rank, place in enumerate(order, start=1)
        ]

    def _passed_over(self, ranking: Ranking) -> Ranking:
        if self.planner is None or self.planner.prospect(ranking).gain == 0:
            return ranking  # its order is settled
        return _degraded(
            ranking, f"{self.name} left out: the budget goes to queries that may gain more by it"
        )

    def _pace(self) -> float:
        """The seconds that a request has taken so far, on average."""
        usage = self.ledger.usage
        return usage.seconds / usage.requests if usage.requests else 0.0


def mix(given: Sequence[float], scores: dict[int, float], weight: float) -> list[float]:
    """The mixture of the scores given and those of a cross-encoder, which go by place and may lack some.

    Both are brought to the range from 0 to 1 first; where there is no cross-encoder score, the one given
    stays alone. Scores given that are not finite count by their rank. Raises
    :class:`~hybridrank.errors.InputError` for scores too far apart for a ``float``.

    >>> mix([9.0, 5.0, 1.0], {0: -2.0, 1: 2.0}, weight=0.75)
    [0.25, 0.875, 0.0]
    """
    if not all(map(math.isfinite, given)):
        given = [float(-place) for place in range(len(given))]
    before = dict(convex_combination([dict(enumerate(given))]))
    after = dict(convex_combination([scores]))
    return [
        (1 - weight) * before[place] + weight * after[place] if place in after else before[place]
        for place in range(len(given))
    ]


def _degraded(ranking: Ranking, reason: str) -> Ranking:
    return replace(ranking, degraded="; ".join(filter(None, [ranking.degraded, reason])))
