"""BEIR's layout: a folder with ``corpus.jsonl``, ``queries.jsonl`` and ``qrels/<split>.tsv``."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from hybridrank.errors import InputError
from hybridrank.evaluation.lines import columns, grade_of, text_lines
from hybridrank.evaluation.trec import Grades, add_grade, check_filled
from hybridrank.records import Passage
from hybridrank.text.corpus import read_jsonl

__all__ = ["CORPUS", "QUERIES", "find_qrels", "is_header", "read_corpus", "read_qrels"]

CORPUS, QUERIES, QRELS = "corpus.jsonl", "queries.jsonl", "qrels"


def read_corpus(folder: str | os.PathLike[str]) -> Iterator[Passage]:
    """The documents of ``corpus.jsonl``, each with its title, where it has one, before its text.

    Raises as :func:`~hybridrank.text.corpus.read_jsonl` does.
    """
    for document in read_jsonl(Path(folder) / CORPUS):
        title = document.metadata.get("title")
        text = f"{title} {document.text}" if isinstance(title, str) and title else document.text
        yield Passage(id=document.id, text=text, document_id=document.document_id, metadata=document.metadata)


def find_qrels(folder: str | os.PathLike[str], split: str = "test") -> Path:
    """The file of judgments of a split; raises :class:`~hybridrank.errors.InputError` when there is none."""
    there = Path(folder) / QRELS
    path = there / f"{split}.tsv"
    if not path.is_file():
        splits = ", ".join(sorted(one.stem for one in there.glob("*.tsv")))
        raise InputError(
            f"there is no {QRELS}/{split}.tsv",
            file=folder,
            remedy=f"Name one of the files in {QRELS}: {splits}." if splits else "Give a file of judgments.",
        )
    return path


def is_header(line: str) -> bool:
    """Whether a line is the first of BEIR's judgments, which names the columns.

    >>> is_header("query-id\\tcorpus-id\\tscore"), is_header("q1\\t0\\td1\\t1")
    (True, False)
    """
    return [name.lower().replace("_", "-") for name in columns(line)] == ["query-id", "corpus-id", "score"]


def read_qrels(path: str | os.PathLike[str]) -> Grades:
    """Read judgments: a header line, then query, document and grade between tabs.

    Raises :class:`~hybridrank.errors.InputError` as :func:`hybridrank.evaluation.trec.read_qrels` does.
    """
    file = Path(path)
    grades: Grades = {}
    first: dict[tuple[str, str], int] = {}
    for place, (number, line) in enumerate(text_lines(file)):
        if place == 0 and is_header(line):
            continue
        parts = columns(line)
        if len(parts) != 3:
            raise InputError(
                f"a line of judgments has 3 columns between tabs, this one has {len(parts)}",
                file=file,
                line=number,
                remedy="Give: query-id, corpus-id, score.",
            )
        add_grade(grades, first, parts[0], parts[1], grade_of(parts[2], file, number), file, number)
    return check_filled(grades, file)
