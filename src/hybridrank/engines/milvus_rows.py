"""Passages as rows of a Milvus collection, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

from hybridrank.embedding import says_something
from hybridrank.errors import InputError
from hybridrank.records import Passage

__all__ = [
    "FIELDS",
    "MOST_HITS",
    "Row",
    "in_list",
    "index_parameters",
    "key_of",
    "passage_of",
    "row_of",
    "schema",
]

MOST_HITS = 16_384  # Milvus returns no more for one query
_BYTES = 65_535  # of a VARCHAR and of a JSON value
_KEY_BYTES = 16
# What a search brings back of a passage.
FIELDS = ("id", "text", "document_id", "start", "metadata", "position", "worded")

Row = dict[str, Any]


def schema(dimension: int | None) -> Any:
    """The fields of a collection of passages; ``dimension`` is that of its dense vectors, if it has any.

    The key is a digest of the passage's id, for the client cannot express every string in a filter.
    """
    from pymilvus import DataType, MilvusClient

    fields = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False)
    fields.add_field("key", DataType.VARCHAR, is_primary=True, max_length=2 * _KEY_BYTES)
    fields.add_field("id", DataType.VARCHAR, max_length=_BYTES)
    fields.add_field("text", DataType.VARCHAR, max_length=_BYTES)
    fields.add_field("document_id", DataType.VARCHAR, max_length=_BYTES, nullable=True)
    fields.add_field("start", DataType.INT64)
    fields.add_field("metadata", DataType.JSON)
    fields.add_field("position", DataType.INT64)
    fields.add_field("worded", DataType.BOOL)
    fields.add_field("sparse", DataType.SPARSE_FLOAT_VECTOR)
    if dimension is not None:
        fields.add_field("dense", DataType.FLOAT_VECTOR, dim=dimension)
    return fields


def index_parameters(dense_index: str | None) -> Any:
    """The indexes of its vectors: exact for the sparse ones, and ``dense_index`` for the dense ones."""
    from pymilvus import MilvusClient

    parameters = MilvusClient.prepare_index_params()
    parameters.add_index("sparse", index_type="SPARSE_INVERTED_INDEX", metric_type="IP")
    if dense_index is not None:
        parameters.add_index("dense", index_type=dense_index, metric_type="IP")
    return parameters


def key_of(passage_id: str) -> str:
    """The key of a passage: 128 bits of a digest of its id, in hexadecimal digits.

    >>> key_of("r1:0")
    '952480891b41032c52d5d6bf99ca2297'
    """
    return blake2b(passage_id.encode(errors="surrogatepass"), digest_size=_KEY_BYTES).hexdigest()


def row_of(passage: Passage, position: int, sparse: Mapping[int, float]) -> tuple[Row, int]:
    """The row of a passage, without a dense vector, and about how many bytes it has on the wire.

    Raises :class:`~hybridrank.errors.InputError` for what Milvus cannot hold: more than 65,535 bytes of id,
    text, document id or metadata, halves of characters, and metadata that JSON cannot express.
    """
    try:
        metadata = json.dumps(dict(passage.metadata), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"the metadata of passage {passage.id!r} cannot be stored: {error}",
            remedy="Give strings, finite numbers, lists, and mappings of these.",
        ) from None
    size = 12 * len(sparse)
    for what, value in (
        ("id", passage.id),
        ("text", passage.text),
        ("document id", passage.document_id or ""),
        ("metadata", metadata),
    ):
        size += _measured(passage, what, value)
    row = {
        "key": key_of(passage.id),
        "id": passage.id,
        "text": passage.text,
        "document_id": passage.document_id,
        "start": passage.start,
        "metadata": json.loads(metadata),
        "position": position,
        "worded": says_something(passage.text),
        "sparse": sparse,
    }
    return row, size


def passage_of(row: Mapping[str, Any]) -> Passage:
    """The passage of a row."""
    metadata = row["metadata"]
    return Passage(
        id=row["id"],
        text=row["text"],
        document_id=row["document_id"],
        start=int(row["start"]),
        metadata=json.loads(metadata) if isinstance(metadata, str | bytes) else dict(metadata or {}),
    )


def in_list(field: str, values: Sequence[str | int]) -> str:
    """A filter that a field has one of some values, which hold no quotes.

    >>> in_list("position", [3, 4])
    'position in [3, 4]'
    """
    return f"{field} in {json.dumps(list(values))}"


def _measured(passage: Passage, what: str, value: str) -> int:
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        raise InputError(
            f"the {what} of passage {_short(passage.id)} holds half of a surrogate pair",
            remedy="Decode the text anew, or remove it.",
        ) from None
    if size > _BYTES:
        raise InputError(
            f"the {what} of passage {_short(passage.id)} has {size:,} bytes, and Milvus holds {_BYTES:,}",
            remedy="Cut the text with split_document." if what == "text" else f"Give a shorter {what}.",
        )
    return size


def _short(passage_id: str) -> str:
    return repr(passage_id if len(passage_id) <= 80 else f"{passage_id[:80]}…")
