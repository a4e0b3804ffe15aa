"""The finance index as its users see it: a question in, spans out, each with its reasons."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from os import PathLike
from typing import Literal

from hybridrank.records import Span
from hybridrank.tasks.finance.candidates import CandidateFinder, Candidates, Weights
from hybridrank.tasks.finance.index import IndexedReports
from hybridrank.tasks.finance.spans import MOST_SPANS, check_span, choose

__all__ = ["Evidence", "FinanceIndex"]

_TEXTS_KEPT = 16  # decoded reports kept in memory


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """A span that was chosen, its text, and why: what its words, its block and its report gave."""

    span: Span
    text: str
    rank: int
    score: float
    words: float
    block: float
    report: str
    fiscal_year: int
    terms: tuple[str, ...]


class FinanceIndex:
    """Annual reports that answer questions with exact spans; made by :meth:`open` after a build.

    It may be shared by processes; within one, calls must not run at the same time.
    """

    def __init__(self, reports: IndexedReports, weights: Weights | None = None) -> None:
        self.reports = reports
        self.finder = CandidateFinder(reports, weights)
        self.text = lru_cache(maxsize=_TEXTS_KEPT)(self._text)

    @classmethod
    def open(
        cls, directory: str | PathLike[str], *, verify: Literal["auto", "full"] = "auto"
    ) -> FinanceIndex:
        """Open an index that :func:`hybridrank.tasks.finance.build` wrote.

        :meth:`hybridrank.storage.IndexReader.open` says what is checked and raised.
        """
        return cls(IndexedReports.open(directory, verify=verify))

    def __len__(self) -> int:
        return len(self.reports.profiles)

    def spans(self, question: str, n_spans: int = MOST_SPANS) -> list[Span]:
        """At most ``n_spans`` spans of at most 512 characters that may hold the facts, best first.

        An empty list when no word of the question is known.
        """
        candidates = self.finder.find(question)
        if candidates is None:
            return []
        return [self._span(candidates, place) for place in self._choose(candidates, n_spans)]

    def evidence(self, question: str, n_spans: int = MOST_SPANS) -> list[Evidence]:
        """The same spans as :meth:`spans`, with text and reasons."""
        candidates = self.finder.find(question)
        if candidates is None:
            return []
        return [
            self._evidence(candidates, place, rank)
            for rank, place in enumerate(self._choose(candidates, n_spans), start=1)
        ]

    def spans_many(self, questions: Iterable[str], n_spans: int = MOST_SPANS) -> list[list[Span]]:
        """The same as :meth:`spans` of each question, in order."""
        return [self.spans(question, n_spans) for question in questions]

    def _choose(self, found: Candidates, n_spans: int) -> list[int]:
        return choose(found.report, found.start, found.end, found.score, n_spans)

    def _span(self, found: Candidates, place: int) -> Span:
        report = int(found.report[place])
        span = Span(
            document_id=self.reports.ids[report], start=int(found.start[place]), end=int(found.end[place])
        )
        check_span(span, self.text(report))
        return span

    def _evidence(self, found: Candidates, place: int, rank: int) -> Evidence:
        span = self._span(found, place)
        report = int(found.report[place])
        profile = self.reports.profiles[report]
        matched = (found.frequencies[:, place] > 0).nonzero()[0]
        return Evidence(
            span=span,
            text=self.text(report)[span.start : span.end],
            rank=rank,
            score=float(found.score[place]),
            words=float(found.word_score[place]),
            block=float(found.block_score[place]),
            report=profile.name,
            fiscal_year=profile.fiscal_year,
            terms=tuple(self.reports.lexicon.terms[int(found.terms[row])] for row in matched),
        )

    def _text(self, report: int) -> str:
        text: str = self.reports.texts[report]
        return text
