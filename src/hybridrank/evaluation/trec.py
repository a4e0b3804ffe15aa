"""TREC's two formats: judgments (*qrels*) and rankings (*runs*), as text in columns.

``query 0 document grade``
    a line of judgments; the second column means nothing.
``query Q0 document rank score system``
    a line of a run. The order is by score, highest first, and of equal scores by their place in the file; the
    rank is not looked at, nor is it by trec_eval, which however orders equal scores by id.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from hybridrank.errors import InputError
from hybridrank.evaluation.lines import columns, grade_of, score_of, text_lines

__all__ = ["Grades", "add_grade", "check_filled", "read_qrels", "read_run", "write_run"]

Grades = dict[str, dict[str, int]]
"""The grades of documents or passages, by query and then by id."""

_QRELS_REMEDY = "Give: query 0 document grade; or, with a header line, query-id, corpus-id and score."
_RUN_REMEDY = "Give six columns a line: query Q0 document rank score system."


def read_qrels(path: str | os.PathLike[str]) -> Grades:
    """Read judgments. Columns stand between tabs or white space; blank lines are passed over.

    Raises :class:`~hybridrank.errors.InputError`, with the line, for a line of another form, a grade that is
    no whole number, and a second judgment that says other than the first; and for a file without any.
    """
    file = Path(path)
    grades: Grades = {}
    first: dict[tuple[str, str], int] = {}
    for number, line in text_lines(file):
        query_id, _, document_id, grade = _parts(line, 4, "judgments", _QRELS_REMEDY, file, number)
        add_grade(grades, first, query_id, document_id, grade_of(grade, file, number), file, number)
    return check_filled(grades, file)


def _parts(line: str, count: int, what: str, remedy: str, file: Path, number: int) -> list[str]:
    parts = columns(line)
    if len(parts) != count:
        parts = line.split()  # spaces and tabs may be mixed, as long as no id holds a space
    if len(parts) != count:
        raise InputError(
            f"a line of {what} has {count} columns, this one has {len(parts)}",
            file=file,
            line=number,
            remedy=remedy,
        )
    return parts


def add_grade(
    grades: Grades,
    first: dict[tuple[str, str], int],
    query_id: str,
    document_id: str,
    grade: int,
    file: Path,
    line: int,
) -> None:
    """Add a judgment. ``first`` holds the line of each; one that repeats another is harmless, one that
    contradicts it an :class:`~hybridrank.errors.InputError`, and so is an empty id."""
    if not query_id or not document_id:
        raise InputError("an id is empty", file=file, line=line, remedy="Give both ids, or drop the line.")
    earlier = first.setdefault((query_id, document_id), line)
    if grades.setdefault(query_id, {}).setdefault(document_id, grade) != grade:
        raise InputError(
            f"query {query_id!r} and document {document_id!r} are judged {grade} here and "
            f"{grades[query_id][document_id]} on line {earlier}",
            file=file,
            line=line,
            remedy="Keep one of the two judgments.",
        )


def check_filled(grades: Grades, file: Path) -> Grades:
    """The judgments themselves, when there are any."""
    if not grades:
        raise InputError("the file holds no judgment", file=file, remedy="Give judgments.")
    return grades


def read_run(path: str | os.PathLike[str]) -> dict[str, tuple[str, ...]]:
    """Read a run: the ids found, best first, by query.

    Raises :class:`~hybridrank.errors.InputError`, with the line, for a line of another form, a score that is
    no finite number, and an id that a query has already; and for a file without any.
    """
    file = Path(path)
    scored: dict[str, dict[str, tuple[float, int]]] = {}
    for number, line in text_lines(file):
        query_id, _, document_id, _, text, _ = _parts(line, 6, "a run", _RUN_REMEDY, file, number)
        score = score_of(text, file, number)
        of_query = scored.setdefault(query_id, {})
        if document_id in of_query:
            raise InputError(
                f"query {query_id!r} has document {document_id!r} on line {of_query[document_id][1]} already",
                file=file,
                line=number,
                remedy="Rank each document once a query.",
            )
        of_query[document_id] = score, number
    if not scored:
        raise InputError("the file holds no ranking", file=file, remedy=_RUN_REMEDY)
    return {
        query_id: tuple(sorted(found, key=lambda one: (-found[one][0], found[one][1])))
        for query_id, found in scored.items()
    }


def write_run(ranked: Mapping[str, Sequence[str]], path: str | os.PathLike[str], *, system: str) -> None:
    """Write a run of ids, best first, by query. A score is 1 / rank, so that all who read it see this order.

    Raises :class:`~hybridrank.errors.InputError` for an id or a name with white space in it, which the format
    cannot hold; nothing is written then.
    """
    file = Path(path)
    lines = []
    for query_id, found in ranked.items():
        _check_words((query_id, *found, system), file)
        lines += [f"{query_id} Q0 {one} {rank} {1 / rank!r} {system}\n" for rank, one in enumerate(found, 1)]
    file.write_text("".join(lines), encoding="utf-8", newline="\n")


def _check_words(words: Iterable[str], file: Path) -> None:
    for word in words:
        if word.split() != [word]:
            raise InputError(
                f"{word!r} is empty or holds white space, which separates the columns of a run",
                file=file,
                remedy="Give ids and names without white space.",
            )
