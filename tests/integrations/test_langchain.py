from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain_core", reason="needs the extra: pip install 'hybridrank[langchain]'")

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document

from hybridrank import InputError, Passage, Pipeline, Tokenizer
from hybridrank.integrations.langchain import HybridrankReranker, HybridrankRetriever
from tests.integrations.stubs import PASSAGES, QUERY, Away, Backwards, Lengths, OnlyIds, Unchanged, index

DOCUMENTS = [Document(passage.text, id=passage.id, metadata=dict(passage.metadata)) for passage in PASSAGES]


def ids(documents: Any) -> list[str | None]:
    return [document.id for document in documents]


def test_passages_come_back_as_documents() -> None:
    trap, slug = HybridrankRetriever(retriever=index()).invoke(QUERY)
    assert trap.page_content == "A slug trap of beer: slugs drown."
    assert trap.id == "trap"
    assert trap.metadata == {"page": 5, "relevance_score": index().search(QUERY)[0].score}
    assert {**slug.metadata, "relevance_score": 0} == {
        "page": 4,
        "document_id": "garden",
        "start_index": 120,
        "relevance_score": 0,
    }


def test_documents_come_back_with_ids_and_metadata_and_are_not_touched() -> None:
    retriever = HybridrankRetriever.from_documents(DOCUMENTS, k=1)
    (found,) = retriever.invoke(QUERY)
    assert (found.id, found.metadata["page"]) == ("trap", 5)
    assert DOCUMENTS[2].metadata == {"page": 5}


def test_metadata_of_one_s_own_go_before_ours() -> None:
    passage = Passage(id="a", text="Slug.", document_id="d", metadata={"document_id": "mine"})
    (found,) = HybridrankRetriever(retriever=OnlyIds([passage])).invoke(QUERY)
    assert found.metadata["document_id"] == "mine"


def test_texts_are_named_by_their_places_unless_named() -> None:
    texts = [passage.text for passage in PASSAGES]
    assert ids(HybridrankRetriever.from_texts(texts).invoke(QUERY)) == ["2", "1"]
    named = HybridrankRetriever.from_texts(iter(texts), [{"page": n} for n in range(3)], ["a", "b", "c"], k=1)
    assert ids(named.invoke(QUERY)) == ["c"]
    assert named.invoke(QUERY)[0].metadata["page"] == 2
    assert HybridrankRetriever.from_texts([]).invoke(QUERY) == []


def test_what_cannot_be_indexed_is_refused() -> None:
    with pytest.raises(InputError, match="have the same id 'boat'"):
        HybridrankRetriever.from_documents([DOCUMENTS[0], DOCUMENTS[0]])
    with pytest.raises(InputError, match="there are 1 metadatas for 2 texts"):
        HybridrankRetriever.from_texts(["a", "b"], [{}])


def test_the_tokenizer_can_be_chosen() -> None:
    texts = ["Die Häuser am Fluss."]
    assert HybridrankRetriever.from_texts(texts, tokenizer=Tokenizer("german")).invoke("Haus")
    documents = [Document("Die Häuser am Fluss.")]
    assert HybridrankRetriever.from_documents(documents, tokenizer=Tokenizer("german")).invoke("Haus")


def test_a_saved_index_is_opened(tmp_path: Path) -> None:
    index().save(tmp_path / "index")
    assert ids(HybridrankRetriever.from_index(tmp_path / "index", k=1).invoke(QUERY)) == ["trap"]


@pytest.mark.parametrize("k", [1, 2, 9])
def test_k_is_at_most_what_is_found(k: int) -> None:
    retriever = HybridrankRetriever(retriever=index(), k=k)
    assert len(retriever.invoke(QUERY)) == min(k, 2)
    assert len(HybridrankRetriever(retriever=index()).invoke(QUERY, k=k)) == min(k, 2)


def test_a_k_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="greater than or equal to 1"):
        HybridrankRetriever(retriever=index(), k=0)
    with pytest.raises(InputError, match="k is 0"):
        HybridrankRetriever(retriever=index()).invoke(QUERY, k=0)


def test_what_is_no_retriever_is_refused() -> None:
    with pytest.raises(ValueError, match="instance of Retriever"):
        HybridrankRetriever(retriever="index")


def test_a_pipeline_is_a_retriever() -> None:
    pipeline = Pipeline(retrievers=[index()], rerankers=[Backwards()])
    assert ids(HybridrankRetriever(retriever=pipeline).invoke(QUERY)) == ["slug", "trap"]


def test_what_was_lost_is_said() -> None:
    (found,) = HybridrankRetriever(retriever=OnlyIds([PASSAGES[0]])).invoke(QUERY)
    assert found.metadata["degraded"] == "dense: the service is away"


def test_ids_alone_are_no_documents() -> None:
    with pytest.raises(InputError, match="the hit 'p0' has no passage"):
        HybridrankRetriever(retriever=OnlyIds()).invoke(QUERY)


def test_batches_and_awaited_calls_find_the_same() -> None:
    retriever = HybridrankRetriever(retriever=index())
    once = retriever.invoke(QUERY)
    assert retriever.batch([QUERY, "zebra"]) == [once, []]
    assert asyncio.run(retriever.ainvoke(QUERY)) == once
    assert asyncio.run(retriever.ainvoke(QUERY, k=1)) == once[:1]
    assert asyncio.run(retriever.abatch([QUERY, "zebra"])) == [once, []]


def test_callbacks_see_what_is_found() -> None:
    class Handler(BaseCallbackHandler):
        seen: list[Any] = []  # noqa: RUF012  # of this test alone

        def on_retriever_end(self, documents: Any, **kwargs: Any) -> None:
            self.seen.append(documents)

    handler = Handler()
    found = HybridrankRetriever(retriever=index()).invoke(QUERY, {"callbacks": [handler]})
    assert handler.seen == [found]


def test_documents_are_compressed_to_the_best() -> None:
    found = HybridrankReranker(top_n=2).compress_documents(DOCUMENTS, QUERY)
    assert ids(found) == ["trap", "slug"]
    assert found[0].metadata["page"] == 5
    assert found[0].metadata["relevance_score"] > found[1].metadata["relevance_score"] > 0
    assert DOCUMENTS[2].metadata == {"page": 5}
    assert asyncio.run(HybridrankReranker(top_n=2).acompress_documents(DOCUMENTS, QUERY)) == found


@pytest.mark.parametrize(("top_n", "kept"), [(None, 3), (1, 1), (9, 3)])
def test_top_n_is_what_is_kept(top_n: int | None, kept: int) -> None:
    assert len(HybridrankReranker(top_n=top_n).compress_documents(DOCUMENTS, QUERY)) == kept
    assert HybridrankReranker(top_n=top_n).compress_documents([], QUERY) == []


def test_any_reranker_and_any_scorer_can_be_plugged_in() -> None:
    reranker = Backwards()
    found = HybridrankReranker(reranker=reranker).compress_documents(DOCUMENTS, QUERY)
    assert ids(found) == ["trap", "slug", "boat"]
    assert [hit.passage_id for hit in reranker.seen[0]] == ["boat", "slug", "trap"]
    assert ids(HybridrankReranker(reranker=Lengths()).compress_documents(DOCUMENTS, QUERY)) == [
        "trap",
        "boat",
        "slug",
    ]
    with pytest.raises(ValueError, match="a str cannot rerank"):
        HybridrankReranker(reranker="jina")


@pytest.mark.parametrize("reranker", [Away(), Unchanged()])
def test_a_lost_service_leaves_documents_as_they_were_and_says_so(reranker: Any) -> None:
    scored = [Document("a", metadata={"relevance_score": 0.5}), Document("b")]
    first, second = HybridrankReranker(reranker=reranker).compress_documents(scored, QUERY)
    assert (first.page_content, first.metadata["relevance_score"]) == ("a", 0.5)
    assert (second.page_content, second.metadata["relevance_score"]) == ("b", 0.0)
    assert first.metadata["degraded"]
