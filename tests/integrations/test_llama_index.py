from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("llama_index.core", reason="needs the extra: pip install 'hybridrank[llama-index]'")

from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.response_synthesizers import ResponseMode, get_response_synthesizer
from llama_index.core.schema import NodeRelationship, NodeWithScore, QueryBundle, TextNode

from hybridrank import InputError, Pipeline, Tokenizer
from hybridrank.integrations.llama_index import HybridrankReranker, HybridrankRetriever
from tests.integrations.stubs import PASSAGES, QUERY, Away, Backwards, Lengths, OnlyIds, Unchanged, index

NODES = [TextNode(text=passage.text, id_=passage.id, metadata=dict(passage.metadata)) for passage in PASSAGES]


def ids(nodes: Any) -> list[str]:
    return [found.node_id for found in nodes]


def scored(nodes: Any = NODES) -> list[NodeWithScore]:
    return [NodeWithScore(node=node, score=0.5) for node in nodes]


def test_nodes_come_back_themselves() -> None:
    retriever = HybridrankRetriever.from_defaults(nodes=NODES, similarity_top_k=2)
    trap, slug = retriever.retrieve(QUERY)
    assert trap.node is NODES[2]
    assert slug.node is NODES[1]
    assert trap.score > slug.score > 0
    assert ids(HybridrankRetriever.from_nodes(NODES).retrieve(QueryBundle(QUERY))) == ["trap", "slug"]


def test_metadata_are_searched_as_llama_index_would_embed_them() -> None:
    node = TextNode(text="Nothing.", id_="n", metadata={"author": "Zebra", "hidden": "Yak"})
    node.excluded_embed_metadata_keys = ["hidden"]
    retriever = HybridrankRetriever.from_defaults(nodes=[node])
    assert ids(retriever.retrieve("zebra")) == ["n"]
    assert ids(retriever.retrieve("yak")) == []


def test_passages_become_nodes() -> None:
    trap, slug = HybridrankRetriever(index()).retrieve(QUERY)
    assert isinstance(trap.node, TextNode)
    assert (trap.node_id, trap.text, trap.metadata) == ("trap", PASSAGES[2].text, {"page": 5})
    assert trap.node.ref_doc_id is None
    assert trap.node.start_char_idx is None
    assert trap.score == index().search(QUERY)[0].score
    assert isinstance(slug.node, TextNode)
    assert (slug.node.start_char_idx, slug.node.end_char_idx) == (120, 140)
    assert slug.node.relationships[NodeRelationship.SOURCE].node_id == "garden"
    assert slug.node.ref_doc_id == "garden"


def test_what_cannot_be_indexed_is_refused() -> None:
    with pytest.raises(InputError, match="have the same id 'boat'"):
        HybridrankRetriever.from_nodes([NODES[0], NODES[0]])


def test_the_tokenizer_can_be_chosen() -> None:
    nodes = [TextNode(text="Die Häuser am Fluss.")]
    assert HybridrankRetriever.from_nodes(nodes, tokenizer=Tokenizer("german")).retrieve("Haus")


def test_a_saved_index_is_opened(tmp_path: Path) -> None:
    index().save(tmp_path / "index")
    retriever = HybridrankRetriever.from_index(tmp_path / "index", similarity_top_k=1)
    assert ids(retriever.retrieve(QUERY)) == ["trap"]


@pytest.mark.parametrize("k", [1, 2, 9])
def test_k_is_at_most_what_is_found(k: int) -> None:
    assert len(HybridrankRetriever(index(), similarity_top_k=k).retrieve(QUERY)) == min(k, 2)


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(InputError, match="k is 0"):
        HybridrankRetriever(index(), similarity_top_k=0)
    with pytest.raises(InputError, match="a list is no Retriever"):
        HybridrankRetriever(NODES)  # type: ignore[arg-type]


def test_a_pipeline_is_a_retriever() -> None:
    pipeline = Pipeline(retrievers=[index()], rerankers=[Backwards()])
    assert ids(HybridrankRetriever(pipeline).retrieve(QUERY)) == ["slug", "trap"]


def test_what_was_lost_is_said_and_not_in_the_user_s_own_node() -> None:
    (found,) = HybridrankRetriever(OnlyIds([PASSAGES[0]])).retrieve(QUERY)
    assert found.metadata["degraded"] == "dense: the service is away"
    (found,) = HybridrankRetriever(OnlyIds(), nodes={"p0": NODES[0]}).retrieve(QUERY)
    assert found.metadata == {"page": 3, "degraded": "dense: the service is away"}
    assert NODES[0].metadata == {"page": 3}


def test_ids_alone_are_no_nodes() -> None:
    with pytest.raises(InputError, match="the hit 'p0' has no passage"):
        HybridrankRetriever(OnlyIds()).retrieve(QUERY)


def test_an_awaited_call_finds_the_same() -> None:
    retriever = HybridrankRetriever.from_nodes(NODES)
    assert asyncio.run(retriever.aretrieve(QUERY)) == retriever.retrieve(QUERY)


def test_a_query_engine_retrieves_reranks_and_answers() -> None:
    synthesizer = get_response_synthesizer(llm=MockLLM(), response_mode=ResponseMode.COMPACT)
    engine = RetrieverQueryEngine(
        HybridrankRetriever.from_nodes(NODES, similarity_top_k=2),
        response_synthesizer=synthesizer,
        node_postprocessors=[HybridrankReranker(reranker=Backwards(), top_n=1)],
    )
    assert ids(engine.query(QUERY).source_nodes) == ["slug"]


def test_nodes_are_reranked_to_the_best() -> None:
    given = scored()
    best, second = HybridrankReranker().postprocess_nodes(given, query_str=QUERY)
    assert best.node is NODES[2]
    assert second.node is NODES[1]
    assert best.score > second.score > 0
    assert [found.score for found in given] == [0.5, 0.5, 0.5]
    awaited = asyncio.run(HybridrankReranker().apostprocess_nodes(given, QueryBundle(QUERY)))
    assert awaited == [best, second]


@pytest.mark.parametrize("top_n", [1, 3, 9])
def test_top_n_is_what_is_kept(top_n: int) -> None:
    assert len(HybridrankReranker(top_n=top_n).postprocess_nodes(scored(), query_str=QUERY)) == min(top_n, 3)
    assert HybridrankReranker(top_n=top_n).postprocess_nodes([], query_str=QUERY) == []


def test_any_reranker_and_any_scorer_can_be_plugged_in() -> None:
    reranker, scorer = Backwards(), Lengths()
    reranked = HybridrankReranker(reranker=reranker, top_n=3).postprocess_nodes(scored(), query_str=QUERY)
    assert ids(reranked) == ["trap", "slug", "boat"]
    assert [(hit.passage_id, hit.score) for hit in reranker.seen[0]] == [
        ("boat", 0.5),
        ("slug", 0.5),
        ("trap", 0.5),
    ]
    HybridrankReranker(reranker=scorer).postprocess_nodes(scored(), query_str=QUERY)
    assert scorer.asked[0][1][0] == "page: 3\n\nThe boat needs paint."
    with pytest.raises(ValueError, match="a str cannot rerank"):
        HybridrankReranker(reranker="jina")


def test_without_a_query_there_is_nothing_to_rerank_for() -> None:
    with pytest.raises(InputError, match="there is no query"):
        HybridrankReranker().postprocess_nodes(scored())


@pytest.mark.parametrize("reranker", [Away(), Unchanged()])
def test_a_lost_service_leaves_nodes_as_they_were_and_says_so(reranker: Any) -> None:
    found = HybridrankReranker(reranker=reranker).postprocess_nodes(scored(), query_str=QUERY)
    assert ids(found) == ["boat", "slug"]
    assert [one.score for one in found] == [0.5, 0.5]
    assert found[0].metadata["degraded"]
    assert NODES[0].metadata == {"page": 3}


def test_it_is_known_by_its_name() -> None:
    assert HybridrankReranker.class_name() == "HybridrankReranker"
    assert HybridrankReranker(top_n=3).to_dict()["top_n"] == 3
