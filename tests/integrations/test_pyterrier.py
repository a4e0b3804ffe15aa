from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyterrier", reason="needs the extra: pip install 'hybridrank[pyterrier]'")

import pandas as pd
import pyterrier as pt
import pyterrier.testing

from hybridrank import InputError, Pipeline, Tokenizer
from hybridrank.integrations.pyterrier import HybridrankReranker, HybridrankRetriever
from tests.integrations.stubs import PASSAGES, QUERY, Away, Backwards, Lengths, OnlyIds, index

QUERIES = pd.DataFrame(
    [["q1", QUERY, "x"], ["q2", "zebra", "y"], ["q3", "boat", "z"]], columns=["qid", "query", "more"]
)
DOCUMENTS = [{"docno": passage.id, "text": passage.text} for passage in PASSAGES]


class Standard(pyterrier.testing.TransformerTestCase):
    """PyTerrier's own tests of a transformer; those of its tests that start with this are not collected."""

    __test__ = False


class TestRetriever(Standard):
    __test__ = True

    @staticmethod
    def get_transformer() -> HybridrankRetriever:
        return HybridrankRetriever(index())


class TestReranker(Standard):
    __test__ = True

    @staticmethod
    def get_transformer() -> HybridrankReranker:
        return HybridrankReranker()


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pt.documentation, "objects_inv", dict)  # it would fetch the pages' addresses


def rows(frame: Any, *columns: str) -> list[tuple[Any, ...]]:
    return list(frame[list(columns)].itertuples(index=False, name=None))


def test_queries_are_answered_with_results() -> None:
    found = HybridrankRetriever(index())(QUERIES)
    assert list(found.columns) == ["qid", "query", "more", "docno", "score", "rank", "text"]
    assert rows(found, "qid", "more", "docno", "rank") == [
        ("q1", "x", "trap", 0),
        ("q1", "x", "slug", 1),
        ("q3", "z", "boat", 0),
    ]
    assert found["text"].tolist() == [PASSAGES[2].text, PASSAGES[1].text, PASSAGES[0].text]
    assert found["score"].tolist()[:2] == [hit.score for hit in index().search(QUERY)]


def test_other_indexes_of_a_frame_do_no_harm() -> None:
    found = HybridrankRetriever(index())(QUERIES.iloc[[2, 0]].set_index(pd.Index([7, 7])))
    assert rows(found, "qid", "docno") == [("q3", "boat"), ("q1", "trap"), ("q1", "slug")]


@pytest.mark.parametrize("queries", [QUERIES.iloc[:0], QUERIES.iloc[1:2]])
def test_nothing_found_has_the_same_columns_of_the_same_kinds(queries: Any) -> None:
    full, empty = HybridrankRetriever(index())(QUERIES), HybridrankRetriever(index())(queries)
    assert len(empty) == 0
    assert list(empty.columns) == list(full.columns)
    assert empty["score"].dtype == full["score"].dtype
    assert empty["rank"].dtype == full["rank"].dtype


def test_a_frame_that_holds_no_queries_is_refused_in_pyterrier_s_words() -> None:
    with pytest.raises(pt.validate.InputValidationError):
        HybridrankRetriever(index())(QUERIES.drop(columns="query"))
    with pytest.raises(pt.validate.InputValidationError):
        HybridrankReranker()(HybridrankRetriever(index())(QUERIES).drop(columns="text"))


def test_documents_are_indexed() -> None:
    retriever = HybridrankRetriever.from_documents(iter(DOCUMENTS), num_results=1)
    assert retriever.search(QUERY)["docno"].tolist() == ["trap"]
    numbered = HybridrankRetriever.from_documents([{"docno": 7, "text": "Slug."}])
    assert numbered.search(QUERY)["docno"].tolist() == ["7"]
    german = HybridrankRetriever.from_documents(
        [{"docno": "a", "text": "Die Häuser"}], tokenizer=Tokenizer("german")
    )
    assert len(german.search("Haus")) == 1
    with pytest.raises(InputError, match=r"document 1 \(counted from 0\) has the fields \['docno'\]"):
        HybridrankRetriever.from_documents([DOCUMENTS[0], {"docno": "a"}])


def test_a_saved_index_is_opened(tmp_path: Path) -> None:
    index().save(tmp_path / "index")
    assert len(HybridrankRetriever.from_index(tmp_path / "index", num_results=1).search(QUERY)) == 1


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(InputError, match="k is 0"):
        HybridrankRetriever(index(), num_results=0)
    with pytest.raises(InputError, match="a list is no Retriever"):
        HybridrankRetriever(DOCUMENTS)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="a str cannot rerank"):
        HybridrankReranker("jina")  # type: ignore[arg-type]


def test_a_retriever_of_ids_alone_gives_these() -> None:
    found = HybridrankRetriever(OnlyIds()).search("a")
    assert rows(found, "docno", "text") == [("p0", "")]


def test_a_cutoff_is_compiled_into_the_search() -> None:
    retriever: Any = HybridrankRetriever(index())
    compiled = (retriever % 1).compile()
    assert repr(compiled) == "HybridrankRetriever('bm25', num_results=1)"
    assert rows((retriever % 1)(QUERIES), "docno") == rows(compiled(QUERIES), "docno")
    assert retriever.fuse_rank_cutoff(1000) is None


def test_results_are_reranked_query_by_query() -> None:
    pipeline = Pipeline(retrievers=[index()])
    found = (HybridrankRetriever(pipeline) >> HybridrankReranker(Backwards()))(QUERIES)
    assert rows(found, "qid", "more", "docno", "score", "rank") == [
        ("q1", "x", "slug", -1.0, 0),
        ("q1", "x", "trap", -2.0, 1),
        ("q3", "z", "boat", -1.0, 0),
    ]


def test_documents_without_scores_are_reranked_by_any_scorer() -> None:
    scorer = Lengths()
    given = pd.DataFrame(
        [["q2", "b", "1", "a"], ["q1", "a", "1", "aaa"], ["q2", "b", "2", "aa"]],
        columns=["qid", "query", "docno", "text"],
        index=[5, 5, 5],
    )
    found = HybridrankReranker(scorer)(given)
    assert rows(found, "qid", "docno", "score", "rank") == [
        ("q2", "2", 2.0, 0),
        ("q2", "1", 1.0, 1),
        ("q1", "1", 3.0, 0),
    ]
    assert scorer.asked == [("b", ["a", "aa"]), ("a", ["aaa"])]
    assert "score" not in given


def test_a_lost_service_leaves_the_scores() -> None:
    first = HybridrankRetriever(index())(QUERIES)
    pd.testing.assert_frame_equal(HybridrankReranker(Away())(first), first)


def test_nothing_reranked_is_nothing() -> None:
    empty = HybridrankRetriever(index())(QUERIES.iloc[:0])
    assert list(HybridrankReranker()(empty).columns) == list(empty.columns)


def test_they_say_what_they_are() -> None:
    assert repr(HybridrankReranker()) == "HybridrankReranker('bm25')"
    assert repr(HybridrankReranker(Lengths())) == "HybridrankReranker('Lengths')"


def test_an_experiment_measures_them() -> None:
    qrels = pd.DataFrame([["q1", "trap", 1], ["q3", "boat", 1]], columns=["qid", "docno", "label"])
    systems = [HybridrankRetriever(index()), HybridrankRetriever(index()) >> HybridrankReranker(Backwards())]
    table = pt.Experiment(systems, QUERIES, qrels, ["recip_rank"], names=["bm25", "backwards"])
    # Queries without judgments do not count.
    assert table["recip_rank"].round(3).tolist() == [1.0, 0.75]
