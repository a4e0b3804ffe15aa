"""A collection of passages on a Milvus server with its statistics and settings: made, opened and read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from more_itertools import chunked

from hybridrank.embedding import model_of
from hybridrank.engines.milvus_rows import FIELDS, Row, in_list, index_parameters, key_of, schema
from hybridrank.engines.milvus_server import Server
from hybridrank.engines.milvus_statistics import Statistics
from hybridrank.errors import IndexForeign, IndexIncomplete, IndexNotFound, IndexTooNew, InputError
from hybridrank.protocols import Embedder
from hybridrank.text.tokens import Tokenizer

__all__ = ["Collection"]

_KIND = "hybridrank-passages"
_FORMAT = 1
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,199}")
_IDS_AT_ONCE = 1_000


class Collection:
    """The collection ``name``; made by :meth:`create`, or opened by :meth:`open`, before anything else.

    Raises :class:`~hybridrank.errors.InputError` for a name that Milvus does not take.
    """

    tokenizer: Tokenizer
    k1: float
    b: float
    _settings: dict[str, Any]

    def __init__(self, server: Server, name: str) -> None:
        if not _NAME.fullmatch(name):
            raise InputError(
                f"{name!r} is no name of a collection",
                remedy="Give letters, digits and '_', no digit first, 200 at most.",
            )
        self.server = server
        self.name = name
        self.place = f"{server.name}, collection {name!r}"
        self.statistics = Statistics(server, name)

    def create(
        self,
        tokenizer: Tokenizer,
        embedder: Embedder | None,
        *,
        k1: float,
        b: float,
        average_length: float | None,
        replace: bool,
        dense_index: str,
        consistency: str,
    ) -> None:
        """Make the collection, empty; it can be opened when :meth:`keep` has said that it is complete.

        Raises :class:`~hybridrank.errors.InputError` when it is there and not to be replaced, and
        :class:`~hybridrank.errors.IndexForeign` when it is of another kind.
        """
        if self._exists():
            if not replace:
                raise InputError(
                    f"{self.place} is there already",
                    remedy="Open it and add to it, say replace=True, or give another name.",
                )
            self._read()
            self.drop()
        elif self.statistics.exists():  # left by a process that was killed while it made or dropped this
            self.statistics.drop()
        dimension = None if embedder is None else embedder.dimension
        settings: dict[str, Any] = {
            "kind": _KIND,
            "format": _FORMAT,
            "tokenizer": tokenizer.settings(),
            "k1": k1,
            "b": b,
            "average_length": average_length,
            "model": None if embedder is None else model_of(embedder),
            "dimension": dimension,
            "complete": False,
        }
        self.statistics.create(consistency)
        self.statistics.keep(settings)
        self.server.call(
            "create_collection",
            collection_name=self.name,
            schema=schema(dimension),
            index_params=index_parameters(None if embedder is None else dense_index),
            consistency_level=consistency,
        )
        self._take(settings)

    def open(self, embedder: Embedder | None) -> None:
        """Read the settings; raises as :class:`hybridrank.engines.milvus.MilvusIndex` says."""
        settings = self._read()
        if not settings["complete"]:
            raise IndexIncomplete(self.place, "a build was cut short", "Build it again, with replace=True.")
        if embedder is not None and settings["model"] != model_of(embedder):
            raise IndexForeign(
                self.place,
                f"its passages were embedded by {settings['model']!r}, and queries would be by "
                f"{model_of(embedder)!r}",
                "Open it with the embedder that built it, or build it again.",
            )
        self._take(settings)
        self.server.call("load_collection", collection_name=self.name)  # at once, if it is loaded

    def keep(self, **changes: Any) -> None:
        """Change settings, for good."""
        self._settings = {**self._settings, **changes}
        self.statistics.keep(self._settings)

    def drop(self) -> None:
        """Delete the collection and its statistics."""
        self.server.call("drop_collection", collection_name=self.name)
        self.statistics.drop()

    @property
    def has_vectors(self) -> bool:
        """Whether passages have dense vectors."""
        return self._settings["model"] is not None

    @property
    def average_length(self) -> float | None:
        """The number of terms to which BM25 compares the length of a passage; ``None`` before the first."""
        if self._settings["average_length"] is None:  # another process may have been the first to add
            self._settings = self._read()
        average: float | None = self._settings["average_length"]
        return average

    def size(self) -> int:
        """The number of passages."""
        rows = self._query("", ["count(*)"])
        return int(rows[0]["count(*)"])

    def n_positions(self) -> int:
        """The number of passages that were ever added."""
        return self.statistics.totals().added

    def find(self, passage_ids: Sequence[str], fields: Sequence[str] = FIELDS) -> list[Row | None]:
        """The rows of passages, ``None`` for an id that is not there."""
        found: dict[str, Row] = {}
        for some in chunked(dict.fromkeys(passage_ids), _IDS_AT_ONCE):
            rows = self._query(in_list("key", list(map(key_of, some))), fields)
            found.update((row["id"], row) for row in rows)
        return [found.get(passage_id) for passage_id in passage_ids]

    def every(self, fields: Sequence[str] = FIELDS) -> Iterator[Row]:
        """All rows, in no order that says anything."""
        return self.server.every(self.name, fields)

    def delete(self, passage_ids: Sequence[str]) -> None:
        """Delete passages, without regard to the statistics."""
        for some in chunked(passage_ids, _IDS_AT_ONCE):
            self.server.call("delete", collection_name=self.name, ids=list(map(key_of, some)))

    def _exists(self) -> bool:
        return bool(self.server.call("has_collection", collection_name=self.name))

    def _read(self) -> dict[str, Any]:
        """What the collection was made with."""
        if not self._exists():
            raise IndexNotFound(self.place, "there is no such collection", "Build one first.")
        settings = None
        if self.statistics.exists():
            self.server.call("load_collection", collection_name=self.statistics.name)
            settings = self.statistics.settings()
        if settings is None or settings.get("kind") != _KIND:
            raise IndexForeign(self.place, "hybridrank did not make it", "Give another name.")
        if settings["format"] > _FORMAT:
            raise IndexTooNew(
                self.place,
                f"it is of format {settings['format']}, and this version knows {_FORMAT}",
                "Use the version of hybridrank that built it, or build it again.",
            )
        return settings

    def _take(self, settings: dict[str, Any]) -> None:
        try:
            self.tokenizer = Tokenizer.from_settings(settings["tokenizer"])
        except InputError as error:
            raise IndexTooNew(self.place, error.reason, error.remedy) from error
        self._settings = settings
        self.k1, self.b = float(settings["k1"]), float(settings["b"])

    def _query(self, where: str, fields: Sequence[str]) -> list[Row]:
        rows: list[Row] = self.server.call(
            "query",
            collection_name=self.name,
            filter=where,
            output_fields=list(fields),
            consistency_level="Strong",
        )
        return rows
