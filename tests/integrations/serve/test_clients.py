"""The server, asked by the clients that people have for Jina."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

pytest.importorskip("uvicorn", reason="needs the extra: pip install 'hybridrank[serve]'")

from hybridrank import LearnedReranker, LexicalIndex, Passage
from tests.integrations.serve.live import commanded
from tests.integrations.stubs import PASSAGES, QUERY

TEXTS = [passage.text for passage in PASSAGES]
BEST = ["trap", "slug"]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with commanded(environ={"HYBRIDRANK_API_KEY": "key"}) as url:
        yield url


def langchain_order(
    url: str, key: str, monkeypatch: pytest.MonkeyPatch, **options: object
) -> Sequence[str | None]:
    pytest.importorskip("langchain_community", reason="needs langchain-community, for its client")
    documents = pytest.importorskip("langchain_core.documents")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the package says that it is given up
        from langchain_community.document_compressors import jina_rerank
    monkeypatch.setattr(jina_rerank, "JINA_API_URL", f"{url}/v1/rerank")  # it takes no other address
    client = jina_rerank.JinaRerank(jina_api_key=key, **options)
    given = [documents.Document(passage.text, metadata={"id": passage.id}) for passage in PASSAGES]
    with client.session:
        found = client.compress_documents(given, QUERY)
    scores = [document.metadata["relevance_score"] for document in found]
    assert scores == sorted(scores, reverse=True)
    return [document.metadata["id"] for document in found]


def test_langchain_s_client_is_answered(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert langchain_order(url, "key", monkeypatch) == [*BEST, "boat"]
    assert langchain_order(url, "key", monkeypatch, top_n=2) == BEST


def test_langchain_s_client_says_why_it_is_refused(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RuntimeError, match="the API key is missing or wrong"):
        langchain_order(url, "wrong", monkeypatch)


def llama_order(url: str, key: str, top_n: int = 2) -> Sequence[str]:
    package = pytest.importorskip(
        "llama_index.postprocessor.jinaai_rerank", reason="needs llama-index-postprocessor-jinaai-rerank"
    )
    schema = pytest.importorskip("llama_index.core.schema")
    client = package.JinaRerank(base_url=f"{url}/v1", api_key=key, top_n=top_n)
    given = [
        schema.NodeWithScore(node=schema.TextNode(text=passage.text, id_=passage.id)) for passage in PASSAGES
    ]
    with client._session:
        return [found.node_id for found in client.postprocess_nodes(given, query_str=QUERY)]


def test_llama_index_s_client_is_answered(url: str) -> None:
    assert llama_order(url, "key") == BEST
    assert llama_order(url, "key", top_n=3) == [*BEST, "boat"]


def test_llama_index_s_client_says_why_it_is_refused(url: str) -> None:
    with pytest.raises(RuntimeError, match="the API key is missing or wrong"):
        llama_order(url, "wrong")


def test_our_own_client_is_answered(url: str) -> None:
    pytest.importorskip("httpx", reason="needs the extra: pip install 'hybridrank[jina]'")
    from hybridrank.errors import ServiceDenied
    from hybridrank.jina import JinaClient

    with JinaClient(base_url=url, api_key="key") as client:
        boat, slug, trap = client.rerank(QUERY, TEXTS).scores
        assert trap > slug > boat == 0
    with JinaClient(base_url=url) as client, pytest.raises(ServiceDenied, match="missing or wrong"):
        client.rerank(QUERY, TEXTS)


def test_what_was_learned_orders_another_s_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["Slug, boat, trap: all of it at once.", "Trap slugs."]
    corpus = LexicalIndex.build(Passage(id=str(n), text=texts[n % 2]) for n in range(60))
    # Judged against what BM25 would say, so that its order cannot be mistaken for the learned one.
    judgments = {"q": {str(n): 1 - n % 2 for n in range(60)}}
    LearnedReranker.fit(corpus, {"q": "slugs"}, judgments, rounds=10).save(tmp_path / "ranker")
    with commanded("--ranker", tmp_path / "ranker") as url:
        assert langchain_order(url, "any", monkeypatch, top_n=2) == BEST[::-1]
