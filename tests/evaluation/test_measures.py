from __future__ import annotations

import sys

import ir_measures
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridrank.errors import InputError, MissingExtra
from hybridrank.evaluation.measures import DEFAULT_MEASURES, check_measures, depth_of, score_queries

IDS = st.sampled_from("abcdefgh")


@given(
    st.dictionaries(
        st.sampled_from(["q1", "q2", "q3"]), st.dictionaries(IDS, st.integers(0, 3), min_size=1), min_size=1
    ),
    st.dictionaries(st.sampled_from(["q1", "q2", "q9"]), st.lists(IDS, unique=True)),
)
def test_values_are_those_of_ir_measures(
    judgments: dict[str, dict[str, int]], ranked: dict[str, list[str]]
) -> None:
    names = [*DEFAULT_MEASURES, "AP"]
    found = score_queries(names, judgments, ranked)
    assert all(list(of_query) == list(judgments) for of_query in found.values())
    run = [
        ir_measures.ScoredDoc(query_id, one, -float(rank))
        for query_id, ids in ranked.items()
        for rank, one in enumerate(ids)
    ]
    qrels = [
        ir_measures.Qrel(query_id, one, grade)
        for query_id, of in judgments.items()
        for one, grade in of.items()
    ]
    expected = ir_measures.calc_aggregate([ir_measures.parse_measure(name) for name in names], qrels, run)
    for measure, value in expected.items():
        of_query = found[str(measure)]
        assert sum(of_query.values()) / len(of_query) == pytest.approx(value)


def test_names_are_made_whole_and_single() -> None:
    assert check_measures(["NDCG@10", "nDCG@10", "Precision@5"]) == ("nDCG@10", "P@5")
    assert depth_of(["nDCG@10", "R@100"]) == 100
    assert depth_of(["P@5"]) == 10
    assert depth_of(["P@5", "AP"]) == 1000


@pytest.mark.parametrize("name", ["Foo@3", "nDCG@", "", "nDCG(zebra=2)@10", "'"])
def test_what_is_no_measure_is_refused(name: str) -> None:
    with pytest.raises(
        InputError, match=r"there is no measure .*Name measures as ir-measures does, such as nDCG@10"
    ):
        check_measures(["AP", name])
    with pytest.raises(InputError, match="no measure is named"):
        check_measures([])


def test_without_ir_measures_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    with pytest.raises(MissingExtra, match=r"hybridrank\[evaluate\]"):
        check_measures(DEFAULT_MEASURES)
