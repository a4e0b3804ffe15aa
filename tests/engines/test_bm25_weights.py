from __future__ import annotations

import warnings
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridrank.bm25 import lucene_idf
from hybridrank.engines import bm25_weights
from hybridrank.engines.bm25_weights import SILENT, digest, dimension, passage_vector, query_vector, shares
from hybridrank.errors import HybridrankWarning
from hybridrank.lexical import LexicalIndex
from hybridrank.records import Passage

WORDS = st.lists(st.sampled_from(["net", "sales", "rose", "C", "3", "10-K", "東京", "the"]), max_size=9)
TEXTS = st.lists(WORDS.map(" ".join), min_size=1, max_size=8)


def index_of(texts: list[str], k1: float, b: float) -> LexicalIndex:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HybridrankWarning)
        return LexicalIndex.build(
            [Passage(id=str(at), text=text) for at, text in enumerate(texts)], k1=k1, b=b
        )


@given(
    texts=TEXTS,
    query=WORDS.map(" ".join),
    k1=st.sampled_from([0.0, 0.9, 1.5]),
    b=st.sampled_from([0, 0.75, 1]),
)
def test_the_product_and_the_sum_of_shares_are_the_score(
    texts: list[str], query: str, k1: float, b: float
) -> None:
    index = index_of(texts, k1, b)
    terms = [index.tokenizer.terms(text) for text in texts]
    average = sum(map(len, terms)) / len(terms) or 1.0
    df = Counter(term for of in terms for term in set(of))
    asked = {term: many for term, many in sorted(Counter(index.tokenizer.terms(query)).items()) if df[term]}
    frequency = np.array([df[term] for term in asked], dtype=np.int64)
    vector = query_vector(asked, frequency, len(texts))
    found = {hit.position: hit for hit in index.search(query, 50)}
    held = np.array([[of.count(term) for of in terms] for term in asked]).reshape(len(asked), len(terms))
    idf = lucene_idf(frequency, len(texts))
    lengths = np.array([len(of) for of in terms])
    given = shares(list(asked.values()), idf, held, lengths, average, k1=k1, b=b)
    for place, of in enumerate(terms):
        weights = passage_vector(Counter(of), average, k1=k1, b=b)
        score = sum(vector.get(at, 0.0) * weight for at, weight in weights.items())
        assert score == pytest.approx(found[place].score if place in found else 0.0, rel=1e-6)
        if place in found:
            of_term = dict(zip(asked, given[:, place].tolist(), strict=True))
            assert found[place].reasons[0].terms == {
                term: of_term[term] for term in found[place].reasons[0].terms
            }


def test_numbers_stay_in_their_ranges() -> None:
    terms = [f"term{number}" for number in range(2000)] + ["", "\ud800"]
    assert len(set(map(digest, terms))) == len(terms)
    assert all(0 < digest(term) < 2**63 for term in terms)
    assert all(SILENT < dimension(term) <= 2**32 - 2 for term in terms)


def test_terms_that_share_a_dimension_bring_no_less_than_their_best(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bm25_weights, "_DIMENSIONS", 1)
    weights = passage_vector({"net": 1, "sale": 3}, 4.0, k1=1.5, b=0.75)
    assert list(weights.values()) == [pytest.approx(3 / 4.5)]
    asked = query_vector({"net": 1, "sale": 1}, np.array([1, 2]), 4)
    assert list(asked.values()) == [pytest.approx(float(lucene_idf([1, 2], 4).sum()))]


def test_a_passage_without_terms_has_a_dimension_that_no_query_asks_for() -> None:
    assert passage_vector({}, 4.0, k1=1.5, b=0.75) == {SILENT: 1.0}
