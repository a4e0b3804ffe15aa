"""What every retriever promises, as tests: subclass one of the classes and give the fixture ``make``.

::

    class TestMine(LexicalContract):
        @pytest.fixture
        def make(self) -> Make:
            return MyIndex.build
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal, Protocol

import numpy as np
import pytest
from numpy.typing import NDArray

from hybridrank.errors import HybridrankWarning, InputError
from hybridrank.protocols import Retriever
from hybridrank.records import Passage, Ranking

Make = Callable[[Sequence[Passage]], Retriever]

TEXTS = (
    "Net sales of the company rose to $ 1,234.5 million in 2018.",
    "Plan C: the form 10-K is due.",
    "Net sales fell.",
    "हिन्दी में बिक्री बढ़ी",
    "東京都の売上高",
    "Net sales fell.",
    "…",
    "The boat, the boat: sell the boat! 'Quoted' \"twice\" and \\back\n\tslashed.",
)
PASSAGES = tuple(
    Passage(
        id=f"p{place}" if place != 2 else "p'2\"\\\n",
        text=text,
        document_id=f"r{place % 2}" if place % 3 else None,
        start=7 * place,
        metadata={"year": 2015 + place, "tags": ["ä", None, 1.5]} if place % 2 else {},
    )
    for place, text in enumerate(TEXTS)
)
SILENT = "…"
ODD_QUERIES = ("", " \n", "?!", "the of a", "\ud800", "a\0b", "\\", "'", '"', "%s {} $(x) ;--", "x" * 5000)
QUERIES = ("net sales", "Which plan is about boats?", "1234.5", "C", "बिक्री", "東京", "sales fell 10-K")


_MADE: dict[tuple[type, int], Retriever] = {}  # what is only searched is made once


class WordCounts:
    """An embedder that counts words by a digest of each, the same everywhere."""

    model = "word-counts"
    dimension = 16

    def embed(self, texts: Sequence[str], *, task: Literal["query", "passage"]) -> NDArray[np.float32]:
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(vectors, texts, strict=True):
            for word in text.lower().split():
                row[sum(word.encode(errors="replace")) % self.dimension] += 1
        return vectors


class Filters(Protocol):
    """What a retriever with conditions offers besides."""

    def search(self, query: str, k: int = 10, *, where: Any = None) -> Ranking: ...
    def search_many(self, queries: Sequence[str], k: int = 10, *, where: Any = None) -> list[Ranking]: ...


class RetrieverContract:
    """The promises of :class:`~hybridrank.protocols.Retriever`."""

    @pytest.fixture
    def make(self) -> Make:
        """Overridden by each retriever under test."""
        raise NotImplementedError

    @pytest.fixture
    def retriever(self, make: Make) -> Retriever:
        return self._once(make, PASSAGES)

    @pytest.fixture
    def empty(self, make: Make) -> Retriever:
        return self._once(make, ())

    def _once(self, make: Make, passages: tuple[Passage, ...]) -> Retriever:
        key = type(self), len(passages)
        if key not in _MADE:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", HybridrankWarning)
                _MADE[key] = make(passages)
        return _MADE[key]

    def test_it_has_the_shape_and_the_size(self, retriever: Retriever) -> None:
        assert isinstance(retriever, Retriever)
        assert retriever.name
        assert len(retriever) == len(PASSAGES)

    @pytest.mark.parametrize("query", QUERIES)
    def test_hits_come_by_score_and_then_by_place(self, retriever: Retriever, query: str) -> None:
        hits = retriever.search(query, 50).hits
        assert hits
        order = [(-hit.score, hit.position) for hit in hits]
        assert order == sorted(order)
        assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))
        assert len({hit.passage_id for hit in hits}) == len(hits)

    @pytest.mark.parametrize("query", QUERIES)
    def test_a_hit_is_a_passage_of_the_corpus_with_a_reason(self, retriever: Retriever, query: str) -> None:
        for hit in retriever.search(query, 50):
            assert hit.passage == PASSAGES[hit.position]
            assert hit.passage_id == PASSAGES[hit.position].id
            assert hit.reasons
            assert all(reason.rank >= 1 for reason in hit.reasons)

    @pytest.mark.parametrize("query", QUERIES)
    def test_fewer_are_the_beginning_of_more(self, retriever: Retriever, query: str) -> None:
        most = retriever.search(query, 10**6)
        assert len(most) <= len(PASSAGES)
        assert most.degraded is None
        for k in (1, 2, 3):
            assert [hit.passage_id for hit in retriever.search(query, k)] == [
                hit.passage_id for hit in most.top(k)
            ]

    def test_what_says_nothing_is_not_found(self, retriever: Retriever) -> None:
        for query in QUERIES:
            assert all(hit.passage_id != "p6" for hit in retriever.search(query, 50))

    @pytest.mark.parametrize("query", ODD_QUERIES)
    def test_no_query_raises(self, retriever: Retriever, query: str) -> None:
        ranking = retriever.search(query)
        assert ranking.query == query
        assert ranking.degraded is None
        if not any(map(str.isalnum, query)):
            assert len(ranking) == 0

    def test_many_are_as_each(self, retriever: Retriever) -> None:
        queries = [*QUERIES, *ODD_QUERIES, QUERIES[0]]
        assert list(retriever.search_many(iter(queries), 3)) == [
            retriever.search(query, 3) for query in queries
        ]
        assert list(retriever.search_many([])) == []

    def test_threads_find_the_same(self, retriever: Retriever) -> None:
        alone = [retriever.search(query) for query in QUERIES]
        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(retriever.search, QUERIES)) == alone

    def test_an_empty_corpus_is_searched_in_vain(self, empty: Retriever) -> None:
        assert len(empty) == 0
        assert [len(ranking) for ranking in empty.search_many(["net sales", ""])] == [0, 0]

    @pytest.mark.parametrize("k", [0, -1, 2.5, None])
    def test_a_depth_that_is_none_is_refused(self, retriever: Retriever, k: Any) -> None:
        for ask in (lambda: retriever.search("net", k), lambda: retriever.search_many(["net"], k)):
            with pytest.raises(InputError, match="k is"):
                ask()

    def test_a_query_that_is_no_string_is_refused(self, retriever: Retriever) -> None:
        query: Any = b"net"
        with pytest.raises(InputError, match="bytes, not str"):
            retriever.search(query)


class LexicalContract(RetrieverContract):
    """The same of a retriever that goes by words."""

    def test_what_shares_no_word_is_not_found(self, retriever: Retriever) -> None:
        assert [hit.passage_id for hit in retriever.search("net sales")] == ["p'2\"\\\n", "p5", "p0"]
        assert [hit.passage_id for hit in retriever.search("BOATS")] == ["p7"]
        assert len(retriever.search("zebra submarine")) == 0

    def test_words_of_every_script_are_found(self, retriever: Retriever) -> None:
        for query, found in (("10k", "p1"), ("C", "p1"), ("बिक्री", "p3"), ("京都", "p4"), ("1,234.5", "p0")):
            assert [hit.passage_id for hit in retriever.search(query)] == [found]

    def test_no_character_is_syntax(self, retriever: Retriever) -> None:
        plain = retriever.search("net sales rose field x").hits
        assert retriever.search('net AND:(sales)^2 -"rose" field:x* \\').hits == plain

    def test_terms_make_up_the_score(self, retriever: Retriever) -> None:
        for hit in retriever.search("net sales rose 10-K"):
            (reason,) = hit.reasons
            assert sum(reason.terms.values()) == pytest.approx(hit.score, rel=1e-6)
            assert list(reason.terms.values()) == sorted(reason.terms.values(), reverse=True)

    def test_ties_at_the_cut_go_by_place(self, make: Make) -> None:
        same = [Passage(id=f"s{place}", text="Net sales.") for place in range(40)]
        retriever = make(same)
        for k in (1, 7, 39):
            assert [hit.position for hit in retriever.search("sales", k)] == list(range(k))


class FilteringContract:
    """The promises of ``where``; beside one of the contracts above."""

    def test_a_condition_holds_before_the_best_are_chosen(self, retriever: Filters) -> None:
        def late(passage: Passage) -> bool:
            return passage.metadata.get("year", 0) == 2020

        for k in (1, 10):
            assert [hit.passage_id for hit in retriever.search("net sales", k, where=late)] == ["p5"]
        assert len(retriever.search("net sales", where=lambda passage: False)) == 0

    def test_a_mask_does_the_same(self, retriever: Filters) -> None:
        mask = np.array([place in (0, 5) for place in range(len(PASSAGES))])
        found = retriever.search_many(["net sales", "boat"], where=mask)
        assert [[hit.position for hit in ranking] for ranking in found] == [[5, 0], []]
        for wrong in (mask[:-1], mask.astype(np.int64)):
            with pytest.raises(InputError, match="where is an array of"):
                retriever.search("net", where=wrong)
