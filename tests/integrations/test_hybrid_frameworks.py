from __future__ import annotations

import pytest

pytest.importorskip("langchain_classic", reason="of a session of its own: nox -s integrations")
pytest.importorskip("llama_index.postprocessor.jinaai_rerank", reason="of a session of its own")

from benchmarks.hybrid_frameworks import LangChain, LlamaIndex, installed
from benchmarks.hybrid_methods import Framework, Lists
from benchmarks.stub_service import StubService
from hybridrank import Hit, Passage, Ranking, Usage

TEXTS = {"7": "net sales", "11": "net sales of boats and other things", "3": "boats", "5": "net net sales"}


def listed(*ids: str) -> Ranking:
    hits = (
        Hit(
            passage_id=id,
            position=at,
            rank=at + 1,
            score=1 / (at + 1),
            passage=Passage(id=id, text=TEXTS[id]),
        )
        for at, id in enumerate(ids)
    )
    return Ranking(query="net sales", hits=tuple(hits))


@pytest.mark.parametrize("kind", [LangChain, LlamaIndex])
def test_a_framework_orders_what_both_lists_hold_by_the_service(kind: type[LangChain | LlamaIndex]) -> None:
    lists = Lists(lexical=listed("3", "11"), dense=listed("5", "7", "3"), usage=Usage())
    with StubService() as service:
        framework: Framework = kind(service.url, None, "m")
        assert list(framework.answer(lists)) == ["7", "5", "11", "3"]
        assert service.requests == {"/v1/rerank": 1}
    assert framework.usage.requests == 1
    assert framework.usage.tokens > 0


def test_those_that_are_installed_are_made() -> None:
    made, missing = installed("http://127.0.0.1:1/v1", "key", "m")
    assert [one.name for one in made] == [LangChain.name, LlamaIndex.name]
    assert missing == []
