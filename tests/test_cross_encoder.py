import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from hybridrank.budget import Budget, Ledger
from hybridrank.cross_encoder import CrossEncoderReranker, mix
from hybridrank.errors import InputError, ServiceUnavailable
from hybridrank.lexical import LexicalIndex
from hybridrank.pipeline import Pipeline
from hybridrank.planner import Planner
from hybridrank.protocols import Reranker
from hybridrank.records import Hit, Passage, Ranking, Reason, Usage


@dataclass
class Answer:
    scores: NDArray[np.float32]
    usage: Usage


class Numbers:
    """Scores a document by the number that it begins with, for a request and 10 tokens a document, and
    reserves twice of that. Every attempt whose number is in ``failing`` fails after it was sent."""

    def __init__(self, ledger: Ledger | None = None, failing: Sequence[int] = ()) -> None:
        self.ledger = ledger or Ledger()
        self.failing = failing
        self.calls: list[tuple[str, list[str], float | None]] = []

    def rerank(
        self,
        query: str,
        documents: Sequence[str],
        *,
        ledger: Ledger | None = None,
        deadline: float | None = None,
    ) -> Answer:
        tokens = 10 * len(documents)
        assert ledger is not None
        with ledger.reserve(2 * tokens) as reservation:
            self.calls.append((query, list(documents), deadline))
            if len(self.calls) in self.failing:
                raise ServiceUnavailable("http://localhost", "connection reset")
            reservation.settle(tokens)
        scores = [float(text.split()[0]) for text in documents]
        return Answer(np.array(scores, dtype=np.float32), Usage(requests=1, tokens=tokens))


def ranking(*texts: str | None, query: str = "q") -> Ranking:
    """Hits with these texts, or without a passage, and the scores 100, 99, ..."""
    hits = (
        Hit(
            passage_id=f"p{place}",
            position=place,
            rank=place + 1,
            score=100.0 - place,
            passage=None if text is None else Passage(id=f"p{place}", text=text),
            reasons=(Reason(source="bm25", rank=place + 1, score=100.0 - place),),
        )
        for place, text in enumerate(texts)
    )
    return Ranking(query=query, hits=tuple(hits), usage=Usage(requests=1))


def ids(found: Ranking) -> list[str]:
    return [hit.passage_id for hit in found]


def replacing(scorer: Any, **options: Any) -> CrossEncoderReranker:
    return CrossEncoderReranker(scorer, weight=1.0, **options)


# -- order and scores


def test_hits_are_ordered_by_the_scorer() -> None:
    scorer = Numbers()
    found = replacing(scorer).rerank(ranking("1 a", "3 b", "2 c"))
    assert ids(found) == ["p1", "p2", "p0"]
    assert [(hit.rank, hit.score) for hit in found] == [(1, 1.0), (2, 0.5), (3, 0.0)]
    assert found[0].reasons == (
        Reason(source="bm25", rank=2, score=99.0),
        Reason(source="cross_encoder", rank=1, score=3.0),
    )
    assert found.usage == Usage(requests=2, tokens=30)
    assert found.degraded is None
    assert scorer.calls == [("q", ["1 a", "3 b", "2 c"], None)]
    assert isinstance(replacing(scorer), Reranker)


def test_scores_are_mixed_with_those_given() -> None:
    given_ranking = ranking("1 a", "3 b", "2 c")
    assert ids(CrossEncoderReranker(Numbers(), weight=0.0).rerank(given_ranking)) == ["p0", "p1", "p2"]
    half = CrossEncoderReranker(Numbers()).rerank(given_ranking)
    assert [(hit.passage_id, hit.score) for hit in half] == [("p1", 0.75), ("p0", 0.5), ("p2", 0.25)]


def test_ties_go_to_the_place_in_the_corpus() -> None:
    given_ranking = ranking("1 a", "1 b", "1 c")
    backwards = dataclasses.replace(given_ranking, hits=given_ranking.hits[::-1])
    assert ids(replacing(Numbers()).rerank(backwards)) == ["p0", "p1", "p2"]
    found = replacing(Numbers()).rerank(backwards)
    assert [hit.reasons[-1].rank for hit in found] == [1, 2, 3]


def test_hits_beyond_the_depth_stay_behind_in_their_order() -> None:
    found = replacing(Numbers(), depth=2).rerank(ranking("1 a", "3 b", "9 c", "8 d"))
    assert ids(found) == ["p1", "p0", "p2", "p3"]
    assert [hit.score for hit in found] == [1.0, 0.0, -1.0, -2.0]
    assert [hit.rank for hit in found] == [1, 2, 3, 4]
    assert [len(hit.reasons) for hit in found] == [2, 2, 1, 1]


def test_hits_without_text_are_never_sent_and_keep_their_score() -> None:
    scorer = Numbers()
    found = replacing(scorer).rerank(ranking("1 a", None, " \n", "", "3 b"))
    assert scorer.calls[0][1] == ["1 a", "3 b"]
    assert [(hit.passage_id, hit.score) for hit in found] == [
        ("p4", 1.0),
        ("p1", 0.75),
        ("p2", 0.5),
        ("p3", 0.25),
        ("p0", 0.0),
    ]


@pytest.mark.parametrize(
    "given_ranking",
    [ranking(), ranking("1 a"), ranking(None, None), ranking("1 a", ""), ranking("1 a", "2 b", query=" ")],
)
def test_where_there_is_nothing_to_order_nothing_is_sent(given_ranking: Ranking) -> None:
    scorer = Numbers()
    assert replacing(scorer).rerank(given_ranking) == given_ranking
    assert scorer.calls == []


def test_reranking_twice_leaves_one_reason() -> None:
    reranker = replacing(Numbers())
    once = reranker.rerank(ranking("1 a", "3 b"))
    assert reranker.rerank(once).hits == once.hits


@given(
    st.lists(st.integers(-5, 5) | st.none(), max_size=9),
    st.integers(1, 9),
    st.floats(0, 1),
    st.integers(0, 200),
)
def test_no_hit_is_ever_lost_and_no_budget_exceeded(
    numbers: list[int | None], depth: int, weight: float, tokens: int
) -> None:
    ledger = Ledger(Budget(tokens=tokens))
    given_ranking = ranking(*[None if number is None else f"{number} x" for number in numbers])
    reranker = CrossEncoderReranker(Numbers(ledger), depth=depth, weight=weight)
    found = reranker.rerank(given_ranking)
    assert sorted(ids(found)) == sorted(ids(given_ranking))
    assert ids(found)[depth:] == ids(given_ranking)[depth:]
    assert [hit.rank for hit in found] == list(range(1, len(found) + 1))
    if found.hits != given_ranking.hits:
        assert list(found) == sorted(found, key=lambda hit: (-hit.score, hit.position))
    assert ledger.usage.tokens <= tokens
    assert found.usage.tokens == ledger.usage.tokens


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=6), st.data(), st.floats(0, 1))
def test_a_mixture_lies_between_0_and_1(scores: list[float], data: st.DataObject, weight: float) -> None:
    own = data.draw(st.dictionaries(st.integers(0, len(scores) - 1), st.floats(-1e6, 1e6)))
    mixed = mix(scores, own, weight)
    assert len(mixed) == len(scores)
    assert all(-1e-12 <= score <= 1 + 1e-12 for score in mixed)


def test_scores_given_that_are_not_finite_count_by_rank() -> None:
    assert mix([math.inf, 3.0, -math.inf], {}, weight=0.5) == [1.0, 0.5, 0.0]


# -- when things go wrong


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([1.0], "cross_encoder left out: the scorer gave 1 scores for 2 documents"),
        ([1.0, 2.0, 3.0], "the scorer gave 3 scores for 2 documents"),
        ([1.0, math.nan], "or one that is not finite"),
        ([1.0, math.inf], "or one that is not finite"),
        ([1.7e308, -1.7e308], "too far apart"),
        (None, "'NoneType' object is not iterable"),
    ],
)
def test_a_bad_answer_degrades(scores: Any, message: str) -> None:
    class Bad:
        def rerank(self, query: str, documents: Sequence[str], **_: Any) -> Answer:
            return Answer(scores, Usage())

    given_ranking = ranking("1 a", "3 b")
    found = replacing(Bad()).rerank(given_ranking)
    assert found.hits == given_ranking.hits
    assert message in (found.degraded or "")


def test_a_lost_service_degrades_and_what_it_cost_is_told() -> None:
    given_ranking = dataclasses.replace(ranking("1 a", "3 b"), degraded="dense left out: gone")
    found = replacing(Numbers(failing=[1])).rerank(given_ranking)
    assert found.hits == given_ranking.hits
    assert found.degraded == (
        "dense left out: gone; cross_encoder left out: http://localhost: connection reset"
    )
    assert (found.usage.requests, found.usage.tokens) == (2, 40)  # never settled: charged at its bound


def test_an_exception_without_words_is_named() -> None:
    class Odd:
        def rerank(self, query: str, documents: Sequence[str], **_: Any) -> Answer:
            raise ZeroDivisionError

    assert (
        replacing(Odd()).rerank(ranking("1 a", "3 b")).degraded == "cross_encoder left out: ZeroDivisionError"
    )


def test_a_budget_without_requests_degrades() -> None:
    scorer = Numbers(Ledger(Budget(requests=1)))
    reranker = replacing(scorer)
    first, second = (reranker.rerank(ranking("1 a", "3 b")) for _ in range(2))
    assert first.degraded is None
    assert (ids(second), second.degraded) == (
        ["p0", "p1"],
        "cross_encoder left out: the budget's requests do not suffice: 1 asked for, 0 left",
    )
    assert second.usage == Usage(requests=1)


def test_when_tokens_are_short_fewer_hits_are_scored() -> None:
    scorer = Numbers(Ledger(Budget(tokens=65)))
    found = replacing(scorer).rerank(ranking("1 a", "2 b", "3 c", "4 d"))
    assert scorer.calls[0][1] == ["1 a", "2 b", "3 c"]
    assert sorted(ids(found)) == ["p0", "p1", "p2", "p3"]
    assert found.degraded == "cross_encoder cut short after 3 of 4 hits, for want of tokens"
    assert found[0].passage_id == "p2"
    none = replacing(Numbers(Ledger(Budget(tokens=39)))).rerank(ranking("1 a", "2 b"))
    assert "tokens do not suffice: 40 asked for, 39 left" in (none.degraded or "")


def test_time_is_shared_among_the_queries_left() -> None:
    scorer = Numbers(Ledger(Budget(seconds=60.0), clock=lambda: 0.0))
    replacing(scorer).rerank_many([ranking("1 a", "3 b")] * 3)
    assert [deadline for _, _, deadline in scorer.calls] == [20.0, 30.0, 60.0]


@pytest.mark.parametrize("options", [{"weight": -0.1}, {"weight": 1.1}, {"weight": math.nan}, {"depth": 0}])
def test_what_cannot_be_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        CrossEncoderReranker(Numbers(), **options)


def test_a_budget_in_place_of_a_ledger_is_told() -> None:
    for options in ({"ledger": Budget(requests=3)}, {}):
        scorer = Numbers(None if options else Budget(requests=3))  # type: ignore[arg-type]
        with pytest.raises(InputError, match=r"Give Ledger\(budget\)"):
            CrossEncoderReranker(scorer, **options)  # type: ignore[arg-type]


def test_a_ledger_of_ones_own_comes_first() -> None:
    own = Ledger(Budget(requests=0))
    found = replacing(Numbers(), ledger=own).rerank(ranking("1 a", "3 b"))
    assert "requests do not suffice" in (found.degraded or "")


# -- with a planner


def spread(*scores: float) -> Ranking:
    given_ranking = ranking(*[f"{place} x" for place in range(len(scores))])
    hits = (dataclasses.replace(hit, score=score) for hit, score in zip(given_ranking, scores, strict=True))
    return dataclasses.replace(given_ranking, hits=tuple(hits))


OPEN, SETTLED = spread(9.0, 8.9, 8.8, 0.0), spread(9.0, 0.3, 0.2, 0.0)
PLANNER = Planner(cut=1, settled=0.01)


def test_a_settled_order_costs_nothing() -> None:
    scorer = Numbers()
    assert replacing(scorer, planner=PLANNER).rerank(SETTLED) == SETTLED
    assert scorer.calls == []
    assert ids(replacing(scorer, planner=PLANNER).rerank(OPEN))[0] == "p3"


def test_many_queries_are_weighed_against_each_other() -> None:
    scorer = Numbers(Ledger(Budget(requests=2)))
    found = replacing(scorer, planner=PLANNER).rerank_many([SETTLED, OPEN, OPEN, OPEN, SETTLED])
    assert [ids(one)[0] for one in found] == ["p0", "p3", "p3", "p0", "p0"]
    assert [one.degraded for one in found] == [
        None,
        None,
        None,
        "cross_encoder left out: the budget goes to queries that may gain more by it",
        None,
    ]
    assert len(scorer.calls) == 2
    assert replacing(scorer, planner=PLANNER).rerank_many([]) == []


def test_queries_that_come_one_by_one_leave_something_for_the_next() -> None:
    scorer = Numbers(Ledger(Budget(requests=2, seconds=60.0), clock=lambda: 0.0))
    reranker = replacing(scorer, planner=PLANNER, expected=4)
    found = [reranker.rerank(one) for one in (SETTLED, OPEN, SETTLED, OPEN)]
    assert [ids(one)[0] for one in found] == ["p0", "p3", "p0", "p3"]
    assert [deadline for _, _, deadline in scorer.calls] == [20.0, 60.0]


def test_no_query_is_lost_by_random_failures() -> None:
    rng = np.random.default_rng(0)
    scorer = Numbers(Ledger(Budget(requests=150)), failing=np.flatnonzero(rng.random(200) < 0.2).tolist())
    found = replacing(scorer, planner=PLANNER).rerank_many([OPEN] * 100 + [SETTLED] * 100)
    assert [sorted(ids(one)) for one in found] == [["p0", "p1", "p2", "p3"]] * 200
    assert len(scorer.calls) == 100
    lost = [one for one in found if one.degraded]
    assert 5 < len(lost) < 40
    assert sum(one.usage.requests - 1 for one in found) == scorer.ledger.usage.requests == 100


def test_a_pipeline_hands_over_all_queries_at_once() -> None:
    index = LexicalIndex.build(Passage(id=str(number), text=f"{number} sales") for number in range(4))
    scorer = Numbers(Ledger(Budget(requests=1)))
    pipeline = Pipeline(retrievers=[index], rerankers=[replacing(scorer, planner=PLANNER)])
    found = pipeline.search_many(["sales", "nothing", "sales"], k=2)
    assert [ids(one) for one in found] == [["3", "2"], [], ["0", "1"]]
    assert scorer.calls[0][1] == [f"{number} sales" for number in range(4)]
