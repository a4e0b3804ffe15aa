"""What a call asks of a service, before anything is sent: which texts, in which batches, for how many tokens.

Pure functions over :mod:`~hybridrank.jina.wire` and :mod:`~hybridrank.jina.answers`; whoever sends, or merely
plans, starts from a :class:`Job`.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from hybridrank.errors import InputError, WrongDimension
from hybridrank.jina import answers, wire

__all__ = ["Batch", "Job", "Limits", "cache_key", "embedding_job", "rerank_job"]

Blobs = tuple[Sequence[bytes], int | None]  # one answer a text as float32 bytes, and the tokens reported


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """What a client keeps to, whatever the budget.

    ``timeout`` is the seconds of one attempt in all; ``attempts`` and ``concurrency`` count requests for one
    batch, and at one time. A batch holds at most ``max_texts`` texts to embed or ``max_documents`` documents
    to score, with at most ``max_batch_tokens`` tokens by their upper bound; a text is cut after
    ``max_text_bytes`` bytes of UTF-8. All are above 0. Raises :class:`~hybridrank.errors.InputError`
    otherwise.
    """

    timeout: float = 30.0
    attempts: int = 4
    concurrency: int = 4
    max_texts: int = 128
    max_documents: int = 64
    max_batch_tokens: int = 131_072
    max_text_bytes: int = 32_768

    def __post_init__(self) -> None:
        for name in (field.name for field in fields(self)):
            value = getattr(self, name)
            kinds = (int, float) if name == "timeout" else (int,)
            if type(value) not in kinds or not 0 < value < float("inf"):
                raise InputError(f"the limit {name} is {value!r}", remedy="Give a number above 0.")


@dataclass(frozen=True, kw_only=True, slots=True)
class Batch:
    """Texts that go into one request, and the most tokens that the service can count for them."""

    texts: Sequence[str]
    tokens: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """The answers that are wanted: one for each place, and one question for each different text that is not
    blank.

    ``texts`` are as they are sent, by place; ``call`` makes the request for some of them and ``read`` reads
    its reply, one blob of float32 a text; ``bound`` is the most tokens of a text and ``key`` its place in a
    cache; ``largest`` is the most texts in one request.
    """

    texts: Sequence[str]
    call: Callable[[Sequence[str]], wire.Call]
    read: Callable[[answers.Reply, int], Blobs]
    bound: Callable[[str], int]
    key: Callable[[str], bytes]
    largest: int
    max_tokens: int

    def different(self) -> list[str]:
        """The different texts that are not blank, in order."""
        return [text for text in dict.fromkeys(self.texts) if not wire.is_blank(text)]

    def batches(self, texts: Sequence[str]) -> Iterator[Batch]:
        """The requests for some of the texts."""
        bounds = [self.bound(text) for text in texts]
        for places in wire.split(bounds, max_count=self.largest, max_tokens=self.max_tokens):
            yield Batch(texts=[texts[at] for at in places], tokens=sum(bounds[at] for at in places))

    def rows(self, found: Mapping[str, bytes], dimension: int | None, blank: float) -> NDArray[np.float32]:
        """The answers by place, ``[n, d]``; a blank text has a row of ``blank``.

        Raises :class:`~hybridrank.errors.WrongDimension` when they differ in length, as answers from a cache
        may from new ones.
        """
        lengths = {len(blob) // 4 for blob in found.values()} or {dimension or 0}
        if len(lengths) > 1 or (dimension is not None and lengths != {dimension}):
            raise WrongDimension(
                "the answers from the service and the cache",
                f"they are of {' and '.join(map(str, sorted(lengths)))} numbers",
                "The model has changed under its name: ask with another cache.",
            )
        nothing = np.full(min(lengths), blank, dtype="<f4").tobytes()
        joined = b"".join(found.get(text, nothing) for text in self.texts)
        return np.frombuffer(joined, dtype="<f4").astype(np.float32).reshape(len(self.texts), min(lengths))


def cache_key(*parts: str) -> bytes:
    """The digest of a question: where it is asked, of which model and with which parameters, and its texts.

    >>> cache_key("ab", "c") == cache_key("a", "bc")
    False
    """
    digest = hashlib.blake2b(digest_size=32)
    for part in parts:
        data = part.encode()
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.digest()


def embedding_job(
    texts: Sequence[str],
    *,
    base_url: str,
    model: str,
    task: str | None,
    dimensions: int | None,
    dialect: wire.Dialect,
    limits: Limits,
) -> Job:
    """One vector a text. Raises :class:`~hybridrank.errors.InputError` for texts or dimensions that are
    none."""
    _check(texts, "texts", model)
    service = base_url.removesuffix("/v1")
    if dimensions is not None and (type(dimensions) is not int or dimensions < 1):
        raise InputError(f"dimensions is {dimensions!r}", remedy="Give a whole number of 1 or more.")

    def call(part: Sequence[str]) -> wire.Call:
        return wire.embedding_call(
            base_url, part, model=model, task=task, dimensions=dimensions, dialect=dialect
        )

    def read(reply: answers.Reply, count: int) -> Blobs:
        answer = answers.read_embeddings(reply, count, dimensions)
        return answer.rows, answer.tokens

    asked = json.dumps([model, task, dimensions])
    return Job(
        texts=[wire.clean(text, limits.max_text_bytes) for text in texts],
        call=call,
        read=read,
        bound=wire.token_bound,
        key=lambda text: cache_key("embedding", service, dialect, asked, text),
        largest=limits.max_texts,
        max_tokens=limits.max_batch_tokens,
    )


def rerank_job(
    query: str,
    documents: Sequence[str],
    *,
    base_url: str,
    model: str,
    dialect: wire.Dialect,
    limits: Limits,
) -> Job:
    """One score a document, for which the service reads the query anew each time.

    Raises :class:`~hybridrank.errors.InputError` for documents that are none, and for a blank query.
    """
    _check(documents, "documents", model)
    asked = wire.clean(query, limits.max_text_bytes)
    if wire.is_blank(asked):
        raise InputError("the query is blank", remedy="There is nothing to score documents by: do not ask.")
    service = base_url.removesuffix("/v1")
    query_bound = wire.token_bound(asked)

    def read(reply: answers.Reply, count: int) -> Blobs:
        answer = answers.read_scores(reply, count)
        return [struct.pack("<f", score) for score in answer.scores], answer.tokens

    return Job(
        texts=[wire.clean(text, limits.max_text_bytes) for text in documents],
        call=lambda part: wire.rerank_call(base_url, asked, part, model=model, dialect=dialect),
        read=read,
        bound=lambda text: query_bound + wire.token_bound(text),
        key=lambda text: cache_key("score", service, dialect, json.dumps([model]), asked, text),
        largest=limits.max_documents,
        max_tokens=limits.max_batch_tokens,
    )


def _check(texts: Iterable[str], name: str, model: str) -> None:
    if isinstance(texts, str):
        raise InputError(f"the {name} are a single string", remedy="Give a list of strings.")
    if not isinstance(texts, Iterable):
        raise InputError(f"the {name} are of type {type(texts).__name__}", remedy="Give a list of strings.")
    if not isinstance(model, str):
        raise InputError(f"the model is {model!r}", remedy="Give its name.")
