import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridrank.integrations.serve.wire import (
    Refusal,
    RerankRequest,
    SearchRequest,
    read_rerank,
    read_search,
    read_search_parameters,
    rerank_answer,
    search_answer,
    to_json,
)
from tests.integrations.stubs import QUERY, OnlyIds, index

WORDS = st.text("a é\ud800", max_size=3)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=4,
)
FIELDS = st.dictionaries(
    st.sampled_from(["query", "documents", "top_n", "return_documents", "k", "model"]), JSON, max_size=6
)


def body(**fields: object) -> bytes:
    return json.dumps(fields).encode()


def refused(**fields: object) -> Refusal:
    with pytest.raises(Refusal) as caught:
        read_rerank(body(**{"query": "q", "documents": ["a"], **fields}), max_documents=3)
    return caught.value


def test_what_jina_s_clients_send_is_understood() -> None:
    asked = read_rerank(
        body(
            model="jina-reranker-v2-base-multilingual",
            query={"text": "q"},
            documents=["a", {"text": "b"}, {"text": "c", "more": 1}],
            top_n=2,
            return_documents=False,
            truncation=True,
        ),
        max_documents=3,
    )
    assert asked == RerankRequest(query="q", documents=("a", "b", "c"), top_n=2, return_documents=False)


@pytest.mark.parametrize(("top_n", "kept"), [(None, 2), (1, 1), (2, 2), (99, 2)])
def test_top_n_may_be_absent_or_too_large(top_n: int | None, kept: int) -> None:
    assert read_rerank(body(query="q", documents=["a", "b"], top_n=top_n), max_documents=3).top_n == kept


@pytest.mark.parametrize(
    ("fields", "detail"),
    [
        ({"query": None}, "query must be a string"),
        ({"query": 1}, "query must be a string"),
        ({"query": {"texts": "q"}}, "query must be a string"),
        ({"documents": None}, "documents must be a list of at least one string"),
        ({"documents": []}, "documents must be a list of at least one string"),
        ({"documents": "a"}, "documents must be a list of at least one string"),
        ({"documents": ["a", 1]}, "documents[1] must be a string"),
        ({"documents": ["a"] * 4}, "documents holds 4, where 3 are the most"),
        ({"top_n": 0}, "top_n must be a whole number, at least 1"),
        ({"top_n": True}, "top_n must be a whole number, at least 1"),
        ({"top_n": 1.5}, "top_n must be a whole number, at least 1"),
        ({"return_documents": 1}, "return_documents must be true or false"),
    ],
)
def test_what_is_wrong_is_named(fields: dict[str, object], detail: str) -> None:
    refusal = refused(**fields)
    assert refusal.status == 422
    assert refusal.detail.startswith(detail)
    answer = refusal.answer("7f3")
    assert answer["errors"][0]["field"] == detail.split()[0]
    assert {*answer} == {"detail", "code", "request_id", "errors"}


@pytest.mark.parametrize("given", [b"", b"{", b"\xff", b"[" * 100_000, b"[1]", b"1" * 5000])
def test_a_body_that_is_no_object_is_refused(given: bytes) -> None:
    with pytest.raises(Refusal, match="body must be") as caught:
        read_rerank(given, max_documents=3)
    assert caught.value.status == 422


def test_a_missing_query_is_missing() -> None:
    for read in (
        lambda: read_rerank(body(documents=["a"]), max_documents=3),
        lambda: read_search(body(k=1), max_hits=3),
        lambda: read_search_parameters({"k": "1"}, max_hits=3),
    ):
        with pytest.raises(Refusal, match="query is missing"):
            read()


def test_a_search_is_a_query_and_a_number() -> None:
    assert read_search(body(query="q", k=2), max_hits=3) == SearchRequest(query="q", k=2)
    assert read_search_parameters({"q": "q", "k": "2"}, max_hits=3) == SearchRequest(query="q", k=2)
    assert read_search_parameters({"query": "q", "q": "r"}, max_hits=10) == SearchRequest(query="q", k=10)


@pytest.mark.parametrize("k", ["", "0", "-1", "x", "１", "9" * 20])
def test_a_number_in_an_address_is_one(k: str) -> None:
    with pytest.raises(Refusal, match="k must be a whole number, at least 1"):
        read_search_parameters({"q": "q", "k": k}, max_hits=10)


def test_more_hits_than_are_allowed_are_refused() -> None:
    with pytest.raises(Refusal, match="k is 11, where 10 are the most"):
        read_search(body(query="q", k=11), max_hits=10)


@given(FIELDS)
def test_any_json_is_read_or_refused(fields: dict[str, Any]) -> None:
    for read in (
        lambda given: read_rerank(given, max_documents=3),
        lambda given: read_search(given, max_hits=3),
    ):
        status = 200
        try:
            read(body(**fields))
        except Refusal as refusal:
            status = refusal.status
        assert status in (200, 422)


def test_the_answer_has_jina_s_form() -> None:
    asked = RerankRequest(query="two words", documents=("a", "b c"), top_n=1, return_documents=False)
    assert rerank_answer(asked, [(1, 0.5), (0, 0.25)], model="m") == {
        "model": "m",
        "object": "list",
        "usage": {"total_tokens": 5, "prompt_tokens": 5},
        "results": [{"index": 1, "relevance_score": 0.5}],
    }


def test_a_search_answers_with_passages() -> None:
    answer = search_answer(index().search(QUERY, 1))
    score = answer["hits"][0].pop("score")
    assert score > 0
    assert answer == {
        "query": QUERY,
        "hits": [
            {
                "id": "trap",
                "rank": 1,
                "text": "A slug trap of beer: slugs drown.",
                "document_id": None,
                "start": 0,
                "metadata": {"page": 5},
            }
        ],
        "degraded": None,
    }


def test_a_search_that_keeps_ids_alone_answers_with_them() -> None:
    assert search_answer(OnlyIds().search("q")) == {
        "query": "q",
        "hits": [{"id": "p0", "rank": 1, "score": 1.0}],
        "degraded": "dense: the service is away",
    }


def test_half_a_surrogate_pair_comes_back_as_it_came() -> None:
    asked = read_rerank(b'{"query": "q", "documents": ["\\ud800 a"]}', max_documents=1)
    assert json.loads(to_json(rerank_answer(asked, [(0, 0.0)], model="m")))["results"][0]["document"] == {
        "text": "\ud800 a"
    }
