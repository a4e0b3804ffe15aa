"""What the commands that measure and show rankings read alike: systems, labels, files to be written."""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hybridrank.commands.files import input_path, path_of
from hybridrank.errors import HybridrankWarning, InputError

if TYPE_CHECKING:
    from hybridrank.evaluation.trec import Grades
    from hybridrank.evaluation.units import Unit
    from hybridrank.lexical import LexicalIndex
    from hybridrank.protocols import Retriever

__all__ = [
    "LABELS_HELP",
    "QUERIES_HELP",
    "Labels",
    "Named",
    "add_queries",
    "named_path",
    "read_labels",
    "with_model",
]

QUERIES_HELP = (
    'JSON lines {"query_id", "question"}, id<tab>text, one query a line, or a BEIR folder; - for stdin'
)
LABELS_HELP = (
    'judgments: TREC qrels, "query 0 id grade" a line, ids of passages or of documents; '
    """BEIR's .tsv or folder; or JSON lines {"query_id", "judgments": {id: grade}}"""
)


class Named(NamedTuple):
    """A path and what it is called."""

    name: str
    path: Path


class Labels(NamedTuple):
    """Grades by query and by id, and whether the ids are those of passages or of documents."""

    grades: Grades
    unit: Unit


def add_queries(parser: argparse.ArgumentParser) -> None:
    """Give a parser the arguments that name an index and its queries, and the part of a BEIR folder."""
    parser.add_argument("index", type=path_of, metavar="INDEX", help="the index directory")
    parser.add_argument("--queries", type=input_path, required=True, metavar="PATH", help=QUERIES_HELP)
    parser.add_argument("--split", default="test", metavar="NAME", help="of a BEIR folder (default test)")


def named_path(text: str) -> Named:
    """An argument ``NAME=PATH``, for argparse; a path alone is named by its last part, without suffix."""
    name, equals, path = text.partition("=")
    if not equals:
        name, path = Path(text).stem, text
    if not name or not path:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=PATH")
    return Named(name, Path(path))


def with_model(index: LexicalIndex, directory: Path, *, name: str) -> Retriever:
    """An index whose hits a ranker orders that was learned and saved in a directory."""
    from hybridrank.learned import LearnedReranker
    from hybridrank.pipeline import Pipeline

    return Pipeline(retrievers=[index], rerankers=[LearnedReranker.open(directory, index)], name=name)


def read_labels(index: LexicalIndex, path: Path, *, split: str = "test") -> Labels:
    """The labels of a file or folder, of a format that :mod:`hybridrank.evaluation.formats` knows, or
    evidence by place, as ``{"query_id", "units"}`` a line: then a passage that touches a place is judged 1.

    Raises :class:`~hybridrank.errors.InputError` for what cannot be read, and when nothing judged is in the
    index; warns of what is not.
    """
    from hybridrank.evaluation.formats import read_judgments
    from hybridrank.evaluation.units import tell_unit

    if _names_places(path):
        return Labels(_grades_of_places(index, path), "passage")
    grades = read_judgments(path, split=split)
    return Labels(grades, tell_unit(index.passages, grades))


def _names_places(path: Path) -> bool:
    from hybridrank.evaluation.lines import first_line

    if not path.is_file():
        return False
    first = first_line(path)
    try:
        row = json.loads(first)
    except ValueError:
        return False
    return isinstance(row, dict) and ("units" in row or "pages" in row)


def _grades_of_places(index: LexicalIndex, path: Path) -> Grades:
    from hybridrank.passage_store import documents_of
    from hybridrank.tasks.finance.scoring import read_labels as read_places

    labels = read_places(path)
    wanted = {document for label in labels.values() for document in label.documents}
    passages: dict[str, list[tuple[str, int, int]]] = {}
    for at, document in enumerate(documents_of(index.passages)):
        if document in wanted:
            one = index.passages[at]
            passages.setdefault(str(document), []).append((one.id, one.start, one.end))
    grades = {
        query_id: {
            passage_id: 1
            for places in (*label.units, label.pages)
            for place in places
            for passage_id, start, end in passages.get(place.document_id, ())
            if start < place.end and place.start < end
        }
        for query_id, label in labels.items()
    }
    _check_places(path, list(labels), [query_id for query_id, found in grades.items() if not found])
    return {query_id: found for query_id, found in grades.items() if found}


def _check_places(path: Path, labels: Sequence[str], empty: Sequence[str]) -> None:
    if not empty:
        return
    problem = f"{len(empty)} of {len(labels)} labels name places that no passage of the index touches"
    if len(empty) == len(labels):
        raise InputError(
            problem, file=path, remedy="Index the documents that the labels name, under the same ids."
        )
    warnings.warn(f"{problem}: {empty[0]!r} is the first; they are left out", HybridrankWarning, stacklevel=4)
