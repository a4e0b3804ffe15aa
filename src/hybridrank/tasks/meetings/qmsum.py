"""Reading QMSum's published files: meetings, and questions with the turns that hold their evidence.

A file ``NAME.json`` holds one meeting, a file ``NAME.jsonl`` one on each line:

    {"meeting_transcripts": [{"speaker": str, "content": str}, ...],
     "specific_query_list": [{"query": str, "answer": str, "relevant_text_span": [["0", "19"], ...]}, ...],
     "general_query_list": ..., "topic_list": ...}

General queries ask about a meeting as a whole and have no evidence of their own, so they are left out.
(Zhong et al., QMSum: A New Benchmark for Query-based Multi-domain Meeting Summarization, NAACL 2021.)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from hybridrank.errors import InputError
from hybridrank.tasks.meetings.history import Meeting, Turn
from hybridrank.tasks.meetings.questions import LabelledQuestion
from hybridrank.text.json_lines import parse_row, read_json_lines

__all__ = ["QMSum", "read_qmsum"]

_REMEDY = "Give one of QMSum's .json or .jsonl files, or a folder of its .json files."


class QMSum(NamedTuple):
    """The meetings, and the questions about them."""

    meetings: list[Meeting]
    questions: list[LabelledQuestion]


def read_qmsum(path: str | PathLike[str]) -> QMSum:
    """The meetings and specific questions of a file, or of a folder of ``.json`` files, by name.

    A meeting is called after its file, and in a ``.jsonl`` file also after its line: ``val-3``. Spans that
    reach beyond a meeting's end are cut there, and a question without a span in its meeting is left out.
    Raises :class:`~hybridrank.errors.InputError` with the place for what is not in the layout above.
    """
    found = QMSum([], [])
    for name, row, place in _rows(Path(path)):
        try:
            turns = tuple(Turn(turn["speaker"], turn["content"]) for turn in row["meeting_transcripts"])
            questions = [
                LabelledQuestion(
                    question_id=f"{name}-s{at:02}",
                    question=query["query"],
                    reference_answer=query["answer"],
                    meeting_id=name,
                    evidence_turns=_inside(query["relevant_text_span"], len(turns)),
                )
                for at, query in enumerate(row["specific_query_list"])
            ]
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"not in QMSum's layout ({error!r}; the fields found are {', '.join(map(repr, row))})",
                file=place[0],
                line=place[1],
                remedy=_REMEDY,
            ) from None
        found.meetings.append(Meeting(meeting_id=name, turns=turns))
        found.questions.extend(question for question in questions if question.evidence_turns)
    return found


def _rows(path: Path) -> Iterator[tuple[str, Mapping[str, Any], tuple[Path, int | None]]]:
    if path.suffix == ".jsonl":
        for number, row in read_json_lines(path, _REMEDY):
            yield f"{path.stem}-{number}", row, (path, number)
        return
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    if not files:
        raise InputError("holds no .json file", file=path, remedy=_REMEDY)
    for file in files:
        try:
            content = file.read_bytes()
        except OSError as error:
            raise InputError(f"cannot be read ({error.strerror})", file=file, remedy=_REMEDY) from error
        yield file.stem, parse_row(content, file, 1), (file, None)


def _inside(spans: list[list[str]], turns: int) -> tuple[tuple[int, int], ...]:
    """The ranges as numbers, both ends included, without what lies beyond the last turn.

    >>> _inside([["0", "19"], ["30", "31"]], 20)
    ((0, 19),)
    """
    ranges = [(max(0, int(first)), min(int(last), turns - 1)) for first, last in spans]
    return tuple((first, last) for first, last in ranges if first <= last)
