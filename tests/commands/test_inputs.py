from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from hybridrank import LexicalIndex, Passage
from hybridrank.commands.inputs import Named, named_path, read_labels
from hybridrank.errors import HybridrankWarning, InputError
from tests.evaluation.beir_data import write_beir

INDEX = LexicalIndex.build(
    [
        Passage(id="d1:0", text="boat", document_id="d1"),
        Passage(id="d1:5", text="sail and paint", document_id="d1", start=5),
        Passage(id="d2:0", text="bread", document_id="d2"),
        Passage(id="bare", text="flour"),
    ]
)


def rows(file: Path, *content: object) -> Path:
    file.write_text("".join(json.dumps(row) + "\n" for row in content), encoding="utf-8")
    return file


def test_a_path_may_have_a_name() -> None:
    assert named_path("ours=a/b.run") == Named("ours", Path("a/b.run"))
    assert named_path("a/b.run") == Named("b", Path("a/b.run"))
    assert named_path("x=a=b") == Named("x", Path("a=b"))
    for text in ("", "=a", "a="):
        with pytest.raises(argparse.ArgumentTypeError, match="is not NAME=PATH"):
            named_path(text)


def test_labels_of_passages_and_of_documents(tmp_path: Path) -> None:
    file = tmp_path / "qrels"
    file.write_text("q 0 d1:5 1\nq 0 bare 0\n")
    assert read_labels(INDEX, file) == ({"q": {"d1:5": 1, "bare": 0}}, "passage")
    file.write_text("q 0 d1 1\n")
    assert read_labels(INDEX, file) == ({"q": {"d1": 1}}, "document")
    with pytest.warns(HybridrankWarning, match="1 of 2 judged documents are not in the index"):
        assert read_labels(INDEX, write_beir(tmp_path / "beir")).unit == "document"
    with pytest.raises(InputError, match="none of the 1 judged ids"):
        read_labels(INDEX, rows(file, {"query_id": "q", "judgments": {"zebra": 1}}))
    with pytest.raises(InputError, match="there is no such file"):
        read_labels(INDEX, tmp_path / "nowhere")
    file.write_text("{ not json\n")
    with pytest.raises(InputError, match="line 1: not valid JSON"):
        read_labels(INDEX, file)


def place(document: str, start: int, end: int) -> dict[str, object]:
    return {"document_id": document, "start": start, "end": end}


def test_labels_by_place_judge_the_passages_that_touch_one(tmp_path: Path) -> None:
    file = rows(
        tmp_path / "labels",
        {"query_id": "a", "units": [[place("d1", 3, 5)], [place("d2", 0, 1), place("d1", 18, 30)]]},
        {"query_id": "b", "pages": [place("d1", 4, 6)]},
    )
    assert read_labels(INDEX, file) == ({"a": {"d1:0": 1, "d2:0": 1, "d1:5": 1}, "b": {"d1:5": 1}}, "passage")


def test_labels_by_place_must_touch_something(tmp_path: Path) -> None:
    nowhere = {"query_id": "x", "units": [[place("d9", 0, 9)]]}
    file = rows(tmp_path / "labels", nowhere, {"query_id": "b", "units": [[place("d1", 0, 1)]]})
    with pytest.warns(
        HybridrankWarning, match=r"1 of 2 labels name places that no passage .* 'x' is the first"
    ):
        assert read_labels(INDEX, file) == ({"b": {"d1:0": 1}}, "passage")
    with pytest.raises(InputError, match=r"labels: 1 of 1 labels name places .* Index the documents"):
        read_labels(INDEX, rows(file, nowhere))
