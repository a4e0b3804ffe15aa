"""The directory layout of an evaluation: corpora of reports, sets of questions, and their evidence labels.

    corpus-NAME/reports.jsonl        {"document_id": str, "text": str} a line
    validation/NAME.queries.jsonl    {"query_id": str, "question": str} a line
    validation/NAME.labels.jsonl     {"query_id": str, "units": [[place, ...], ...]} a line, or
                                     {"query_id": str, "pages": [place, ...]}

A place is {"document_id": str, "start": int, "end": int}, in characters of the report's text, end exclusive.
A unit lists the alternative places of one piece of evidence. A set runs on every corpus that holds all its
labelled reports.
"""

from __future__ import annotations

import importlib.resources
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hybridrank.errors import InputError
from hybridrank.tasks.finance.corpus import REPORTS, Problem, read_questions, read_reports
from hybridrank.tasks.finance.scoring import Label, read_labels

__all__ = ["Corpus", "EvaluationSet", "find_sets", "read_corpus", "read_query_ids", "sample_sets"]

QUERIES_SUFFIX = ".queries.jsonl"
LABELS_SUFFIX = ".labels.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """A directory with `reports.jsonl`: its reports' lengths in characters, its size in bytes."""

    name: str
    path: Path
    lengths: Mapping[str, int]
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationSet:
    """Questions with labels, to be run on one corpus."""

    name: str
    corpus: Corpus
    queries: Path
    labels: Mapping[str, Label]


def read_corpus(path: Path, name: str) -> Corpus:
    """Read the corpus in directory ``path`` once, keeping only the lengths of its reports.

    Raises :class:`~hybridrank.errors.InputError` as :func:`~hybridrank.tasks.finance.corpus.read_reports`
    does.
    """
    lengths = {report.document_id: len(report.text) for report in read_reports(path)}
    return Corpus(name=name, path=path, lengths=lengths, size=(path / REPORTS).stat().st_size)


def read_query_ids(path: Path) -> list[str]:
    """The ids of a file of questions, in order.

    Raises :class:`~hybridrank.errors.InputError` for a line that gives no question, and when there is none.
    """
    queries: list[str] = []
    for question in read_questions(path):
        if isinstance(question, Problem):
            raise question.error
        queries.append(question.query_id)
    if not queries:
        raise InputError("holds no question", file=path, remedy="Give questions, one JSON object a line.")
    return queries


def find_sets(
    data: Path, names: Sequence[str] | None = None, corpora: Sequence[str] | None = None
) -> tuple[list[EvaluationSet], list[str]]:
    """Find the sets below `data`, ordered by corpus and name, and the names of those that fit no corpus.

    `names` and `corpora` (without the prefix `corpus-`) choose some; None means all.
    Raises :class:`~hybridrank.errors.InputError` when nothing is found or a chosen name does not exist.
    """
    found_corpora = {
        path.parent.name.removeprefix("corpus-"): path.parent for path in data.glob(f"corpus-*/{REPORTS}")
    }
    found_sets = {
        path.name.removesuffix(QUERIES_SUFFIX): path for path in data.glob(f"validation/*{QUERIES_SUFFIX}")
    }
    chosen_corpora = _choose(f"corpus-NAME/{REPORTS}", data, found_corpora, corpora)
    chosen_sets = _choose(f"validation/NAME{QUERIES_SUFFIX}", data, found_sets, names)
    labels = {name: read_labels(path.with_name(name + LABELS_SUFFIX)) for name, path in chosen_sets.items()}
    sets, homeless = [], set(chosen_sets)
    for corpus_name, corpus_path in chosen_corpora.items():
        corpus = read_corpus(corpus_path, corpus_name)
        for name, queries in chosen_sets.items():
            if all(label.documents <= corpus.lengths.keys() for label in labels[name].values()):
                sets.append(EvaluationSet(name=name, corpus=corpus, queries=queries, labels=labels[name]))
                homeless.discard(name)
    if not sets:
        raise InputError(
            f"no chosen corpus holds all the labelled reports of {', '.join(sorted(homeless))}",
            file=data,
            remedy="Choose another corpus.",
        )
    return sets, sorted(homeless)


def _choose(
    pattern: str, data: Path, found: Mapping[str, Path], names: Sequence[str] | None
) -> dict[str, Path]:
    if not found:
        raise InputError(
            f"no {pattern} below it", file=data, remedy="hybridrank.tasks.finance.datasets has the layout."
        )
    unknown = sorted(set(names or ()) - found.keys())
    if unknown:
        raise InputError(
            f"no {pattern} for {', '.join(unknown)}; there are {', '.join(sorted(found))}",
            file=data,
            remedy="Choose among these.",
        )
    return {name: found[name] for name in sorted(found if names is None else set(names))}


def sample_sets() -> tuple[list[EvaluationSet], list[str]]:
    """Give the sample reports and questions that the package ships, as one set."""
    folder = Path(str(importlib.resources.files("hybridrank") / "data" / "finance"))
    corpus = read_corpus(folder, "sample")
    labels = read_labels(folder / "labels.jsonl")
    return [
        EvaluationSet(name="sample", corpus=corpus, queries=folder / "questions.jsonl", labels=labels)
    ], []
