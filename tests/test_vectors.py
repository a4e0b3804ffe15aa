import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from hybridrank.errors import InputError
from hybridrank.vectors import DTYPES, ENCODINGS, Encoding, encode, row_width, similarities, unit

NUMBERS = st.floats(-(2.0**99), 2.0**99, width=32)
ENCODING = st.sampled_from(ENCODINGS)


@st.composite
def matrices(draw: st.DrawFn, *, rows: int = 9) -> NDArray[np.float32]:
    dimension = draw(st.integers(1, 19))
    row = st.lists(NUMBERS, min_size=dimension, max_size=dimension)
    return np.array(draw(st.lists(row, min_size=1, max_size=rows)), dtype=np.float32)


def random(n: int, dimension: int, seed: int = 0) -> NDArray[np.float32]:
    return np.random.default_rng(seed).standard_normal((n, dimension), dtype=np.float32)


def exact(rows: NDArray[np.floating], queries: NDArray[np.floating]) -> NDArray[np.float64]:
    """Cosines in the plain way."""
    long = [matrix.astype(np.float64) for matrix in (rows, queries)]
    units = [matrix / np.linalg.norm(matrix, axis=1, keepdims=True) for matrix in long]
    found: NDArray[np.float64] = units[1] @ units[0].T
    return found


@given(matrices())
def test_units_have_the_length_one_and_the_same_direction(vectors: NDArray[np.float32]) -> None:
    for given_row, row in zip(vectors.astype(np.float64), unit(vectors), strict=True):
        if given_row.any():
            assert np.linalg.norm(row) == pytest.approx(1.0)
            biggest = np.argmax(np.abs(given_row))
            np.testing.assert_allclose(row * given_row[biggest] / row[biggest], given_row, rtol=1e-12)
        else:
            assert not row.any()


@pytest.mark.parametrize("number", [5e-324, 1e-310, 1e-200, 1.0, 1e200, 1.7e308])
def test_no_number_is_too_large_or_small(number: float) -> None:
    assert unit([number, -number]) == pytest.approx([0.5**0.5, -(0.5**0.5)])
    assert encode([[number, -number]], "int8").tolist() == [[127, -127]]
    rows = encode([[number, 0.0]], "float32")
    assert similarities(rows, np.array([[number, 0.0]]), "float32").tolist() == [[1.0]]


@given(matrices(), ENCODING)
def test_rows_have_the_stored_form(vectors: NDArray[np.float32], encoding: Encoding) -> None:
    rows = encode(vectors, encoding)
    assert rows.dtype == DTYPES[encoding]
    assert rows.shape == (len(vectors), row_width(encoding, vectors.shape[1]))


@given(matrices(), ENCODING, st.data())
def test_a_similarity_does_not_depend_on_what_else_is_compared(
    vectors: NDArray[np.float32], encoding: Encoding, data: st.DataObject
) -> None:
    rows, queries = encode(vectors, encoding), vectors[::-1]
    whole = similarities(rows, queries, encoding)
    assert np.all(np.abs(whole) <= 1)
    start = data.draw(st.integers(0, len(rows) - 1))
    end = data.draw(st.integers(start + 1, len(rows)))
    assert similarities(rows[start:end], queries, encoding).tobytes() == whole[:, start:end].tobytes()
    for place, query in enumerate(queries):
        assert similarities(rows, query[None], encoding).tobytes() == whole[place : place + 1].tobytes()
    # Encoding a part gives a part of the code.
    assert encode(vectors[start:end], encoding).tobytes() == rows[start:end].tobytes()


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("dimension", [1, 7, 64, 384, 1023, 4096])
def test_equal_vectors_are_equally_similar_in_every_block(encoding: Encoding, dimension: int) -> None:
    vectors = random(67, dimension)
    vectors[1::3] = vectors[0]  # the same vector at places that blocks of any size treat differently
    rows = encode(vectors, encoding)
    queries = random(5, dimension, seed=1)
    expected = similarities(rows, queries, encoding)
    assert np.ptp(expected[:, [0, *range(1, 67, 3)]], axis=1).tolist() == [0.0] * 5
    for size in (1, 2, 3, 5, 8, 17, 32, 66):
        blocks = [similarities(rows[at : at + size], queries, encoding) for at in range(0, len(rows), size)]
        assert np.concatenate(blocks, axis=1).tobytes() == expected.tobytes()


@pytest.mark.parametrize(
    ("encoding", "tolerance"), [("float32", 1e-6), ("float16", 1e-3), ("int8", 0.02), ("binary", 0.3)]
)
def test_the_stored_vectors_are_near_those_given(encoding: Encoding, tolerance: float) -> None:
    vectors, queries = random(200, 256), random(20, 256, seed=1)
    found = similarities(encode(vectors, encoding), queries, encoding)
    if encoding != "binary":
        np.testing.assert_allclose(found, exact(vectors, queries), atol=tolerance)
    # A vector is most like itself, whatever was lost.
    itself = similarities(encode(vectors, encoding), vectors, encoding)
    assert np.argmax(itself, axis=1).tolist() == list(range(200))


def test_codes_are_compared_exactly_as_they_say() -> None:
    vectors, queries = random(50, 100), random(5, 100, seed=1)
    codes = encode(vectors, "int8")
    np.testing.assert_allclose(similarities(codes, queries, "int8"), exact(codes, queries), atol=1e-7)
    signs = np.where(vectors > 0, 1.0, -1.0)
    np.testing.assert_allclose(
        similarities(encode(vectors, "binary"), queries, "binary"), exact(signs, queries), atol=1e-7
    )
    half = encode(vectors, "float16")
    np.testing.assert_allclose(similarities(half, queries, "float16"), exact(half, queries), atol=1e-3)


def test_every_sum_is_exact() -> None:
    # Fractions of any size are the oracle: what is stored and asked is on a grid, so nothing is rounded.
    from fractions import Fraction

    vectors, query = random(20, 300), random(1, 300, seed=1)
    rows = encode(vectors, "float32")
    asked = np.rint(unit(query)[0] * 2**26).astype(int).tolist()
    for row, found in zip(rows.tolist(), similarities(rows, query, "float32")[0].tolist(), strict=True):
        total = sum(Fraction(number) * code for number, code in zip(row, asked, strict=True))
        assert Fraction(found) == total / 2**26


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_zeros_are_like_nothing(encoding: Encoding) -> None:
    rows = encode([[0.0, 0.0], [1.0, 0.5]], encoding)
    assert similarities(rows, np.zeros((1, 2)), encoding).tolist() == [[0.0, 0.0]]
    if encoding != "binary":  # which has no sign for 0
        assert similarities(rows, np.array([[1.0, 1.0]]), encoding)[0, 0] == 0.0


def test_what_cannot_be_stored_is_refused() -> None:
    with pytest.raises(InputError, match=r"no encoding 'int4'. Choose one of float32, float16, int8, binary"):
        row_width("int4", 3)  # type: ignore[arg-type]
    for dimension in (0, 70_000, 2.5, True, None):
        with pytest.raises(InputError, match=f"vectors of {dimension} dimensions"):
            row_width("float32", dimension)  # type: ignore[arg-type]
