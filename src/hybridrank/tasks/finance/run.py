"""Answering a file of questions by the contract: whole rows, flushed one by one, none costing another."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import chain, islice
from os import PathLike
from pathlib import Path
from types import FrameType
from typing import Any

from hybridrank.errors import InputError
from hybridrank.records import Span
from hybridrank.tasks.finance.corpus import Problem, Question, read_questions
from hybridrank.tasks.finance.search import FinanceIndex, IndexSource
from hybridrank.tasks.finance.workers import in_order, workers_for_run

__all__ = ["RunReport", "row", "run"]


@dataclass(frozen=True, kw_only=True, slots=True)
class RunReport:
    """How a run went: rows written, lines that gave no question, questions that failed and got no span, and
    the number of the signal that stopped it before the end (0: none)."""

    rows: int
    problems: int
    failed: int
    stopped: int


def row(query_id: str, spans: list[Span]) -> dict[str, Any]:
    """A result row as the contract wants it.

    >>> row("q1", [Span(document_id="r", start=0, end=9)])
    {'query_id': 'q1', 'spans': [{'document_id': 'r', 'start': 0, 'end': 9}]}
    """
    return {
        "query_id": query_id,
        "spans": [{"document_id": span.document_id, "start": span.start, "end": span.end} for span in spans],
    }


def run(
    index: FinanceIndex,
    queries: str | PathLike[str],
    output: str | PathLike[str],
    *,
    workers: int | None = 1,
    progress: Callable[[int], None] | None = None,
    complain: Callable[[str], None] | None = None,
) -> RunReport:
    """Answer the questions of a file, one row each in their order, each flushed as soon as it is whole.

    A line that gives no question is left out; a question on which the search fails gets a row without spans.
    ``complain`` is told of both (by default they go to standard error), ``progress`` the number of lines
    done.

    ``workers`` processes share the questions of a file, each with the same index opened once more (``None``:
    as many as are worth their start); more than one need a program whose own work stands below
    ``if __name__ == "__main__":``. Should one of them be lost, ``complain`` is told, and the rest is answered
    in this process. So are the questions of a pipe, whose next line may be long in coming, and all where
    services are asked, so that what is spent on them is counted in one place.

    After SIGTERM or SIGINT the row at hand is finished and the run ends. Raises
    :class:`~hybridrank.errors.InputError` when the questions cannot be read or the output cannot be written.
    """
    tell = complain or (lambda message: print(message, file=sys.stderr))
    rows = problems = failed = done = 0
    # Before the output is touched: so that questions that cannot be read leave it as it was.
    questions = _begin(read_questions(queries))
    _check_apart(queries, output)
    number = workers_for_run(workers, queries)
    with (
        _Rows(output) as file,
        _stop_requests() as stopped,
        closing(_answers(index, _until(stopped, questions), number, tell)) as answers,
    ):
        for question, (spans, failure) in answers:
            if isinstance(question, Problem):
                problems += 1
                tell(f"skipped: {question.error}")
            else:
                if failure is not None:
                    failed += 1
                    tell(f"no spans for {question.query_id!r}: {failure}")
                file.add(row(question.query_id, spans))
                rows += 1
            done += 1
            if progress is not None:
                progress(done)
            if stopped:
                break
    return RunReport(rows=rows, problems=problems, failed=failed, stopped=stopped[0] if stopped else 0)


_Answer = tuple[list[Span], str | None]
"""The spans of a question, none of what gives no question; and why the search failed, if it did."""


def _answers(
    index: FinanceIndex,
    questions: Iterator[Question | Problem],
    workers: int,
    tell: Callable[[str], None],
) -> Generator[tuple[Question | Problem, _Answer], None, None]:
    """The questions in order, each with its answer."""
    here = partial(_answer, index)
    source = index.source if workers > 1 and index.neural is None else None
    if source is None:
        return in_order(questions, here, here, workers=1, complain=tell)
    return in_order(questions, partial(_answer_there, source), here, workers=workers, complain=tell)


def _answer(index: FinanceIndex, question: Question | Problem) -> _Answer:
    if isinstance(question, Problem):
        return [], None
    try:
        return index.spans(question.text), None
    except Exception as error:  # whatever it is, it must not cost the other questions their rows
        return [], repr(error)


def _answer_there(source: IndexSource, question: Question | Problem) -> _Answer:
    """The same in a process of its own, which opens the index when it is first asked."""
    return _answer(_opened(source), question)


_opened = lru_cache(maxsize=1)(IndexSource.open)


class _Rows:
    """The output file; it holds whole rows only, even when the disk is full."""

    def __init__(self, output: str | PathLike[str]) -> None:
        self._output = output
        self._size = 0
        try:
            self._file = Path(output).open("wb", buffering=0)  # noqa: SIM115 - closed by __exit__
        except OSError as error:
            raise self._unwritable(error) from error

    def __enter__(self) -> _Rows:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, result: dict[str, Any]) -> None:
        # ASCII, so that a lone surrogate in an id survives; at once, so that no reader sees half a row.
        line = json.dumps(result).encode("ascii") + b"\n"
        rest = memoryview(line)
        try:
            while rest:  # a disk that is nearly full takes a part
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            with suppress(OSError):  # a pipe cannot take it back
                self._file.truncate(self._size)
            raise self._unwritable(error) from error
        self._size += len(line)

    def _unwritable(self, error: OSError) -> InputError:
        return InputError(
            f"cannot be written ({error.strerror})",
            file=self._output,
            remedy="Choose a file that you may write, on a disk with room.",
        )


def _begin(questions: Iterator[Question | Problem]) -> Iterator[Question | Problem]:
    """The same questions, of which the first is read at once."""
    return chain(list(islice(questions, 1)), questions)


def _check_apart(queries: str | PathLike[str], output: str | PathLike[str]) -> None:
    if os.path.exists(output) and os.path.samefile(queries, output):
        raise InputError("is the file of questions too", file=output, remedy="Choose another output.")


def _until(stopped: list[int], questions: Iterator[Question | Problem]) -> Iterator[Question | Problem]:
    for question in questions:
        if stopped:
            return
        yield question


@contextmanager
def _stop_requests() -> Iterator[list[int]]:
    """A list that fills with the signals that ask this process to stop, instead of ending it."""
    received: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        received.append(number)

    numbers = (signal.SIGTERM, signal.SIGINT)
    try:
        before = {number: signal.signal(number, note) for number in numbers}
    except ValueError:  # not in the main thread: whoever runs this in another handles signals there
        yield received
        return
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
