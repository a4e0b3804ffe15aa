from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from hybridrank.errors import InputError
from hybridrank.lexical import LexicalIndex
from hybridrank.pipeline import Pipeline
from hybridrank.protocols import Embedder, Reranker, Retriever, check_depth, check_query
from hybridrank.records import Ranking


class Reverse:
    name = "reverse"

    def rerank(self, ranking: Ranking) -> Ranking:
        return ranking


class Ones:
    model, dimension = "ones", 2

    def embed(self, texts: Sequence[str], *, task: Literal["query", "passage"]) -> NDArray[np.float32]:
        return np.ones((len(texts), 2), dtype=np.float32)


def test_what_has_the_shape_takes_part() -> None:
    # Assigned, so that the type checker holds the shapes to the protocols as well.
    reranker: Reranker = Reverse()
    embedder: Embedder = Ones()
    index: Retriever = LexicalIndex.build([])
    pipeline: Retriever = Pipeline(retrievers=[index])
    assert isinstance(reranker, Reranker)
    assert isinstance(embedder, Embedder)
    assert isinstance(index, Retriever)
    assert isinstance(pipeline, Retriever)
    assert not isinstance(reranker, Retriever)


def test_a_depth_is_at_least_one() -> None:
    assert check_depth(1) == 1
    for k in (0, -1):
        with pytest.raises(InputError, match=f"k is {k}. Ask for at least 1 hit"):
            check_depth(k)


@pytest.mark.parametrize("k", [2.5, float("nan"), None, "3"])
def test_a_depth_is_a_whole_number(k: Any) -> None:
    with pytest.raises(InputError, match=r"k is .*Give a whole number of hits"):
        check_depth(k)
    assert type(check_depth(np.int64(3))) is int


def test_a_query_is_a_string() -> None:
    assert check_query("") == ""
    with pytest.raises(InputError, match=r"the query is of type bytes, not str. Give a string"):
        check_query(b"net")  # type: ignore[arg-type]
