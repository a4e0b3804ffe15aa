import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridrank.errors import InputError, WrongDimension
from hybridrank.jina.jobs import Job, Limits, cache_key, embedding_job, rerank_job

BASE = "http://localhost"


def embedding(texts: list[str], base_url: str = BASE, **changed: object) -> Job:
    options: dict[str, object] = {
        "model": "m",
        "task": "t",
        "dimensions": None,
        "dialect": "jina",
        "limits": Limits(),
    }
    return embedding_job(texts, base_url=base_url, **{**options, **changed})  # type: ignore[arg-type]


def reranking(query: str, documents: list[str], **changed: object) -> Job:
    options: dict[str, object] = {"base_url": BASE, "model": "m", "dialect": "jina", "limits": Limits()}
    return rerank_job(query, documents, **{**options, **changed})  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [0, -1, 1.5, True, float("inf"), float("nan"), "3"])
@pytest.mark.parametrize("name", ["attempts", "concurrency", "max_texts", "max_batch_tokens"])
def test_limits_are_above_0(name: str, value: object) -> None:
    with pytest.raises(InputError, match=f"the limit {name} is"):
        Limits(**{name: value})  # type: ignore[arg-type]


def test_a_timeout_may_have_a_fraction() -> None:
    assert Limits(timeout=0.5).timeout == 0.5
    with pytest.raises(InputError):
        Limits(timeout=float("nan"))


def test_blank_and_equal_texts_are_asked_for_once_or_not_at_all() -> None:
    job = embedding(["a", "", "b", " ", "a"])
    assert job.different() == ["a", "b"]
    (batch,) = job.batches(job.different())
    assert batch.texts == ["a", "b"]
    assert batch.tokens == 2 * 33
    rows = job.rows(
        {"a": np.array([1, 2], np.float32).tobytes(), "b": np.array([3, 4], np.float32).tobytes()}, None, 0.0
    )
    assert rows.tolist() == [[1, 2], [0, 0], [3, 4], [0, 0], [1, 2]]
    assert rows.dtype == np.float32
    assert rows.flags.writeable


def test_nothing_that_says_anything() -> None:
    assert embedding(["", " "]).rows({}, None, 0.0).shape == (2, 0)
    assert embedding(["", " "]).rows({}, 3, 0.0).tolist() == [[0, 0, 0]] * 2
    assert embedding([]).rows({}, None, 0.0).shape == (0, 0)
    assert reranking("q", []).rows({}, 1, 0.0).shape == (0, 1)


def test_answers_of_different_length_are_refused() -> None:
    job = embedding(["a", "b"])
    with pytest.raises(WrongDimension, match="of 1 and 2 numbers"):
        job.rows({"a": bytes(4), "b": bytes(8)}, None, 0.0)
    with pytest.raises(WrongDimension):
        job.rows({"a": bytes(4), "b": bytes(4)}, 2, 0.0)


def test_the_query_counts_once_a_document() -> None:
    job = reranking("q" * 10, ["a" * 5, "b" * 6])
    (batch,) = job.batches(job.different())
    assert batch.tokens >= 2 * 10 + 5 + 6 + 2 * 4


def test_batches_keep_to_the_limits() -> None:
    limits = Limits(max_texts=2, max_documents=3, max_batch_tokens=100)
    texts = [letter * 10 for letter in "abcdefg"]
    assert [len(batch.texts) for batch in embedding(texts, limits=limits).batches(texts)] == [2, 2, 2, 1]
    assert [len(batch.texts) for batch in reranking("q", texts, limits=limits).batches(texts)] == [1] * 7


@given(st.lists(st.text(max_size=3), max_size=3), st.lists(st.text(max_size=3), max_size=3))
def test_keys_are_equal_only_when_all_parts_are(one: list[str], other: list[str]) -> None:
    assert (cache_key(*one) == cache_key(*other)) is (one == other)


def test_whatever_changes_the_answer_changes_the_key() -> None:
    keys = [
        embedding([], **changed).key("a")
        for changed in (
            {},
            {"base_url": "http://other"},
            {"model": "n"},
            {"task": None},
            {"task": "u"},
            {"dimensions": 5},
            {"dialect": "tei"},
        )
    ]
    keys += [
        reranking("a", [], **changed).key("a") for changed in ({}, {"model": "n"}, {"base_url": "http://o"})
    ]
    keys += [reranking("b", []).key("a"), reranking("a", []).key("b"), embedding([]).key("b")]
    assert len(set(keys)) == len(keys)
    assert embedding([], "http://localhost/v1").key("a") == embedding([]).key("a")


@pytest.mark.parametrize("dimensions", [0, -1, 1.5, True])
def test_dimensions_are_a_whole_number(dimensions: object) -> None:
    with pytest.raises(InputError, match="dimensions is"):
        embedding(["a"], dimensions=dimensions)


def test_a_single_string_is_no_list_of_texts() -> None:
    with pytest.raises(InputError, match="the texts are a single string"):
        embedding("abc")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="the documents are a single string"):
        reranking("q", "abc")  # type: ignore[arg-type]


@pytest.mark.parametrize("query", ["", " \n"])
def test_a_blank_query_is_refused(query: str) -> None:
    with pytest.raises(InputError, match="the query is blank"):
        reranking(query, ["a"])


@pytest.mark.parametrize("texts", [None, 3])
def test_texts_are_a_list(texts: list[str]) -> None:
    with pytest.raises(InputError, match="the texts are of type"):
        embedding(texts)
    with pytest.raises(InputError, match="the documents are of type"):
        reranking("q", texts)


def test_a_model_has_a_name() -> None:
    with pytest.raises(InputError, match="the model is 3"):
        embedding(["a"], model=3)
    with pytest.raises(InputError, match="the model is None"):
        reranking("q", ["a"], model=None)
