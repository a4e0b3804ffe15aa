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

from benchmarks.rows import REPORTS, BenchmarkError, read_rows
from hybridrank.errors import InputError
from hybridrank.tasks.finance import scoring
from hybridrank.tasks.finance.scoring import Label

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
    """Read the corpus in directory `path` once, keeping only the lengths of its reports.

    Raises BenchmarkError where the file is missing or a report lacks its id or text.
    """
    file = path / REPORTS
    lengths = {}
    for row in read_rows(file):
        try:
            lengths[str(row["document_id"])] = len(row["text"])
        except (KeyError, TypeError) as error:
            raise BenchmarkError(f"{file}: a report needs a document_id and a text: {error!r}") from error
    return Corpus(name=name, path=path, lengths=lengths, size=file.stat().st_size)


def read_labels(path: Path) -> dict[str, Label]:
    """Read evidence labels, by query id.

    Raises BenchmarkError where a row has neither units nor pages, or a place lacks one of its three keys.
    """
    try:
        return scoring.read_labels(path)
    except InputError as error:
        raise BenchmarkError(str(error)) from error


def read_query_ids(path: Path) -> list[str]:
    """Read the ids of a file of questions, in order.

    Raises BenchmarkError where a row lacks its id or question, an id comes twice, or there is none at all.
    """
    queries = []
    for row in read_rows(path):
        if not isinstance(row.get("query_id"), str) or not isinstance(row.get("question"), str):
            raise BenchmarkError(
                f"{path}: a question needs a query_id and a question, both strings: {row!r:.200}"
            )
        queries.append(row["query_id"])
    if len(set(queries)) < max(len(queries), 1):
        raise BenchmarkError(
            f"{path}: it holds no question, or one query_id twice; a score needs each just once"
        )
    return queries


def find_sets(
    data: Path, names: Sequence[str] | None = None, corpora: Sequence[str] | None = None
) -> tuple[list[EvaluationSet], list[str]]:
    """Find the sets below `data`, ordered by corpus and name, and the names of those that fit no corpus.

    `names` and `corpora` (without the prefix `corpus-`) choose some; None means all.
    Raises BenchmarkError where nothing is found or a chosen name does not exist.
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
        raise BenchmarkError(
            f"{data}: no chosen corpus holds all the labelled reports of {', '.join(sorted(homeless))}"
        )
    return sets, sorted(homeless)


def _choose(
    pattern: str, data: Path, found: Mapping[str, Path], names: Sequence[str] | None
) -> dict[str, Path]:
    if not found:
        raise BenchmarkError(f"{data}: no {pattern} below it; see benchmarks/layout.py for the layout")
    unknown = sorted(set(names or ()) - found.keys())
    if unknown:
        raise BenchmarkError(
            f"{data}: no {pattern} for {', '.join(unknown)}; there are {', '.join(sorted(found))}"
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
