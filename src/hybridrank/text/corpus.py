"""Read corpora: JSON lines, and folders of text files. Bad input is named by file and line.

A document comes as one :class:`~hybridrank.records.Passage` that starts at 0: its ``id`` is the document's,
its text whole and unchanged but for a byte order mark at the start of a file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hybridrank.errors import InputError
from hybridrank.records import Passage

__all__ = ["read_corpus", "read_folder", "read_jsonl"]

_ID_KEYS = ("document_id", "id", "_id")
_TEXT_SUFFIXES = frozenset({".md", ".txt"})
_LINE_REMEDY = 'Give one object a line: {"document_id": "...", "text": "..."}.'
_ENCODING_REMEDY = "Save it as UTF-8."
_READING_REMEDY = "Make it readable, or leave it out."


def read_corpus(path: str | os.PathLike[str]) -> Iterator[Passage]:
    """The documents of a ``.jsonl`` file, of one ``.txt`` or ``.md`` file, or of a folder of such.

    Raises :class:`~hybridrank.errors.InputError` when there is nothing of the kind, and as the readers below
    do.
    """
    place = Path(path)
    if place.is_dir():
        return read_folder(place)
    if not place.exists():
        raise InputError("there is no such file or folder", file=place, remedy="Correct the path.")
    suffix = place.suffix.lower()
    if suffix in (".jsonl", ".ndjson"):
        return read_jsonl(place)
    if suffix in _TEXT_SUFFIXES:
        return iter([_document(place.name, place)])
    raise InputError(
        f"a corpus cannot be read from a {suffix or 'nameless'} file",
        file=place,
        remedy="Give a .jsonl, .txt or .md file, or a folder of .txt and .md files.",
    )


def read_jsonl(path: str | os.PathLike[str]) -> Iterator[Passage]:
    """The documents of a file with one JSON object a line, one by one.

    An object has a string ``text`` and an id, a string under ``document_id``, ``id`` or ``_id``; what else it
    has becomes metadata. Blank lines are passed over.

    Raises :class:`~hybridrank.errors.InputError`, with the line, for a line that is not such an object or not
    UTF-8, and for an id that an earlier line has; and when the file cannot be read.
    """
    place = Path(path)
    first_line_of: dict[str, int] = {}
    for number, line in _lines(place):
        document = _parse(line, place, number)
        first = first_line_of.setdefault(document.id, number)
        if first != number:
            raise InputError(
                f"the id {document.id!r} stands on line {first} already",
                file=place,
                line=number,
                remedy="Give each document an id of its own.",
            )
        yield document


def read_folder(path: str | os.PathLike[str]) -> Iterator[Passage]:
    """The ``.txt`` and ``.md`` files under a folder, by name; hidden files and folders are passed over.

    A document's id is its path from the folder, with ``/``. Raises :class:`~hybridrank.errors.InputError`
    when there is no such file, and when one is not UTF-8 or something cannot be read.
    """
    place = Path(path)
    names = sorted(_text_files(place))
    if not names:
        raise InputError("there is no .txt or .md file here", file=place, remedy="Give a folder of texts.")
    for name in names:
        yield _document(name, place / name)


def _text_files(folder: Path) -> Iterator[str]:
    for parent, folders, files in os.walk(folder, onerror=_refuse_unreadable):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            path = Path(parent, name)
            if not name.startswith(".") and path.suffix.lower() in _TEXT_SUFFIXES:
                yield path.relative_to(folder).as_posix()


def _unreadable(path: str | os.PathLike[str], error: OSError) -> InputError:
    return InputError(f"it cannot be read ({error.strerror})", file=path, remedy=_READING_REMEDY)


def _refuse_unreadable(error: OSError) -> None:
    raise _unreadable(error.filename, error) from error


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    try:
        # As bytes, for a text reader would also break lines at characters that JSON strings may hold.
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                content = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
                if content.strip():
                    yield number, content
    except OSError as error:
        raise _unreadable(path, error) from error


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


def _read_text(path: Path) -> str:
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise _unreadable(path, error) from error
    try:
        return raw.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = 1 + raw.count(b"\n", 0, error.start)
        raise InputError("it is not UTF-8", file=path, line=line, remedy=_ENCODING_REMEDY) from None


def _document(name: str, path: Path) -> Passage:
    return Passage(id=name, text=_read_text(path), document_id=name, metadata={"file": str(path)})
