"""Every retriever of ours keeps to the contract; those on engines are held to it where they are tested."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from hybridrank.dense import DenseIndex
from hybridrank.lexical import LexicalIndex
from hybridrank.pipeline import Pipeline, hybrid
from hybridrank.protocols import Retriever
from hybridrank.records import Passage
from tests.retriever_contract import FilteringContract, LexicalContract, Make, RetrieverContract, WordCounts


class TestLexicalIndex(FilteringContract, LexicalContract):
    @pytest.fixture
    def make(self) -> Make:
        return LexicalIndex.build


class TestSegments(FilteringContract, LexicalContract):
    """An index that was added to and deleted from, and written and opened between."""

    @pytest.fixture
    def make(self, tmp_path_factory: pytest.TempPathFactory) -> Make:
        def made(passages: Sequence[Passage]) -> Retriever:
            folder = tmp_path_factory.mktemp("index")
            gone = [Passage(id=f"gone{place}", text="net sales boat C") for place in range(3)]
            LexicalIndex.build([gone[0], *passages[:3]]).save(folder)
            index = LexicalIndex.open(folder).add([gone[1], *passages[3:5]]).delete([gone[0].id])
            index.save(folder)
            index = LexicalIndex.open(folder).add([*passages[5:], gone[2]])
            return index.delete([gone[1].id, gone[2].id])

        return made


class TestDenseIndex(RetrieverContract):
    @pytest.fixture
    def make(self) -> Make:
        return lambda passages: DenseIndex.build(passages, WordCounts())


class TestHybrid(RetrieverContract):
    @pytest.fixture
    def make(self) -> Make:
        def made(passages: Sequence[Passage]) -> Retriever:
            return hybrid(LexicalIndex.build(passages), DenseIndex.build(passages, WordCounts()))

        return made


class TestPipeline(LexicalContract):
    @pytest.fixture
    def make(self) -> Make:
        return lambda passages: Pipeline(retrievers=[LexicalIndex.build(passages)])
