"""The plain recipe: what one would try first, and so what every figure is set against.

Lines are packed into windows of at most 512 characters, BM25S ranks the windows with everything at its
defaults, and the best five windows are the answer.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import bm25s
import numpy as np
import numpy.typing as npt

from benchmarks.rows import REPORTS, read_rows

MAX_SPANS = 5
MAX_CHARACTERS = 512
_DOCUMENTS = "documents.json"
_WINDOWS = "windows.npy"


class Window(NamedTuple):
    """Characters `start` to `end` (exclusive) of one report."""

    document_id: str
    start: int
    end: int


def pack_lines(text: str, size: int = MAX_CHARACTERS) -> Iterator[tuple[int, int]]:
    """Yield the (start, end) of windows: lines packed greedily, those longer than `size` cut hard.

    A window begins where a line begins and ends where a line ends; blank ones are left out.

    >>> list(pack_lines("one\\ntwo\\nthree\\n\\nfour-and-five", size=8))
    [(0, 7), (8, 14), (15, 23), (23, 28)]
    """
    start = end = position = 0
    for line in text.split("\n"):
        line_end = position + len(line)
        if line_end - start > size:
            yield from _unless_blank(text, start, end)
            start = position
            while line_end - start > size:
                yield from _unless_blank(text, start, start + size)
                start += size
        end, position = line_end, line_end + 1
    yield from _unless_blank(text, start, end)


def _unless_blank(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    if text[start:end].strip():
        yield start, end


def build(corpus: Path, index_dir: Path) -> None:
    """Window and index `corpus/reports.jsonl`, and save everything that a search needs."""
    documents: list[str] = []
    places: list[tuple[int, int, int]] = []
    texts: list[str] = []
    for row in read_rows(corpus / REPORTS):
        for start, end in pack_lines(row["text"]):
            places.append((len(documents), start, end))
            texts.append(row["text"][start:end])
        documents.append(row["document_id"])
    retriever = bm25s.BM25()
    retriever.index(bm25s.tokenize(texts, show_progress=False), show_progress=False)
    retriever.save(index_dir, show_progress=False)
    np.save(index_dir / _WINDOWS, np.array(places, dtype=np.int64))
    (index_dir / _DOCUMENTS).write_text(json.dumps(documents), encoding="utf-8")


class PlainIndex:
    """An index that `build` has saved."""

    def __init__(self, retriever: Any, windows: npt.NDArray[np.int64], documents: list[str]) -> None:
        self._retriever = retriever
        self._windows = windows
        self._documents = documents

    @classmethod
    def open(cls, index_dir: Path) -> PlainIndex:
        """Load the index from its directory."""
        return cls(
            bm25s.BM25.load(index_dir, show_progress=False),
            np.load(index_dir / _WINDOWS),
            json.loads((index_dir / _DOCUMENTS).read_text(encoding="utf-8")),
        )

    def spans(self, question: str) -> list[Window]:
        """Give the best five windows, best first."""
        tokens = bm25s.tokenize(question, show_progress=False)
        k = min(MAX_SPANS, len(self._windows))
        rows = self._retriever.retrieve(tokens, k=k, show_progress=False).documents[0]
        return [
            Window(self._documents[document], start, end)
            for document, start, end in self._windows[rows].tolist()
        ]
