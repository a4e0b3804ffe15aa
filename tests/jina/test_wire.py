import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridrank.errors import InputError
from hybridrank.jina.wire import (
    check_base_url,
    check_key,
    clean,
    embedding_call,
    is_blank,
    rerank_call,
    split,
    token_bound,
)


def test_an_embedding_request_says_all_that_has_changed_its_default() -> None:
    call = embedding_call(
        "https://api.jina.ai/v1/", ["a", "b"], model="m", task="retrieval.query", dimensions=64
    )
    assert call.url == "https://api.jina.ai/v1/embeddings"
    assert json.loads(call.body) == {
        "model": "m",
        "input": ["a", "b"],
        "embedding_type": "base64",
        "normalized": True,
        "truncate": True,
        "task": "retrieval.query",
        "dimensions": 64,
    }
    assert call.count == 2


def test_what_is_not_known_is_not_sent() -> None:
    body = json.loads(embedding_call("http://localhost", ["a"], model="m").body)
    assert not {"task", "dimensions"} & body.keys()


def test_a_rerank_request_asks_for_every_score_and_no_text() -> None:
    call = rerank_call("http://localhost:80", "q", ["a", "ü"], model="m")
    assert call.url == "http://localhost:80/v1/rerank"
    assert json.loads(call.body) == {
        "model": "m",
        "query": "q",
        "documents": ["a", "ü"],
        "top_n": 2,
        "return_documents": False,
        "truncation": True,
    }


def test_text_embeddings_inference_has_forms_of_its_own() -> None:
    call = embedding_call("http://localhost/", ["a"], model="m", task="t", dimensions=8, dialect="tei")
    assert (call.url, json.loads(call.body)) == (
        "http://localhost/embed",
        {"inputs": ["a"], "normalize": True, "truncate": True, "dimensions": 8},
    )
    call = rerank_call("http://localhost", "q", ["a"], model="m", dialect="tei")
    assert call.url == "http://localhost/rerank"
    assert json.loads(call.body) == {
        "query": "q",
        "texts": ["a"],
        "raw_scores": False,
        "return_text": False,
        "truncate": True,
    }


@pytest.mark.parametrize(
    "address",
    [
        "",
        "localhost",
        "ftp://host",
        "http://",
        "http://host:x",
        "http://host:99999",
        "http://ho st",
        "http://hä",
        None,
        7,
    ],
)
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(InputError, match="the base URL is not an http or https address"):
        check_base_url(address)


@pytest.mark.parametrize(
    "address", ["http://me:secret@host", "http://secret@host", "http://host?key=secret", "http://host#secret"]
)
def test_an_address_with_a_secret_is_refused_and_not_repeated(address: str) -> None:
    with pytest.raises(InputError, match="holds a user") as caught:
        check_base_url(address)
    assert "secret" not in str(caught.value)
    assert caught.value.__context__ is None


@pytest.mark.parametrize("key", ["sec\nret", "sécret", "secret\x00", 7])
def test_what_is_no_key_is_refused_and_not_repeated(key: str) -> None:
    with pytest.raises(InputError) as caught:
        check_key(key)
    assert str(key) not in str(caught.value)


@pytest.mark.parametrize(("key", "found"), [(None, None), ("", None), (" \n", None), (" k \n", "k")])
def test_a_key_is_trimmed(key: str | None, found: str | None) -> None:
    assert check_key(key) == found


@given(st.text(alphabet=st.characters(codec=None)), st.integers(1, 40))
def test_a_text_is_cut_between_characters(text: str, size: int) -> None:
    cut = clean(text, size)
    assert len(cut.encode()) <= size
    whole = "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)
    assert whole.startswith(cut)
    assert cut == whole or len(whole[: len(cut) + 1].encode()) > size


def test_a_text_is_a_string() -> None:
    with pytest.raises(InputError, match="type bytes"):
        clean(b"a", 5)  # type: ignore[arg-type]


@pytest.mark.parametrize(("text", "blank"), [("", True), (" \n\u3000", True), (".", False)])
def test_blank_texts(text: str, blank: bool) -> None:
    assert is_blank(text) is blank


@pytest.mark.parametrize(
    ("text", "letters"),
    [("ﷺ", "صلى الله عليه وسلم"), ("½", "1⁄2"), ("é", "é"), ("한", "한"), ("abc", "abc"), ("\ud800", "?")],
)
def test_normal_forms_that_are_longer_are_bounded(text: str, letters: str) -> None:
    assert token_bound(text) >= len(letters.encode(errors="replace")) + 4


@given(st.lists(st.integers(0, 50)), st.integers(1, 5), st.integers(1, 100))
def test_batches_hold_everything_in_order_and_what_they_may(
    bounds: list[int], count: int, tokens: int
) -> None:
    batches = list(split(bounds, max_count=count, max_tokens=tokens))
    assert [place for batch in batches for place in batch] == list(range(len(bounds)))
    for batch, after in zip(batches, [*batches[1:], None], strict=False):
        total = sum(bounds[place] for place in batch)
        assert 1 <= len(batch) <= count
        assert total <= tokens or len(batch) == 1
        if after is not None:  # none is left half empty
            assert len(batch) == count or total + bounds[after[0]] > tokens
