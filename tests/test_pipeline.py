import dataclasses
from collections.abc import Iterable
from typing import Any

import pytest

from hybridrank.errors import HybridrankWarning, InputError
from hybridrank.fusion import ConvexCombination
from hybridrank.lexical import LexicalIndex
from hybridrank.pipeline import Pipeline, hybrid, rank
from hybridrank.records import Hit, Passage, Ranking, Reason, Usage

PASSAGES = [
    Passage(id=id, text=text) for id, text in [("a", "net sales"), ("b", "net costs"), ("c", "gross sales")]
]


class Fixed:
    """A retriever that always finds the same, and remembers how much it was asked for."""

    def __init__(self, name: str, *ids: str) -> None:
        self.name = name
        self.ids = ids
        self.depths: list[int] = []

    def __len__(self) -> int:
        return len(PASSAGES)

    def search(self, query: str, k: int = 10) -> Ranking:
        self.depths.append(k)
        hits = [
            Hit(
                passage_id=id,
                position="abc".index(id),
                rank=place,
                score=1 / place,
                reasons=(Reason(source=self.name, rank=place, score=1 / place),),
            )
            for place, id in enumerate(self.ids, start=1)
        ]
        return Ranking(query=query, hits=tuple(hits[:k]))

    def search_many(self, queries: Iterable[str], k: int = 10) -> list[Ranking]:
        return [self.search(query, k) for query in queries]


class Backwards:
    """A reranker that turns the order round, at the price of one request."""

    def __init__(self, name: str = "backwards") -> None:
        self.name = name
        self.seen: list[int] = []

    def rerank(self, ranking: Ranking) -> Ranking:
        self.seen.append(len(ranking))
        hits = tuple(
            dataclasses.replace(hit, rank=place, score=float(-place))
            for place, hit in enumerate(reversed(ranking), start=1)
        )
        return dataclasses.replace(ranking, hits=hits, usage=ranking.usage + Usage(requests=1))


def ids(ranking: Ranking) -> list[str]:
    return [hit.passage_id for hit in ranking]


def test_one_retriever_keeps_its_scores() -> None:
    index = LexicalIndex.build(PASSAGES)
    assert Pipeline(retrievers=[index]).search("net sales") == index.search("net sales")


def test_several_retrievers_are_fused() -> None:
    pipeline = Pipeline(retrievers=[LexicalIndex.build(PASSAGES), Fixed("dense", "c", "a")])
    ranking = pipeline.search("net sales")
    assert ids(ranking) == ["a", "c", "b"]
    assert [reason.source for reason in ranking[0].reasons] == ["bm25", "dense"]
    other = dataclasses.replace(pipeline, fusion=ConvexCombination(weights={"bm25": 0.0}))
    assert ids(other.search("net sales")) == ["c", "a"]


def test_rerankers_see_all_candidates_in_turn() -> None:
    first, second, third = Backwards("one"), Backwards("two"), Backwards("three")
    pipeline = Pipeline(retrievers=[Fixed("x", "a", "b", "c")], rerankers=[first, second, third])
    ranking = pipeline.search("q", k=2)
    assert ids(ranking) == ["c", "b"]
    assert (first.seen, second.seen, third.seen) == ([3], [3], [3])
    assert ranking.usage == Usage(requests=3)


def test_each_retriever_gives_its_depth_or_k_if_that_is_more() -> None:
    retriever = Fixed("x", "a", "b", "c")
    pipeline = Pipeline(retrievers=[retriever], depth=2)
    assert ids(pipeline.search("q", k=1)) == ["a"]
    assert ids(pipeline.search("q", k=3)) == ["a", "b", "c"]
    assert retriever.depths == [2, 3]


def test_a_pipeline_is_a_retriever() -> None:
    inner = Pipeline(retrievers=[Fixed("x", "a"), Fixed("y", "b")], name="inner")
    outer = Pipeline(retrievers=[inner, Fixed("z", "b")])
    assert (len(outer), outer.name) == (3, "pipeline")
    assert outer.search_many(["q", "r"], k=1) == [outer.search("q", k=1), outer.search("r", k=1)]
    assert ids(outer.search("q")) == ["b", "a"]


@pytest.mark.parametrize("retrievers", [[], [Fixed("x"), Fixed("x")]])
def test_retrievers_need_names_of_their_own(retrievers: list[Fixed]) -> None:
    with pytest.raises(InputError, match="Give at least one, and each its own name"):
        Pipeline(retrievers=retrievers)


@pytest.mark.parametrize("names", [("x",), ("y", "y")])
def test_rerankers_need_names_of_their_own(names: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match="Give each reranker a name that nothing else"):
        Pipeline(retrievers=[Fixed("x")], rerankers=[Backwards(name) for name in names])


def test_a_reranker_may_go_without_a_name() -> None:
    nameless: Any = Backwards()
    del nameless.name
    assert ids(Pipeline(retrievers=[Fixed("x", "a", "b")], rerankers=[nameless] * 2).search("q")) == [
        "a",
        "b",
    ]


def test_depths_are_at_least_one() -> None:
    with pytest.raises(InputError, match="k is 0"):
        Pipeline(retrievers=[Fixed("x")], depth=0)
    with pytest.raises(InputError, match="k is 0"):
        Pipeline(retrievers=[Fixed("x")]).search("q", k=0)


def test_texts_of_ones_own_are_ranked() -> None:
    texts = ["Costs fell.", "Net sales rose.", "Sales of plan C."]
    ranking = rank("net sales", iter(texts))
    assert [(hit.passage_id, hit.position) for hit in ranking] == [("1", 1), ("2", 2)]
    assert [hit.passage.text for hit in ranking if hit.passage] == [texts[1], texts[2]]
    assert ids(rank("plan c", texts, k=1)) == ["2"]
    assert rank("anything", []).hits == ()
    with pytest.raises(InputError, match="k is 0"):
        rank("net", texts, k=0)
    with pytest.warns(HybridrankWarning, match="'0'"):
        assert ids(rank("net", ["", "net"])) == ["1"]


@pytest.mark.parametrize(
    ("query", "texts", "message"),
    [
        ("net", "net sales", "the texts are a single string. Give a list of strings"),
        ("net", ["net", None], r"text 1 \(counted from 0\) is of type NoneType, not str"),
        (b"net", ["net"], "the query is of type bytes, not str"),
    ],
)
def test_what_is_no_text_is_refused(query: Any, texts: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        rank(query, texts)


class AllAtOnce(Backwards):
    """A reranker that can take all queries at one time."""

    def rerank_many(self, rankings: list[Ranking]) -> list[Ranking]:
        self.seen.append(-len(rankings))
        return [self.rerank(ranking) for ranking in rankings]


def test_rerankers_that_can_see_all_queries_at_once() -> None:
    one, other = AllAtOnce("one"), Backwards("other")
    pipeline = Pipeline(retrievers=[Fixed("x", "a", "b", "c"), Fixed("y", "c")], rerankers=[one, other])
    found = pipeline.search_many(iter(["q", "r", "s"]), k=2)
    assert one.seen == [-3, 3, 3, 3]
    assert found == [pipeline.search(query, k=2) for query in "qrs"]


def test_a_hybrid_leans_on_the_lexical_list() -> None:
    lexical, dense = Fixed("words", "a", "b"), Fixed("vectors", "c", "b")
    reranker = Backwards()
    assert ids(hybrid(lexical, dense).search("q")) == ["a", "b", "c"]
    assert ids(hybrid(lexical, dense, weight=1.0).search("q")) == ["c", "b"]
    assert ids(hybrid(lexical, dense, weight=0.0, rerankers=[reranker], depth=1).search("q", k=2)) == [
        "b",
        "a",
    ]
    for weight in (-0.1, 1.1):
        with pytest.raises(InputError, match="Give a number from 0 to 1"):
            hybrid(lexical, dense, weight=weight)
