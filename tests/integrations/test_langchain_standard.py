"""LangChain's own tests of a retriever."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("langchain_core", reason="needs the extra: pip install 'hybridrank[langchain]'")
pytest.importorskip("langchain_tests.integration_tests", reason="needs langchain-tests")

from langchain_tests.integration_tests import RetrieversIntegrationTests

from hybridrank import LexicalIndex, Passage
from hybridrank.integrations.langchain import HybridrankRetriever


class TestHybridrankRetriever(RetrieversIntegrationTests):
    """A retriever that finds at least three documents, as the tests ask for."""

    @property
    def retriever_constructor(self) -> type[HybridrankRetriever]:
        return HybridrankRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        passages = [Passage(id=str(n), text=f"Slug number {n}.") for n in range(5)]
        return {"retriever": LexicalIndex.build(passages)}

    @property
    def retriever_query_example(self) -> str:
        return "slugs"
