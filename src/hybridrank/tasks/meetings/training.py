"""Training the learned worth of key words, on labelled questions.

A term of a segment is right when it stands in the question or in the reference answer of a question that is
about the segment: one whose evidence is a good part of it.

The model that the package ships is made again, byte for byte, by::

    python -m hybridrank.tasks.meetings.training --history history.jsonl --questions labels.jsonl --output DIR
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hybridrank.errors import InputError
from hybridrank.ranking_model import RankingModel
from hybridrank.tasks.meetings.history import Meeting, read_history
from hybridrank.tasks.meetings.questions import LabelledQuestion, read_labelled_questions
from hybridrank.tasks.meetings.segments import Segment, clean_meeting, cut
from hybridrank.tasks.meetings.vocabulary import question_terms, terms
from hybridrank.tasks.meetings.worth import NAMES, History, term_table

__all__ = ["Examples", "examples", "main", "train"]

SIZE = 170.0
"""Content terms of a segment in training: about what a delivery's budget comes to."""

_SHARE, _TERMS = 0.3, 40  # of a segment that is evidence, or content terms that are: either is enough
_ROUNDS = 120
_PARAMETERS = {
    "objective": "binary",
    "num_leaves": 7,
    "min_data_in_leaf": 100,
    "lambda_l2": 10.0,
}


class Examples(NamedTuple):
    """Rows of features of terms, whether each is right (1 or 0), and which meeting it is of."""

    features: NDArray[np.float64]
    right: NDArray[np.int64]
    meeting_ids: list[str]
    segment_of: list[int]


def examples(
    meetings: Sequence[Meeting], questions: Sequence[LabelledQuestion], *, size: float = SIZE
) -> Examples:
    """The terms of all segments that questions are about.

    Raises :class:`~hybridrank.errors.InputError` for questions about meetings that are not there, and when no
    segment is asked about.
    """
    place_of = {meeting.meeting_id: place for place, meeting in enumerate(meetings)}
    unknown = sorted({question.meeting_id for question in questions} - place_of.keys())
    if unknown:
        raise InputError(
            f"there are questions about meetings that are not in the history: {unknown[:5]}",
            remedy="Give the history that the questions are about.",
        )
    history = History([clean_meeting(meeting) for meeting in meetings])
    segments = cut(history.meetings, size)
    asked_about: dict[int, set[str]] = {}
    of_meeting: dict[int, list[int]] = defaultdict(list)
    for at, segment in enumerate(segments):
        of_meeting[segment.meeting].append(at)
    for question in questions:
        named = {*terms(question.reference_answer), *question_terms(question.question)}
        for at in of_meeting[place_of[question.meeting_id]]:
            if _is_about(question, segments[at], history):
                asked_about.setdefault(at, set()).update(named)
    table = term_table(history, segments)
    rows = [row for row, at in enumerate(table.segment_of) if at in asked_about]
    if not rows:
        raise InputError(
            "no question is about a segment of a meeting", remedy="Give questions with evidence."
        )
    at_row = [table.segment_of[row] for row in rows]
    return Examples(
        table.features[rows],
        np.array(
            [table.terms[row] in asked_about[at] for row, at in zip(rows, at_row, strict=True)],
            dtype=np.int64,
        ),
        [meetings[segments[at].meeting].meeting_id for at in at_row],
        at_row,
    )


def train(given: Examples, *, without: Collection[str] = (), seed: int = 0) -> RankingModel:
    """A model of what makes a term right, trained without some meetings (by id), to be tried on these.

    Its scores are log-odds. Raises as :meth:`~hybridrank.ranking_model.RankingModel.train` does.
    """
    rows = [row for row, meeting_id in enumerate(given.meeting_ids) if meeting_id not in without]
    sizes: dict[int, int] = {}
    for row in rows:
        sizes[given.segment_of[row]] = sizes.get(given.segment_of[row], 0) + 1
    return RankingModel.train(
        given.features[rows],
        given.right[rows],
        list(sizes.values()),
        NAMES,
        rounds=_ROUNDS,
        parameters=_PARAMETERS,
        seed=seed,
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Train on the files that the arguments name, and save the model."""
    parser = argparse.ArgumentParser(description="Train the learned worth of key words of meetings.")
    parser.add_argument("--history", required=True, help="meetings, one JSON object a line")
    parser.add_argument("--questions", required=True, help="labelled questions, one JSON object a line")
    parser.add_argument("--output", required=True, help="directory of the model")
    parser.add_argument("--size", type=float, default=SIZE, help="content terms of a segment; default: 170")
    options = parser.parse_args(arguments)
    given = examples(
        read_history(options.history), read_labelled_questions(options.questions), size=options.size
    )
    train(given).save(options.output)


def _is_about(question: LabelledQuestion, segment: Segment, history: History) -> bool:
    turns = history.meetings[segment.meeting].turns
    said = [sum(map(len, turn.terms)) for turn in turns[segment.first : segment.last + 1]]
    evidence = sum(
        count
        for turn, count in enumerate(said, start=segment.first)
        if any(first <= turn <= last for first, last in question.evidence_turns)
    )
    return evidence > 0 and (evidence >= _SHARE * sum(said) or evidence >= _TERMS)


if __name__ == "__main__":
    main()
