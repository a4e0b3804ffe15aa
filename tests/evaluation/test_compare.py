from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from hybridrank import LexicalIndex, Passage, Ranking
from hybridrank.errors import HybridrankWarning, InputError
from hybridrank.evaluation.compare import Run, compare, evaluate, search_all
from hybridrank.evaluation.significance import holm, paired_interval, paired_test

IDS = [f"q{number}" for number in range(12)]
JUDGED = {query_id: {"good": 1, "bad": 0} for query_id in IDS}


def run(*ranks: int) -> Run:
    """A run that has the good one at these ranks, one a query; 0 stands for not at all."""
    ranked = {}
    for query_id, rank in zip(IDS, ranks, strict=True):
        ranked[query_id] = [f"x{place}" for place in range(1, 8)]
        if rank:
            ranked[query_id].insert(rank - 1, "good")
    return Run(ranked=ranked)


RUNS = {
    "base": run(*[2] * 12),
    "better": run(*[1] * 11, 3),
    "noise": run(1, 1, 1, 3, 3, 3, 1, 3, 1, 3, 1, 0),
}


def test_each_system_is_tested_against_the_baseline_and_holm_raises_over_systems() -> None:
    result = compare(RUNS, JUDGED, measures=["RR", "P@1"])
    assert result.baseline == "base"
    assert result.measures == ("RR", "P@1")
    assert [(one.system, one.measure) for one in result.differences] == [
        ("better", "RR"), ("noise", "RR"), ("better", "P@1"), ("noise", "P@1"),
    ]  # fmt: skip
    base = [0.5] * 12
    ours = {"better": [1.0] * 11 + [1 / 3], "noise": list(result.system("noise").by_query["RR"])}
    raised = dict(zip(ours, holm([paired_test(one, base) for one in ours.values()]), strict=True))
    for found in result.differences[:2]:
        interval = paired_interval(ours[found.system], base)
        assert (found.difference, found.low, found.high) == pytest.approx(interval)
        assert found.p_value == pytest.approx(paired_test(ours[found.system], base))
        assert found.p_adjusted == pytest.approx(raised[found.system])
    better, noise = result.differences[:2]
    assert (better.better, better.worse) == (11, 1)
    assert (noise.better, noise.worse) == (6, 6)
    assert better.p_adjusted is not None
    assert noise.p_adjusted is not None
    assert better.p_adjusted < 0.05 < noise.p_adjusted
    assert compare(RUNS, JUDGED, measures=["RR", "P@1"]) == result


def test_means_are_those_of_the_queries() -> None:
    result = compare(RUNS, JUDGED, measures=["RR"], baseline="noise")
    assert result.baseline == "noise"
    for one in result.systems:
        assert one.means["RR"] == pytest.approx(np.mean(one.by_query["RR"]))
        assert one.latency is None
    assert result.system("better").means["RR"] == pytest.approx((11 + 1 / 3) / 12)


def test_one_query_has_a_difference_and_nothing_to_test() -> None:
    one = {"q": {"a": 1}}
    result = compare(
        {"x": Run(ranked={"q": ["b", "a"]}), "y": Run(ranked={"q": ["a"]})}, one, measures=["RR"]
    )
    (found,) = result.differences
    assert (found.difference, found.better, found.worse) == (0.5, 1, 0)
    assert found.low is found.high is found.p_value is found.p_adjusted is None


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(InputError, match="there is nothing to compare"):
        compare({}, JUDGED)
    with pytest.raises(InputError, match=r"no system is named 'x'\. Name one of base, better, noise"):
        compare(RUNS, JUDGED, baseline="x")
    with pytest.raises(InputError, match="there are no judgments"):
        compare(RUNS, {"q": {}})
    with pytest.raises(
        InputError, match=r"none of the 1 judged queries \('Q0'\) is among the 12 queries of base"
    ):
        compare(RUNS, {"Q0": {"good": 1}})
    with pytest.raises(InputError, match="there is no measure 'Foo'"):
        compare(RUNS, JUDGED, measures=["Foo"])


def test_what_is_odd_about_a_run_is_said() -> None:
    runs = {
        "half": Run(ranked={"q0": ["good"]}),
        "strange": Run(ranked={query_id: ["GOOD"] for query_id in IDS}),
        "weak": replace(RUNS["base"], degraded={"q1": "no budget", "q2": "no budget"}),
        "empty": Run(ranked=dict.fromkeys(IDS, ())),
    }
    with pytest.warns(HybridrankWarning) as said:
        result = compare(runs, JUDGED, measures=["RR"])
    assert [str(one.message) for one in said] == [
        "half has no ranking for 11 of 12 judged queries",
        "strange finds nothing that is judged: it has ids such as 'GOOD', judged is 'good'",
        "weak was degraded on 2 queries (no budget)",
        "empty finds nothing that is judged: it has ids such as None, judged is 'good'",
    ]
    assert result.system("half").means["RR"] == pytest.approx(1 / 12)
    assert result.system("strange").notes


# -- searching


class Parrot:
    """A retriever that finds what it is told to, and is counted."""

    name = "parrot"

    def __init__(self, index: LexicalIndex, degraded: str | None = None) -> None:
        self.index = index
        self.degraded = degraded
        self.asked: list[tuple[str, int]] = []

    def __len__(self) -> int:
        return len(self.index)

    def search(self, query: str, k: int = 10) -> Ranking:
        self.asked.append((query, k))
        return replace(self.index.search(query, k), degraded=self.degraded)

    def search_many(self, queries: Iterable[str], k: int = 10) -> Sequence[Ranking]:
        return [self.search(query, k) for query in queries]


@pytest.fixture
def index() -> LexicalIndex:
    texts = {"a:0": "boat paint", "a:1": "boat sail", "b:0": "bread flour", "b:1": "boat bread"}
    return LexicalIndex.build(
        Passage(id=name, text=text, document_id=name[0]) for name, text in texts.items()
    )


QUERIES = {"1": "boat", "2": "flour", "3": "unjudged"}


def test_judged_queries_are_searched_and_timed(index: LexicalIndex) -> None:
    parrot = Parrot(index)
    told: list[int] = []
    judged = {"1": {"a:1": 1}, "2": {"b:0": 1}}
    with pytest.warns(HybridrankWarning, match="1 of 3 queries are not among the judged queries: '3'"):
        result = evaluate(
            {"bm25": index, "parrot": parrot}, QUERIES, judged, measures=["RR@10"], progress=told.append
        )
    assert told == [1, 2, 3, 4]
    assert parrot.asked == [("boat", 10), ("boat", 10), ("flour", 10)]
    assert result.queries == {"1": "boat", "2": "flour"}
    for one in result.systems:
        assert one.latency is not None
        assert 0 < one.latency.median <= one.latency.p99
        assert one.by_query["RR@10"][1] == 1.0
    assert result.differences[0].difference == 0


def test_documents_are_judged_at_their_best_passage(index: LexicalIndex) -> None:
    result = evaluate(
        {"bm25": index},
        QUERIES,
        {"1": {"b": 1}, "2": {"b": 1}, "3": {"a": 1}},
        measures=["RR@10"],
        unit="document",
        depth=2,
    )
    # The first query finds three passages, two of them of document a.
    assert result.system("bm25").by_query["RR@10"] == (0.5, 1.0, 0.0)


def test_degraded_searches_are_remembered(index: LexicalIndex) -> None:
    found = search_all(Parrot(index, degraded="service lost"), {"1": "boat"}, depth=2)
    assert found.degraded == {"1": "service lost"}
    assert found.ranked == {"1": [hit.passage_id for hit in index.search("boat", 2)]}
    assert not search_all(index, {}, depth=2).ranked


def test_runs_stand_beside_retrievers(index: LexicalIndex) -> None:
    judged = {"1": {"a:0": 1}, "2": {"b:0": 1}, "3": {"a:0": 0}}
    mine = Run(ranked={"1": ["a:0"], "2": ["b:0"], "3": []})
    result = evaluate(
        {"bm25": index}, QUERIES, judged, runs={"mine": mine}, measures=["RR@10"], baseline="mine"
    )
    assert [one.name for one in result.systems] == ["bm25", "mine"]
    assert result.system("mine").latency is None
    assert result.differences[0].system == "bm25"
    with pytest.raises(InputError, match="two systems are named 'bm25'"):
        evaluate({"bm25": index}, QUERIES, judged, runs={"bm25": mine})
    with pytest.raises(InputError, match="none of the 1 judged queries"):
        evaluate({"bm25": index}, QUERIES, {"9": {"a": 1}})
    assert json.loads(json.dumps(result.to_json()))["systems"]["mine"]["by_query"]["RR@10"] == {
        "1": 1.0, "2": 1.0, "3": 0.0,
    }  # fmt: skip
