from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("haystack", reason="needs the extra: pip install 'hybridrank[haystack]'")

from haystack import Document
from haystack import Pipeline as HaystackPipeline

from hybridrank import IndexNotFound, InputError, LearnedReranker, LexicalIndex, Pipeline, Tokenizer
from hybridrank.integrations.haystack import HybridrankRanker, HybridrankRetriever
from tests.integrations.stubs import PASSAGES, QUERY, Away, Backwards, Lengths, OnlyIds, Unchanged, index

DOCUMENTS = [
    Document(content=passage.text, id=passage.id, meta=dict(passage.metadata)) for passage in PASSAGES
]


def ids(answer: dict[str, Any]) -> list[str]:
    return [document.id for document in answer["documents"]]


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    index().save(tmp_path / "index")
    return tmp_path / "index"


def test_passages_come_back_as_documents(saved: Path) -> None:
    trap, slug = HybridrankRetriever(saved).run(query=QUERY)["documents"]
    assert (trap.id, trap.content, trap.meta) == ("trap", PASSAGES[2].text, {"page": 5})
    assert trap.score == index().search(QUERY)[0].score
    assert slug.meta == {"page": 4, "source_id": "garden", "split_idx_start": 120}


def test_documents_come_back_with_ids_and_meta() -> None:
    blank = Document(content=None, id="picture")
    retriever = HybridrankRetriever.from_documents([*DOCUMENTS, blank], top_k=1)
    (found,) = retriever.run(query=QUERY)["documents"]
    assert (found.id, found.meta) == ("trap", {"page": 5})
    assert DOCUMENTS[2].score is None


def test_documents_can_be_written_for_another_process(tmp_path: Path) -> None:
    made = HybridrankRetriever.from_documents(DOCUMENTS, index_path=tmp_path / "index", top_k=3)
    assert len(LexicalIndex.open(tmp_path / "index")) == 3
    assert made.to_dict()["init_parameters"] == {"index_path": str(tmp_path / "index"), "top_k": 3}
    assert ids(made.run(query=QUERY)) == ["trap", "slug"]


def test_what_cannot_be_indexed_is_refused() -> None:
    with pytest.raises(InputError, match="have the same id 'boat'"):
        HybridrankRetriever.from_documents([DOCUMENTS[0], DOCUMENTS[0]])


def test_the_tokenizer_can_be_chosen() -> None:
    documents = [Document(content="Die Häuser am Fluss.")]
    retriever = HybridrankRetriever.from_documents(documents, tokenizer=Tokenizer("german"))
    assert retriever.run(query="Haus")["documents"]


@pytest.mark.parametrize("k", [1, 2, 9])
def test_top_k_is_at_most_what_is_found(k: int) -> None:
    assert len(HybridrankRetriever(retriever=index(), top_k=k).run(query=QUERY)["documents"]) == min(k, 2)
    assert len(HybridrankRetriever(retriever=index()).run(query=QUERY, top_k=k)["documents"]) == min(k, 2)


def test_bad_arguments_are_refused(saved: Path) -> None:
    with pytest.raises(InputError, match="k is 0"):
        HybridrankRetriever(saved, top_k=0)
    with pytest.raises(InputError, match="k is 0"):
        HybridrankRetriever(saved).run(query=QUERY, top_k=0)
    with pytest.raises(InputError, match="a retriever needs an index"):
        HybridrankRetriever()
    with pytest.raises(InputError, match="a retriever needs an index"):
        HybridrankRetriever(saved, retriever=index())
    with pytest.raises(InputError, match="a list is no Retriever"):
        HybridrankRetriever(retriever=DOCUMENTS)  # type: ignore[arg-type]


def test_the_index_is_opened_when_it_is_needed(tmp_path: Path) -> None:
    retriever = HybridrankRetriever(tmp_path / "none")
    with pytest.raises(IndexNotFound):
        retriever.warm_up()
    index().save(tmp_path / "none")
    retriever.warm_up()
    retriever.warm_up()
    assert ids(retriever.run(query=QUERY)) == ["trap", "slug"]


def test_a_pipeline_of_ours_is_a_retriever_that_cannot_be_written_down() -> None:
    pipeline = Pipeline(retrievers=[index()], rerankers=[Backwards()])
    retriever = HybridrankRetriever(retriever=pipeline)
    retriever.warm_up()
    assert ids(retriever.run(query=QUERY)) == ["slug", "trap"]
    with pytest.raises(InputError, match="cannot be serialized"):
        retriever.to_dict()


def test_what_was_lost_is_said() -> None:
    (found,) = HybridrankRetriever(retriever=OnlyIds([PASSAGES[0]])).run(query=QUERY)["documents"]
    assert found.meta == {"page": 3, "degraded": "dense: the service is away"}
    with pytest.raises(InputError, match="the hit 'p0' has no passage"):
        HybridrankRetriever(retriever=OnlyIds()).run(query=QUERY)


def test_awaited_calls_find_the_same(saved: Path) -> None:
    retriever, ranker = HybridrankRetriever(saved), HybridrankRanker()
    assert asyncio.run(retriever.run_async(query=QUERY)) == retriever.run(query=QUERY)
    assert asyncio.run(ranker.run_async(query=QUERY, documents=DOCUMENTS)) == ranker.run(
        query=QUERY, documents=DOCUMENTS
    )


def test_a_pipeline_of_haystack_s_survives_being_written_down(saved: Path) -> None:
    pipeline = HaystackPipeline()
    pipeline.add_component("retriever", HybridrankRetriever(saved, top_k=2))
    pipeline.add_component("ranker", HybridrankRanker(top_k=1))
    pipeline.connect("retriever.documents", "ranker.documents")
    written = json.loads(json.dumps(pipeline.to_dict()))
    # Haystack asks for the modules that it may import for what it reads.
    again = HaystackPipeline.from_dict(written, allowed_modules=["hybridrank.integrations.haystack"])
    asked = {"retriever": {"query": QUERY}, "ranker": {"query": QUERY}}
    for one in (pipeline, again):
        assert ids(one.run(asked)["ranker"]) == ["trap"]


def test_documents_are_ranked() -> None:
    found = HybridrankRanker().run(query=QUERY, documents=DOCUMENTS)["documents"]
    assert [document.id for document in found] == ["trap", "slug", "boat"]
    assert found[0].score > found[1].score > found[2].score == 0
    assert found[0].meta == {"page": 5}
    assert DOCUMENTS[2].score is None


@pytest.mark.parametrize("k", [1, 3, 9])
def test_top_k_is_what_is_kept(k: int) -> None:
    assert len(HybridrankRanker(top_k=k).run(query=QUERY, documents=DOCUMENTS)["documents"]) == min(k, 3)
    answer = HybridrankRanker().run(query=QUERY, documents=DOCUMENTS, top_k=k)
    assert len(answer["documents"]) == min(k, 3)
    assert HybridrankRanker(top_k=k).run(query=QUERY, documents=[]) == {"documents": []}


def test_any_reranker_and_any_scorer_can_be_plugged_in() -> None:
    reranker = Backwards()
    assert ids(HybridrankRanker(reranker=reranker).run(query=QUERY, documents=DOCUMENTS)) == [
        "trap",
        "slug",
        "boat",
    ]
    assert [hit.passage_id for hit in reranker.seen[0]] == ["boat", "slug", "trap"]
    ranker = HybridrankRanker(reranker=Lengths())
    ranker.warm_up()
    assert ids(ranker.run(query=QUERY, documents=DOCUMENTS)) == ["trap", "boat", "slug"]
    with pytest.raises(InputError, match="cannot be serialized"):
        ranker.to_dict()


def test_bad_rankers_and_documents_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a str cannot rerank"):
        HybridrankRanker(reranker="jina")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="there are two rerankers"):
        HybridrankRanker(tmp_path, reranker=Lengths())
    with pytest.raises(InputError, match="the document 'picture' has no text"):
        HybridrankRanker().run(query=QUERY, documents=[*DOCUMENTS, Document(id="picture")])
    with pytest.raises(IndexNotFound):
        HybridrankRanker(tmp_path).warm_up()


def test_what_was_learned_ranks_and_can_be_written_down(tmp_path: Path) -> None:
    queries = {str(n): "slug" for n in range(30)}
    judgments = {query_id: {"trap": 0, "slug": 1} for query_id in queries}
    parameters = {"min_data_in_leaf": 1}
    LearnedReranker.fit(index(), queries, judgments, rounds=5, parameters=parameters).save(
        tmp_path / "ranker"
    )
    made = HybridrankRanker(tmp_path / "ranker", top_k=2)
    again = HybridrankRanker.from_dict(made.to_dict())
    assert made.to_dict()["init_parameters"] == {"model_path": str(tmp_path / "ranker"), "top_k": 2}
    for ranker in (made, again):
        ranker.warm_up()
        assert ids(ranker.run(query="slug", documents=DOCUMENTS)) == ["slug", "trap"]


@pytest.mark.parametrize("reranker", [Away(), Unchanged()])
def test_a_lost_service_leaves_documents_as_they_were_and_says_so(reranker: Any) -> None:
    given = [Document(content="a", id="a", score=0.5), Document(content="b", id="b")]
    first, second = HybridrankRanker(reranker=reranker).run(query=QUERY, documents=given)["documents"]
    assert [(first.id, first.score), (second.id, second.score)] == [("a", 0.5), ("b", 0.0)]
    assert first.meta["degraded"]
    assert given[0].meta == {}
