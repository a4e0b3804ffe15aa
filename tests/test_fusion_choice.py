import math

import ir_measures
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridrank.errors import InputError
from hybridrank.fusion import ConvexCombination
from hybridrank.fusion_choice import choose_fusion, ndcg
from hybridrank.records import Hit, Ranking

N = 12


def ranking(scores: dict[str, float]) -> Ranking:
    ordered = sorted(scores.items(), key=lambda item: (-item[1], item[0]))
    hits = (
        Hit(passage_id=id, position=int(id), rank=rank, score=score)
        for rank, (id, score) in enumerate(ordered, start=1)
    )
    return Ranking(query="q", hits=tuple(hits))


def collection(
    noise: dict[str, float], n: int = 60
) -> tuple[dict[str, dict[str, Ranking]], dict[str, dict[str, int]]]:
    """Queries with one good passage each, and lists that show it through noise of the strengths given."""
    rng = np.random.default_rng(3)
    rankings, judgments = {}, {}
    for number in range(n):
        good = rng.integers(N)
        judgments[f"q{number}"] = {str(good): 1}
        rankings[f"q{number}"] = {
            name: ranking(
                {str(at): float((at == good) + strength * rng.standard_normal()) for at in range(N)}
            )
            for name, strength in noise.items()
        }
    return rankings, judgments


@given(
    st.permutations([str(number) for number in range(15)]),
    st.dictionaries(st.integers(0, 20).map(str), st.integers(0, 4), min_size=1),
    st.integers(1, 12),
)
def test_ndcg_is_that_of_ir_measures(ids: list[str], grades: dict[str, int], cutoff: int) -> None:
    run = {"q": {id: float(-place) for place, id in enumerate(ids)}}
    expected = ir_measures.calc_aggregate([ir_measures.nDCG @ cutoff], {"q": grades}, run)
    assert ndcg(ids, grades, cutoff=cutoff) == pytest.approx(expected[ir_measures.nDCG @ cutoff])


def test_two_lists_that_know_different_things_are_better_together() -> None:
    rankings, judgments = collection({"bm25": 0.6, "dense": 0.6})
    choice = choose_fusion(rankings, judgments)
    assert choice.gains
    assert choice.quality > max(choice.lists.values())
    found = [ndcg([hit.passage_id for hit in choice.fusion(rankings[q])], judgments[q]) for q in rankings]
    assert math.fsum(found) / 60 >= choice.quality


def test_a_list_that_knows_nothing_is_left_out() -> None:
    rankings, judgments = collection({"bm25": 0.2, "dense": 50.0})
    choice = choose_fusion(rankings, judgments)
    assert not choice.gains
    assert choice.fusion == ConvexCombination(weights={"bm25": 1.0, "dense": 0.0})
    assert choice.lists["bm25"] > choice.lists["dense"]
    for lists in rankings.values():
        assert [hit.passage_id for hit in choice.fusion(lists)] == [hit.passage_id for hit in lists["bm25"]]


def test_three_lists_can_be_weighed() -> None:
    rankings, judgments = collection({"a": 0.7, "b": 0.7, "c": 0.7}, n=30)
    choice = choose_fusion(rankings, judgments, lowest={"a": -10.0})
    assert choice.gains
    assert set(choice.lists) == {"a", "b", "c"}


def test_the_order_of_queries_and_lists_changes_nothing() -> None:
    rankings, judgments = collection({"bm25": 0.6, "dense": 0.6}, n=20)
    backwards = {q: dict(reversed(lists.items())) for q, lists in reversed(rankings.items())}
    assert choose_fusion(backwards, dict(reversed(judgments.items()))) == choose_fusion(rankings, judgments)


def test_a_group_is_never_split_and_the_measure_can_be_chosen() -> None:
    rankings, judgments = collection({"bm25": 0.6, "dense": 0.6}, n=12)
    # Half of the queries are one group: with two folds the other half decides about it alone.
    groups = {f"q{number}": number % 2 for number in range(12)}
    seen: list[str] = []

    def first(ids: list[str], grades: dict[str, int]) -> float:
        seen.append(ids[0])
        return float(grades.get(ids[0], 0) > 0)

    choice = choose_fusion(rankings, judgments, groups=groups, folds=2, measure=first)  # type: ignore[arg-type]
    assert seen
    assert 0 <= choice.quality <= 1
    with pytest.raises(InputError, match="2 folds of 1 groups"):
        choose_fusion(rankings, judgments, groups=dict.fromkeys(rankings, "one"), folds=2)
    for folds in (1, 2.5):
        with pytest.raises(InputError, match=f"{folds} folds of 12 groups"):
            choose_fusion(rankings, judgments, folds=folds)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="query 'q0' has no group"):
        choose_fusion(rankings, judgments, groups={})


def test_what_cannot_be_chosen_from_is_refused() -> None:
    rankings, judgments = collection({"bm25": 0.6, "dense": 0.6}, n=4)
    with pytest.raises(InputError, match="no query has a judged passage"):
        choose_fusion(rankings, {"q0": {"1": 0}, "other": {"1": 1}})
    with pytest.raises(InputError, match=r"query 'q0' was searched by \['bm25'\]"):
        choose_fusion({q: {"bm25": lists["bm25"]} for q, lists in rankings.items()}, judgments)
    del rankings["q2"]["dense"]
    with pytest.raises(InputError, match=r"query 'q2' was searched by \['bm25'\]"):
        choose_fusion(rankings, judgments)
