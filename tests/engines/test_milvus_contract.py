"""An index on Milvus keeps the contract of all retrievers, word by word and by its vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from hybridrank.engines import MilvusIndex
from hybridrank.pipeline import hybrid
from hybridrank.protocols import Retriever
from hybridrank.records import Passage
from tests.retriever_contract import FilteringContract, LexicalContract, Make, RetrieverContract, WordCounts


@pytest.fixture
def build(lite: Path, collection: Callable[[], str]) -> Callable[[Sequence[Passage]], MilvusIndex]:
    def made(passages: Sequence[Passage]) -> MilvusIndex:
        embedder = WordCounts()
        return MilvusIndex.build(
            passages, lite, collection=collection(), embedder=embedder, dense_index="FLAT"
        )

    return made


Build = Callable[[Sequence[Passage]], MilvusIndex]


class TestMilvusIndex(FilteringContract, LexicalContract):
    @pytest.fixture
    def make(self, build: Build) -> Make:
        return build


class TestMilvusDense(RetrieverContract):
    @pytest.fixture
    def make(self, build: Build) -> Make:
        return lambda passages: build(passages).dense


class TestHybrid(RetrieverContract):
    @pytest.fixture
    def make(self, build: Build) -> Make:
        def made(passages: Sequence[Passage]) -> Retriever:
            index = build(passages)
            return hybrid(index, index.dense)

        return made
