from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridrank.errors import HybridrankWarning, InputError
from hybridrank.passage_store import (
    StoredPassages,
    check_corpus,
    documents_of,
    ids_of,
    passages_at,
    store_passages,
    warn_of_silent,
)
from hybridrank.records import Passage
from hybridrank.storage import IndexReader, IndexWriter

TEXT = st.text(st.characters(exclude_categories=()), max_size=20)
PASSAGES = st.builds(
    Passage,
    id=TEXT,
    text=TEXT,
    document_id=st.none() | TEXT,
    start=st.integers(0, 2**62),
    metadata=st.dictionaries(TEXT, st.none() | st.integers() | TEXT | st.lists(st.booleans()), max_size=2),
)


@given(st.lists(PASSAGES, max_size=5))
def test_passages_come_back_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, passages: list[Passage]
) -> None:
    directory = tmp_path_factory.mktemp("index")
    with IndexWriter(directory, kind="test") as writer:
        store_passages(passages, writer, "some/passages")
    found = StoredPassages(IndexReader.open(directory, kind="test"), "some/passages")
    assert list(found) == passages
    assert found[:] == passages
    assert found[::-1] == passages[::-1]
    assert [found[at] for at in range(-len(passages), 0)] == passages
    places = np.arange(len(passages))[::-1]
    assert passages_at(found, places) == passages_at(passages, places) == passages[::-1]
    assert list(found.ids) == [passage.id for passage in passages]
    assert list(documents_of(found)) == list(documents_of(passages)) == [one.document_id for one in passages]
    with pytest.raises(IndexError):
        found[len(passages)]


def test_metadata_must_be_json(tmp_path: Path) -> None:
    passages = [Passage(id="a", text="", metadata={"when": object()})]
    with (
        pytest.raises(TypeError, match="not JSON serializable"),
        IndexWriter(tmp_path, kind="test") as writer,
    ):
        store_passages(passages, writer)


def test_a_corpus_is_of_passages_with_ids_of_their_own(tmp_path: Path) -> None:
    corpus = [Passage(id="a", text="x"), Passage(id="b", text="y")]
    check_corpus(corpus)
    assert list(ids_of(corpus)) == ["a", "b"]
    with IndexWriter(tmp_path, kind="test") as writer:
        store_passages(corpus, writer)
    assert list(ids_of(StoredPassages(IndexReader.open(tmp_path, kind="test")))) == ["a", "b"]
    with pytest.raises(InputError, match=r"passages 1 and 2 \(counted from 0\) have the same id 'b'"):
        check_corpus([*corpus, Passage(id="b", text="z")])
    with pytest.raises(InputError, match="passage 0 is a str, not a Passage"):
        check_corpus(["x"])  # type: ignore[list-item]


def test_passages_that_no_search_can_find_are_named_once(recwarn: pytest.WarningsRecorder) -> None:
    corpus = [Passage(id=f"p{place}", text="") for place in range(9)]
    warn_of_silent(corpus, [], "are empty")
    assert len(recwarn) == 0
    for places, named in [
        ([1], "1 of 9 passages are empty and can never be found: 'p1'"),
        (range(7), "'p4' and 2 more"),
    ]:
        with pytest.warns(HybridrankWarning, match=f"{named}$"):
            warn_of_silent(corpus, places, "are empty")
