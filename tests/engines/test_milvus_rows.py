from __future__ import annotations

from typing import Any

import pytest

from hybridrank.engines.milvus_rows import in_list, key_of, passage_of, row_of
from hybridrank.errors import InputError
from hybridrank.records import Passage


@pytest.mark.parametrize(
    "passage",
    [
        Passage(id="a", text="Net sales"),
        Passage(id="\n'\"", text="…", document_id="", start=3, metadata={"year": 2021, "of": ["ä", None]}),
    ],
)
def test_a_passage_comes_back_as_it_was(passage: Passage) -> None:
    row, size = row_of(passage, 7, {1: 0.5})
    assert passage_of(row) == passage
    assert passage_of({**row, "metadata": '{"as": "text"}'}).metadata == {"as": "text"}
    assert passage_of({**row, "metadata": None}).metadata == {}
    assert (row["position"], row["worded"], row["key"]) == (7, passage.id == "a", key_of(passage.id))
    assert size >= len(passage.text)


def test_what_fits_just_so_is_taken() -> None:
    row, size = row_of(Passage(id="i" * 65_535, text="é" * 32_767), 0, {})
    assert len(row["id"]) == 65_535
    assert size > 2 * 65_000


@pytest.mark.parametrize(
    ("passage", "message"),
    [
        (
            Passage(id="r1:0", text="é" * 32_768),
            r"the text of passage 'r1:0' has 65,536 bytes, and Milvus holds 65,535. Cut the text with",
        ),
        (
            Passage(id="x" * 65_536, text=""),
            r"the id of passage 'x{80}…' has 65,536 bytes.*Give a shorter id",
        ),
        (Passage(id="a", text="", document_id="d" * 70_000), "the document id of passage 'a' has 70,000"),
        (Passage(id="a", text="", metadata={"k": "v" * 70_000}), "the metadata of passage 'a' has 70,009"),
        (Passage(id="a", text="\ud800"), "the text of passage 'a' holds half of a surrogate pair. Decode"),
        (
            Passage(id="a", text="", metadata={"k": {1}}),
            "the metadata of passage 'a' cannot be stored: .*set",
        ),
        (
            Passage(id="a", text="", metadata={"k": float("nan")}),
            "the metadata of passage 'a' cannot be stored",
        ),
    ],
)
def test_what_milvus_cannot_hold_is_named(passage: Passage, message: str) -> None:
    with pytest.raises(InputError, match=message):
        row_of(passage, 0, {})


@pytest.mark.parametrize(("values", "text"), [([], "key in []"), (["a", "b"], 'key in ["a", "b"]')])
def test_filters_are_written_out(values: list[Any], text: str) -> None:
    assert in_list("key", values) == text
