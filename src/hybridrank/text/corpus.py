"""Read corpora: JSON lines, tables, and folders of text files. Bad input is named by file and line.

A document comes as one :class:`~hybridrank.records.Passage` that starts at 0: its ``id`` is the document's,
its text whole and unchanged but for a byte order mark at the start of a file. A text that was extracted from
a PDF keeps the form feeds between its pages, for :func:`~hybridrank.text.passages.split_document`.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from io import BufferedReader
from pathlib import Path
from typing import Any, Literal

from hybridrank.errors import HybridrankWarning, InputError
from hybridrank.records import Passage, counted
from hybridrank.text.tables import HEADER_REMEDY, read_rows

__all__ = ["FORMATS", "Format", "read_corpus", "read_folder", "read_jsonl", "read_table"]

Format = Literal["jsonl", "csv", "tsv", "txt"]
FORMATS: Mapping[str, Format] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".txt": "txt",
    ".md": "txt",
}
"""How a file is read, by its suffix."""

Seen = Callable[[int], object]
_ID_KEYS = ("document_id", "id", "_id")
_TEXT_SUFFIXES = frozenset(suffix for suffix, one in FORMATS.items() if one == "txt")
_DELIMITERS: dict[Format, str] = {"csv": ",", "tsv": "\t"}
_LINE_REMEDY = 'Give one object a line: {"document_id": "...", "text": "..."}.'
_PDF, _PDF_REMEDY = b"%PDF-", "Make text of it first: pdftotext -layout FILE.pdf FILE.txt."
_PEEKED = 1024  # bytes by which a file without a suffix is told
_ENCODING_REMEDY = "Save it as UTF-8."
_READING_REMEDY = "Make it readable, or leave it out."


def read_corpus(
    path: str | os.PathLike[str], *, format: Format | None = None, seen: Seen = lambda size: None
) -> Iterator[Passage]:
    """The documents of a ``.jsonl``, ``.csv``, ``.tsv``, ``.txt`` or ``.md`` file, or of a folder of the last
    two.

    ``format`` is told by the suffix if not given, and where there is none, JSON lines by the brace that they
    begin with. ``seen`` is told the bytes of each line or text that was read. Raises
    :class:`~hybridrank.errors.InputError` when there is nothing of the kind, and as the readers below do.
    """
    place = Path(path)
    if place.is_dir():
        return read_folder(place, seen=seen)
    if not place.exists():
        raise InputError("there is no such file or folder", file=place, remedy="Correct the path.")
    suffix = place.suffix.lower()
    if suffix == ".pdf" and format is None:
        raise InputError("this is a PDF, not text", file=place, remedy=_PDF_REMEDY)
    if suffix and suffix not in FORMATS and format is None:
        raise InputError(
            f"a corpus cannot be read from a {suffix} file",
            file=place,
            remedy=f"Give a file of {', '.join(FORMATS)}, a folder of .txt and .md files, or the format.",
        )
    return _read_file(place, format or FORMATS.get(suffix), seen)


def read_jsonl(path: str | os.PathLike[str]) -> Iterator[Passage]:
    """The documents of a file with one JSON object a line, one by one.

    An object has a string ``text`` and an id, a string under ``document_id``, ``id`` or ``_id``; what else it
    has becomes metadata. Blank lines are passed over.

    Raises :class:`~hybridrank.errors.InputError`, with the line, for a line that is not such an object or not
    UTF-8, and for an id that an earlier line has; and when the file cannot be read.
    """
    return _read_file(Path(path), "jsonl")


def read_table(path: str | os.PathLike[str], format: Literal["csv", "tsv"] = "csv") -> Iterator[Passage]:
    """The documents of a table with a header, a row each, one by one.

    The columns are named like the keys of :func:`read_jsonl`; others become metadata. Raises
    :class:`~hybridrank.errors.InputError`, with the line, as that does, and as
    :func:`~hybridrank.text.tables.read_rows` does.
    """
    return _read_file(Path(path), format)


def _read_file(path: Path, format: Format | None, seen: Seen = lambda size: None) -> Iterator[Passage]:
    first_line_of: dict[str, int] = {}
    try:
        with path.open("rb") as file:
            head = file.peek(_PEEKED).removeprefix(b"\xef\xbb\xbf").lstrip()
            if format is None:
                format = "jsonl" if head.startswith(b"{") else _table_of(head) or "txt"
            if head.startswith(_PDF):
                raise InputError("this is a PDF, not text", file=path, remedy=_PDF_REMEDY)
            if format == "txt":
                yield _document(path.name, path, file.read(), seen)
                return
            for number, document in _documents(file, path, format, seen):
                first = first_line_of.setdefault(document.id, number)
                if first != number:
                    raise InputError(
                        f"the id {document.id!r} stands on line {first} already",
                        file=path,
                        line=number,
                        remedy="Give each document an id of its own.",
                    )
                yield document
    except OSError as error:
        raise _unreadable(path, error) from error


def _table_of(head: bytes) -> Format | None:
    """The kind of table whose header a file begins with: one that names an id and a text."""
    first = head.partition(b"\n")[0].decode("utf-8", "replace")
    for format, delimiter in _DELIMITERS.items():
        columns = {name.strip().strip('"') for name in first.split(delimiter)}
        if "text" in columns and not columns.isdisjoint(_ID_KEYS):
            return format
    return None


def _documents(file: BufferedReader, path: Path, format: Format, seen: Seen) -> Iterator[tuple[int, Passage]]:
    # As bytes, for a text reader would also break lines at characters that JSON strings may hold.
    lines = _lines(file, seen)
    if format == "jsonl":
        for number, line in lines:
            if line.strip():
                yield number, _parse(line, path, number)
    else:
        for number, row in read_rows(lines, path, _DELIMITERS[format]):
            yield number, _made_of(row, path, number, HEADER_REMEDY)


def read_folder(path: str | os.PathLike[str], *, seen: Seen = lambda size: None) -> Iterator[Passage]:
    """The ``.txt`` and ``.md`` files under a folder, by name; hidden files and folders are passed over, and a
    :class:`~hybridrank.errors.HybridrankWarning` tells of PDFs.

    A document's id is its path from the folder, with ``/``. Raises :class:`~hybridrank.errors.InputError`
    when there is no such file, and when one is not UTF-8 or something cannot be read.
    """
    place = Path(path)
    files = sorted(_files(place))
    names = [name for name in files if _suffix(name) in _TEXT_SUFFIXES]
    pdfs = [name for name in files if _suffix(name) == ".pdf"]
    if not names:
        remedy = _PDF_REMEDY if pdfs else "Give a folder of texts."
        raise InputError("there is no .txt or .md file here", file=place, remedy=remedy)
    if pdfs:
        warnings.warn(
            f"{place}: {counted(len(pdfs), 'PDF')} passed over, {pdfs[0]!r} first. {_PDF_REMEDY}",
            HybridrankWarning,
            stacklevel=2,
        )
    for name in names:
        try:
            content = (place / name).read_bytes()
        except OSError as error:
            raise _unreadable(place / name, error) from error
        yield _document(name, place / name, content, seen)


def _files(folder: Path) -> Iterator[str]:
    for parent, folders, files in os.walk(folder, onerror=_refuse_unreadable):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            if not name.startswith("."):
                yield Path(parent, name).relative_to(folder).as_posix()


def _suffix(name: str) -> str:
    return os.path.splitext(name)[1].lower()


def _unreadable(path: str | os.PathLike[str], error: OSError) -> InputError:
    return InputError(f"it cannot be read ({error.strerror})", file=path, remedy=_READING_REMEDY)


def _refuse_unreadable(error: OSError) -> None:
    raise _unreadable(error.filename, error) from error


def _lines(file: BufferedReader, seen: Seen) -> Iterator[tuple[int, bytes]]:
    for number, line in enumerate(file, start=1):
        seen(len(line))
        yield number, line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line


def _parse(line: bytes, path: Path, number: int) -> Passage:
    def refuse(reason: str, remedy: str = _LINE_REMEDY) -> InputError:
        return InputError(reason, file=path, line=number, remedy=remedy)

    try:
        content: Any = json.loads(line.decode("utf-8"), parse_constant=_no_constant)
    except UnicodeDecodeError as error:
        raise refuse(f"byte {error.start + 1} of the line is not UTF-8", _ENCODING_REMEDY) from None
    except json.JSONDecodeError as error:
        raise refuse(f"it is not valid JSON ({error.msg}, column {error.colno})") from None
    except (ValueError, RecursionError) as error:  # a number or a nesting beyond what Python reads
        raise refuse(f"it is not readable JSON ({error})") from None
    if not isinstance(content, dict):
        raise refuse("it is not a JSON object")
    return _made_of(content, path, number, _LINE_REMEDY)


def _made_of(content: Mapping[str, Any], path: Path, number: int, remedy: str) -> Passage:
    def refuse(reason: str) -> InputError:
        return InputError(reason, file=path, line=number, remedy=remedy)

    key = next((key for key in _ID_KEYS if key in content), None)
    if key is None:
        raise refuse("it has no document_id or id")
    if not isinstance(content[key], str) or not content[key]:
        raise refuse(f"its {key} is not a string with at least one character")
    if not isinstance(content.get("text"), str):
        raise refuse("its text is missing or not a string")
    metadata = {name: value for name, value in content.items() if name not in (key, "text")}
    return Passage(id=content[key], text=content["text"], document_id=content[key], metadata=metadata)


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON value")


def _document(name: str, path: Path, raw: bytes, seen: Seen) -> Passage:
    seen(len(raw))
    try:
        text = raw.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line_start = raw.rfind(b"\n", 0, error.start) + 1
        raise InputError(
            f"byte {error.start - line_start + 1} of the line is not UTF-8",
            file=path,
            line=1 + raw.count(b"\n", 0, error.start),
            remedy=_ENCODING_REMEDY,
        ) from None
    return Passage(id=name, text=text, document_id=name, metadata={"file": str(path)})
