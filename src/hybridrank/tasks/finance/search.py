"""The finance index as its users see it: a question in, spans out, each with its reasons."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from os import PathLike
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hybridrank.errors import IndexNotFound
from hybridrank.ranking_model import RankingModel
from hybridrank.records import Span
from hybridrank.tasks.finance.candidates import CandidateFinder, Candidates, Weights
from hybridrank.tasks.finance.index import IndexedReports
from hybridrank.tasks.finance.neural import NeuralScores, NeuralSignals
from hybridrank.tasks.finance.ranker import DEPTH, SHIPPED, WINDOWS, EvidenceRanker, open_model
from hybridrank.tasks.finance.spans import MOST_SPANS, check_span, choose, cover

__all__ = ["Evidence", "FinanceIndex", "IndexSource"]

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


@dataclass(frozen=True, kw_only=True, slots=True)
class IndexSource:
    """Where an index and its model were opened, so that other processes can open the same."""

    directory: Path
    stamp: str
    model: str | PathLike[str] | None

    def open(self) -> FinanceIndex:
        """Open the index once more, without services.

        Raises what :meth:`FinanceIndex.open` does, and
        :class:`~hybridrank.errors.IndexNotFound` when another index is there by now.
        """
        index = FinanceIndex.open(self.directory, model=self.model)
        if index.reports.stamp != self.stamp:
            raise IndexNotFound(self.directory, "another index was built here meanwhile", "Open it again.")
        return index


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Answer:
    """Candidates, their scores, the places of those that are chosen, and the features that the scores are
    of, where there is a model."""

    found: Candidates
    scores: NDArray[np.float64]
    places: list[int]
    features: NDArray[np.float32] | None = None


class FinanceIndex:
    """Annual reports that answer questions with exact spans; made by :meth:`open` after a build.

    ``model`` is a learned ranker of windows, or ``None`` for the order that needs none; ``neural`` asks
    outside services about the best windows, where there are any. It may be shared by processes; within one,
    calls must not run at the same time.
    """

    def __init__(
        self,
        reports: IndexedReports,
        weights: Weights | None = None,
        model: RankingModel | None = None,
        neural: NeuralSignals | None = None,
    ) -> None:
        self.reports = reports
        self.neural = neural
        self.source: IndexSource | None = None
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
        neural: NeuralSignals | None = None,
        verify: Literal["auto", "full"] = "auto",
    ) -> FinanceIndex:
        """Open an index that :func:`hybridrank.tasks.finance.build` wrote.

        ``model`` is the directory of a model that ``hybridrank finance train`` wrote, ``"shipped"`` for the
        one that the package brings, or ``None`` to rank without. Where LightGBM cannot be loaded the shipped
        model is done without, and a :class:`~hybridrank.errors.HybridrankWarning` says so. ``neural`` are
        services to ask about the best windows.
        :meth:`hybridrank.storage.IndexReader.open` says what is checked and raised.
        """
        opened = open_model(model)
        index = cls(IndexedReports.open(directory, verify=verify), model=opened, neural=neural)
        index.source = IndexSource(
            directory=Path(directory), stamp=index.reports.stamp, model=None if opened is None else model
        )
        return index

    def __len__(self) -> int:
        return len(self.reports.profiles)

    def spans(self, question: str, n_spans: int = MOST_SPANS) -> list[Span]:
        """At most ``n_spans`` spans of at most 512 characters that may hold the facts, best first.

        An empty list when no word of the question is known.
        """
        answer = self._answer(question, n_spans)
        return [] if answer is None else [self._span(answer.found, place) for place in answer.places]

    def evidence(self, question: str, n_spans: int = MOST_SPANS) -> list[Evidence]:
        """The same spans as :meth:`spans`, with text and reasons."""
        answer = self._answer(question, n_spans)
        if answer is None:
            return []
        found, places = answer.found, answer.places
        pulls: Sequence[Mapping[str, float]] = [{}] * len(places)
        if self.ranker is not None and answer.features is not None:
            pulls = self.ranker.pulls(answer.features, places)
        return [
            self._evidence(found, place, rank, answer.scores[place], pull)
            for rank, (place, pull) in enumerate(zip(places, pulls, strict=True), start=1)
        ]

    def spans_many(self, questions: Iterable[str], n_spans: int = MOST_SPANS) -> list[list[Span]]:
        """The same as :meth:`spans` of each question, in order."""
        return [self.spans(question, n_spans) for question in questions]

    def _answer(self, question: str, n_spans: int) -> _Answer | None:
        found = self.finder.find(question)
        if found is None:
            return None
        if self.ranker is None:
            scores = self._mixed(question, found, found.score)
            places = choose(found.report, found.start, found.end, scores, n_spans)
            return _Answer(found=found, scores=scores, places=places)
        found = found.best(WINDOWS)
        features = self.ranker.features.compute(found)
        scores = self.ranker.score(features)
        if self.neural is not None and self.ranker.has_learned_neural:
            said = self.ask(question, found, scores)
            features = self.ranker.features.with_neural(features, said)
            scores = self.ranker.score(features)
        else:
            scores = self._mixed(question, found, scores)
        places = cover(found.report, found.start, found.end, scores, n_spans)
        return _Answer(found=found, scores=scores, places=places, features=features)

    def _mixed(self, question: str, found: Candidates, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """The scores after the services, where there are any, have had their say by their weight."""
        if self.neural is None:
            return scores
        return self.neural.mixed(scores, self.ask(question, found, scores))

    def ask(self, question: str, found: Candidates, scores: NDArray[np.float64]) -> NeuralScores:
        """What the services say of the windows that score best, one entry a candidate; NaN for the others."""
        nothing = NeuralScores.nothing(len(found))
        if self.neural is None:
            return nothing
        best = self.neural.places(scores)
        return self.neural.ask(question, self.windows(found, best.tolist())).among(best, len(found))

    def windows(self, found: Candidates, places: Iterable[int]) -> list[str]:
        """The texts of some candidates."""
        return [
            self.text(int(found.report[place]))[int(found.start[place]) : int(found.end[place])]
            for place in places
        ]

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
