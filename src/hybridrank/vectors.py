"""How vectors are stored, and how they are compared without any rounding.

A vector is stored at length 1, in one of four encodings:

===========  ======  ==================================================================================
``float32``  4 B     each number rounded to a multiple of 2\\ :sup:`-24`
``float16``  2 B     each number rounded to the nearest half-precision number
``int8``     1 B     *absmax* quantization: numbers are scaled so that the largest of the vector becomes
                     127, and rounded (Dettmers et al., *LLM.int8()*, NeurIPS 2022, section 2.1)
``binary``   1 bit   whether each number is above 0, 8 to a byte, the first in the highest bit; compared
                     with the whole query rather than with its signs (Yamada et al., *Efficient Passage
                     Retrieval with Hashing for Open-domain Question Answering*, ACL 2021)
===========  ======  ==================================================================================

The size is that of one number. Of the ten most similar by ``float32``, among 9,920 windows of reports
embedded by MiniLM (384 dimensions) and for 300 questions, ``float16`` found all, ``int8`` 99.6 %,
``binary`` 70 %: rerank what the last one finds.

A similarity is the cosine of the query and of the *stored* vector.

Sums of floating-point numbers depend on their order, and so on the block, the thread count and the processor:
two equal vectors could score differently. Here they cannot, because nothing is rounded. Stored numbers are
multiples of 2\\ :sup:`-24` (half-precision numbers are by nature, and the codes of the other encodings are
whole numbers), and a query's are rounded to multiples of 2\\ :sup:`-26`. Products are then multiples of
2\\ :sup:`-50`, and no partial sum of them exceeds the product of the two lengths (Cauchy and Schwarz): hardly
more than 1, or for codes 127 times the root of the dimension, all multiples of 2\\ :sup:`-26`. A ``float64``
holds each such number as it is, so every order of summation gives the same.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hybridrank.errors import InputError

__all__ = [
    "DTYPES",
    "ENCODINGS",
    "MOST_DIMENSIONS",
    "Encoding",
    "encode",
    "row_width",
    "similarities",
    "unit",
]

Encoding = Literal["float32", "float16", "int8", "binary"]

ENCODINGS: tuple[Encoding, ...] = ("float32", "float16", "int8", "binary")
DTYPES: dict[Encoding, type[np.generic]] = {
    "float32": np.float32,
    "float16": np.float16,
    "int8": np.int8,
    "binary": np.uint8,
}
MOST_DIMENSIONS = 1 << 16
"""More would break the proof above: rounding could make a vector noticeably longer than 1."""

_STORED_STEP = 2.0**-24
_QUERY_STEP = 2.0**-26
_LARGEST_CODE = 127


def row_width(encoding: Encoding, dimension: int) -> int:
    """The number of stored values of one vector.

    Raises :class:`~hybridrank.errors.InputError` for an unknown encoding, and for a dimension that is not
    from 1 to :data:`MOST_DIMENSIONS`.

    >>> row_width("int8", 10), row_width("binary", 10)
    (10, 2)
    """
    if encoding not in ENCODINGS:
        raise InputError(
            f"there is no encoding {encoding!r}", remedy=f"Choose one of {', '.join(ENCODINGS)}."
        )
    if type(dimension) is not int or not 1 <= dimension <= MOST_DIMENSIONS:
        raise InputError(
            f"vectors of {dimension!r} dimensions",
            remedy=f"Give vectors of 1 to {MOST_DIMENSIONS} dimensions, an int.",
        )
    return -(-dimension // 8) if encoding == "binary" else dimension


def unit(vectors: ArrayLike) -> NDArray[np.float64]:
    """Each vector at length 1, or at 0 when all its numbers are 0; the last axis holds a vector's numbers.

    Numbers must be finite; very large and very small ones do no harm.

    >>> unit([[3.0, 4.0], [0.0, 0.0]]).tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """
    given = np.ascontiguousarray(vectors, dtype=np.float64)
    largest = np.abs(given).max(axis=-1, keepdims=True, initial=0.0)
    # By a power of two, which rounds nothing, so that no square overflows or vanishes.
    _, exponent = np.frexp(largest)
    scaled = np.ldexp(given, -exponent)
    # Exactly rounded sums, so that not even the processor makes a difference.
    rows = np.square(scaled).reshape(-1, given.shape[-1]).tolist()
    length = np.sqrt([math.fsum(row) for row in rows]).reshape(largest.shape)
    units: NDArray[np.float64] = np.divide(scaled, length, out=np.zeros_like(scaled), where=length > 0)
    return units


def encode(vectors: ArrayLike, encoding: Encoding) -> NDArray[Any]:
    """Vectors as they are stored: shape ``(n, dimension)`` becomes ``(n, row_width(encoding, dimension))``.

    Numbers must be finite. Raises as :func:`row_width` does.

    >>> encode([[3.0, 4.0]], "int8").tolist(), encode([[3.0, -4.0, 1.0]], "binary").tolist()
    ([[95, 127]], [[160]])
    """
    given = np.atleast_2d(np.asarray(vectors, dtype=np.float64))
    row_width(encoding, given.shape[1])
    if encoding == "binary":
        return np.packbits(given > 0, axis=1)
    if encoding == "int8":
        largest = np.abs(given).max(axis=1, keepdims=True)
        # First to at most 1, so that not even a subnormal number overflows.
        ratios = np.divide(given, largest, out=np.zeros_like(given), where=largest > 0)
        codes: NDArray[np.int8] = np.rint(_LARGEST_CODE * ratios).astype(np.int8)
        return codes
    rows = unit(given)
    if encoding == "float16":
        return rows.astype(np.float16)
    return _on_grid(rows, _STORED_STEP).astype(np.float32)


def similarities(
    stored: NDArray[Any], queries: NDArray[np.floating], encoding: Encoding
) -> NDArray[np.float64]:
    """The cosine of every query with every stored vector: shape ``(n_queries, n_stored)``, from -1 to 1.

    ``stored`` is what :func:`encode` gave, ``queries`` are finite vectors of the same dimension, of any
    length. A vector of zeros has the cosine 0 with any other. The result for a query and a vector is the same
    bit for bit whatever else is compared at the same time.

    >>> rows = encode([[1.0, 0.0], [1.0, 1.0]], "float32")
    >>> similarities(rows, np.array([[2.0, 0.0]]), "float32").round(6).tolist()
    [[1.0, 0.707107]]
    """
    asked = _on_grid(unit(queries), _QUERY_STEP)
    if encoding == "binary":
        return _by_signs(stored, asked)
    rows = stored.astype(np.float64)
    # Whatever the order in which the products are summed, see above; and so are these squares, for codes.
    products: NDArray[np.float64] = asked @ rows.T
    if encoding == "int8":
        lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        products = np.divide(products, lengths, out=np.zeros_like(products), where=lengths > 0)
    return np.clip(products, -1.0, 1.0)


def _by_signs(stored: NDArray[np.uint8], asked: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same for signs: each byte is looked up in a table of what its 8 signs give with the query."""
    n_queries, dimension = asked.shape
    width = stored.shape[1]
    padded = np.zeros((n_queries, 8 * width))
    padded[:, :dimension] = asked
    # A 0 bit stands for -1; beyond the dimension the query is 0, so that the bits there do not count.
    signs = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1) * 2.0 - 1.0
    tables = padded.reshape(n_queries, width, 8) @ signs.T
    columns = np.ascontiguousarray(stored.T)
    products = np.zeros((n_queries, len(stored)))
    for table, total in zip(tables, products, strict=True):
        for of_byte, codes in zip(table, columns, strict=True):
            total += of_byte[codes]
    cosines: NDArray[np.float64] = products / np.sqrt(dimension)
    return cosines


def _on_grid(values: NDArray[np.float64], step: float) -> NDArray[np.float64]:
    rounded: NDArray[np.float64] = np.rint(values / step) * step
    return rounded
