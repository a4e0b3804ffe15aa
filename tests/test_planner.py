import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridrank.budget import Remaining
from hybridrank.errors import InputError
from hybridrank.planner import Planner, Prospect, allocate, estimate_tokens
from hybridrank.records import Hit, Passage, Ranking


def ranking(*scores: float, query: str = "q", text: str = "four") -> Ranking:
    """Hits with the scores given, each of one token, as is the query."""
    hits = (
        Hit(
            passage_id=f"p{place}",
            position=place,
            rank=place + 1,
            score=score,
            passage=Passage(id=f"p{place}", text=text),
        )
        for place, score in enumerate(scores)
    )
    return Ranking(query=query, hits=tuple(hits))


SETTLED = ranking(9.0, 1.0, 1.0, 1.0, 0.0)
OPEN = ranking(9.0, 8.9, 8.8, 8.7, 0.0)

PLANNER = Planner(cut=1)


@st.composite
def prospects(draw: st.DrawFn) -> Prospect:
    n = draw(st.integers(0, 6))
    gains = draw(st.lists(st.floats(0, 1), min_size=n, max_size=n))
    tokens = draw(st.lists(st.integers(0, 50), min_size=n, max_size=n))
    return Prospect(
        gains=tuple(np.cumsum([0.0, *gains]).tolist()), tokens=tuple(np.cumsum([0, *tokens]).tolist())
    )


LEFT = st.builds(
    Remaining,
    requests=st.none() | st.integers(0, 12),
    tokens=st.none() | st.integers(0, 400),
    seconds=st.none() | st.floats(0, 20),
)


def requests(depths: list[int], per_request: int) -> int:
    return sum(math.ceil(depth / per_request) for depth in depths)


# -- what reranking may bring


def test_the_gain_is_what_stands_below_the_cut() -> None:
    prospect = Planner(cut=2, sharpness=math.log(16)).prospect(ranking(3.0, 2.0, 1.5, 1.0))
    total = 16 + 4 + 2 + 1
    assert prospect.gains == pytest.approx((0, 0, 0, 2 / total, 3 / total))
    assert prospect.gain == prospect.gains[-1]
    assert prospect.tokens == (0, 2, 4, 6, 8)


def test_hits_beyond_the_depth_and_without_text_take_nothing() -> None:
    assert len(Planner(depth=3).prospect(OPEN).gains) == 4
    bare = Ranking(query="q", hits=(Hit(passage_id="a", position=0, rank=1, score=1.0), OPEN[1]))
    assert PLANNER.prospect(bare).tokens == (0, 0, 2)
    assert PLANNER.prospect(Ranking(query="q")) == Prospect(gains=(0.0,), tokens=(0,))


def test_a_settled_order_has_no_prospects() -> None:
    assert PLANNER.prospect(SETTLED).gain == pytest.approx(0.00682, rel=0.01)
    assert Planner(cut=1, settled=0.01).prospect(SETTLED).gain == 0
    assert Planner(cut=1, settled=0.01).prospect(OPEN).gain > 0.5
    assert Planner(cut=5).prospect(OPEN).gain == 0  # all that there is will be used anyway


@pytest.mark.parametrize("scores", [(1.0, 1.0, 1.0, 1.0), (math.inf, 1.0, 1.0, -math.inf), (math.nan,) * 4])
def test_scores_that_tell_nothing_leave_all_open(scores: tuple[float, ...]) -> None:
    assert PLANNER.prospect(ranking(*scores)).gains == pytest.approx((0, 0, 0.25, 0.5, 0.75))


@given(st.lists(st.floats(-1e300, 1e300), max_size=8), st.floats(0, 50))
def test_gains_and_tokens_never_fall(scores: list[float], sharpness: float) -> None:
    prospect = Planner(cut=2, sharpness=sharpness).prospect(ranking(*scores))
    assert list(prospect.gains) == sorted(prospect.gains)
    assert 0 <= prospect.gain <= 1 + 1e-9
    assert list(prospect.tokens) == sorted(prospect.tokens)


# -- a plan for all


@given(st.lists(prospects(), max_size=6), LEFT, st.integers(1, 4), st.floats(0, 3))
def test_a_plan_never_takes_more_than_is_left(
    given_prospects: list[Prospect], left: Remaining, per_request: int, pace: float
) -> None:
    depths = allocate(given_prospects, left, per_request=per_request, pace=pace)
    tokens = sum(one.tokens[depth] for one, depth in zip(given_prospects, depths, strict=True))
    assert tokens <= (math.inf if left.tokens is None else left.tokens)
    n_requests = requests(depths, per_request)
    assert n_requests <= (math.inf if left.requests is None else left.requests)
    if left.seconds is not None:
        assert n_requests * pace <= left.seconds * (1 + 1e-9)
    assert depths == allocate(given_prospects, left, per_request=per_request, pace=pace)
    for one, depth in zip(given_prospects, depths, strict=True):
        assert depth == 0 or one.gains[depth] > 0


@given(st.lists(prospects(), max_size=6))
def test_without_a_limit_all_that_can_be_gained_is(given_prospects: list[Prospect]) -> None:
    depths = allocate(given_prospects, Remaining())
    assert [one.gains[depth] for one, depth in zip(given_prospects, depths, strict=True)] == [
        one.gain for one in given_prospects
    ]


@given(st.lists(prospects(), min_size=1, max_size=3), st.integers(0, 300))
def test_greed_is_within_one_query_of_the_best_plan(given_prospects: list[Prospect], tokens: int) -> None:
    depths = allocate(given_prospects, Remaining(tokens=tokens))
    gained = sum(one.gains[depth] for one, depth in zip(given_prospects, depths, strict=True))
    best = max(
        sum(one.gains[depth] for one, depth in zip(given_prospects, choice, strict=True))
        for choice in product(*[range(len(one.gains)) for one in given_prospects])
        if sum(one.tokens[depth] for one, depth in zip(given_prospects, choice, strict=True)) <= tokens
    )
    # The known bound of the greedy solution: what the step that did not fit would have brought.
    assert gained >= best - max(one.gain for one in given_prospects) - 1e-9


def test_the_budget_goes_where_it_changes_the_answer() -> None:
    settled = Planner(cut=1, settled=0.01)
    assert settled.plan([SETTLED, OPEN, SETTLED], Remaining()) == [0, 5, 0]
    assert PLANNER.plan([SETTLED, OPEN, SETTLED], Remaining(tokens=9)) == [0, 4, 0]
    assert PLANNER.plan([SETTLED, OPEN], Remaining(tokens=7)) == [0, 3]
    assert PLANNER.plan([OPEN, OPEN], Remaining(requests=1)) == [5, 0]  # the first of equals
    assert PLANNER.plan([OPEN, SETTLED, OPEN], Remaining(requests=2)) == [5, 0, 5]
    assert PLANNER.plan([OPEN, OPEN], Remaining(seconds=3.0), pace=2.0) == [5, 0]
    assert PLANNER.plan([OPEN, OPEN], Remaining(seconds=3.0)) == [5, 5]  # no request has told its pace yet
    assert PLANNER.plan([], Remaining(tokens=10)) == []


def test_deep_queries_take_several_requests() -> None:
    planner = Planner(cut=1, per_request=2)
    assert planner.plan([OPEN], Remaining(requests=2)) == [4]
    assert planner.plan([OPEN], Remaining(requests=3)) == [5]


# -- a plan on the way


@given(st.lists(st.lists(st.floats(0, 10), max_size=6), max_size=12), st.integers(1, 12), LEFT)
def test_an_online_plan_never_takes_more_than_is_left(
    scores: list[list[float]], expected: int, left: Remaining
) -> None:
    online = PLANNER.online(expected)
    tokens, n_requests = left.tokens, left.requests
    for some in scores:
        one = ranking(*some)
        depth = online.depth(one, Remaining(tokens=tokens, requests=n_requests))
        if tokens is not None:
            tokens -= PLANNER.prospect(one).tokens[depth]
            assert tokens >= 0
        if n_requests is not None:
            n_requests -= depth > 0
            assert n_requests >= 0


def test_an_online_plan_saves_for_those_to_come() -> None:
    online = PLANNER.online(4)
    tokens = 24
    depths = []
    for one in (SETTLED, OPEN, SETTLED, OPEN):
        depths.append(online.depth(one, Remaining(tokens=tokens)))
        tokens -= PLANNER.prospect(one).tokens[depths[-1]]
    assert depths[1] > depths[2]
    assert depths[3] >= 4
    assert tokens >= 0


def test_when_more_queries_come_than_expected_all_that_is_left_may_go() -> None:
    online = PLANNER.online(1)
    assert online.depth(OPEN, Remaining(tokens=0)) == 0
    assert [online.depth(OPEN, Remaining(tokens=8, requests=1, seconds=9.0), pace=1.0) for _ in "ab"] == [
        4,
        4,
    ]


# -- learning


def test_the_sharpness_is_the_likeliest() -> None:
    rng = np.random.default_rng(0)
    rankings, judgments = [], {}
    for number in range(400):
        scores = np.sort(rng.random(20))[::-1]
        scores = (scores - scores[-1]) / (scores[0] - scores[-1])
        chances = np.exp(4.0 * scores)
        good = rng.choice(20, p=chances / chances.sum())
        rankings.append(ranking(*scores.tolist(), query=str(number)))
        judgments[str(number)] = {f"p{good}": 1, "elsewhere": 1}
    rankings.append(ranking(2.0, 1.0, query="not judged"))
    planner = Planner.fit(rankings, judgments, cut=3)
    assert planner.sharpness == pytest.approx(4.0, abs=0.6)
    assert planner.cut == 3


def test_without_judged_passages_nothing_is_learned() -> None:
    for judgments in ({}, {"q": {"elsewhere": 1}}, {"q": {f"p{place}": 1 for place in range(5)}}):
        with pytest.raises(InputError, match="no ranking has a passage that is judged to help"):
            Planner.fit([OPEN], judgments)


@pytest.mark.parametrize(
    "options",
    [
        {"depth": 0},
        {"cut": 0},
        {"per_request": 0},
        {"depth": 2.5},
        {"cut": True},
        {"sharpness": -1.0},
        {"sharpness": math.nan},
        {"settled": -1},
    ],
)
def test_numbers_out_of_range_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="Give whole numbers of 1 or more"):
        Planner(**options)


@pytest.mark.parametrize("expected", [0, math.inf, "3", True])
def test_what_is_no_number_of_queries_is_refused(expected: Any) -> None:
    with pytest.raises(InputError, match=f"{expected!r} queries are expected"):
        PLANNER.online(expected)


def test_tokens_are_estimated_by_bytes() -> None:
    assert [estimate_tokens(text) for text in ("", "a", "four", "fives", "東京", "\ud800")] == [
        0,
        1,
        1,
        2,
        2,
        1,
    ]
