"""Cut texts into passages, with exact offsets."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping

from hybridrank.errors import InputError
from hybridrank.records import Passage

__all__ = ["split_document", "split_documents", "split_spans"]

# Where a text may be cut, best first: after a blank line, a line, a sentence, a word.
_BREAKS = (
    re.compile(r"(?:\r\n?|\n)[^\S\r\n]*(?:\r\n?|\n)\s*"),
    re.compile(r"\r\n?|\n"),
    re.compile(r"[.!?…][\"'”’»)\]]*\s+|[。！？｡][」』”’）]*\s*"),
    re.compile(r"\s+"),
)
_NOT_SPACE = re.compile(r"\S")
_JOINER = "\u200d"
_PAGE_BREAK = "\f"


def split_spans(text: str, max_chars: int = 1000) -> list[tuple[int, int]]:
    r"""Divide a text into stretches of at most ``max_chars`` characters, as ``(start, end)``.

    A stretch ends after a paragraph, a line, a sentence or a word: after the last of the best of these that
    leaves it at least half full, or else after the last of any. Where there is no such place it is cut when
    it is full, if possible not between a letter and its marks. White space at either end is left out, and so
    are stretches of nothing else; every other character lies in exactly one stretch.

    Raises :class:`~hybridrank.errors.InputError` for ``max_chars < 1``.

    >>> text = "One. Two.\n\nThree is longer."
    >>> [text[start:end] for start, end in split_spans(text, 12)]
    ['One. Two.', 'Three is', 'longer.']
    """
    if max_chars < 1:
        raise InputError(f"max_chars is {max_chars}", remedy="Allow at least 1 character a passage.")
    spans: list[tuple[int, int]] = []
    start = _skip_space(text, 0)
    while start < len(text):
        end = _cut(text, start, start + max_chars)
        spans.append((start, start + len(text[start:end].rstrip())))
        start = _skip_space(text, end)
    return spans


def split_document(
    text: str,
    document_id: str,
    *,
    max_chars: int = 1000,
    metadata: Mapping[str, object] | None = None,
    pages: bool = False,
) -> list[Passage]:
    """The passages of a document, cut as :func:`split_spans` says.

    For each of them ``passage.text == text[passage.start : passage.end]``; its id is the document's with its
    start. With ``pages`` a text is taken page by page, where form feeds part it, as pdftotext puts them: no
    passage runs over two, and its metadata says its page, from 1.

    >>> for passage in split_document("Net sales.\\n\\nCosts.", "r1", max_chars=12):
    ...     print(passage.id, passage.text)
    r1:0 Net sales.
    r1:12 Costs.
    """
    if pages and _PAGE_BREAK in text:
        return list(_of_pages(text, document_id, max_chars, metadata or {}))
    return [
        Passage(
            id=f"{document_id}:{start}",
            text=text[start:end],
            document_id=document_id,
            start=start,
            metadata=metadata or {},
        )
        for start, end in split_spans(text, max_chars)
    ]


def _of_pages(
    text: str, document_id: str, max_chars: int, metadata: Mapping[str, object]
) -> Iterator[Passage]:
    before = 0
    for number, page in enumerate(text.split(_PAGE_BREAK), start=1):
        for start, end in split_spans(page, max_chars):
            yield Passage(
                id=f"{document_id}:{before + start}",
                text=page[start:end],
                document_id=document_id,
                start=before + start,
                metadata={**metadata, "page": number},
            )
        before += len(page) + len(_PAGE_BREAK)


def split_documents(documents: Iterable[Passage], *, max_chars: int = 1000) -> Iterator[Passage]:
    """The passages of whole documents, each given as one passage, in order and one by one."""
    for document in documents:
        yield from split_document(document.text, document.id, max_chars=max_chars, metadata=document.metadata)


def _skip_space(text: str, start: int) -> int:
    match = _NOT_SPACE.search(text, start)
    return len(text) if match is None else match.start()


def _cut(text: str, start: int, limit: int) -> int:
    """Where the stretch that begins at ``start`` and must end by ``limit`` ends."""
    if limit >= len(text):
        return len(text)
    enough = start + (limit - start) // 2
    last_of_any = start
    for pattern in _BREAKS:
        last = start
        # Of a match that runs over the limit the part before it counts, for what follows is white space.
        for match in pattern.finditer(text, start, limit):
            last = match.end()
        if last > enough:
            return last
        last_of_any = max(last_of_any, last)
    if text[limit].isspace():
        return limit
    if last_of_any > start:
        return last_of_any
    end = limit
    while end > start + 1 and _continues(text, end):
        end -= 1
    return limit if _continues(text, end) else end


def _continues(text: str, at: int) -> bool:
    """Whether a cut before ``text[at]`` would part a letter from its marks, or the parts of an emoji."""
    char = text[at]
    return (
        unicodedata.category(char)[0] == "M"
        or char == _JOINER
        or text[at - 1] == _JOINER
        or "\U0001f3fb" <= char <= "\U0001f3ff"  # skin tones
    )
