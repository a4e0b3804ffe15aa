import math
from collections.abc import Sequence
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridrank import Hit, InputError, LearnedReranker, Passage
from hybridrank.errors import BudgetExhausted
from hybridrank.integrations.reordering import check_reranker, make_passages, passage_of, reorder
from hybridrank.integrations.scorers import Bm25Scorer
from tests.integrations.stubs import PASSAGES, QUERY, Away, Backwards, Lengths, Unchanged, index

TEXTS = [passage.text for passage in PASSAGES]
IDS = [passage.id for passage in PASSAGES]


class Fixed:
    def __init__(self, scores: object) -> None:
        self.scores = scores

    def rerank(self, query: str, documents: Sequence[str]) -> object:
        return self.scores


class Slow:
    async def rerank(self, query: str, documents: Sequence[str]) -> list[float]:
        raise NotImplementedError


def test_none_is_bm25() -> None:
    assert isinstance(check_reranker(None), Bm25Scorer)


def test_what_can_rerank_is_taken_as_it_is() -> None:
    for reranker in (Backwards(), Lengths()):
        assert check_reranker(reranker) is reranker


def test_what_cannot_rerank_is_refused() -> None:
    with pytest.raises(InputError, match="a str cannot rerank"):
        check_reranker("jina")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"Slow\.rerank is asynchronous"):
        check_reranker(Slow())


def test_bm25_puts_what_shares_nothing_last_and_in_its_order() -> None:
    order = reorder(Bm25Scorer(), "boat", ["Salad.", "The boat.", "Paint."]).order
    assert [place for place, _ in order] == [1, 0, 2]


def test_a_scorer_is_asked_once_for_all() -> None:
    scorer = Lengths()
    order, degraded = reorder(scorer, QUERY, TEXTS, ids=IDS)
    assert scorer.asked == [(QUERY, TEXTS)]
    assert order == [(2, 33.0), (0, 21.0), (1, 20.0)]
    assert degraded is None


def test_scores_may_be_in_an_object_of_any_numbers() -> None:
    answer = SimpleNamespace(scores=np.array([0.5, 2.0], dtype=np.float32))
    order = reorder(Fixed(answer), "q", ["a", "b"]).order
    assert order == [(1, 2.0), (0, 0.5)]
    assert all(type(score) is float for _, score in order)


@given(st.lists(st.floats(width=32), min_size=1, max_size=8))
def test_every_document_comes_once_by_a_finite_score(scores: list[float]) -> None:
    order = reorder(Fixed(scores), "q", ["text"] * len(scores)).order
    assert sorted(place for place, _ in order) == list(range(len(scores)))
    assert all(map(math.isfinite, (score for _, score in order)))
    assert [score for _, score in order] == sorted((score for _, score in order), reverse=True)
    finite = [place for place, score in enumerate(scores) if math.isfinite(score)]
    assert [place for place, _ in order[: len(finite)]] == sorted(finite, key=lambda at: -scores[at])


def test_too_few_scores_are_refused() -> None:
    with pytest.raises(InputError, match="Fixed gave 1 scores for 2 documents"):
        reorder(Fixed([1.0]), "q", ["a", "b"])


def test_a_lost_service_leaves_order_and_scores() -> None:
    order, degraded = reorder(Away(), "q", ["a", "b"], scores=[0.25, None])
    assert order == [(0, 0.25), (1, 0.0)]
    assert degraded == "not reranked: http://localhost/v1/rerank: no connection"


def test_so_does_a_spent_budget() -> None:
    class Spent:
        def rerank(self, query: str, documents: Sequence[str]) -> list[float]:
            raise BudgetExhausted("requests", asked=1, left=0)

    order, degraded = reorder(Spent(), "q", ["a", "b"])
    assert order == [(0, 0.0), (1, 0.0)]
    assert degraded == "not reranked: the budget's requests do not suffice: 1 asked for, 0 left"


def test_a_reranker_of_rankings_sees_the_documents_as_hits() -> None:
    reranker = Backwards()
    order, degraded = reorder(reranker, QUERY, TEXTS, ids=IDS, scores=[3.0, 2.0, None])
    (seen,) = reranker.seen
    assert seen.query == QUERY
    assert [(hit.passage_id, hit.position, hit.rank, hit.score) for hit in seen] == [
        ("boat", 0, 1, 3.0),
        ("slug", 1, 2, 2.0),
        ("trap", 2, 3, 0.0),
    ]
    assert order == [(2, -1.0), (1, -2.0), (0, -3.0)]
    assert degraded is None


@pytest.mark.parametrize("ids", [(), ["a", "a", "b"]])
def test_documents_without_ids_of_their_own_are_told_apart_all_the_same(ids: list[str]) -> None:
    assert [place for place, _ in reorder(Backwards(), QUERY, TEXTS, ids=ids).order] == [2, 1, 0]


def test_what_a_reranker_says_of_itself_is_passed_on() -> None:
    assert reorder(Unchanged(), "q", ["a"]).degraded == "lost: the service is away"


def test_a_learned_ranker_knows_documents_by_their_ids() -> None:
    corpus = index()
    many = {str(n): "slug trap" for n in range(30)}
    ranker = LearnedReranker.fit(
        corpus,
        many,
        {query_id: {"trap": 1, "slug": 0} for query_id in many},
        rounds=5,
        parameters={"min_data_in_leaf": 1},
    )
    order = reorder(ranker, "slug trap", [TEXTS[1], TEXTS[2]], ids=["slug", "trap"]).order
    assert [place for place, _ in order] == [1, 0]
    with pytest.raises(InputError, match="there is no passage 'zebra' in the index"):
        reorder(ranker, "slug trap", ["Zebra."], ids=["zebra"])


@pytest.mark.parametrize("reranker", [Bm25Scorer(), Backwards(), Away()])
def test_no_documents_are_no_order(reranker: Backwards) -> None:
    assert reorder(reranker, "q", []) == ([], None)


@given(st.lists(st.one_of(st.none(), st.text("0123-", min_size=1, max_size=3)), max_size=8))
def test_every_passage_has_an_id_of_its_own_and_keeps_its_own(ids: list[str | None]) -> None:
    own = [name for name in ids if name is not None]
    made = [passage.id for passage in make_passages(["text"] * len(ids), ids=ids)]
    assert all(name in (None, new) for name, new in zip(ids, made, strict=True))
    assert len(set(made)) == len(made) - (len(own) - len(set(own)))


def test_ids_and_metadata_are_as_many_as_texts() -> None:
    with pytest.raises(InputError, match="there are 1 ids for 2 texts"):
        make_passages(["a", "b"], ids=["1"])
    with pytest.raises(InputError, match="there are 1 metadatas for 2 texts"):
        make_passages(["a", "b"], metadatas=[{}])
    assert make_passages(["a"], metadatas=[{"page": 1}]) == [Passage(id="0", text="a", metadata={"page": 1})]


def test_a_hit_without_its_passage_has_no_text() -> None:
    with pytest.raises(InputError, match="the hit 'a' has no passage"):
        passage_of(Hit(passage_id="a", position=0, rank=1, score=1.0))
