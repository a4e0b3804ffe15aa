"""Features are the same whoever keeps the corpus: an index of ours, or an engine that is a Corpus."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from hybridrank.errors import HybridrankWarning, InputError
from hybridrank.features import PassageFeatures
from hybridrank.found_texts import Corpus, unknown_ids
from hybridrank.learned import LearnedReranker
from hybridrank.lexical import LexicalIndex
from hybridrank.records import Passage, Ranking
from hybridrank.text.tokens import Tokenizer

WORDS = ["net", "sales", "rose", "2018", "2019", "1,234.5", "10-K", "東京", "the", "average"]
TEXTS = st.lists(st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join), min_size=1, max_size=8)
QUERY = st.lists(st.sampled_from([*WORDS, "unheard", "2020"]), max_size=7).map(" ".join)


class Told:
    """What an engine would tell of the corpus of an index."""

    name = "told"
    k1 = 1.5
    b = 0.75

    def __init__(self, passages: Sequence[Passage]) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HybridrankWarning)
            self.index = LexicalIndex.build(passages)
        self.tokenizer: Tokenizer = self.index.tokenizer
        self.n_documents = len(passages)
        self.average_length = self.index.postings.n_tokens / len(passages) or 1.0
        self.fetched: list[list[str]] = []

    def __len__(self) -> int:
        return self.n_documents

    def search(self, query: str, k: int = 10) -> Ranking:
        return self.index.search(query, k)

    def search_many(self, queries: Iterable[str], k: int = 10) -> list[Ranking]:
        return self.index.search_many(queries, k)

    def document_frequency(self, terms: Sequence[str]) -> NDArray[np.int64]:
        numbers = [self.index.vocabulary.id_of(term) for term in terms]
        df = self.index.postings.document_frequency
        return np.array([0 if number is None else df[number] for number in numbers], dtype=np.int64)

    def find(self, passage_ids: Sequence[str]) -> list[Passage | None]:
        self.fetched.append(list(passage_ids))
        known = {passage.id: passage for passage in self.index.passages}
        return [known.get(passage_id) for passage_id in passage_ids]


def of(texts: Sequence[str]) -> list[Passage]:
    return [
        Passage(id=f"p{at}", text=text, document_id="r" if at % 2 else None, start=at)
        for at, text in enumerate(texts)
    ]


@given(texts=TEXTS, query=QUERY)
def test_the_features_are_the_same(texts: list[str], query: str) -> None:
    corpus = Told(of(texts))
    told: Corpus = corpus
    hits = corpus.index.search(" ".join(WORDS), 50).hits
    ours = PassageFeatures(corpus.index, sources=["dense"]).compute(query, hits)
    theirs = PassageFeatures(told, sources=["dense"])
    np.testing.assert_allclose(theirs.compute(query, hits), ours, rtol=1e-6)
    assert corpus.fetched == []
    bare = [replace(hit, passage=None) for hit in hits]
    np.testing.assert_array_equal(theirs.compute(query, bare), theirs.compute(query, hits))
    assert corpus.fetched == ([[hit.passage_id for hit in hits]] if hits else [])


def test_a_ranker_learns_and_ranks_over_an_engine() -> None:
    texts = [f"net sales {2010 + at} rose {'rose ' * (at % 3)}" for at in range(30)]
    corpus = Told(of(texts))
    queries = {str(at): f"net sales rose in {2010 + at}" for at in range(30)}
    judgments = {str(at): {f"p{at}": 1} for at in range(30)}
    ours = LearnedReranker.fit(corpus.index, queries, judgments, depth=10)
    theirs = LearnedReranker.fit(corpus, queries, judgments, depth=10)
    for query in queries.values():
        found = corpus.search(query, 10)
        assert theirs.rerank(found) == ours.rerank(found)


def test_what_is_not_there_is_told() -> None:
    corpus = Told(of(["net", "sales"]))
    for index in (corpus, corpus.index):
        assert unknown_ids(index, ["p1", "p7", "p0", "x"]) == ["p7", "x"]
    hit = replace(corpus.search("net").hits[0], passage_id="gone", passage=None)
    with pytest.raises(InputError, match="there is no passage 'gone' in the index"):
        PassageFeatures(corpus).compute("net", [hit])
    with pytest.raises(InputError, match="judgments for passages that are not known: 'p7'"):
        LearnedReranker.fit(corpus, {"q": "net"}, {"q": {"p7": 1}})
