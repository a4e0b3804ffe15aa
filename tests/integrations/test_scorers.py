from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridrank import (
    IndexNotFound,
    InputError,
    LearnedReranker,
    LexicalIndex,
    Passage,
    RankingModel,
    Tokenizer,
)
from hybridrank.integrations.scorers import Bm25Scorer, LearnedScorer, Scorer
from tests.integrations.stubs import PASSAGES, QUERY, index

TEXTS = st.lists(st.text("abc é水1 \ud800", max_size=12), max_size=6)


@pytest.fixture(scope="module")
def ranker() -> LearnedReranker:
    texts = ["A slug, a boat, and no trap.", "Slug trap."]
    corpus = LexicalIndex.build(Passage(id=str(n), text=texts[n % 2]) for n in range(60))
    judgments = {"q": {str(n): n % 2 for n in range(60)}}
    return LearnedReranker.fit(corpus, {"q": "slug trap"}, judgments, rounds=10)


def test_bm25_scores_are_those_of_an_index_of_the_texts() -> None:
    scores = Bm25Scorer().rerank(QUERY, [passage.text for passage in PASSAGES])
    found = {hit.position: hit.score for hit in index().search(QUERY)}
    assert scores == [found.get(place, 0.0) for place in range(len(PASSAGES))]
    assert sorted(found) == [1, 2]


def test_words_are_cut_as_the_tokenizer_says() -> None:
    documents = ["Die Häuser am Fluss."]
    assert Bm25Scorer().rerank("Haus", documents) == [0.0]
    assert Bm25Scorer(Tokenizer("german")).rerank("Haus", documents)[0] > 0


@given(query=st.text("abc é水1 \ud800", max_size=6), texts=TEXTS)
def test_any_texts_get_one_finite_score_each(query: str, texts: list[str]) -> None:
    scores = Bm25Scorer().rerank(query, texts)
    assert len(scores) == len(texts)
    assert all(0 <= score < 100 for score in scores)


def test_what_was_learned_orders_texts_that_are_in_no_index(ranker: LearnedReranker) -> None:
    scorer = LearnedScorer(ranker.model)
    documents = ["Nothing.", "A slug, a boat, and no trap.", "Slug trap.", "Never."]
    none, apart, near, never = scorer.rerank("slug trap", documents)
    assert near > apart > none == never


def test_a_query_that_nothing_shares_leaves_all_alike(ranker: LearnedReranker) -> None:
    scorer = LearnedScorer(ranker.model)
    assert scorer.rerank("zebra", ["Slug.", "Trap."]) == [0.0, 0.0]
    assert scorer.rerank("zebra", []) == []


def test_a_saved_ranker_scores_as_it_did(ranker: LearnedReranker, tmp_path: Path) -> None:
    ranker.save(tmp_path / "ranker")
    documents = ["A slug, a boat, and no trap.", "Slug trap."]
    opened = LearnedScorer.open(tmp_path / "ranker")
    assert opened.rerank("slug trap", documents) == LearnedScorer(ranker.model).rerank("slug trap", documents)
    with pytest.raises(IndexNotFound):
        LearnedScorer.open(tmp_path)


def test_a_model_of_other_features_is_refused() -> None:
    rows, grades = np.array([[0.0], [1.0]] * 50), np.array([0, 1] * 50)
    model = RankingModel.train(rows, grades, [2] * 50, ["x"], rounds=1)
    with pytest.raises(InputError, match="the model knows other features"):
        LearnedScorer(model)


def test_both_are_scorers(ranker: LearnedReranker) -> None:
    assert isinstance(Bm25Scorer(), Scorer)
    assert isinstance(LearnedScorer(ranker.model), Scorer)
    assert not isinstance(index(), Scorer)
