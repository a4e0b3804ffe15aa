"""The finance index as its users see it: a question in, spans out, each with its reasons."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from os import PathLike
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hybridrank.ranking_model import RankingModel
from hybridrank.records import Span
from hybridrank.tasks.finance.candidates import CandidateFinder, Candidates, Weights
from hybridrank.tasks.finance.index import IndexedReports
from hybridrank.tasks.finance.ranker import DEPTH, SHIPPED, WINDOWS, EvidenceRanker, open_model
from hybridrank.tasks.finance.spans import MOST_SPANS, check_span, choose, cover

__all__ = ["Evidence", "FinanceIndex"]

_TEXTS_KEPT = 16  # decoded reports kept in memory


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """A span that was chosen, its text, and why.

    ``score`` is what it was ranked by, of no scale that means anything across questions. ``pulls`` is what
    each feature gave to it, the strongest first; empty without a model. ``words`` and ``block`` are the parts
    of the unlearned score, ``terms`` those of the question that the span holds.
    """

    span: Span
    text: str
    rank: int
    score: float
    pulls: Mapping[str, float]
    words: float
    block: float
    report: str
    fiscal_year: int
    terms: tuple[str, ...]


class FinanceIndex:
    """Annual reports that answer questions with exact spans; made by :meth:`open` after a build.

    ``model`` is a learned ranker of windows, or ``None`` for the order that needs none. It may be shared by
    processes; within one, calls must not run at the same time.
    """

    def __init__(
        self, reports: IndexedReports, weights: Weights | None = None, model: RankingModel | None = None
    ) -> None:
        self.reports = reports
        chosen = weights or Weights()
        self.finder = CandidateFinder(reports, chosen if model is None else replace(chosen, depth=DEPTH))
        self.ranker = None if model is None else EvidenceRanker(self.finder, model)
        self.text = lru_cache(maxsize=_TEXTS_KEPT)(self._text)

    @classmethod
    def open(
        cls,
        directory: str | PathLike[str],
        *,
        model: str | PathLike[str] | None = SHIPPED,
        verify: Literal["auto", "full"] = "auto",
    ) -> FinanceIndex:
        """Open an index that :func:`hybridrank.tasks.finance.build` wrote.

        ``model`` is the directory of a model that ``hybridrank finance train`` wrote, ``"shipped"`` for the
        one that the package brings, or ``None`` to rank without. Where LightGBM cannot be loaded the shipped
        model is done without, and a :class:`~hybridrank.errors.HybridrankWarning` says so.
        :meth:`hybridrank.storage.IndexReader.open` says what is checked and raised.
        """
        return cls(IndexedReports.open(directory, verify=verify), model=open_model(model))

    def __len__(self) -> int:
        return len(self.reports.profiles)

    def spans(self, question: str, n_spans: int = MOST_SPANS) -> list[Span]:
        """At most ``n_spans`` spans of at most 512 characters that may hold the facts, best first.

        An empty list when no word of the question is known.
        """
        found, _, places = self._answer(question, n_spans)
        return [] if found is None else [self._span(found, place) for place in places]

    def evidence(self, question: str, n_spans: int = MOST_SPANS) -> list[Evidence]:
        """The same spans as :meth:`spans`, with text and reasons."""
        found, scores, places = self._answer(question, n_spans)
        if found is None:
            return []
        pulls = self.ranker.pulls(found, places) if self.ranker else [{}] * len(places)
        return [
            self._evidence(found, place, rank, scores[place], pull)
            for rank, (place, pull) in enumerate(zip(places, pulls, strict=True), start=1)
        ]

    def spans_many(self, questions: Iterable[str], n_spans: int = MOST_SPANS) -> list[list[Span]]:
        """The same as :meth:`spans` of each question, in order."""
        return [self.spans(question, n_spans) for question in questions]

    def _answer(
        self, question: str, n_spans: int
    ) -> tuple[Candidates | None, NDArray[np.float64], list[int]]:
        """The candidates, their scores, and the places of those that are chosen."""
        found = self.finder.find(question)
        if found is None:
            return None, np.zeros(0), []
        if self.ranker is None:
            return found, found.score, choose(found.report, found.start, found.end, found.score, n_spans)
        found = found.best(WINDOWS)
        scores = self.ranker.score(found)
        return found, scores, cover(found.report, found.start, found.end, scores, n_spans)

    def _span(self, found: Candidates, place: int) -> Span:
        report = int(found.report[place])
        span = Span(
            document_id=self.reports.ids[report], start=int(found.start[place]), end=int(found.end[place])
        )
        check_span(span, self.text(report))
        return span

    def _evidence(
        self, found: Candidates, place: int, rank: int, score: float, pulls: Mapping[str, float]
    ) -> Evidence:
        span = self._span(found, place)
        report = int(found.report[place])
        profile = self.reports.profiles[report]
        matched = (found.frequencies[:, place] > 0).nonzero()[0]
        return Evidence(
            span=span,
            text=self.text(report)[span.start : span.end],
            rank=rank,
            score=float(score),
            pulls=pulls,
            words=float(found.word_score[place]),
            block=float(found.block_score[place]),
            report=profile.name,
            fiscal_year=profile.fiscal_year,
            terms=tuple(self.reports.lexicon.terms[int(found.terms[row])] for row in matched),
        )

    def _text(self, report: int) -> str:
        text: str = self.reports.texts[report]
        return text
