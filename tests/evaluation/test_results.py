from __future__ import annotations

import dataclasses
import json

import pytest

from hybridrank.errors import InputError
from hybridrank.evaluation.results import Difference, Evaluation, Latency, QueryDifference, SystemResult

RESULT = Evaluation(
    baseline="old",
    measures=("RR",),
    queries={"a": "first", "b": "second", "c": "third"},
    systems=(
        SystemResult(name="old", means={"RR": 0.5}, by_query={"RR": (0.5, 0.5, 0.5)}),
        SystemResult(
            name="new", means={"RR": 0.5}, by_query={"RR": (1.0, 0.0, 0.5)}, latency=Latency(0.001, 0.01)
        ),
    ),
    differences=(
        Difference(
            system="new", baseline="old", measure="RR", difference=0.0, low=-0.5, high=0.5, p_value=1.0,
            p_adjusted=1.0, better=1, worse=1,
        ),
    ),
)  # fmt: skip


def test_queries_are_sorted_from_the_worst_difference_to_the_best() -> None:
    found = RESULT.query_differences("new", "RR")
    assert found == [
        QueryDifference("b", "second", 0.0, 0.5),
        QueryDifference("c", "third", 0.5, 0.5),
        QueryDifference("a", "first", 1.0, 0.5),
    ]
    assert [one.difference for one in found] == [-0.5, 0.0, 0.5]


def test_what_is_not_there_is_named() -> None:
    with pytest.raises(InputError, match=r"'AP' was not measured\. Name one of RR"):
        RESULT.query_differences("new", "AP")
    with pytest.raises(InputError, match=r"no system is named 'x'\. Name one of old, new"):
        RESULT.query_differences("x", "RR")


def test_an_evaluation_is_a_value_and_json() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        RESULT.baseline = "new"  # type: ignore[misc]
    found = json.loads(json.dumps(RESULT.to_json()))
    assert found["queries"] == 3
    assert found["systems"]["new"]["seconds"] == {"median": 0.001, "p99": 0.01}
    assert found["systems"]["old"]["seconds"] is None
    assert found["systems"]["new"]["by_query"] == {"RR": {"a": 1.0, "b": 0.0, "c": 0.5}}
    assert found["differences"][0]["high"] == 0.5
