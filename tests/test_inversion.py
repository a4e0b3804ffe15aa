from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from hybridrank import inversion
from hybridrank.inversion import code_pairs, invert

DOCUMENTS = st.lists(st.lists(st.integers(0, 9), max_size=20), max_size=15)


def flat(documents: list[list[int]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    ids = np.array([term for document in documents for term in document], dtype=np.int64)
    return ids, np.cumsum([0, *map(len, documents)], dtype=np.int64)


@given(DOCUMENTS)
def test_each_term_lists_its_documents_in_order_with_its_frequency(documents: list[list[int]]) -> None:
    inverted = invert(*flat(documents), 10)
    counts = [Counter(document) for document in documents]
    for term in range(10):
        some = slice(inverted.indptr[term], inverted.indptr[term + 1])
        expected = [(doc, held[term]) for doc, held in enumerate(counts) if held[term]]
        assert list(zip(inverted.docs[some], inverted.frequencies[some], strict=True)) == expected


@given(DOCUMENTS)
@pytest.mark.parametrize(("largest", "at_once"), [(1 << 26, 1 << 22), (1 << 26, 3), (0, 1)])
def test_a_code_tells_frequency_and_length(largest: int, at_once: int, documents: list[list[int]]) -> None:
    ids, indptr = flat(documents)
    inverted = invert(ids, indptr, 10)
    lengths = np.diff(indptr)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inversion, "_LARGEST_TABLE", largest)
        patch.setattr(inversion, "_AT_ONCE", at_once)
        coded = code_pairs(inverted, lengths)
    assert coded.codes.dtype == np.uint16
    assert coded.frequencies[coded.codes].tolist() == inverted.frequencies.tolist()
    assert coded.lengths[coded.codes].tolist() == lengths[inverted.docs].tolist()
    pairs = list(zip(coded.frequencies.tolist(), coded.lengths.tolist(), strict=True))
    assert pairs == sorted(set(pairs))
    assert len(np.unique(coded.codes)) == len(pairs)


@pytest.mark.parametrize("largest", [1 << 26, 0])
def test_many_pairs_have_wide_codes(largest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inversion, "_LARGEST_TABLE", largest)
    lengths = np.arange(1, 70_001)
    inverted = inversion.Inverted(
        np.array([0, 70_000]), np.arange(70_000, dtype=np.int32), np.ones(70_000, dtype=np.int32)
    )
    coded = code_pairs(inverted, lengths)
    assert coded.codes.dtype == np.uint32
    assert coded.lengths[coded.codes].tolist() == lengths.tolist()
