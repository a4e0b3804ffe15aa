"""What people use today, pointed at the same service: LangChain's and LlamaIndex's fusion and rerankers.

Both get the lists that our methods get, fuse them by equal-weight RRF, which is what they do unless told
otherwise, and send all that they have to the service. Neither has a cache, a budget or retries, so that a
run always asks anew.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from benchmarks.hybrid_methods import Framework, Listed, Lists
from benchmarks.hybrid_questions import N_CANDIDATES
from hybridrank.errors import MissingExtra
from hybridrank.records import Ranking, Usage
from hybridrank.tasks.finance.spans import MOST_SPANS

__all__ = ["LangChain", "LlamaIndex", "installed"]

_NO_KEY = "none"  # both insist on one


class _Counter:
    """Adds up what a session of ``requests`` asks for."""

    def __init__(self) -> None:
        self.usage = Usage()

    def __call__(self, response: Any, *arguments: Any, **options: Any) -> None:
        response.raise_for_status()
        self.usage += Usage(
            requests=1,
            tokens=response.json()["usage"]["total_tokens"],
            seconds=response.elapsed.total_seconds(),
        )


class _Framework:
    """What both have in common: how to answer, and a counter of what that takes."""

    name = ""

    def __init__(self, answer: Callable[[Lists], list[str]], session: Any) -> None:
        self._answer = answer
        self._count = _Counter()
        session.hooks["response"].append(self._count)

    @property
    def usage(self) -> Usage:
        """What ``JinaRerank`` has asked for so far."""
        return self._count.usage

    def answer(self, lists: Lists) -> Sequence[str]:
        """The ids of the best five hits."""
        with _quiet():
            return self._answer(lists)


class LangChain(_Framework):
    """``EnsembleRetriever``, compressed by ``JinaRerank``."""

    name = "LangChain ensemble + JinaRerank"

    def __init__(self, base_url: str, key: str | None, model: str) -> None:
        with _quiet():
            from langchain_classic.retrievers import ContextualCompressionRetriever, EnsembleRetriever
            from langchain_community.document_compressors import jina_rerank

            from hybridrank.integrations.langchain import HybridrankRetriever
        # The address is no parameter there, but a constant.
        jina_rerank.JINA_API_URL = f"{base_url.removesuffix('/v1')}/v1/rerank"
        reranker = jina_rerank.JinaRerank(jina_api_key=key or _NO_KEY, model=model, top_n=MOST_SPANS)

        def answer(lists: Lists) -> list[str]:
            retrievers = [
                HybridrankRetriever(retriever=Listed(name, _with_places(ranking)), k=N_CANDIDATES)
                for name, ranking in lists.by_name.items()
            ]
            ensemble = EnsembleRetriever(retrievers=retrievers, weights=[0.5, 0.5], id_key="place")
            retriever = ContextualCompressionRetriever(base_compressor=reranker, base_retriever=ensemble)
            return [document.metadata["place"] for document in retriever.invoke(lists.lexical.query)]

        super().__init__(answer, reranker.session)


class LlamaIndex(_Framework):
    """``QueryFusionRetriever``, then ``JinaRerank``."""

    name = "LlamaIndex fusion + JinaRerank"

    def __init__(self, base_url: str, key: str | None, model: str) -> None:
        with _quiet():
            from llama_index.core.llms import MockLLM
            from llama_index.core.retrievers import QueryFusionRetriever
            from llama_index.postprocessor.jinaai_rerank import JinaRerank

            from hybridrank.integrations.llama_index import HybridrankRetriever
        reranker = JinaRerank(
            base_url=f"{base_url.removesuffix('/v1')}/v1",
            api_key=key or _NO_KEY,
            model=model,
            top_n=MOST_SPANS,
        )

        def answer(lists: Lists) -> list[str]:
            retrievers = [
                HybridrankRetriever(retriever=Listed(name, ranking), similarity_top_k=N_CANDIDATES)
                for name, ranking in lists.by_name.items()
            ]
            fusion = QueryFusionRetriever(
                retrievers,
                llm=MockLLM(),  # asked for nothing: the question is searched for as it is
                mode="reciprocal_rerank",
                similarity_top_k=N_CANDIDATES,
                num_queries=1,
                use_async=False,
            )
            nodes = fusion.retrieve(lists.lexical.query)
            found = reranker.postprocess_nodes(nodes, query_str=lists.lexical.query)
            return [node.node.node_id for node in found]

        super().__init__(answer, reranker._session)


def installed(base_url: str, key: str | None, model: str) -> tuple[list[Framework], list[str]]:
    """The frameworks that can be imported, and the names of those that cannot."""
    made: list[Framework] = []
    missing: list[str] = []
    for way in (LangChain, LlamaIndex):
        try:
            made.append(way(base_url, key, model))
        except (ImportError, MissingExtra):
            missing.append(way.name)
    return made, missing


def _with_places(ranking: Ranking) -> Ranking:
    """The same with each hit's id in its metadata, for ``JinaRerank`` drops the ids of documents."""
    hits = (
        replace(hit, passage=hit.passage and replace(hit.passage, metadata={"place": hit.passage_id}))
        for hit in ranking
    )
    return replace(ranking, hits=tuple(hits))


@contextmanager
def _quiet() -> Iterator[None]:
    """Without what the frameworks warn of among themselves."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
