"""How often a search asks for more, with a stand-in for the server that knows scores alone."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hybridrank.engines import milvus_search
from hybridrank.engines.milvus_rows import Row, row_of
from hybridrank.engines.milvus_search import Judged, Where, search
from hybridrank.errors import InputError
from hybridrank.records import Passage


class Scores:
    """A collection whose passages have the scores given, for every query; ties come last first."""

    def __init__(self, scores: Sequence[float]) -> None:
        order = sorted(range(len(scores)), key=lambda at: (-scores[at], -at))
        rows = [row_of(Passage(id=str(at), text=f"text {at}"), at, {})[0] for at in order]
        self.answer = [{"distance": scores[at], "entity": row} for at, row in zip(order, rows, strict=True)]
        self.asked: list[tuple[int, int]] = []
        self.filters: list[str] = []
        self.name = "scores"
        self.server = SimpleNamespace(call=self.call)

    def call(self, method: str, *, data: list[Any], limit: int, filter: str, **_: Any) -> Any:
        assert method == "search"
        self.asked.append((len(data), limit))
        self.filters.append(filter)
        return [self.answer[:limit] for _ in data]

    def n_positions(self) -> int:
        return len(self.answer)


def judge(number: int, rows: Sequence[Row], distances: Sequence[float]) -> list[Judged | None]:
    return [Judged(distance, {}) for distance in distances]


def find(
    scores: Sequence[float], k: int, where: Where | None = None, queries: int = 1
) -> tuple[Scores, list[int], bool]:
    collection: Any = Scores(scores)
    found = search(collection, "sparse", [{}] * queries, k, where, judge)
    assert found == found[:1] * queries
    best, cut = found[0]
    return collection, [one.position for one in best], cut


def test_one_call_is_enough_where_nothing_ties() -> None:
    collection, found, cut = find([float(at) for at in range(100)], 3)
    assert (found, cut) == ([99, 98, 97], False)
    assert collection.asked == [(1, 19)]


def test_ties_at_the_cut_are_settled_by_looking_further() -> None:
    collection, found, _ = find([1.0] * 60 + [0.5] * 10, 2)
    assert found == [0, 1]
    assert collection.asked == [(1, 18), (1, 72)]


def test_ties_without_end_are_left_to_the_server() -> None:
    collection, found, cut = find([1.0] * 5000, 2)
    assert collection.asked == [(1, 18), (1, 72), (1, 288)]
    assert (found, cut) == ([4712, 4713], False)


def test_scores_of_single_precision_may_be_ties() -> None:
    near = 1.0 - 1e-7
    assert find([near] * 30 + [1.0] * 3, 3)[0].asked == [(1, 19), (1, 76)]


def test_a_condition_is_asked_until_enough_pass() -> None:
    collection, found, cut = find([float(at) for at in range(500)], 2, where=lambda one: int(one.id) < 300)
    assert (found, cut) == ([299, 298], False)
    assert collection.asked == [(1, 24), (1, 96), (1, 384)]


def test_a_condition_that_nothing_meets_ends_with_the_corpus() -> None:
    collection, found, cut = find([1.0] * 50, 2, where=lambda one: False)
    assert (found, cut) == ([], False)
    assert collection.asked == [(1, 24), (1, 96)]


def test_the_limit_of_the_server_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(milvus_search, "MOST_HITS", 64)
    scores = [float(at) for at in range(100)]
    assert find(scores, 2, where=lambda one: int(one.id) < 10)[1:] == ([], True)
    assert find(scores, 64)[2] is False
    collection, found, cut = find(scores, 80)
    assert (len(found), cut) == (64, True)
    assert collection.asked == [(1, 64)]
    assert find(scores[:64], 80)[2] is True  # it cannot be known whether there are more


def test_queries_go_together_as_far_as_the_answer_is_bounded() -> None:
    assert find([1.0, 2.0], 1, queries=150)[0].asked == [(64, 17), (64, 17), (22, 17)]
    assert find([1.0, 2.0], 9984, queries=3)[0].asked == [(2, 10_000), (1, 10_000)]


@pytest.mark.parametrize(("limit", "filters"), [(10, ["position in [1, 3]"]), (1, [""])])
def test_a_mask_is_a_filter_while_it_is_short(
    limit: int, filters: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(milvus_search, "_IN_FILTER", limit)
    collection, found, _ = find([4.0, 3.0, 2.0, 1.0], 2, where=np.array([False, True, False, True]))
    assert collection.filters == filters
    assert found == ([1, 3] if limit == 1 else [0, 1])  # the stand-in does not filter


def test_a_filter_of_the_server_s_goes_to_it() -> None:
    assert find([1.0], 2, where='metadata["a"] == 1')[0].filters == ['metadata["a"] == 1']


@pytest.mark.parametrize("wrong", [np.zeros(3, dtype=bool), np.zeros(4, dtype=int)])
def test_a_mask_of_another_shape_is_refused(wrong: Any) -> None:
    with pytest.raises(InputError, match=r"where is an array of .* and there are 4 positions. Give one bool"):
        find([1.0] * 4, 1, where=wrong)


def test_rows_that_do_not_belong_are_passed_over() -> None:
    def some(number: int, rows: Sequence[Row], distances: Sequence[float]) -> list[Judged | None]:
        return [Judged(-distance, {"t": 1.0}) if distance > 1 else None for distance in distances]

    collection: Any = Scores([1.0, 2.0, 3.0])
    ((found, _),) = search(collection, "sparse", [{}], 2, None, some)
    assert [(one.position, one.score, one.terms) for one in found] == [
        (1, -2.0, {"t": 1.0}),
        (2, -3.0, {"t": 1.0}),
    ]
