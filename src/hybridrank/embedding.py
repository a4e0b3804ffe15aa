"""Embedders in use: vectors that are what was agreed, and what they have cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal, TypeGuard

import numpy as np
from numpy.typing import NDArray

from hybridrank.errors import InputError
from hybridrank.protocols import Embedder, MeteredEmbedder
from hybridrank.records import Ranking, Usage

__all__ = ["charged", "embed", "in_part", "is_metered", "model_of", "says_something", "told_once"]


def model_of(embedder: Embedder) -> str:
    """The ``model`` of an embedder; raises :class:`~hybridrank.errors.InputError` when it has none."""
    model = getattr(embedder, "model", None)
    if not isinstance(model, str) or not model:
        raise InputError(
            f"the embedder's model is {model!r}",
            remedy="Give it a `model`, a string that tells its vectors from those of others.",
        )
    return model


def embed(
    embedder: Embedder, texts: Sequence[str], task: Literal["query", "passage"], dimension: int
) -> NDArray[np.float32]:
    """The vectors of texts, one row a text and ``dimension`` wide, all of them finite.

    Raises :class:`~hybridrank.errors.InputError` for anything else, and what the embedder raises.
    """
    given = embedder.embed(texts, task=task)
    try:
        with np.errstate(over="ignore"):  # what is too large becomes infinite, and is refused below
            vectors = np.asarray(given).astype(np.float32, casting="same_kind")
    except (TypeError, ValueError):
        raise InputError(
            f"the embedder gave no table of real numbers for {len(texts)} texts",
            remedy=f"One row of {dimension} numbers a text is what was agreed.",
        ) from None
    if vectors.shape != (len(texts), dimension):
        raise InputError(
            f"the embedder gave vectors of shape {vectors.shape} for {len(texts)} texts",
            remedy=f"One row of {dimension} numbers a text is what was agreed.",
        )
    if not np.isfinite(vectors).all():
        raise InputError(
            "the embedder gave a vector with NaN or infinite numbers", remedy="Give another embedder."
        )
    return vectors


def is_metered(embedder: Embedder) -> TypeGuard[MeteredEmbedder]:
    """Whether an embedder tells what it spends; unlike ``isinstance`` this asks no service for anything."""
    return callable(getattr(embedder, "within", None))


def in_part(embedder: Embedder) -> Embedder:
    """The same embedder, if it can, paying from a part of its ledger of its own: others may spend from the
    whole at the same time."""
    return embedder.within() if is_metered(embedder) else embedder


def charged(rankings: list[Ranking], embedder: Embedder) -> list[Ranking]:
    """The rankings, the first of which bears what the call for all of them has cost."""
    usage = embedder.ledger.usage if is_metered(embedder) else Usage()
    return [replace(rankings[0], usage=usage), *rankings[1:]]


def told_once(queries: Sequence[str], found: Mapping[str, Ranking]) -> list[Ranking]:
    """The ranking of each query; what a repeated one has cost is told once."""
    told: set[str] = set()
    rankings = []
    for query in queries:
        ranking = found[query]
        rankings.append(replace(ranking, usage=Usage()) if query in told else ranking)
        told.add(query)
    return rankings


def says_something(text: str) -> bool:
    """Whether a text holds a letter or a digit, so that it is worth embedding.

    >>> says_something("…"), says_something("3")
    (False, True)
    """
    return any(map(str.isalnum, text))
