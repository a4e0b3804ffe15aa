"""Grow reports and questions to the size of the real job, out of those that are there.

    python -m benchmarks.grow --data DIR --output DIR [--corpus NAME] [--reports N] [--megabytes N]
        [--questions N] [--shortest N] [--seed N]

Reads ``corpus-NAME/reports.jsonl`` and ``validation/*.queries.jsonl`` below ``--data``, writes
``reports.jsonl`` and ``questions.jsonl``. Every filing is copied once, and then the longest ones again and
again until there are enough reports of the wanted size in all. A copy is the report of another company: its
name is another one throughout, its years are shifted, and the digits of all other numbers of three or more
digits are drawn anew, the same number becoming the same one within a copy. A question that names a company
asks for one of its copies. The same seed gives the same bytes.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, cycle, islice
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.command_line import run_command
from benchmarks.rows import REPORTS, BenchmarkError, read_rows
from hybridrank.errors import InputError
from hybridrank.tasks.finance.corpus import read_reports
from hybridrank.tasks.finance.datasets import QUERIES_SUFFIX
from hybridrank.tasks.finance.lexicon import NAME_NOISE
from hybridrank.tasks.finance.profile import profile_report
from hybridrank.text.tokens import Tokenizer

__all__ = ["QUESTIONS", "Alias", "Source", "grow", "main"]

QUESTIONS = "questions.jsonl"

_NUMBER = re.compile(r"(?<![\w.,])\d+(?:,\d{3})*(?:\.\d+)?(?!\w)")
_YEAR, _SHIFTED = re.compile(r"(?:19|20)\d\d"), re.compile(r"(?:19[89]|20[0-3])\d")  # an Act of 1934 stays
_WORD = re.compile(r"[a-z0-9]+")
_DIGIT = re.compile(r"\d")
_ID_NOISE = re.compile(r"(?:19|20)\d\d(?:q\d)?|10k|10q|8k|q\d|fy\d*|earnings|annualreport|dated|\d+", re.I)
_SYLLABLES = [
    first + second for first in "bdfgklmnprstvz" for second in ("a", "e", "i", "o", "u", "an", "er")
]
_NAME = 4  # letters of a word by which a question is seen to name a company
_NOISE = frozenset(NAME_NOISE.lower().split())


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """A report to be copied: its id, where its line begins in the file, its length in characters."""

    document_id: str
    offset: int
    length: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Alias:
    """What a copy changes: words of the company's name, and by how many years."""

    words: dict[str, str]
    years: int


def grow(
    data: Path,
    output: Path,
    *,
    corpus: str = "full",
    reports: int = 885,
    megabytes: float = 660.0,
    questions: int = 4000,
    shortest: int = 20_000,
    seed: int = 1,
) -> dict[str, Any]:
    """Write the grown corpus and its questions into ``output``; returns what was written, in numbers.

    ``megabytes`` are 10^6 characters; reports of fewer than ``shortest`` characters are not copied. Raises
    :class:`~benchmarks.rows.BenchmarkError` and :class:`~hybridrank.errors.InputError` for data that cannot
    be read or is not there.
    """
    file = data / f"corpus-{corpus}" / REPORTS
    sources = [source for source in _sources(file) if source.length >= shortest]
    if not sources:
        raise BenchmarkError(f"{file}: no report of {shortest} characters or more")
    output.mkdir(parents=True, exist_ok=True)
    characters = 0
    aliases: dict[str, list[Alias]] = {}
    with file.open("rb") as lines, (output / REPORTS).open("w", encoding="ascii") as out:
        for number, source in enumerate(_chosen(sources, reports, megabytes * 1e6)):
            lines.seek(source.offset)
            text = json.loads(lines.readline())["text"]
            alias = alias_of(source.document_id, text, random.Random(f"{seed} alias {number}"))
            for word in alias.words:
                aliases.setdefault(word, []).append(alias)
            copy = altered(text, alias, random.Random(f"{seed} text {number}"))
            name = altered_id(source.document_id, alias)
            out.write(json.dumps({"document_id": f"{name}_{number:04d}", "text": copy}) + "\n")
            characters += len(copy)
    asked = list(_questions(data / "validation", aliases, questions, random.Random(f"{seed} questions")))
    with (output / QUESTIONS).open("w", encoding="ascii") as out:
        for number, text in enumerate(asked):
            out.write(json.dumps({"query_id": f"q{number:05d}", "question": text}) + "\n")
    return {"reports": reports, "characters": characters, "questions": len(asked), "sources": len(sources)}


def _sources(file: Path) -> Iterator[Source]:
    """The reports of a file, one at a time; only their lengths stay in memory."""
    reports = [(report.document_id, report.line, len(report.text)) for report in read_reports(file)]
    with file.open("rb") as lines:
        offsets = [0, *accumulate(map(len, lines))]
    for document_id, line, length in reports:
        yield Source(document_id=document_id, offset=offsets[line - 1], length=length)


def _chosen(sources: Sequence[Source], reports: int, characters: float) -> Iterator[Source]:
    """Each source once, then the longest again and again: as many as make up the size that is missing."""
    first = sources[:reports]
    yield from first
    left = reports - len(first)
    if not left:
        return
    wanted = (characters - sum(source.length for source in first)) / left
    longest = sorted(sources, key=lambda source: (-source.length, source.offset))
    taken, total = 1, longest[0].length
    while taken < len(longest) and (total + longest[taken].length) / (taken + 1) >= wanted:
        total += longest[taken].length
        taken += 1
    yield from islice(cycle(longest[:taken]), left)


def alias_of(document_id: str, text: str, rng: random.Random) -> Alias:
    """Another name for the company of a report, and a shift of its years.

    Names are those words of the id that name the company, the name on the cover written in one, and those of
    its words that the report never writes in lower case.

    >>> text = "FORM 10-K\\nBest Buy Co., Inc.\\nOur best sales."
    >>> sorted(alias_of("BBY_2019", text, random.Random(3)).words)
    ['bby', 'bestbuy', 'buy']
    """
    words = _company(document_id).split()
    cover = profile_report(document_id, text, Tokenizer()).name
    named = [word for word in _WORD.findall(cover.lower()) if word not in _NOISE]
    words += ["".join(named), *(word for word in named if not re.search(rf"\b{word}\b", text))]
    return Alias(words={word: _invented(rng) for word in words if len(word) > 1}, years=rng.randint(-6, 4))


def _company(document_id: str) -> str:
    """The words of a report's id that name its company, in lower case."""
    words = [word.lower() for word in re.split(r"[^A-Za-z0-9]+", document_id) if word]
    return " ".join(word for word in words if not _ID_NOISE.fullmatch(word) and word not in _NOISE)


def _invented(rng: random.Random) -> str:
    return "".join(rng.choice(_SYLLABLES) for _ in range(rng.randint(2, 4)))


def altered_id(document_id: str, alias: Alias) -> str:
    """The id of a copy, with the other name and the shifted year.

    >>> altered_id("BESTBUY_2019_10K", Alias(words={"bestbuy": "zanlo"}, years=-1))
    'ZANLO_2018_10K'
    """
    parts = re.split(r"([^A-Za-z0-9]+)", document_id)
    named = "".join(alias.words.get(part.lower(), part).upper() for part in parts)
    return re.sub(r"(?:19|20)\d\d", lambda found: _shifted(found.group(), alias.years), named)


def altered(text: str, alias: Alias, rng: random.Random) -> str:
    """The text of a copy.

    A word of the name is replaced wherever it stands, in capitals where it stands in capitals. As an id may
    write several words in one, up to two characters that are no letters may stand between its letters.

    >>> alias = Alias(words={"bestbuy": "zanlo"}, years=-1)
    >>> altered("Best Buy Co., BEST BUY: 2019 sales of 42,879 in 12 stores", alias, random.Random(1))
    'Zanlo Co., ZANLO: 2018 sales of 39,141 in 12 stores'
    """
    numbers: dict[str, str] = {}

    def number(found: re.Match[str]) -> str:
        old = found.group()
        if _YEAR.fullmatch(old):
            return _shifted(old, alias.years) if _SHIFTED.fullmatch(old) else old
        if len(old) < 3:
            return old
        new = numbers.get(old)
        if new is None:
            first = str(rng.randint(1, 9))
            new = numbers[old] = first + _DIGIT.sub(lambda _: str(rng.randint(0, 9)), old[1:])
        return new

    text = _NUMBER.sub(number, text)
    for word, name in sorted(alias.words.items(), key=lambda pair: (-len(pair[0]), pair[0])):
        pattern = re.compile(r"\b" + r"[^\w\n]{0,2}".join(map(re.escape, word)) + r"\b", re.IGNORECASE)
        text = pattern.sub(lambda found, name=name: _like(found.group(), name), text)  # type: ignore[misc]
    return text


def _shifted(year: str, by: int) -> str:
    return str(int(year) + by)


def _like(old: str, new: str) -> str:
    if old.isupper():
        return new.upper()
    return new.capitalize() if old[:1].isupper() else new


def _questions(
    folder: Path, aliases: dict[str, list[Alias]], number: int, rng: random.Random
) -> Iterator[str]:
    """Questions of all sets, again and again, each about a copy where it names a company."""
    texts = [
        str(row["question"]) for path in sorted(folder.glob(f"*{QUERIES_SUFFIX}")) for row in read_rows(path)
    ]
    if not texts:
        raise BenchmarkError(f"{folder}: no NAME{QUERIES_SUFFIX} with a question in it")
    rng.shuffle(texts)
    words = sorted((word for word in aliases if len(word) >= _NAME), key=lambda word: (-len(word), word))
    for text in islice(cycle(texts), number):
        joined = re.sub(r"\W", "", text.lower())
        named = next((word for word in words if word in joined), None)
        alias = Alias(words={}, years=rng.randint(-6, 4)) if named is None else rng.choice(aliases[named])
        yield altered(text, alias, rng)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; 0 on success, 1 with a message where the data will not do."""
    return run_command(_parser(), _run, arguments, BenchmarkError, InputError)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.grow",
        description="Grow reports and questions to the size of the real job.",
    )
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="evaluation data")
    parser.add_argument("--output", type=Path, required=True, metavar="DIR")
    parser.add_argument("--corpus", default="full", metavar="NAME", help="copied are reports of corpus-NAME")
    parser.add_argument("--reports", type=int, default=885, metavar="N")
    parser.add_argument("--megabytes", type=float, default=660.0, metavar="N", help="10^6 characters in all")
    parser.add_argument("--questions", type=int, default=4000, metavar="N")
    parser.add_argument("--shortest", type=int, default=20_000, metavar="N", help="characters of a report")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    return parser


def _run(options: argparse.Namespace, errors: Console) -> None:
    with errors.status("growing"):
        found = grow(**vars(options))
    errors.print(
        f"{found['reports']} reports ({found['characters']:,} characters) of {found['sources']} filings, "
        f"{found['questions']} questions in {options.output}"
    )


if __name__ == "__main__":
    sys.exit(main())
