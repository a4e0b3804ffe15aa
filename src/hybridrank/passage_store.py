"""Passages in an index directory: written once, then read one by one as they are asked for."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import overload

import numpy as np

from hybridrank.records import Passage
from hybridrank.storage import IndexReader, IndexWriter

__all__ = ["StoredPassages", "store_passages"]


def store_passages(passages: Sequence[Passage], writer: IndexWriter, prefix: str = "passages") -> None:
    """Store passages, metadata included.

    Raises ``TypeError`` or ``ValueError`` when metadata holds what JSON cannot.
    """
    writer.strings(f"{prefix}/id", (passage.id for passage in passages))
    writer.strings(f"{prefix}/text", (passage.text for passage in passages))
    writer.strings(f"{prefix}/document", (passage.document_id or "" for passage in passages))
    writer.array(f"{prefix}/start", np.array([passage.start for passage in passages], dtype=np.int64))
    # An empty document id is an id like any other, so whether there is one is told apart.
    writer.array(
        f"{prefix}/has-document",
        np.array([passage.document_id is not None for passage in passages], dtype=bool),
    )
    writer.strings(
        f"{prefix}/metadata",
        (json.dumps(dict(passage.metadata)) if passage.metadata else "" for passage in passages),
    )


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
        metadata = self._metadata[at]
        return Passage(
            id=self.ids[at],
            text=self._texts[at],
            document_id=self._documents[at] if self._has_document[at] else None,
            start=int(self._starts[at]),
            metadata=json.loads(metadata) if metadata else {},
        )
