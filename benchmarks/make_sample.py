"""Build the bundled finance sample from its readable sources.

The sources are one text file a report (its name is the document id) and `questions.json`, in which each
question quotes its evidence word for word. The product is the contract's layout, `reports.jsonl`,
`questions.jsonl` and `labels.jsonl`, with the quotes turned into character offsets. The same sources
always give the same bytes.

    python benchmarks/make_sample.py
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "tests" / "data_sources" / "finance"
OUTPUT = ROOT / "src" / "hybridrank" / "data" / "finance"


class SampleError(ValueError):
    """A source that cannot be built from; the message names the place and the remedy."""


def read_reports(sources: Path) -> dict[str, str]:
    """Return the text of every `*.txt` under `sources` by document id, in the order of the ids.

    Line ends are read as `\\n` whatever the checkout made of them, so that offsets agree everywhere.
    """
    paths = sorted(sources.glob("*.txt"), key=lambda path: path.stem)
    if not paths:
        raise SampleError(f"{sources}: no .txt file found; give the directory of the sources with --sources")
    return {path.stem: path.read_text(encoding="utf-8") for path in paths}


def read_questions(path: Path) -> list[dict[str, Any]]:
    """Return the questions of `questions.json`, each with an id of its own and at least one quote a unit."""
    try:
        questions = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        place = f"{path}, line {error.lineno}"
        raise SampleError(f"{place}: not JSON ({error.msg}); correct that line") from error
    if not isinstance(questions, list):
        raise SampleError(f"{path}: holds no list; write a JSON list of questions")
    seen: set[str] = set()
    for number, question in enumerate(questions, start=1):
        try:
            query_id, units = question["query_id"], question["units"]
            complete = bool(question["question"]) and bool(units) and all(units)
        except (KeyError, TypeError) as error:
            raise SampleError(f"{path}, question {number}: lacks a key ({error}); add it") from error
        if not complete:
            raise SampleError(f"{path}, {query_id}: empty question or unit; fill it in or take it out")
        if query_id in seen:
            raise SampleError(f"{path}, {query_id}: this id was used before; give the question another")
        seen.add(query_id)
    return questions


def locate(text: str, quote: str, occurrence: int | None = None) -> tuple[int, int]:
    """Return start and end of `quote` in `text`, as `str` positions, end exclusive.

    A quote that occurs more than once needs `occurrence`, counted from 1. Raises `SampleError`.

    >>> locate("Total 5, Sum 7, Total 5", "Sum 7")
    (9, 14)
    >>> locate("Total 5, Sum 7, Total 5", "Total 5", occurrence=2)
    (16, 23)
    """
    if not quote.strip() or quote != quote.strip():
        raise SampleError("the quote is empty or has white space at an end; trim it")
    starts: list[int] = []
    start = text.find(quote)
    while start >= 0:
        starts.append(start)
        start = text.find(quote, start + 1)
    if not starts:
        raise SampleError("the quote is not in the report; copy it exactly, line breaks included")
    if occurrence is None:
        if len(starts) > 1:
            raise SampleError(f'the quote occurs {len(starts)} times; say which with "occurrence", from 1')
        occurrence = 1
    if not 1 <= occurrence <= len(starts):
        raise SampleError(f'"occurrence" is {occurrence}, but the quote occurs {len(starts)} time(s)')
    found = starts[occurrence - 1]
    return found, found + len(quote)


def place_of(evidence: Mapping[str, Any], reports: Mapping[str, str]) -> dict[str, Any]:
    """Return document id, start and end of one quoted place; raises `SampleError`."""
    missing = {"document_id", "quote"} - evidence.keys()
    if missing:
        raise SampleError(f"the evidence lacks {', '.join(sorted(missing))}; add it")
    document_id = evidence["document_id"]
    if document_id not in reports:
        raise SampleError(f"there is no report {document_id!r}; add its .txt file or correct the id")
    try:
        start, end = locate(reports[document_id], evidence["quote"], evidence.get("occurrence"))
    except SampleError as error:
        raise SampleError(f"{document_id}: {error}: {evidence['quote']!r}") from error
    return {"document_id": document_id, "start": start, "end": end}


def label(question: Mapping[str, Any], reports: Mapping[str, str]) -> dict[str, Any]:
    """Return the labels row of one question: units, each a list of alternative places."""
    units = []
    for number, alternatives in enumerate(question["units"], start=1):
        try:
            units.append([place_of(evidence, reports) for evidence in alternatives])
        except SampleError as error:
            raise SampleError(f"{question['query_id']}, unit {number}: {error}") from error
    return {"query_id": question["query_id"], "units": units}


def write_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write one JSON object a line, UTF-8, `\\n` line ends on every platform."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def build(sources: Path, output: Path) -> None:
    """Write the three files to `output`; nothing is written when a source is at fault."""
    reports = read_reports(sources)
    questions = read_questions(sources / "questions.json")
    labels = [label(question, reports) for question in questions]
    output.mkdir(parents=True, exist_ok=True)
    texts = [{"document_id": document_id, "text": text} for document_id, text in reports.items()]
    asked = [{"query_id": question["query_id"], "question": question["question"]} for question in questions]
    write_lines(output / "reports.jsonl", texts)
    write_lines(output / "questions.jsonl", asked)
    write_lines(output / "labels.jsonl", labels)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return its exit status."""
    parser = argparse.ArgumentParser(description="Build the bundled finance sample from readable sources.")
    parser.add_argument("--sources", type=Path, default=SOURCES, help="holds the .txt files, questions.json")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="receives the three .jsonl files")
    options = parser.parse_args(arguments)
    try:
        build(options.sources, options.output)
    except (SampleError, OSError) as error:
        print(f"make_sample: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
