from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from hybridrank.embedding import charged, embed, is_metered, model_of, told_once
from hybridrank.errors import InputError
from hybridrank.records import Ranking, Usage
from tests.retriever_contract import WordCounts


class Gives:
    """An embedder that gives what it is told to give."""

    model = "gives"
    dimension = 2

    def __init__(self, given: Any) -> None:
        self.given = given

    def embed(self, texts: Sequence[str], *, task: Any) -> Any:
        return self.given


@pytest.mark.parametrize(
    "given", [[[1, 2]], np.ones((1, 2), dtype=np.float16), np.ones((1, 2), dtype=np.int8)]
)
def test_numbers_of_any_size_become_single_precision(given: Any) -> None:
    vectors = embed(Gives(given), ["a"], "query", 2)
    assert vectors.dtype == np.dtype(np.float32)
    assert vectors.shape == (1, 2)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            [["a", "b"]],
            r"no table of real numbers for 1 texts. One row of 2 numbers a text is what was agreed",
        ),
        ([[1, 2], [3]], "no table of real numbers"),
        (np.ones((1, 2), dtype=complex), "no table of real numbers"),
        ([[1.0, 2.0, 3.0]], r"vectors of shape \(1, 3\) for 1 texts"),
        (np.ones((2, 2)), r"vectors of shape \(2, 2\) for 1 texts"),
        ([[1.0, float("nan")]], "NaN or infinite"),
        ([[1e300, 0.0]], "NaN or infinite"),
    ],
)
def test_what_was_not_agreed_is_refused(given: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        embed(Gives(given), ["a"], "query", 2)


@pytest.mark.parametrize("model", [None, "", 3])
def test_an_embedder_says_which_model_it_is(model: Any) -> None:
    embedder = WordCounts()
    embedder.model = model
    with pytest.raises(InputError, match=r"the embedder's model is .*Give it a `model`"):
        model_of(embedder)
    assert model_of(WordCounts()) == "word-counts"


def test_an_embedder_without_a_ledger_costs_nothing() -> None:
    assert not is_metered(WordCounts())
    assert charged([Ranking(query="a"), Ranking(query="b")], WordCounts())[0].usage == Usage()


def test_what_a_repeated_query_cost_is_told_once() -> None:
    found = {one: Ranking(query=one, usage=Usage(requests=1)) for one in "ab"}
    assert [ranking.usage.requests for ranking in told_once(["a", "b", "a"], found)] == [1, 1, 0]
