"""The questions of the hybrid benchmark, with their candidates, and what services are asked about them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.budget_pools import index_of
from hybridrank.records import Hit, Passage, Ranking
from hybridrank.tasks.finance.candidates import Weights
from hybridrank.tasks.finance.corpus import Problem, read_questions
from hybridrank.tasks.finance.datasets import EvaluationSet
from hybridrank.tasks.finance.index import IndexedReports
from hybridrank.tasks.finance.ranker import DEPTH
from hybridrank.tasks.finance.search import FinanceIndex
from hybridrank.tasks.finance.spans import MOST_SPANS, choose
from hybridrank.tasks.finance.training import Example, examples_of

__all__ = ["N_CANDIDATES", "Question", "read_all", "sampled"]

N_CANDIDATES = 40
_SEED = 0

Tell = Callable[[str], None]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Question:
    """A question, its windows, and which of them are the candidates: the best by the unlearned score, none of
    which shares more than half with a better one."""

    text: str
    example: Example
    index: FinanceIndex
    numbers: NDArray[np.int64]
    candidates: tuple[int, ...]

    @property
    def set_name(self) -> str:
        """The name of its set, with that of the corpus."""
        return self.example.set_name

    def texts(self, places: Iterable[int]) -> list[str]:
        """The texts of some windows."""
        start, end = self.example.start, self.example.end
        return [
            self.index.text(int(self.numbers[place]))[int(start[place]) : int(end[place])] for place in places
        ]

    def masks(self) -> dict[str, int]:
        """Which units each candidate holds, a bit each, by its place; and all there are, under ``"all"``.

        Grades in :func:`~hybridrank.fusion_choice.choose_fusion` are whole numbers, and these say enough to
        work out which share of the evidence a choice holds.
        """
        holds = self.example.holds()
        bits = 1 << np.arange(holds.shape[1], dtype=object)
        masks = {str(place): int(np.sum(bits[holds[place]])) for place in self.candidates}
        return {**masks, "all": (1 << holds.shape[1]) - 1}

    def ranking(self, scores: Sequence[float]) -> Ranking:
        """The candidates by some scores, one each in their order; a hit's id is the place of its window."""
        texts = self.texts(self.candidates)
        order = sorted(range(len(texts)), key=lambda at: (-scores[at], at))
        hits = (
            Hit(
                passage_id=str(self.candidates[at]),
                position=at,
                rank=rank,
                score=float(scores[at]),
                passage=Passage(id=str(self.candidates[at]), text=texts[at]),
            )
            for rank, at in enumerate(order, start=1)
        )
        return Ranking(query=self.text, hits=tuple(hits))

    def quality(self, ranking: Ranking) -> float:
        """The evidence recall, or page hit, of the first five hits of a ranking of windows."""
        return self.example.quality([int(hit.passage_id) for hit in ranking[:MOST_SPANS]])


def read_all(sets: Sequence[EvaluationSet], work: Path, tell: Tell) -> list[Question]:
    """Index each corpus below ``work``, unless it is there, and find the windows of every question."""
    opened: dict[str, FinanceIndex] = {}
    found: list[Question] = []
    for one in sets:
        name = one.corpus.name
        if name not in opened:
            reports = IndexedReports.open(index_of(one.corpus, work, tell))
            opened[name] = FinanceIndex(reports, Weights(depth=DEPTH))
        tell(f"finding windows of {one.name} in {name}")
        found.extend(_questions_of(one, opened[name]))
    return found


def _questions_of(one: EvaluationSet, index: FinanceIndex) -> Iterator[Question]:
    texts: dict[str, str] = {}
    for question in read_questions(one.queries):
        if isinstance(question, Problem):
            raise question.error
        texts[question.query_id] = question.text
    number_of = {document: number for number, document in enumerate(index.reports.ids)}
    for example in examples_of(one, index):
        of_document = np.array([number_of[document] for document in example.documents], dtype=np.int64)
        chosen = choose(example.document, example.start, example.end, example.score, N_CANDIDATES)
        yield Question(
            text=texts[example.query_id],
            example=example,
            index=index,
            numbers=of_document[example.document],
            candidates=tuple(chosen),
        )


def sampled(sets: Sequence[EvaluationSet], count: int | None, work: Path) -> list[EvaluationSet]:
    """The sets with ``count`` questions each, drawn by a fixed seed, in their order; all with ``None``."""
    if count is None:
        return list(sets)
    work.mkdir(parents=True, exist_ok=True)
    return [_sampled(one, count, work / f"{one.corpus.name}-{one.name}-{count}.jsonl") for one in sets]


def _sampled(one: EvaluationSet, count: int, path: Path) -> EvaluationSet:
    questions = [each for each in read_questions(one.queries) if not isinstance(each, Problem)]
    drawn = np.random.default_rng(_SEED).permutation(len(questions))[:count]
    rows = [
        {"query_id": questions[place].query_id, "question": questions[place].text}
        for place in sorted(drawn.tolist())
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return replace(one, queries=path)
