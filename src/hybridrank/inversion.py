"""From documents as term ids to, for each term, the documents that hold it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Coded", "Inverted", "code_pairs", "invert"]

_AT_ONCE = 1 << 22  # postings worked on in one go, to bound the temporary arrays
_LARGEST_TABLE = 1 << 26  # possible pairs, beyond which the pairs that occur are found by sorting


class Inverted(NamedTuple):
    """The documents of term ``t``, ascending, and how often it occurs: ``docs[indptr[t]:indptr[t + 1]]``."""

    indptr: NDArray[np.int64]
    docs: NDArray[np.int32]
    frequencies: NDArray[np.int32]


class Coded(NamedTuple):
    """Posting ``i`` occurs ``frequencies[codes[i]]`` times in a document of ``lengths[codes[i]]`` terms."""

    codes: NDArray[np.unsignedinteger]
    frequencies: NDArray[np.int32]
    lengths: NDArray[np.int32]


def invert(ids: NDArray[np.integer], indptr: NDArray[np.integer], n_terms: int) -> Inverted:
    """Sort the terms of documents by term; document ``i`` is ``ids[indptr[i]:indptr[i + 1]]``.

    >>> inverted = invert(np.array([0, 1, 1, 2]), np.array([0, 2, 3, 4]), 3)
    >>> inverted.indptr.tolist(), inverted.docs.tolist(), inverted.frequencies.tolist()
    ([0, 1, 3, 4], [0, 0, 1, 2], [1, 1, 1, 1])
    """
    # A matrix of one row a document, transposed by counting: linear in the number of tokens, and stable, so
    # that the documents of a term ascend with repeats side by side.
    from scipy.sparse import csr_matrix

    tokens = csr_matrix(
        (np.ones(len(ids), dtype=np.int8), ids, indptr), shape=(len(indptr) - 1, n_terms), copy=False
    ).tocsc()
    first = np.ones(len(ids), dtype=bool)
    np.not_equal(tokens.indices[1:], tokens.indices[:-1], out=first[1:])
    starts = tokens.indptr[:-1]
    first[starts[starts < len(ids)]] = True
    docs = tokens.indices[first].astype(np.int32, copy=False)
    ends = tokens.indptr.astype(np.int64)
    del tokens
    kept = np.flatnonzero(first)
    frequencies = np.empty(len(kept), dtype=np.int32)
    np.subtract(kept[1:], kept[:-1], out=frequencies[:-1], casting="same_kind")
    frequencies[-1:] = len(ids) - kept[-1:]
    return Inverted(np.searchsorted(kept, ends).astype(np.int64), docs, frequencies)


def code_pairs(inverted: Inverted, lengths: NDArray[np.integer]) -> Coded:
    """Number the pairs of a frequency and a document's length that occur among postings.

    They are few even where postings are many, so that a posting needs two bytes for both, and what BM25 makes
    of them is worked out once for each pair.
    """
    of_length, rank = np.unique(lengths, return_inverse=True)
    present = np.zeros(1 + int(inverted.frequencies.max(initial=0)), dtype=bool)
    present[inverted.frequencies] = True
    of_frequency = np.flatnonzero(present)
    row = (np.cumsum(present) - 1) * len(of_length)
    codes: NDArray[Any]
    if len(of_frequency) * len(of_length) <= _LARGEST_TABLE:
        codes, pairs = _by_table(inverted, row, rank, len(of_frequency) * len(of_length))
    else:
        pairs, codes = np.unique(row[inverted.frequencies] + rank[inverted.docs], return_inverse=True)
    narrow = np.uint16 if len(pairs) <= np.iinfo(np.uint16).max + 1 else np.uint32
    return Coded(
        codes=codes.astype(narrow),
        frequencies=of_frequency[pairs // max(len(of_length), 1)].astype(np.int32),
        lengths=of_length[pairs % max(len(of_length), 1)].astype(np.int32),
    )


def _by_table(
    inverted: Inverted, row: NDArray[np.intp], rank: NDArray[np.intp], size: int
) -> tuple[NDArray[np.unsignedinteger], NDArray[np.intp]]:
    parts = [slice(at, at + _AT_ONCE) for at in range(0, len(inverted.docs), _AT_ONCE)]
    occurs = np.zeros(size, dtype=bool)
    for part in parts:
        occurs[row[inverted.frequencies[part]] + rank[inverted.docs[part]]] = True
    pairs = np.flatnonzero(occurs)
    number = np.zeros(size, dtype=np.uint16 if len(pairs) <= np.iinfo(np.uint16).max + 1 else np.uint32)
    number[pairs] = np.arange(len(pairs))
    codes = np.empty(len(inverted.docs), dtype=number.dtype)
    for part in parts:
        codes[part] = number[row[inverted.frequencies[part]] + rank[inverted.docs[part]]]
    return codes, pairs
