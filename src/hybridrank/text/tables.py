"""Read corpora from tables of text: CSV and TSV, a document a row, under a header."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from pathlib import Path

from hybridrank.errors import InputError
from hybridrank.text.json_lines import decode_line

__all__ = ["HEADER_REMEDY", "read_rows"]

_LONGEST = 2**31 - 1  # characters of a field, the most that the reader can be told on every system
HEADER_REMEDY = "Name the columns in the first row: id, text, and others as you like."
"""What to do about a header that will not do."""


def read_rows(
    lines: Iterable[tuple[int, bytes]], path: Path, delimiter: str
) -> Iterator[tuple[int, dict[str, str]]]:
    r"""The rows below the header, by the names of the columns, each with the line it ends on, from 1.

    ``lines`` are those of the file with their numbers, ends included. A field between quotes may hold the
    delimiter, line ends, and doubled quotes; blank lines are passed over. Where a header has no comma but a
    semicolon, as some spreadsheets write it, that is the delimiter.

    Raises :class:`~hybridrank.errors.InputError`, with the line, for a row of more or fewer fields than the
    header, a header that names a column twice, quotes that do not fit, and what is not UTF-8.

    >>> lines = enumerate([b"id,text\n", b'a,"Net, ""sales""\n', b'rose."\n'], start=1)
    >>> list(read_rows(lines, Path("c.csv"), ","))
    [(3, {'id': 'a', 'text': 'Net, "sales"\nrose.'})]
    """
    csv.field_size_limit(max(_LONGEST, csv.field_size_limit()))  # of the whole process, and so only raised
    numbers = [0]
    decoded = _decoded(lines, path, numbers)
    head = next(decoded, "")
    if delimiter == "," and "," not in head and ";" in head:
        delimiter = ";"
    rows = csv.reader(_with(head, decoded), delimiter=delimiter, strict=True)
    header: list[str] = []
    while True:
        try:
            row = next(rows, None)
        except csv.Error as error:
            raise InputError(
                f"the row cannot be read ({error})", file=path, line=numbers[0], remedy="See to its quotes."
            ) from None
        if row is None:
            return
        if not row:
            continue
        if not header:
            header = [name.strip() for name in row]
            if len(set(header)) < len(header):
                raise InputError(
                    f"the columns are {header}", file=path, line=numbers[0], remedy=HEADER_REMEDY
                )
        elif len(row) != len(header):
            raise InputError(
                f"a row has {len(header)} fields, as the header has, and this one {len(row)}",
                file=path,
                line=numbers[0],
                remedy="Put a field that holds the delimiter, a quote or a line end between quotes.",
            )
        else:
            yield numbers[0], dict(zip(header, row, strict=True))


def _decoded(lines: Iterable[tuple[int, bytes]], path: Path, numbers: list[int]) -> Iterator[str]:
    for number, line in lines:
        numbers[0] = number
        yield decode_line(line, path, number)


def _with(first: str, others: Iterator[str]) -> Iterator[str]:
    yield first
    yield from others
