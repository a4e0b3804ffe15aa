"""Passages that are to be indexed, and their place in an index directory: written once, then read one by one
as they are asked for."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import overload

import numpy as np
from numpy.typing import NDArray

from hybridrank.errors import HybridrankWarning, InputError
from hybridrank.records import Passage
from hybridrank.storage import IndexReader, IndexWriter

__all__ = [
    "NAMED",
    "StoredPassages",
    "already_indexed",
    "check_corpus",
    "documents_of",
    "ids_of",
    "in_order",
    "no_such_passage",
    "passages_at",
    "store_passages",
    "warn_of_silent",
    "warn_of_silent_ids",
]

NAMED = 5
"""Passages named in one warning."""

_AT_ONCE = 1024  # passages read in one go


def check_corpus(corpus: Sequence[Passage]) -> None:
    """Raise :class:`~hybridrank.errors.InputError` for what is no passage, and when two have the same id."""
    seen: dict[str, int] = {}
    for place, passage in enumerate(corpus):
        if not isinstance(passage, Passage):
            raise InputError(
                f"passage {place} is a {type(passage).__name__}, not a Passage",
                remedy="For texts of your own use rank(query, texts), or split_document.",
            )
        first = seen.setdefault(passage.id, place)
        if first != place:
            raise InputError(
                f"passages {first} and {place} (counted from 0) have the same id {passage.id!r}",
                remedy="Give each passage an id of its own.",
            )


def warn_of_silent(corpus: Sequence[Passage], places: Sequence[int], why: str) -> None:
    """Warn whoever called the caller of the passages that no search can find; not when there are none."""
    ids = [corpus[place].id for place in places[:NAMED]]
    warn_of_silent_ids(ids, len(places), len(corpus), why, stacklevel=4)


def warn_of_silent_ids(
    ids: Sequence[str], n_silent: int, n_passages: int, why: str, *, stacklevel: int
) -> None:
    """The same of ``n_silent`` passages, of which the first have these ids, for a corpus that is not held."""
    if not n_silent:
        return
    named = ", ".join(map(repr, ids[:NAMED]))
    more = f" and {n_silent - NAMED} more" if n_silent > NAMED else ""
    warnings.warn(
        f"{n_silent} of {n_passages} passages {why} and can never be found: {named}{more}",
        HybridrankWarning,
        stacklevel=stacklevel,
    )


def no_such_passage(passage_id: str) -> InputError:
    """The error for an id that is not in an index."""
    return InputError(
        f"there is no passage {passage_id!r} in the index", remedy="Give the id of an indexed passage."
    )


def already_indexed(passage_id: str) -> InputError:
    """The error for an id that is to be added to an index, and is in it."""
    return InputError(
        f"the passage id {passage_id!r} is in the index already",
        remedy="Delete that passage first, or give another id.",
    )


def store_passages(passages: Sequence[Passage], writer: IndexWriter, prefix: str = "passages") -> None:
    """Store passages, metadata included.

    Raises ``TypeError`` or ``ValueError`` when metadata holds what JSON cannot.
    """
    # In one pass, for passages of another index are read from the disk: only their texts are not held.
    ids: list[str] = []
    documents: list[str | None] = []
    starts: list[int] = []
    metadata: list[str] = []
    once: dict[str | None, str | None] = {}  # many passages have the same document

    def texts() -> Iterator[str]:
        for passage in passages:
            ids.append(passage.id)
            documents.append(once.setdefault(passage.document_id, passage.document_id))
            starts.append(passage.start)
            metadata.append(json.dumps(dict(passage.metadata)) if passage.metadata else "")
            yield passage.text

    writer.strings(f"{prefix}/text", texts())
    writer.strings(f"{prefix}/id", ids)
    writer.strings(f"{prefix}/document", (document or "" for document in documents))
    writer.array(f"{prefix}/start", np.array(starts, dtype=np.int64))
    # An empty document id is an id like any other, so whether there is one is told apart.
    writer.array(f"{prefix}/has-document", np.array([one is not None for one in documents], dtype=bool))
    writer.strings(f"{prefix}/metadata", metadata)


class StoredPassages(Sequence[Passage]):
    """The passages of an index, in the order of the corpus."""

    def __init__(self, reader: IndexReader, prefix: str = "passages") -> None:
        self.ids = reader.strings(f"{prefix}/id")
        self._texts = reader.strings(f"{prefix}/text")
        self._documents = reader.strings(f"{prefix}/document")
        self._starts = reader.array(f"{prefix}/start")
        self._has_document = reader.array(f"{prefix}/has-document")
        self._metadata = reader.strings(f"{prefix}/metadata")

    def __len__(self) -> int:
        return len(self.ids)

    @overload
    def __getitem__(self, at: int) -> Passage: ...
    @overload
    def __getitem__(self, at: slice) -> list[Passage]: ...
    def __getitem__(self, at: int | slice) -> Passage | list[Passage]:
        if isinstance(at, slice):
            return [self[one] for one in range(*at.indices(len(self)))]
        return _made(
            self.ids[at],
            self._texts[at],
            self._documents[at],
            bool(self._has_document[at]),
            int(self._starts[at]),
            self._metadata[at],
        )

    def __iter__(self) -> Iterator[Passage]:
        return in_order(self, np.arange(len(self)))

    def take(self, places: NDArray[np.integer]) -> list[Passage]:
        """The passages at some places from 0, in less time than one by one."""
        columns = (
            self.ids.take(places),
            self._texts.take(places),
            self._documents.take(places),
            self._has_document[places].tolist(),
            self._starts[places].tolist(),
            self._metadata.take(places),
        )
        return list(map(_made, *columns))

    def documents(self) -> Iterator[str | None]:
        """The id of each passage's document, or ``None``."""
        for place, known in enumerate(self._has_document.tolist()):
            yield self._documents[place] if known else None


def _made(passage_id: str, text: str, document: str, known: bool, start: int, metadata: str) -> Passage:
    return Passage(
        id=passage_id,
        text=text,
        document_id=document if known else None,
        start=start,
        metadata=json.loads(metadata) if metadata else {},
    )


def in_order(passages: Sequence[Passage], places: NDArray[np.integer]) -> Iterator[Passage]:
    """The passages at some places from 0, one after another; not all of them are held at a time."""
    for first in range(0, len(places), _AT_ONCE):
        yield from passages_at(passages, places[first : first + _AT_ONCE])


def passages_at(passages: Sequence[Passage], places: NDArray[np.integer]) -> list[Passage]:
    """The passages at some places from 0."""
    if isinstance(passages, StoredPassages):
        return passages.take(places)
    return [passages[place] for place in places.tolist()]


def ids_of(passages: Sequence[Passage]) -> Iterable[str]:
    """The ids of passages; those of a stored corpus are read without its texts."""
    return passages.ids if isinstance(passages, StoredPassages) else (passage.id for passage in passages)


def documents_of(passages: Sequence[Passage]) -> Iterable[str | None]:
    """The ids of the documents of passages; those of a stored corpus are read without its texts."""
    if isinstance(passages, StoredPassages):
        return passages.documents()
    return (passage.document_id for passage in passages)
