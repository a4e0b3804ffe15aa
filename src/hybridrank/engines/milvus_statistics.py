"""What the whole corpus knows of its terms, kept beside a collection of passages in one of its own.

Nothing in it is ever read, changed and written back: whoever adds or deletes passages writes rows of their
own, a *part*, and the sum over parts counts, negative shares of deleted passages included. So several
writers do not undo each other's counts, and one that is killed loses those of its last part alone.
:meth:`Statistics.merge` sums the parts up.

Fields
    ``key``, ``part``; ``term`` (the digest of a term, or 0 for the totals, or -1 for the settings),
    ``documents`` (in how many passages it occurs, or the number of passages), ``tokens`` and ``added`` (of
    the totals: the number of terms with repeats, and of passages ever added), ``details`` (the settings).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from secrets import randbits
from typing import Any, NamedTuple

import numpy as np
from more_itertools import chunked
from numpy.typing import NDArray

from hybridrank.engines.bm25_weights import digest
from hybridrank.engines.milvus_rows import in_list
from hybridrank.engines.milvus_server import Server

__all__ = ["Statistics", "Totals"]

_TOTALS, _SETTINGS = 0, -1
_ROWS_AT_ONCE = 5_000
_KEYS_AT_ONCE = 5_000
_FRESH = 60.0  # seconds for which what was read counts
_REMEMBERED = 1 << 20  # terms


class Totals(NamedTuple):
    """Passages there are, their terms with repeats, and passages that were ever added."""

    documents: int
    tokens: int
    added: int


class Statistics:
    """The statistics of a collection; counts by other writers are seen within a minute."""

    def __init__(self, server: Server, collection: str) -> None:
        self.server = server
        self.name = f"{collection}_statistics"
        self._known: dict[int, int] = {}
        self._read_totals: tuple[Totals, list[int]] | None = None
        self._read = time.monotonic()

    def exists(self) -> bool:
        """Whether there is such a collection."""
        return bool(self.server.call("has_collection", collection_name=self.name))

    def create(self, consistency: str) -> None:
        """Make the collection."""
        from pymilvus import DataType, MilvusClient

        fields = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False)
        fields.add_field("key", DataType.VARCHAR, is_primary=True, max_length=64)
        for name in ("part", "term", "documents", "tokens", "added"):
            fields.add_field(name, DataType.INT64)
        fields.add_field("details", DataType.JSON)
        fields.add_field("unused", DataType.FLOAT_VECTOR, dim=2)  # Milvus wants a vector
        parameters = MilvusClient.prepare_index_params()
        parameters.add_index("unused", index_type="FLAT", metric_type="L2")
        parameters.add_index("term", index_type="INVERTED")
        self.server.call(
            "create_collection",
            collection_name=self.name,
            schema=fields,
            index_params=parameters,
            consistency_level=consistency,
        )

    def drop(self) -> None:
        """Delete the collection."""
        self.server.call("drop_collection", collection_name=self.name)
        self.forget()

    def settings(self) -> dict[str, Any] | None:
        """What was given to :meth:`keep`, or ``None``."""
        rows = self._query(["details"], ids=["settings"], consistency_level="Strong")
        return dict(rows[0]["details"]) if rows else None

    def keep(self, settings: Mapping[str, Any]) -> None:
        """Keep settings, in place of those that were there."""
        row = _row("settings", 0, _SETTINGS, details=settings)
        self.server.call("upsert", collection_name=self.name, data=[row])

    def totals(self) -> Totals:
        """The numbers of passages and terms."""
        self._expire()
        return self._summed()[0]

    def _summed(self) -> tuple[Totals, list[int]]:
        """The totals, and the parts that they are of."""
        summed = self._read_totals
        if summed is None:
            rows = self._query(["part", "documents", "tokens", "added"], filter=f"term == {_TOTALS}")
            totals = Totals(*(sum(int(row[name]) for row in rows) for name in Totals._fields))
            summed = self._read_totals = totals, [int(row["part"]) for row in rows]
        return summed

    def document_frequency(self, terms: Sequence[str]) -> NDArray[np.int64]:
        """In how many passages each of some terms occurs."""
        self._expire()
        known = self._known  # another thread may forget it meanwhile
        numbers = [digest(term) for term in terms]
        missing = [number for number in dict.fromkeys(numbers) if number not in known]
        parts = self._summed()[1]
        for some in chunked(missing, max(1, _KEYS_AT_ONCE // max(len(parts), 1))):
            # By their keys, which is much faster than by a condition.
            keys = [_key(part, term) for part in parts for term in some]
            found: Counter[int] = Counter(dict.fromkeys(some, 0))
            for row in self._query(["term", "documents"], ids=keys) if keys else []:
                found[int(row["term"])] += int(row["documents"])
            known.update(found)
        return np.array([known[number] for number in numbers], dtype=np.int64)

    def add(self, counts: Iterable[tuple[int, int]], totals: Totals) -> None:
        """Add a part: for each term, by its digest, the change of the number of passages that hold it."""
        part = randbits(62)
        rows = (_row(_key(part, term), part, term, documents) for term, documents in counts if documents)
        for some in chunked(rows, _ROWS_AT_ONCE):
            self._write(some)
        self._write([_row(_key(part, _TOTALS), part, _TOTALS, *totals)])  # last: now the part counts
        self.server.settle(self.name)
        self.forget()

    def merge(self, counted: Iterable[tuple[int, int]] | None, totals: Totals | None) -> None:
        """Make all parts one: their sum, or what is given in their place."""
        sums: Counter[int] = Counter()
        parts = set()
        for row in self.server.every(self.name, ["part", "term", "documents"]):
            if row["term"] != _SETTINGS:
                parts.add(int(row["part"]))
                sums[int(row["term"])] += int(row["documents"])
        del sums[_TOTALS]
        self.forget()
        self.add(counted if counted is not None else sums.items(), totals or self.totals())
        for some in chunked(sorted(parts), _ROWS_AT_ONCE):
            self.server.call("delete", collection_name=self.name, filter=in_list("part", some))
        self.forget()

    def forget(self) -> None:
        """Read anew what is asked for next."""
        self._known = {}
        self._read_totals = None
        self._read = time.monotonic()

    def _expire(self) -> None:
        if time.monotonic() - self._read > _FRESH or len(self._known) > _REMEMBERED:
            self.forget()

    def _write(self, rows: Sequence[Mapping[str, Any]]) -> None:
        self.server.call("insert", again="upsert", collection_name=self.name, data=list(rows))

    def _query(self, fields: Sequence[str], **which: Any) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.server.call(
            "query", collection_name=self.name, output_fields=list(fields), **which
        )
        return rows


def _key(part: int, term: int) -> str:
    return f"{part:x}-{term:x}"


def _row(
    key: str,
    part: int,
    term: int,
    documents: int = 0,
    tokens: int = 0,
    added: int = 0,
    details: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    return {
        "key": key,
        "part": part,
        "term": term,
        "documents": documents,
        "tokens": tokens,
        "added": added,
        "details": dict(details or {}),
        "unused": [0.0, 0.0],
    }
