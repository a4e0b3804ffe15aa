"""What the search engines are measured on: texts and queries, written as JSON lines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import accumulate
from pathlib import Path

import numpy as np

from benchmarks.rows import REPORTS, read_rows

WINDOW, STRIDE = 512, 460  # characters
_SHORTEST = 8  # words of a generated passage
_LONGEST = 24
_VOCABULARY = 1_000_000
_EXPONENT, _SHIFT = 1.07, 2.7  # of Zipf's law with Mandelbrot's shift, about those of English
_LETTERS = "etaoinshrdlucmfwypvbgkjqxz"
_AT_ONCE = 50_000


def windows(corpus: Path) -> Iterator[str]:
    """Overlapping windows of the reports of a finance corpus."""
    for row in read_rows(corpus / REPORTS):
        text = row["text"]
        for start in range(0, max(len(text) - WINDOW + STRIDE, 1), STRIDE):
            yield text[start : start + WINDOW]


def blocks(corpus: Path) -> Iterator[str]:
    """The lines of the reports, joined up to the length of four windows."""
    for row in read_rows(corpus / REPORTS):
        block = ""
        for line in row["text"].splitlines():
            if len(block) + len(line) > 4 * WINDOW and block:
                yield block
                block = ""
            block += line + "\n"
        if block:
            yield block


def questions(files: Iterable[Path]) -> list[str]:
    """The questions of finance query files."""
    return [row["question"] for file in files for row in read_rows(file)]


def zipf_passages(number: int, seed: int = 7) -> Iterator[str]:
    """Short passages of made-up words whose frequencies follow Zipf's law.

    >>> next(zipf_passages(1)) == next(zipf_passages(5))
    True
    """
    rng = np.random.default_rng(seed)
    cumulative = _cumulative(_VOCABULARY, _EXPONENT)
    left = number
    while left > 0:
        lengths = rng.integers(_SHORTEST, _LONGEST + 1, size=_AT_ONCE).tolist()
        numbers = np.searchsorted(cumulative, rng.random(sum(lengths))).tolist()
        words = list(map(_word, numbers))
        starts = [0, *accumulate(lengths)]
        for start, length in list(zip(starts, lengths, strict=False))[:left]:
            yield " ".join(words[start : start + length])
        left -= _AT_ONCE


def zipf_queries(number: int, seed: int = 8) -> list[str]:
    """Queries of two to eight such words, of which rare ones are likelier than in a passage."""
    rng = np.random.default_rng(seed)
    cumulative = _cumulative(_VOCABULARY // 5, 0.7 * _EXPONENT)
    return [
        " ".join(map(_word, np.searchsorted(cumulative, rng.random(size)).tolist()))
        for size in rng.integers(2, 9, size=number).tolist()
    ]


def write_lines(path: Path, texts: Iterable[str]) -> int:
    """Write texts, one JSON string a line; returns their number."""
    count = 0
    with path.open("w", encoding="ascii", newline="\n") as file:
        for text in texts:
            file.write(json.dumps(text) + "\n")
            count += 1
    return count


def read_lines(path: Path) -> list[str]:
    """Read what :func:`write_lines` wrote."""
    with path.open(encoding="ascii") as file:
        return [json.loads(line) for line in file]


def _cumulative(words: int, exponent: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    weights = (np.arange(words) + _SHIFT) ** -exponent
    sums = np.cumsum(weights)
    return np.asarray(sums / sums[-1])


def _word(number: int) -> str:
    # Frequent words are short. Words of one letter are left out: some are stop words.
    number += len(_LETTERS)
    letters = ""
    while number:
        number, letter = divmod(number, len(_LETTERS))
        letters += _LETTERS[letter]
    return letters
