"""How a report is laid out: lines and sentences, table rows and their headers, financial statements.

Reports come as text extracted from PDFs, without reliable page marks. A *segment* is a line, or a sentence of
a long line, of at most :data:`LONGEST` characters; segments never overlap and lose nothing but white space.
A span that is returned starts where a segment starts and ends where one ends, so it cuts no table row.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["BALANCE", "CASH", "INCOME", "LONGEST", "Layout", "clean", "lay_out"]

LONGEST = 512  # characters of a span, by the contract
BLOCK = 1200  # characters beyond which a block is full
_LINE = 400  # a line up to this long stays whole, as does a row with bars; prose is cut at its sentences

BALANCE, INCOME, CASH = 1, 2, 3  # primary statements; 0 stands for anything else

# Dashes, quotes and apostrophes that lost their backslash-u on the way through an ASCII escape: `2019s` for
# `'s`, `2014continued` for `-continued`, `201csecurity 201d` for a quoted word; but `2018q4` is a quarter.
# (It begins with plain characters, not with what may not stand before them, for these are found much sooner.)
_LOST_ESCAPE = re.compile(r"201(?<![0-9.,]201)(?:9s\b|[3489cd](?=[a-z])(?![qh][1-4]\b)|[cd](?=\s|$))")
_CONTENT = re.compile(r"[^\s][^\n\r\f]*")
_SENTENCE_END = re.compile(r"[.;:!?]\s+(?=\S)")
_COLUMNS = re.compile(r"\S(?: \| |\t|\s{2,})\S")
_DIGIT = re.compile(r"[0-9]")
_ROW = 200  # characters beyond which a line with gaps is prose that was justified
_LABEL = 60  # a line so short between rows is a label of the table

_STATEMENTS = tuple(
    (code, re.compile(pattern, re.IGNORECASE))
    for code, pattern in (
        (BALANCE, r"balance\s+shee\s?ts?\b|statements?\s+of\s+financial\s+(?:position|condition)\b"),
        (INCOME, r"statements?\s+of\s+(?:consolidated\s+)?(?:income|operations|earnings|profit)\b"),
        (CASH, r"statements?\s+of\s+(?:consolidated\s+)?cash\s+flow\s?s?\b"),
    )
)
# In lower case; one by one, for what begins with the same characters is found much sooner.
_MAYBE_STATEMENTS = tuple(map(re.compile, (r"statements?\s+of\s", r"balance\s+shee")))
_NOT_A_HEADING = re.compile(
    r"note|schedule|comprehensive|equity|item\b|\bto\b|see\b|[0-9]\s*$|[.;:,]\s*$", re.IGNORECASE
)
_HEADING = 100  # characters of a heading at most
_STATEMENT_LINES = 60  # lines that a statement runs on after its heading
_ROWS_SOON, _ENOUGH_ROWS = 30, 10  # a heading counts when so many of the next lines are rows


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Layout:
    """The segments of one text, and what each is; all arrays have one entry a segment.

    ``starts``/``ends`` (int32) are ``str`` positions. ``headers`` (int32) is the segment that opens the table
    around a segment, or -1. ``statements`` (int8) is :data:`BALANCE`, :data:`INCOME`, :data:`CASH` or 0.
    ``window_ends`` (int32): the window that starts with segment ``i`` holds segments ``i`` to
    ``window_ends[i]``, exclusive, as many as fit in :data:`LONGEST` characters. ``blocks`` (int32): the first
    segment of each block.
    """

    starts: NDArray[np.int32]
    ends: NDArray[np.int32]
    rows: NDArray[np.bool_]
    headers: NDArray[np.int32]
    statements: NDArray[np.int8]
    window_ends: NDArray[np.int32]
    blocks: NDArray[np.int32]


def clean(text: str) -> str:
    """The text with remains of lost escapes blanked out, every character in its place.

    >>> clean("the company 2019s 201cbest 201d year 2019")
    'the company           best      year 2019'
    """
    return _LOST_ESCAPE.sub(lambda found: " " * len(found.group()), text)


def lay_out(text: str) -> Layout:
    """Find the segments of a text, its tables and its statements.

    >>> layout = lay_out("Sales rose.\\n | 2019 | 2018\\nNet sales | $ 5 | $ 4\\n")
    >>> layout.starts.tolist(), layout.rows.tolist(), layout.headers.tolist()
    ([0, 13, 27], [False, True, True], [-1, 1, 1])
    """
    pieces = _pieces(text)
    bounds = np.array(pieces, dtype=np.int32).reshape(-1, 2)
    starts, ends = bounds[:, 0].copy(), bounds[:, 1].copy()
    rows = np.fromiter((_is_row(text[start:end]) for start, end in pieces), dtype=bool, count=len(pieces))
    window_ends = np.searchsorted(ends, starts.astype(np.int64) + LONGEST, side="right").astype(np.int32)
    return Layout(
        starts=starts,
        ends=ends,
        rows=rows,
        headers=_headers(rows, ends - starts),
        statements=_statements(text, pieces, rows),
        window_ends=window_ends,
        blocks=_blocks(starts, ends),
    )


def _pieces(text: str) -> list[tuple[int, int]]:
    """The bounds of the segments, in order."""
    pieces: list[tuple[int, int]] = []
    for found in _CONTENT.finditer(text):
        start = found.start()
        end = start + len(found.group().rstrip())
        if end - start <= (LONGEST if " | " in found.group() else _LINE):
            pieces.append((start, end))
        else:
            pieces.extend(_sentences(text, start, end))
    return pieces


def _sentences(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """A long line as sentences; a sentence that is too long still is cut between words, or anywhere."""
    pieces: list[tuple[int, int]] = []
    cuts = [found.end() for found in _SENTENCE_END.finditer(text, start, end)]
    for at, after in zip([start, *cuts], [*cuts, end], strict=True):
        while after - at > LONGEST:
            space = text.rfind(" ", at + LONGEST // 2, at + LONGEST)
            cut = space if space > 0 else at + LONGEST
            pieces.append(_trimmed(text, at, cut))
            at = cut
        pieces.append(_trimmed(text, at, after))
    return [(at, after) for at, after in pieces if at < after]


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    piece = text[start:end]
    return start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())


def _is_row(line: str) -> bool:
    if " | " in line:
        return True
    return len(line) <= _ROW and bool(_DIGIT.search(line)) and bool(_COLUMNS.search(line))


def _headers(rows: NDArray[np.bool_], lengths: NDArray[np.int32]) -> NDArray[np.int32]:
    """For each segment the first row of its table: rows in a run, with at most two short labels between."""
    headers = np.full(len(rows), -1, dtype=np.int32)
    first, gap = -1, 3
    for at, (is_row, length) in enumerate(zip(rows.tolist(), lengths.tolist(), strict=True)):
        if is_row:
            if gap > 2:
                first = at
            gap = 0
        else:
            gap += 1 if length < _LABEL else 3
        if gap <= 2:
            headers[at] = first
    return headers


def _statements(text: str, pieces: list[tuple[int, int]], rows: NDArray[np.bool_]) -> NDArray[np.int8]:
    """Which primary statement each segment belongs to: from a heading that rows follow, for some lines."""
    kinds = np.zeros(len(pieces), dtype=np.int8)
    n_rows = np.concatenate(([0], np.cumsum(rows)))
    starts = np.array([start for start, _ in pieces], dtype=np.int64)
    # Where a character has another length in lower case, which none of ours has, all places would be off.
    lower = text.lower()
    lower = lower if len(lower) == len(text) else "".join(c.lower() if c < "\u0130" else c for c in text)
    for place in sorted(found.start() for one in _MAYBE_STATEMENTS for found in one.finditer(lower)):
        at = int(np.searchsorted(starts, place, side="right")) - 1
        line = text[slice(*pieces[at])]
        if len(line) >= _HEADING or _NOT_A_HEADING.search(line):
            continue
        soon = min(at + _ROWS_SOON, len(pieces))
        kind = next((code for code, pattern in _STATEMENTS if pattern.search(line)), 0)
        if kind and n_rows[soon] - n_rows[at] >= _ENOUGH_ROWS:
            kinds[at : at + _STATEMENT_LINES] = kind
    return kinds


def _blocks(starts: NDArray[np.int32], ends: NDArray[np.int32]) -> NDArray[np.int32]:
    """The first segment of each block; a block is closed once it holds more than :data:`BLOCK` characters."""
    blocks: list[int] = []
    at = 0
    while at < len(starts):
        blocks.append(at)
        at = int(np.searchsorted(ends, starts[at] + BLOCK, side="right")) + 1
    return np.array(blocks, dtype=np.int32)
