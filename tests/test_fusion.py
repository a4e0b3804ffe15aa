import dataclasses
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridrank.errors import InputError
from hybridrank.fusion import (
    ConvexCombination,
    Fusion,
    ReciprocalRankFusion,
    convex_combination,
    reciprocal_rank_fusion,
)
from hybridrank.records import Hit, Passage, Ranking, Reason, Usage

IDS = st.sampled_from("abcdefgh")
LISTS = st.lists(st.lists(IDS, max_size=8), max_size=5)
SCORES = st.dictionaries(IDS, st.floats(-1e6, 1e6), max_size=6)
SCORE_LISTS = st.lists(SCORES, max_size=5)
WEIGHT = st.floats(0, 10)
KS = st.floats(0, 100)


# -- reciprocal rank fusion


@given(LISTS, KS, st.data())
def test_rrf_is_the_formula(lists: list[list[str]], k: float, data: st.DataObject) -> None:
    weights = data.draw(st.lists(WEIGHT, min_size=len(lists), max_size=len(lists)))
    fused = dict(reciprocal_rank_fusion(lists, k=k, weights=weights))
    for id in "abcdefgh":
        score = sum(
            weight / (k + ids.index(id) + 1) for ids, weight in zip(lists, weights, strict=True) if id in ids
        )
        assert fused.get(id, 0.0) == pytest.approx(score)


@given(st.data(), LISTS, KS)
def test_rrf_does_not_depend_on_the_order_of_lists(
    data: st.DataObject, lists: list[list[str]], k: float
) -> None:
    weights = data.draw(st.lists(WEIGHT, min_size=len(lists), max_size=len(lists)))
    order = data.draw(st.permutations(range(len(lists))))
    assert reciprocal_rank_fusion(
        [lists[at] for at in order], k=k, weights=[weights[at] for at in order]
    ) == reciprocal_rank_fusion(lists, k=k, weights=weights)


def test_the_sum_of_many_lists_does_not_depend_on_their_order() -> None:
    random.seed(2)
    lists = [random.sample("abcdefgh", 8) for _ in range(100)]
    expected = reciprocal_rank_fusion(lists)
    for _ in range(20):
        random.shuffle(lists)
        assert reciprocal_rank_fusion(lists) == expected


@given(LISTS, st.integers(0, 3))
def test_rrf_takes_no_harm_from_empty_lists(lists: list[list[str]], n_empty: int) -> None:
    assert reciprocal_rank_fusion([*lists, *([[]] * n_empty)]) == reciprocal_rank_fusion(lists)


@given(st.lists(IDS, unique=True))
def test_rrf_of_one_list_keeps_its_order(ids: list[str]) -> None:
    assert [id for id, _ in reciprocal_rank_fusion([ids])] == ids


@given(st.lists(IDS, max_size=12))
def test_rrf_counts_a_repeated_id_at_its_best_rank(ids: list[str]) -> None:
    scores = dict(reciprocal_rank_fusion([ids], k=60))
    assert scores == {id: 1 / (60 + ids.index(id) + 1) for id in set(ids)}


def test_rrf_ranks_from_one() -> None:
    assert reciprocal_rank_fusion([["a"]], k=60) == [("a", 1 / 61)]
    assert reciprocal_rank_fusion([["a"]], k=0) == [("a", 1.0)]


def test_rrf_leaves_out_lists_without_weight() -> None:
    assert reciprocal_rank_fusion([["a"], ["b"]], weights=[0, 2], k=1) == [("b", 1.0)]
    assert reciprocal_rank_fusion([["a"]], weights=[0]) == []
    assert reciprocal_rank_fusion([]) == []


def test_rrf_settles_ties_by_position() -> None:
    lists = [["b", "a"], ["a", "b"]]
    assert [id for id, _ in reciprocal_rank_fusion(lists)] == ["a", "b"]
    places = {"a": 7, "b": 2}
    assert [id for id, _ in reciprocal_rank_fusion(lists, position=places.__getitem__)] == ["b", "a"]


@pytest.mark.parametrize("k", [-1, float("nan"), float("inf")])
def test_rrf_with_an_impossible_k(k: float) -> None:
    with pytest.raises(InputError, match="Give k >= 0"):
        reciprocal_rank_fusion([["a"]], k=k)


@pytest.mark.parametrize("weights", [[], [1, 1], [-1], [float("nan")], [float("inf")]])
def test_impossible_weights(weights: list[float]) -> None:
    with pytest.raises(InputError, match=r"not weights for 1 lists. Give one finite number"):
        reciprocal_rank_fusion([["a"]], weights=weights)
    with pytest.raises(InputError, match=r"not weights for 1 lists. Give one finite number"):
        convex_combination([{"a": 1.0}], weights=weights)


# -- convex combination


@given(SCORE_LISTS, st.data())
def test_a_convex_combination_lies_between_0_and_1_and_is_sorted(
    lists: list[dict[str, float]], data: st.DataObject
) -> None:
    weights = data.draw(st.lists(st.floats(0.01, 10), min_size=len(lists), max_size=len(lists)))
    fused = convex_combination(lists, weights=weights)
    assert {id for id, _ in fused} == {id for scores in lists for id in scores}
    assert all(0 <= score <= 1 + 1e-12 for _, score in fused)
    assert fused == sorted(fused, key=lambda item: (-item[1], item[0]))


@given(SCORE_LISTS, st.data())
def test_a_convex_combination_does_not_depend_on_the_order_of_lists(
    lists: list[dict[str, float]], data: st.DataObject
) -> None:
    weights = data.draw(st.lists(WEIGHT, min_size=len(lists), max_size=len(lists)))
    order = data.draw(st.permutations(range(len(lists))))
    assert convex_combination(
        [lists[at] for at in order], weights=[weights[at] for at in order]
    ) == convex_combination(lists, weights=weights)


@given(st.dictionaries(IDS, st.integers(-50, 50), min_size=2), st.integers(1, 9), st.integers(-9, 9))
def test_a_convex_combination_does_not_depend_on_the_scale_of_a_list(
    scores: dict[str, int], factor: int, shift: int
) -> None:
    scaled = {id: factor * score + shift for id, score in scores.items()}
    assert dict(convex_combination([scaled])) == pytest.approx(dict(convex_combination([scores])))


@given(st.dictionaries(IDS, st.floats(-1e6, 1e6), min_size=1))
def test_a_convex_combination_of_one_list_keeps_its_order(scores: dict[str, float]) -> None:
    fused = dict(convex_combination([scores]))
    for one in scores:
        for other in scores:
            assert fused[one] >= fused[other] or scores[one] < scores[other]


def test_the_lowest_possible_score_can_be_given() -> None:
    bm25, cosine = {"a": 8.0, "b": 2.0}, {"a": 0.0, "b": 1.0}
    assert dict(convex_combination([bm25, cosine], lowest=[0, -1])) == {"a": 0.75, "b": 0.625}
    assert dict(convex_combination([bm25, cosine], lowest=[None, -1])) == {"a": 0.75, "b": 0.5}
    assert dict(convex_combination([{"a": 0.0, "b": 0.0}], lowest=[0])) == {"a": 1.0, "b": 1.0}
    with pytest.raises(InputError, match=r"score 2.0 lies below 3, which was said to be the lowest"):
        convex_combination([bm25], lowest=[3])
    with pytest.raises(InputError, match="1 lowest scores for 2 lists"):
        convex_combination([bm25, cosine], lowest=[0])


def test_scores_that_are_all_alike_are_all_best() -> None:
    assert convex_combination([{"b": 3.0, "a": 3.0}, {}], weights=[1, 1]) == [("a", 0.5), ("b", 0.5)]


def test_ties_of_a_convex_combination_go_by_position() -> None:
    fused = convex_combination([{"a": 1.0, "b": 1.0}], position={"a": 1, "b": 0}.__getitem__)
    assert [id for id, _ in fused] == ["b", "a"]
    assert convex_combination([{"a": 1.0}], weights=[0]) == []


@pytest.mark.parametrize("score", [float("nan"), float("inf"), -float("inf")])
def test_a_score_that_is_no_number_is_refused(score: float) -> None:
    with pytest.raises(InputError, match="NaN or infinite"):
        convex_combination([{"a": 1.0, "b": score}])


# -- rankings


def ranking(source: str, *ids: str, passages: bool = True, degraded: str | None = None) -> Ranking:
    """A ranking where an id stands in the corpus as in the alphabet, and scores are 10, 9, ..."""
    hits = tuple(
        Hit(
            passage_id=id,
            position=ord(id) - ord("a"),
            rank=rank,
            score=11.0 - rank,
            passage=Passage(id=id, text=id.upper()) if passages else None,
            reasons=(Reason(source=source, rank=rank, score=11.0 - rank),),
        )
        for rank, id in enumerate(ids, start=1)
    )
    return Ranking(query="q", hits=hits, degraded=degraded, usage=Usage(requests=1))


def test_fused_hits_keep_what_was_known_of_them() -> None:
    fused = ReciprocalRankFusion(k=60)(
        {
            "bm25": ranking("bm25", "b", "a"),
            "dense": ranking("dense", "c", "b", passages=False, degraded="late"),
        }
    )
    assert [(hit.passage_id, hit.rank, hit.position) for hit in fused] == [
        ("b", 1, 1),
        ("c", 2, 2),
        ("a", 3, 0),
    ]
    assert fused[0].score == math.fsum([1 / 61, 1 / 62])
    assert fused[0].reasons == (
        Reason(source="bm25", rank=1, score=10.0),
        Reason(source="dense", rank=2, score=9.0),
    )
    assert [hit.passage for hit in fused] == [Passage(id="b", text="B"), None, Passage(id="a", text="A")]
    assert (fused.query, fused.degraded, fused.usage) == ("q", "late", Usage(requests=2))


@pytest.mark.parametrize("fusion", [ReciprocalRankFusion(), ConvexCombination(lowest={"bm25": 0.0})])
def test_the_order_of_retrievers_changes_nothing(fusion: Fusion) -> None:
    rankings = {
        "bm25": ranking("bm25", "b", "a", "d", degraded="one"),
        "dense": ranking("dense", "c", "b", degraded="other"),
        "empty": ranking("empty"),
    }
    fused = fusion(rankings)
    assert fused == fusion(dict(reversed(rankings.items())))
    assert fused.degraded == "one; other"
    assert {hit.passage_id for hit in fused} == set("abcd")


def test_ties_go_to_the_place_in_the_corpus() -> None:
    fused = ReciprocalRankFusion()({"x": ranking("x", "b"), "y": ranking("y", "a")})
    assert [hit.passage_id for hit in fused] == ["a", "b"]


def test_weights_go_by_retriever() -> None:
    rankings = {"x": ranking("x", "a", "b"), "y": ranking("y", "b", "a")}
    assert [hit.passage_id for hit in ReciprocalRankFusion(weights={"y": 2.0})(rankings)] == ["b", "a"]
    assert [hit.passage_id for hit in ConvexCombination(weights={"x": 0.0})(rankings)] == ["b", "a"]
    assert [hit.score for hit in ConvexCombination(weights={"x": 3.0})(rankings)] == [0.75, 0.25]
    assert [hit.score for hit in ConvexCombination(lowest={"x": 0.0, "y": 8.0})(rankings)] == [0.95, 0.75]


def test_a_repeated_hit_counts_at_its_best() -> None:
    once = ranking("x", "a", "b")
    twice = dataclasses.replace(once, hits=(*once.hits, dataclasses.replace(once.hits[0], rank=3, score=1.0)))
    for fusion in (ReciprocalRankFusion(), ConvexCombination(lowest={"x": 0.0})):
        scores = {hit.passage_id: hit.score for hit in fusion({"x": twice})}
        assert scores == {hit.passage_id: hit.score for hit in fusion({"x": once})}


def test_something_must_be_fused() -> None:
    with pytest.raises(InputError, match="no rankings to fuse"):
        ReciprocalRankFusion()({})
    assert ReciprocalRankFusion()({"x": ranking("x")}).hits == ()


@given(st.permutations(["x", "y", "z"]))
def test_cost_and_passage_do_not_depend_on_the_order_of_rankings(order: list[str]) -> None:
    seconds = {"x": 0.1, "y": 1e16, "z": -1e16}
    rankings = {
        name: Ranking(
            query=name,
            hits=(
                Hit(
                    passage_id="a",
                    position=0,
                    rank=1,
                    score=1.0,
                    passage=Passage(id="a", text=f"from {name}"),
                ),
            ),
            usage=Usage(seconds=seconds[name]),
        )
        for name in order
    }
    for fusion in (ReciprocalRankFusion(), ConvexCombination()):
        found = fusion(rankings)
        assert found[0].passage == Passage(id="a", text="from x")
        assert (found.query, found.usage.seconds) == ("x", 0.1)


@pytest.mark.parametrize("low", [math.nan, -math.inf])
def test_the_lowest_possible_score_is_finite(low: float) -> None:
    with pytest.raises(InputError, match=r"the lowest possible score of list 1 \(counted from 0\)"):
        convex_combination([{"a": 1.0}, {"a": 1.0}], lowest=[None, low])


def test_numbers_beyond_a_float_are_refused() -> None:
    with pytest.raises(InputError, match="the scores from -1e\\+308 to 1e\\+308 are too far apart"):
        convex_combination([{"a": 1e308, "b": -1e308}])
    for fuse in (convex_combination, reciprocal_rank_fusion):
        with pytest.raises(InputError, match="the sum of the weights"):
            fuse([{"a": 1.0}, {"a": 1.0}], weights=[1e308, 1e308])  # type: ignore[arg-type]
