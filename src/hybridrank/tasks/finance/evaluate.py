"""Measuring an index on questions with labels."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from os import PathLike
from typing import Any

from hybridrank.errors import HybridrankWarning, InputError
from hybridrank.tasks.finance.corpus import Problem, read_questions
from hybridrank.tasks.finance.run import row
from hybridrank.tasks.finance.scoring import Label, QueryScore, read_labels, score
from hybridrank.tasks.finance.search import FinanceIndex

__all__ = ["Evaluation", "evaluate"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Evaluation:
    """Means over the questions, all in [0, 1], and each question's score.

    ``measure`` names ``quality``: ``EvidenceRecall@5``, or ``PageHit@5`` where the labels are pages.
    """

    measure: str
    quality: float
    document_hit: float
    questions: tuple[QueryScore, ...]

    def to_json(self) -> dict[str, Any]:
        """The evaluation as JSON values."""
        return {
            self.measure: self.quality,
            "DocHit@5": self.document_hit,
            "questions": [asdict(question) for question in self.questions],
        }


def evaluate(
    index: FinanceIndex,
    queries: str | PathLike[str],
    labels: str | PathLike[str],
    *,
    progress: Callable[[int], None] | None = None,
) -> Evaluation:
    """Answer the questions of a file and score the answers by the contract's rules.

    ``progress`` is told the number of questions done. Raises :class:`~hybridrank.errors.InputError` for a
    line that gives no question, a question without label, and a file without questions.
    """
    wanted = read_labels(labels)
    rows: list[dict[str, Any]] = []
    ids: list[str] = []
    for question in read_questions(queries):
        if isinstance(question, Problem):
            raise question.error
        if question.query_id not in wanted:
            raise InputError(
                f"there is no label for {question.query_id!r}",
                file=labels,
                remedy="Give a label for each question.",
            )
        ids.append(question.query_id)
        rows.append(row(question.query_id, index.spans(question.text)))
        if progress is not None:
            progress(len(ids))
    if not ids:
        raise InputError("holds no question", file=queries, remedy="Give questions, one JSON object a line.")
    by_page = {bool(wanted[query_id].pages) for query_id in ids}
    if len(by_page) > 1:
        raise InputError(
            "some labels name units and some pages, which are measured differently",
            file=labels,
            remedy="Evaluate them one after the other.",
        )
    lengths = _lengths(index, rows, [wanted[query_id] for query_id in ids])
    _warn_of_unknown(wanted, ids, lengths)
    scores = score(ids, wanted, rows, lengths)
    return Evaluation(
        measure="PageHit@5" if by_page == {True} else "EvidenceRecall@5",
        quality=sum(one.quality for one in scores) / len(scores),
        document_hit=sum(one.document for one in scores) / len(scores),
        questions=tuple(scores),
    )


def _lengths(index: FinanceIndex, rows: Iterable[dict[str, Any]], labels: Iterable[Label]) -> dict[str, int]:
    """The lengths of the reports that the rows and labels name, in characters: each text has to be read."""
    named = {span["document_id"] for row in rows for span in row["spans"]}
    named |= {document_id for label in labels for document_id in label.documents}
    return {
        document_id: len(index.reports.texts[place])
        for place, document_id in enumerate(index.reports.ids)
        if document_id in named
    }


def _warn_of_unknown(labels: Mapping[str, Label], ids: Iterable[str], lengths: Mapping[str, int]) -> None:
    """Say which labels name places that the index does not have: nothing can be found there."""
    strange = [
        query_id
        for query_id in ids
        if any(
            place.end > lengths.get(place.document_id, 0)
            for places in (*labels[query_id].units, labels[query_id].pages)
            for place in places
        )
    ]
    if strange:
        warnings.warn(
            f"{len(strange)} labels name a report or offsets that the index does not have, the first is that "
            f"of {strange[0]!r}. Evaluate an index of the reports that the labels speak of.",
            HybridrankWarning,
            stacklevel=3,
        )
