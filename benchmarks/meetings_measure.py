"""Run and score ways of choosing and of recalling notes on one set of meetings with labelled questions."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from benchmarks.meetings_methods import ORDERS, Candidate, candidates, select
from hybridrank.errors import InputError
from hybridrank.lexical import LexicalIndex
from hybridrank.records import Passage
from hybridrank.tasks.meetings.assemble import MOST_BYTES, assemble
from hybridrank.tasks.meetings.extract import extract
from hybridrank.tasks.meetings.history import Meeting, read_history
from hybridrank.tasks.meetings.memory import Memory
from hybridrank.tasks.meetings.neural import (
    DEPTH,
    JinaService,
    NoteVectors,
    blend,
    fuse,
    improve,
    question_vector,
)
from hybridrank.tasks.meetings.qmsum import read_qmsum
from hybridrank.tasks.meetings.questions import LabelledQuestion, read_labelled_questions
from hybridrank.tasks.meetings.recall import Index
from hybridrank.tasks.meetings.scoring import QuestionScore, Scorer, Source
from hybridrank.text.tokens import Tokenizer

K = 10
MEETINGS_OF_THE_CONTRACT = 67
OURS = ("plain", "learned")
_PATIENCE = 30.0  # seconds for a service
OUTCOMES = ("hit", "wrong notes", "meeting missed", "nothing in memory")

Search = Callable[[str], Sequence[str]]


class MeetingSet(NamedTuple):
    """Meetings, and questions about them."""

    name: str
    meetings: Sequence[Meeting]
    questions: Sequence[LabelledQuestion]

    @property
    def budget(self) -> int:
        """The contract's bytes, by the number of meetings."""
        return MOST_BYTES * len(self.meetings) // MEETINGS_OF_THE_CONTRACT


class System(NamedTuple):
    """How notes are chosen and recalled, and what came of it for each question."""

    selection: str
    recall: str
    notes: int
    scores: Sequence[QuestionScore]

    def mean(self, measure: str) -> float:
        """The mean of a measure over the questions."""
        return statistics.fmean(getattr(score, measure) for score in self.scores)

    def outcomes(self) -> dict[str, float]:
        """The share of the questions that ended in each way."""
        counts = Counter(score.outcome for score in self.scores)
        return {name: counts[name] / len(self.scores) for name in OUTCOMES}


def read_set(path: Path) -> MeetingSet:
    """A directory with ``history.jsonl`` and ``validation.jsonl``, or QMSum's published files.

    Raises :class:`~hybridrank.errors.InputError` for anything else, and where no question is to be found.
    """
    if (path / "history.jsonl").is_file():
        found = MeetingSet(
            path.name,
            read_history(path / "history.jsonl"),
            read_labelled_questions(path / "validation.jsonl"),
        )
    else:
        found = MeetingSet(path.stem, *read_qmsum(path))
    known = {meeting.meeting_id for meeting in found.meetings}
    kept = [question for question in found.questions if question.meeting_id in known]
    if not kept:
        raise InputError("holds no question about its meetings", file=path, remedy="Give labelled questions.")
    return found._replace(questions=kept)


class Kept(NamedTuple):
    """What a way of choosing kept: the memory's text, the sources of its notes, and an index of it."""

    memory: str
    sources: Sequence[Source]
    recall: Index

    @classmethod
    def of(cls, memory: Memory) -> Kept:
        """A memory of ours, with its index."""
        return cls(memory.to_json(), memory.sources(), Index.build(memory))

    @classmethod
    def of_sources(cls, sources: Sequence[Source]) -> Kept:
        """Notes that another way chose, as a memory of ours."""
        return cls.of(Memory.of_sources(sources))

    @property
    def texts(self) -> list[str]:
        """The notes, in order."""
        return self.recall.notes

    def search(self, question: str) -> list[str]:
        """Our own recall."""
        return self.recall.search(question, K)


def evaluate(
    data: MeetingSet, selection: str, recall: str, sources: Sequence[Source], search: Search
) -> System:
    """Recall notes for every question, and score them."""
    scorer = Scorer(data.meetings, sources)
    scores = [scorer.score(question, search(question.question)) for question in data.questions]
    return System(selection, recall, len({source.text for source in sources}), scores)


def baselines(data: MeetingSet, max_bytes: int) -> dict[str, list[Source]]:
    """What each of the usual ways keeps."""
    found: list[list[Candidate]] = candidates(data.meetings)
    return {name: select(found, order, max_bytes) for name, order in ORDERS.items()}


def bm25(texts: Sequence[str]) -> Search:
    """The library's own BM25 over notes, with nothing known of meetings."""
    index = LexicalIndex.build(
        [Passage(id=str(at), text=text) for at, text in enumerate(texts)], tokenizer=Tokenizer()
    )
    return lambda question: [texts[int(hit.passage_id)] for hit in index.search(question, K)]


def with_services(kept: Kept, service: JinaService) -> Mapping[str, Search]:
    """Dense recall, its fusion with our own by ranks and by scores, and what ``run.sh`` makes of all.

    The last asks a reranker too. The services are given more time than ``run.sh`` gives them: what is
    measured here is the order.
    """
    index = kept.recall
    vectors = NoteVectors.made(index.notes, service)

    @cache
    def similarities(question: str) -> Sequence[float]:
        return vectors.similarities(question_vector(question, service, _PATIENCE))

    def dense(question: str, k: int = K) -> list[str]:
        near = similarities(question)
        return [index.notes[at] for at in sorted(range(len(near)), key=lambda at: (-near[at], at))[:k]]

    def blended(question: str) -> list[str]:
        return index.best(blend(index.scores(question), similarities(question), index.meeting_of), K)

    return {
        "dense": dense,
        "RRF": lambda question: fuse([index.search(question, DEPTH), dense(question, DEPTH)])[:K],
        "ours + vectors": blended,
        "ours + Jina": lambda question: improve(question, index, vectors, service, seconds=_PATIENCE)[0][:K],
    }


def answers_recall(
    data: MeetingSet, sources: Sequence[Source], search: Search, longest: int
) -> tuple[float, float]:
    """The word recall of the reference answers by the recalled notes, and by answers made of them."""
    scorer = Scorer(data.meetings, sources)
    by_notes, by_answers = [], []
    for question in data.questions:
        notes = search(question.question)
        by_notes.append(scorer.word_recall(question, notes))
        by_answers.append(scorer.word_recall(question, [extract(question.question, notes, longest)]))
    return statistics.fmean(by_notes), statistics.fmean(by_answers)


class Times(NamedTuple):
    """Seconds of whole processes (medians), the interpreter's bare start among them."""

    python: float
    build: float
    run: float
    answer: float


def time_scripts(memory: str, question: str, *, rounds: int = 11) -> Times:
    """Time the assembled scripts in turn with ``python3 -c pass``, so that all see the same machine."""
    environment = {"PATH": os.pathsep.join((os.path.dirname(sys.executable), os.defpath))}
    with tempfile.TemporaryDirectory(prefix="hybridrank-bench-") as folder:
        root = Path(folder)
        (root / "memory.json").write_text(memory, encoding="utf-8")
        app = assemble(root / "memory.json", root / "app")
        index, found, text = (str(root / name) for name in ("index", "memories.json", "answer.txt"))
        commands = {
            "python": ["python3", "-c", "pass"],
            "build": [str(app / "build.sh"), "--memory", str(app / "memory.json"), "--output", index],
            "run": [str(app / "run.sh"), "--index", index, "--question", question, "--output", found],
            "answer": [str(app / "answer.sh"), "--question", question, "--memories", found, "--output", text],
        }
        taken: dict[str, list[float]] = {name: [] for name in commands}
        for at in range(rounds):
            for name, command in commands.items():
                if name == "build" and at > 2:
                    continue
                started = time.perf_counter()
                subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
                taken[name].append(time.perf_counter() - started)
    return Times(**{name: statistics.median(values) for name, values in taken.items()})
