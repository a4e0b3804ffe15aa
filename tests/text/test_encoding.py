from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridrank.text import encoding
from hybridrank.text.tokens import Tokenizer, Vocabulary

SPACED = "Net sales, short-term 10-K. S-1 U.S. 1,234.5 1,23 2.5bn don't company's' the of-the - ... a_b x/y"
JOINED = [
    "\x00",
    "\x01",
    "\x02",
    "é",
    "’s",
    "–",
    "½",
    "東京都",
    "Σ",
    "ﬁ",
    " ",
    "\n",
    "'",
    "-",
    ".",
    ",",
    "3",
    "C",
]
STRANGE = ["\ud800", "🎉", "\u0308", "i̇", "İ"]
PIECES = st.sampled_from([*SPACED.split(), *JOINED, *STRANGE])
TEXTS = st.lists(st.lists(PIECES, max_size=12).map("".join) | st.text(max_size=30), max_size=8)


@given(TEXTS)
@pytest.mark.parametrize(("at_once", "limit"), [(1 << 20, 1 << 20), (1, 1 << 20), (20, 0)])
def test_joined_texts_have_the_terms_of_each_by_itself(at_once: int, limit: int, texts: list[str]) -> None:
    vocabulary = Vocabulary(Tokenizer())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoding, "_AT_ONCE", at_once)
        patch.setattr(encoding, "_MEMO_LIMIT", limit)
        ids, indptr = vocabulary.encode(texts)
        again, _ = vocabulary.encode(texts)
    expected = [Tokenizer().terms(text) for text in texts]
    found = [vocabulary.terms[number] for number in ids]
    assert [found[start:end] for start, end in pairwise(indptr)] == expected
    assert again.tolist() == ids.tolist()
    assert ids.dtype == np.dtype(np.int32)
    assert indptr.dtype == np.dtype(np.int64)


@given(st.lists(st.text(alphabet="ab C-'.,1\x01é’", max_size=30), max_size=8))
def test_terms_are_numbered_in_order_of_first_appearance(texts: list[str]) -> None:
    vocabulary = Vocabulary(Tokenizer(stopwords=["b"]))
    vocabulary.encode(texts)
    tokenizer = Tokenizer(stopwords=["b"])
    assert vocabulary.terms == list(dict.fromkeys(term for text in texts for term in tokenizer.terms(text)))


def test_no_texts() -> None:
    ids, indptr = Vocabulary(Tokenizer()).encode([])
    assert (ids.tolist(), indptr.tolist()) == ([], [0])
