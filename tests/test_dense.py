from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from hybridrank.budget import Budget, Ledger
from hybridrank.dense import DenseIndex
from hybridrank.errors import (
    BudgetExhausted,
    HybridrankWarning,
    IndexForeign,
    IndexIncomplete,
    IndexTooNew,
    InputError,
    ServiceUnavailable,
)
from hybridrank.lexical import LexicalIndex
from hybridrank.pipeline import Pipeline
from hybridrank.protocols import Embedder, Retriever
from hybridrank.records import Hit, Passage, Ranking, Reason, Usage
from hybridrank.storage import IndexWriter
from hybridrank.vectors import ENCODINGS, Encoding

LETTERS = "abcdefghijklmnopqrstuvwxyz"
TEXTS = ["net sales rose", "plan c", "net sales fell", "", "東京 sales", "...", "net sales rose"]
WORDS = st.lists(st.sampled_from(["net", "sales", "rose", "plan", "c", "..."]), max_size=4).map(" ".join)


class Letters:
    """Embeds by counting letters; counts its calls and texts, and may be made to fail."""

    def __init__(self, *, model: str = "letters", dimension: int = 26) -> None:
        self.model = model
        self.dimension = dimension
        self.calls: list[tuple[str, list[str]]] = []
        self.calls_left = 10**9

    @property
    def texts(self) -> list[str]:
        return [text for _, texts in self.calls for text in texts]

    def embed(self, texts: Sequence[str], *, task: Literal["query", "passage"]) -> NDArray[np.float32]:
        if self.calls_left <= 0:
            raise ServiceUnavailable("http://localhost", "connection refused")
        self.calls_left -= 1
        self.calls.append((task, list(texts)))
        rows = [[1.0 + text.count(letter) for letter in LETTERS[: self.dimension]] for text in texts]
        return np.array(rows, dtype=np.float32)


def passages(texts: Sequence[str]) -> list[Passage]:
    return [Passage(id=f"p{place}", text=text) for place, text in enumerate(texts)]


def build(
    texts: Sequence[str],
    embedder: Embedder | None = None,
    directory: Path | None = None,
    encoding: Encoding = "float32",
    batch: int = 2,
) -> DenseIndex:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HybridrankWarning)
        return DenseIndex.build(
            passages(texts), embedder or Letters(), directory, encoding=encoding, batch=batch
        )


def ids(ranking: Ranking) -> list[str]:
    return [hit.passage_id for hit in ranking]


Made = Callable[[Sequence[str]], DenseIndex]


@pytest.fixture(params=["in memory", "saved", "in a directory"])
def made(request: pytest.FixtureRequest, tmp_path: Path) -> Made:
    """Makes an index in one of three ways; all keep the same promises."""

    def make(texts: Sequence[str]) -> DenseIndex:
        if request.param == "in a directory":
            return build(texts, directory=tmp_path / "index")
        index = build(texts)
        if request.param == "saved":
            index.save(tmp_path / "index")
            return DenseIndex.open(tmp_path / "index", Letters())
        return index

    return make


def test_hits_are_whole(made: Made) -> None:
    index = made(TEXTS)
    assert isinstance(index, Retriever)
    assert len(index) == 7
    ranking = index.search("net sales rose", k=2)
    assert ranking == Ranking(
        query="net sales rose",
        hits=tuple(
            Hit(
                passage_id=f"p{position}",
                position=position,
                rank=rank,
                score=ranking[0].score,
                passage=Passage(id=f"p{position}", text="net sales rose"),
                reasons=(Reason(source="dense", rank=rank, score=ranking[0].score),),
            )
            for rank, position in [(1, 0), (2, 6)]
        ),
    )
    assert ranking[0].score == pytest.approx(1.0, abs=1e-6)
    assert set(ids(index.search("net", k=100))) == {"p0", "p1", "p2", "p4", "p6"}


@pytest.mark.parametrize("query", ["", " \n\t", "?! …", "🎉", "\x00"])
def test_a_query_that_says_nothing_costs_nothing(made: Made, query: str) -> None:
    index = made(TEXTS)
    index.embedder = embedder = Letters()
    assert index.search(query) == Ranking(query=query)
    assert embedder.calls == []


@pytest.mark.parametrize("texts", [[], [""], ["...", " "]])
def test_an_empty_corpus_is_a_usable_index(made: Made, texts: list[str]) -> None:
    index = made(texts)
    index.embedder = embedder = Letters()
    assert len(index) == len(texts)
    assert index.search_many(["net", ""]) == [Ranking(query="net"), Ranking(query="")]
    assert embedder.calls == []


def test_what_is_no_query_or_number_of_hits_is_refused(made: Made) -> None:
    index = made(TEXTS)
    with pytest.raises(InputError, match="k is 0"):
        index.search("net", k=0)
    with pytest.raises(InputError, match="the query is of type NoneType"):
        index.search(None)  # type: ignore[arg-type]


def test_a_vector_of_zeros_finds_nothing() -> None:
    class Nothing(Letters):
        def embed(self, texts: Sequence[str], *, task: Literal["query", "passage"]) -> NDArray[np.float32]:
            return super().embed(texts, task=task) * (task == "passage")

    assert build(TEXTS, Nothing()).search("net") == Ranking(query="net")


# -- determinism


@given(
    st.lists(WORDS, max_size=12), st.lists(WORDS, max_size=4), st.integers(1, 15), st.sampled_from(ENCODINGS)
)
def test_order_is_by_score_and_then_position_whatever_the_block(
    texts: list[str], queries: list[str], k: int, encoding: Encoding
) -> None:
    index = build(texts, encoding=encoding)
    found = index.search_many(queries, k)
    with_words = [place for place, text in enumerate(texts) if any(map(str.isalnum, text))]
    for query, ranking in zip(queries, found, strict=True):
        assert list(ranking) == sorted(ranking, key=lambda hit: (-hit.score, hit.position))
        assert [hit.rank for hit in ranking] == list(range(1, len(ranking) + 1))
        assert len(ranking) == (min(k, len(with_words)) if any(map(str.isalnum, query)) else 0)
        scores = {texts[hit.position]: hit.score for hit in ranking}
        assert all(scores[texts[hit.position]] == hit.score for hit in ranking)
    for block in (1, 2, 3, 5):
        index.block = block
        assert index.search_many(queries, k) == found
        assert [index.search(query, k) for query in queries] == found


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_equal_vectors_tie_by_position_in_every_block_and_thread(encoding: Encoding) -> None:
    class Random(Letters):
        def embed(self, texts: Sequence[str], *, task: Literal["query", "passage"]) -> NDArray[np.float32]:
            rows = [np.random.default_rng(int(text.split()[0])).standard_normal(300) for text in texts]
            return np.array(rows, dtype=np.float32)

    # Every text is there three times, in different spelling: three embeddings of one vector.
    texts = [f"{number} {spelling}" for spelling in "abc" for number in range(40)]
    index = build(texts, Random(dimension=300), encoding=encoding, batch=7)
    expected = index.search("7", k=120)
    assert ids(expected)[:3] == ["p7", "p47", "p87"]
    for first, second, third in zip(*[iter(expected)] * 3, strict=True):
        assert first.score == second.score == third.score
        assert first.position < second.position < third.position
    for block in (1, 2, 3, 4, 7, 16, 40, 119, 1000):
        index.block = block
        assert index.search("7", k=120) == expected
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(index.search, ["7"] * 20)) == [expected.top(10)] * 20


def test_an_index_is_the_same_bytes_however_it_was_made(tmp_path: Path) -> None:
    build(TEXTS).save(tmp_path / "a")
    build(TEXTS, batch=5).save(tmp_path / "b")
    DenseIndex.open(tmp_path / "a", Letters()).save(tmp_path / "c")
    build(TEXTS, directory=tmp_path / "d")
    contents = [
        {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()}
        for name in ("a", "b", "c", "d")
    ]
    assert contents[0] == contents[1] == contents[2] == contents[3]


def test_nothing_about_the_machine_is_stored(tmp_path: Path) -> None:
    build(TEXTS, directory=tmp_path, encoding="int8")
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["settings"] == {"scheme": 1, "model": "letters", "dimension": 26, "encoding": "int8"}


# -- building


def test_each_text_is_embedded_once_and_one_without_words_never() -> None:
    embedder = Letters()
    with pytest.warns(
        HybridrankWarning, match=r"2 of 7 passages hold no letter or digit .*: 'p3', 'p5'$"
    ) as caught:
        DenseIndex.build(passages(TEXTS), embedder, batch=3)
    assert caught[0].filename == __file__
    assert embedder.calls == [
        ("passage", ["net sales rose", "plan c", "net sales fell"]),
        ("passage", ["東京 sales"]),
    ]


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_build_that_dies_pays_only_for_the_rest(tmp_path: Path, encoding: Encoding) -> None:
    texts = [f"text {LETTERS[number % 26] * (number + 1)}" for number in range(200)]
    first = Letters()
    first.calls_left = 70
    with pytest.raises(ServiceUnavailable, match="connection refused"):
        build(texts, first, tmp_path, encoding)
    with pytest.raises(IndexIncomplete):
        DenseIndex.open(tmp_path, first)
    second = Letters()
    index = build(texts, second, tmp_path, encoding)
    assert (len(first.calls), len(second.calls)) == (70, 30)
    assert sorted(first.texts + second.texts) == sorted(texts)
    assert index.search("text abc", k=200) == build(texts, encoding=encoding).search("text abc", k=200)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_what_has_changed_is_paid_again(tmp_path: Path) -> None:
    def lost(embedder: Letters, n: int) -> Letters:
        embedder.calls_left = n
        with pytest.raises(ServiceUnavailable):
            build(["a", "b", "c", "d", "e"], embedder, tmp_path, batch=1)
        return embedder

    lost(Letters(), 3)
    again = Letters()
    build(["a", "B", "c", "d"], again, tmp_path, "int8", batch=1)  # another encoding changes no vector
    assert again.texts == ["B", "d"]
    lost(Letters(), 3)
    other = Letters(model="other")
    build(["a", "b"], other, tmp_path, batch=1)
    assert other.texts == ["a", "b"]
    lost(Letters(), 3)
    shorter = Letters(dimension=5)
    build(["a", "b"], shorter, tmp_path, batch=1)
    assert shorter.texts == ["a", "b"]


def test_the_index_that_was_there_outlives_a_build_that_dies(tmp_path: Path) -> None:
    build(TEXTS, directory=tmp_path)
    dying = Letters()
    dying.calls_left = 1
    with pytest.raises(ServiceUnavailable):
        build(["x", "y", "z"], dying, tmp_path, batch=1)
    index = DenseIndex.open(tmp_path, Letters())
    assert ids(index.search("plan c", k=1)) == ["p1"]
    last = Letters()
    build(["x", "y", "z"], last, tmp_path, batch=1)
    assert last.texts == ["y", "z"]
    assert ids(DenseIndex.open(tmp_path, Letters()).search("y", k=1)) == ["p1"]


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        (np.ones((1, 26)), r"shape \(1, 26\) for 2 texts. One row of 26 numbers a text"),
        (np.ones((2, 25)), r"shape \(2, 25\) for 2 texts"),
        (np.full((2, 26), np.nan), "NaN or infinite"),
        (np.full((2, 26), np.inf), "NaN or infinite"),
        (np.full((2, 26), 1e300), "NaN or infinite"),
        (np.ones((2, 26)) * 1j, "no table of real numbers for 2 texts"),
        ([["a"] * 26] * 2, "no table of real numbers"),
        ([[1.0], [1.0, 2.0]], "no table of real numbers"),
        (None, "no table of real numbers"),
    ],
)
def test_vectors_that_are_none_are_refused(tmp_path: Path, vectors: Any, message: str) -> None:
    class Broken(Letters):
        def embed(self, texts: Sequence[str], *, task: Literal["query", "passage"]) -> NDArray[np.float32]:
            return vectors  # type: ignore[no-any-return]

    with pytest.raises(InputError, match=message):
        build(["net", "sales"], Broken(), tmp_path)
    index = build(TEXTS)
    index.embedder = Broken()
    assert "dense left out: the embedder gave" in (index.search_many(["net", "sales"])[1].degraded or "")


def test_what_is_no_corpus_is_refused() -> None:
    with pytest.raises(InputError, match="passage 0 is a str"):
        DenseIndex.build(["net"], Letters())  # type: ignore[list-item]
    with pytest.raises(InputError, match="have the same id 'a'"):
        DenseIndex.build([Passage(id="a", text="x"), Passage(id="a", text="y")], Letters())
    with pytest.raises(InputError, match="no encoding 'int4'"):
        build(TEXTS, encoding="int4")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="k is 0"):
        build(TEXTS, batch=0)


# -- opening


def test_another_model_or_dimension_is_refused(tmp_path: Path) -> None:
    build(TEXTS, directory=tmp_path)
    with pytest.raises(IndexForeign, match="were embedded by 'letters', and queries would be by 'other'"):
        DenseIndex.open(tmp_path, Letters(model="other"))
    with pytest.raises(IndexForeign, match="vectors of 26 numbers, and queries would be by ones of 5"):
        DenseIndex.open(tmp_path, Letters(dimension=5))


@pytest.mark.parametrize("model", [None, "", 3])
def test_an_embedder_needs_a_model(tmp_path: Path, model: Any) -> None:
    for directory in (None, tmp_path / "index"):
        with pytest.raises(
            InputError, match=f"the embedder's model is {model!r}. Give it a `model`, a string"
        ):
            build(TEXTS, Letters(model=model), directory)
    build(TEXTS, directory=tmp_path)
    with pytest.raises(InputError, match="the embedder's model is"):
        DenseIndex.open(tmp_path, Letters(model=model))


def test_an_index_opens_while_the_service_is_away(tmp_path: Path) -> None:
    class Away(Letters):
        @property
        def dimension(self) -> int:
            raise ServiceUnavailable("http://localhost", "connection refused")

        @dimension.setter
        def dimension(self, value: int) -> None:
            pass

    build(TEXTS, directory=tmp_path)
    away = Away()
    away.calls_left = 0
    ranking = DenseIndex.open(tmp_path, away).search("net")
    assert (ranking.hits, ranking.degraded) == (
        (),
        "dense left out: http://localhost: connection refused",
    )


def test_what_was_stored_in_another_way_is_refused(tmp_path: Path) -> None:
    settings = {"scheme": 2, "model": "letters", "dimension": 26, "encoding": "float32"}
    with IndexWriter(tmp_path, kind="dense", settings=settings):
        pass
    with pytest.raises(IndexTooNew, match="scheme 2, where this version has 1"):
        DenseIndex.open(tmp_path, Letters())


# -- at query time


def test_queries_are_embedded_in_few_calls() -> None:
    index = build(TEXTS)
    index.embedder = embedder = Letters()
    queries = [f"q{number}" for number in range(70)]
    found = index.search_many([*queries, "", "q0"], k=3)
    assert [ranking.query for ranking in found] == [*queries, "", "q0"]
    assert [len(texts) for _, texts in embedder.calls] == [64, 6]
    assert {task for task, _ in embedder.calls} == {"query"}
    assert found[-1] == found[0]
    assert found[:70] == [index.search(query, k=3) for query in queries]


def test_a_lost_service_degrades_the_queries_of_its_call_alone() -> None:
    index = build(TEXTS)
    index.embedder = embedder = Letters()
    embedder.calls_left = 1
    found = index.search_many([f"q{number}" for number in range(70)], k=3)
    assert [ranking.degraded is None for ranking in found] == [True] * 64 + [False] * 6
    assert [len(ranking) for ranking in found] == [3] * 64 + [0] * 6


@pytest.mark.parametrize(
    "error", [BudgetExhausted("requests", asked=1, left=0), OSError("broken pipe"), RuntimeError()]
)
def test_others_go_on_when_the_service_is_lost(error: Exception) -> None:
    class Lost(Letters):
        def embed(self, texts: Sequence[str], *, task: Literal["query", "passage"]) -> NDArray[np.float32]:
            raise error

    dense = build(TEXTS)
    dense.embedder = Lost()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HybridrankWarning)
        lexical = LexicalIndex.build(passages(TEXTS))
    pipeline = Pipeline(retrievers=[lexical, dense])
    for ranking in (pipeline.search("plan c"), *pipeline.search_many(["plan c"])):
        assert ids(ranking) == ["p1"]
        assert ranking.degraded == f"dense left out: {str(error) or 'RuntimeError'}"


class Paid(Letters):
    """Pays a request for each call, and 10 tokens a text."""

    def __init__(self, ledger: Ledger | None = None) -> None:
        super().__init__()
        self.ledger = ledger or Ledger()

    def within(self, budget: Budget | None = None) -> Paid:
        return Paid(self.ledger.within(budget))

    def embed(self, texts: Sequence[str], *, task: Literal["query", "passage"]) -> NDArray[np.float32]:
        with self.ledger.reserve(100) as reservation:
            reservation.settle(10 * len(texts))
        return super().embed(texts, task=task)


def test_what_a_search_has_cost_is_told_once() -> None:
    embedder = Paid(Ledger(Budget(requests=3)))
    index = build(["net", "sales"], embedder)
    found = index.search_many(["a", "b", "a"])
    assert [(one.usage.requests, one.usage.tokens) for one in found] == [(1, 20), (0, 0), (0, 0)]
    (one,) = index.search_many(["c"])
    assert (one.usage.requests, one.usage.tokens) == (1, 10)
    lost = index.search("d")
    assert (lost.usage, lost.degraded) == (
        Usage(),
        "dense left out: the budget's requests do not suffice: 1 asked for, 0 left",
    )
    assert embedder.ledger.usage.requests == 3


def test_what_others_spend_meanwhile_is_not_part_of_it() -> None:
    class Shared(Paid):
        def within(self, budget: Budget | None = None) -> Paid:
            part = super().within(budget)
            with self.ledger.reserve(7):  # as another thread may do
                return part

    index = build(["net", "sales"], Shared())
    assert index.search("net").usage.requests == 1


def test_an_embedder_without_a_ledger_tells_no_cost() -> None:
    assert build(["net", "sales"]).search("net").usage == Usage()


def test_a_list_has_the_name_that_it_is_given() -> None:
    index = build(TEXTS)
    index.name = "titles"
    assert [reason.source for hit in index.search("net") for reason in hit.reasons] == ["titles"] * 5
