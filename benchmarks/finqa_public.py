"""Turn FinQA's published JSON files into an evaluation, so that anyone can repeat the figures from public
data.

    python -m benchmarks.finqa_public --finqa train.json dev.json test.json --output DIR

Writes `corpus-finqa/reports.jsonl`, with one report for each company and year, and
`validation/finqa-STEM.*.jsonl` for each file. A report is its published pages in page order, "\\f" between
them; a page is its sentences a line, with the table's rows between the text before and after it, cells joined
by " | ".

FinQA: Chen et al., "FinQA: A Dataset of Numerical Reasoning over Financial Data", EMNLP 2021.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.rows import REPORTS, BenchmarkError
from hybridrank.tasks.finance.datasets import LABELS_SUFFIX, QUERIES_SUFFIX

_FILENAME = re.compile(r"(?P<company>[^/]+)/(?P<year>[^/]+)/page_(?P<page>\d+)\.pdf")
_EVIDENCE = re.compile(r"(?P<kind>text|table)_(?P<number>\d+)")
_SAME_FACT = (
    40  # a line as long as this states the same fact wherever it stands in a report; "total | 3" may not
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """The lines of one page: text before the table, the table's rows, text after it."""

    lines: tuple[str, ...]
    before: int
    rows: int

    def line_of(self, evidence: str) -> int:
        """Give the line that FinQA calls `text_N` (counted over both texts) or `table_N` (a row).

        Raises ValueError for a name of another form or a number that the page does not have.

        >>> page = Page(lines=("a", "b", "row", "c"), before=2, rows=1)
        >>> page.line_of("text_1"), page.line_of("table_0"), page.line_of("text_2")
        (1, 2, 3)
        """
        found = _EVIDENCE.fullmatch(evidence)
        if found is None:
            raise ValueError(f"evidence {evidence!r} is neither text_N nor table_N")
        number = int(found["number"])
        is_row = found["kind"] == "table"
        if number >= (self.rows if is_row else len(self.lines) - self.rows):
            raise ValueError(f"evidence {evidence!r} is past the page's end")
        if is_row:
            return self.before + number
        return number if number < self.before else number + self.rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A published question: its page (by file name) and the page's lines that hold its evidence."""

    query_id: str
    text: str
    filename: str
    lines: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A report's text, and for each page's file name the (start, end) of every line."""

    text: str
    places: Mapping[str, Sequence[tuple[int, int]]]


def read_page(entry: Mapping[str, Any]) -> Page:
    """Lay out an entry's page; each sentence and each row becomes one line."""
    before = [_one_line(sentence) for sentence in entry["pre_text"]]
    rows = [" | ".join(_one_line(cell) for cell in row) for row in entry["table"]]
    after = [_one_line(sentence) for sentence in entry["post_text"]]
    return Page(lines=(*before, *rows, *after), before=len(before), rows=len(rows))


def _one_line(text: object) -> str:
    return " ".join(str(text).split())


def read_questions(
    entries: Iterable[Mapping[str, Any]], source: str, pages: dict[str, Page]
) -> tuple[list[Question], dict[str, int]]:
    """Read one file's entries: its questions, and how many were left out for which reason.

    Pages are added to `pages` by file name, each once. Raises BenchmarkError, with source and entry, where a
    key is missing or of another kind.
    """
    questions: list[Question] = []
    left_out: dict[str, int] = defaultdict(int)
    for number, entry in enumerate(entries):
        try:
            filename, page = entry["filename"], read_page(entry)
            if _FILENAME.fullmatch(filename) is None:
                raise ValueError(f"file name {filename!r} is not COMPANY/YEAR/page_N.pdf")
            if pages.setdefault(filename, page) != page:
                left_out["its page differs from an earlier entry's"] += 1
                continue
            lines = sorted({page.line_of(evidence) for evidence in entry["qa"]["gold_inds"]})
            question = Question(
                query_id=entry["id"],
                text=entry["qa"]["question"],
                filename=filename,
                lines=tuple(line for line in lines if page.lines[line]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise BenchmarkError(
                f"{source}: entry {number} is not as FinQA publishes it: {error!r}"
            ) from error
        if question.lines:
            questions.append(question)
        else:
            left_out["no evidence"] += 1
    return questions, dict(left_out)


def build_reports(pages: Mapping[str, Page]) -> dict[str, Report]:
    """Join the pages of each company and year, in page order.

    >>> page = Page(lines=("one", "two"), before=2, rows=0)
    >>> build_reports({"ABC/2005/page_9.pdf": page, "ABC/2005/page_10.pdf": page})["ABC_2005"].text
    'one\\ntwo\\n\\x0cone\\ntwo\\n'
    """
    folders: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for filename in pages:
        found = _FILENAME.fullmatch(filename)
        if found is None:
            raise ValueError(f"file name {filename!r} is not COMPANY/YEAR/page_N.pdf")
        folders[f"{found['company']}_{found['year']}"].append((int(found["page"]), filename))
    reports = {}
    for document_id, numbered in sorted(folders.items()):
        text = ""
        places: dict[str, list[tuple[int, int]]] = {}
        for _, filename in sorted(numbered):
            text += "\f" if text else ""
            places[filename] = []
            for line in pages[filename].lines:
                places[filename].append((len(text), len(text) + len(line)))
                text += line + "\n"
        reports[document_id] = Report(text=text, places=places)
    return reports


def label(question: Question, document_id: str, report: Report) -> dict[str, Any]:
    """Give a question's evidence units as offsets; a long line that the report repeats counts anywhere."""
    units = []
    for number in question.lines:
        start, end = report.places[question.filename][number]
        places = [(start, end)]
        if end - start >= _SAME_FACT:
            line = report.text[start:end]
            everywhere = (place for page in report.places.values() for place in page)
            places += [
                place for place in everywhere if place != (start, end) and report.text[slice(*place)] == line
            ]
        units.append([{"document_id": document_id, "start": start, "end": end} for start, end in places])
    return {"query_id": question.query_id, "units": units}


def convert(files: Sequence[Path], output: Path) -> list[str]:
    """Write the evaluation of the given files below `output`; returns what was written and left out, a line
    each.

    Raises BenchmarkError where a file cannot be read or is not as FinQA publishes it, or a query id comes
    twice.
    """
    pages: dict[str, Page] = {}
    questions: dict[str, list[Question]] = {}
    messages = []
    for file in files:
        try:
            entries = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise BenchmarkError(f"cannot read {file}: {error}") from error
        name = f"finqa-{file.stem}"
        questions[name], left_out = read_questions(entries, str(file), pages)
        messages.append(f"{name}: {len(questions[name])} questions")
        messages += [f"{name}: {count} left out, {reason}" for reason, count in left_out.items()]
    ids = [question.query_id for group in questions.values() for question in group]
    if len(set(ids)) < len(ids) or len(questions) < len(files):
        raise BenchmarkError(
            "two questions have one id, or two files one name: pass each published file just once"
        )
    reports = build_reports(pages)
    messages.append(f"corpus-finqa: {len(reports)} reports, {len(pages)} pages")
    rows = ({"document_id": document_id, "text": report.text} for document_id, report in reports.items())
    _write(output / "corpus-finqa" / REPORTS, rows)
    owners = {filename: document_id for document_id, report in reports.items() for filename in report.places}
    for name, group in questions.items():
        queries = ({"query_id": question.query_id, "question": question.text} for question in group)
        _write(output / "validation" / (name + QUERIES_SUFFIX), queries)
        owned = ((question, owners[question.filename]) for question in group)
        labels = (label(question, owner, reports[owner]) for question, owner in owned)
        _write(output / "validation" / (name + LABELS_SUFFIX), labels)
    return messages


def _write(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


def main(arguments: Sequence[str] | None = None) -> int:
    """Convert the files that the arguments name; 0 on success, 1 with a message where one cannot be."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.finqa_public",
        description="Turn FinQA's published JSON into an evaluation.",
    )
    parser.add_argument(
        "--finqa", type=Path, nargs="+", required=True, metavar="FILE", help="train.json dev.json ..."
    )
    parser.add_argument(
        "--output", type=Path, required=True, metavar="DIR", help="where the evaluation is written"
    )
    options = parser.parse_args(arguments)
    try:
        print("\n".join(convert(options.finqa, options.output)))
    except BenchmarkError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
