from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridrank.passage_store import StoredPassages, store_passages
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
    assert list(found.ids) == [passage.id for passage in passages]
    with pytest.raises(IndexError):
        found[len(passages)]


def test_metadata_must_be_json(tmp_path: Path) -> None:
    passages = [Passage(id="a", text="", metadata={"when": object()})]
    with (
        pytest.raises(TypeError, match="not JSON serializable"),
        IndexWriter(tmp_path, kind="test") as writer,
    ):
        store_passages(passages, writer)
