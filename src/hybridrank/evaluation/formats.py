"""Queries and judgments from a file or folder of any format that is known here, told by what it holds.

===========  ==================================  ==========================================================
             queries                             judgments
===========  ==================================  ==========================================================
JSON lines   ``{"query_id": "q1", "question":    ``{"query_id": "q1", "judgments": {"id": 1, ...}}``
             "..."}``, BEIR's ``{"_id",
             "text"}``
columns      ``id<tab>text``                     TREC's ``query 0 id grade``, BEIR's three with a header
plain lines  a query each; its number is its id
a folder     BEIR's ``queries.jsonl``            BEIR's ``qrels/test.tsv``
===========  ==================================  ==========================================================
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hybridrank.errors import InputError
from hybridrank.evaluation import beir, trec
from hybridrank.evaluation.lines import columns, first_line, text_lines
from hybridrank.evaluation.trec import Grades
from hybridrank.text.json_lines import read_json_lines

__all__ = ["read_judgments", "read_queries"]

_IDS, _TEXTS = ("query_id", "_id", "id"), ("question", "query", "text")
_QUERY_REMEDY = 'Give one object a line: {"query_id": "...", "question": "..."}.'
_JUDGMENT_REMEDY = 'Give one object a line: {"query_id": "...", "judgments": {"passage or document id": 1}}.'


def read_queries(path: str | os.PathLike[str]) -> dict[str, str]:
    """The texts of queries by their ids, in the order of the file.

    Raises :class:`~hybridrank.errors.InputError`, with the line, for a line of another form, an id that came
    before, and a file without queries.
    """
    file = _existing(path)
    file = file / beir.QUERIES if file.is_dir() else file
    queries: dict[str, str] = {}
    line_of: dict[str, int] = {}
    for number, query_id, text in _queries(file):
        if query_id in queries:
            raise InputError(
                f"the query {query_id!r} stands on line {line_of[query_id]} already",
                file=file,
                line=number,
                remedy="Give each query an id of its own.",
            )
        queries[query_id], line_of[query_id] = text, number
    return queries


def _queries(file: Path) -> Iterator[tuple[int, str, str]]:
    first = first_line(file).lstrip()
    if first.startswith("{"):
        for number, row in read_json_lines(file, "Give a file of queries."):
            yield number, _string(row, _IDS, file, number), _string(row, _TEXTS, file, number)
    elif first.lower().startswith(("<top", "<?xml", "<parameters")):
        raise InputError(
            "these are topics in markup", file=file, remedy="Give them as lines of id, tab, text."
        )
    elif "\t" in first:
        for number, line in text_lines(file):
            parts = columns(line)
            if len(parts) != 2 or not all(parts):
                raise InputError(
                    f"a line of queries has 2 columns between tabs, this one has {len(parts)}",
                    file=file,
                    line=number,
                    remedy="Give: id, tab, text.",
                )
            yield number, parts[0], parts[1]
    else:
        for number, line in text_lines(file):
            yield number, str(number), line.strip()


def read_judgments(path: str | os.PathLike[str], *, split: str = "test") -> Grades:
    """The grades of passages or documents, by query and then by id; ``split`` is that of a BEIR folder.

    Raises :class:`~hybridrank.errors.InputError`, with the line, for a line of another form, judgments that
    contradict each other, and a file without any.
    """
    file = _existing(path)
    if file.is_dir():
        return beir.read_qrels(beir.find_qrels(file, split))
    first = first_line(file)
    if first.lstrip().startswith("{"):
        return _json_judgments(file)
    if beir.is_header(first) or len(columns(first)) == 3:
        return beir.read_qrels(file)
    return trec.read_qrels(file)


def _json_judgments(file: Path) -> Grades:
    grades: Grades = {}
    first: dict[tuple[str, str], int] = {}
    for number, row in read_json_lines(file, "Give a file of judgments."):
        query_id = _string(row, _IDS[:1], file, number)
        of_query = row.get("judgments")
        if not isinstance(of_query, dict) or not of_query:
            raise InputError(
                f"no 'judgments' by id among {sorted(row)}", file=file, line=number, remedy=_JUDGMENT_REMEDY
            )
        for one, grade in of_query.items():
            if not isinstance(grade, int):  # true and false will do
                raise InputError(
                    f"the grade of {one!r} is {grade!r}, not a whole number",
                    file=file,
                    line=number,
                    remedy=_JUDGMENT_REMEDY,
                )
            trec.add_grade(grades, first, query_id, one, int(grade), file, number)
    return grades


def _existing(path: str | os.PathLike[str]) -> Path:
    file = Path(path)
    if not file.exists():
        raise InputError("there is no such file or folder", file=file, remedy="Correct the path.")
    return file


def _string(row: dict[str, Any], keys: tuple[str, ...], file: Path, line: int) -> str:
    for key in keys:
        value = row.get(key)
        if isinstance(value, str) and value:
            return value
    raise InputError(
        f"no {keys[0]!r} with a string among {sorted(row)}", file=file, line=line, remedy=_QUERY_REMEDY
    )
