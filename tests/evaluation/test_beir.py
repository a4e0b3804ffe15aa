from __future__ import annotations

from pathlib import Path

import pytest

from hybridrank.errors import InputError
from hybridrank.evaluation.beir import find_qrels, is_header, read_corpus, read_qrels
from tests.evaluation.beir_data import write_beir


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_beir(tmp_path / "beir")


def test_titles_stand_before_texts(folder: Path) -> None:
    assert [(one.id, one.text, one.document_id) for one in read_corpus(folder)] == [
        ("d1", "Boats They need paint.", "d1"),
        ("d2", "Bread needs flour.", "d2"),
        ("d 3", "Trains run at night.", "d 3"),
    ]


def test_judgments_of_a_split(folder: Path) -> None:
    assert read_qrels(find_qrels(folder)) == {"1": {"d1": 1}, "2": {"d 3": 2}}
    assert read_qrels(find_qrels(folder, "dev")) == {"1": {"d2": 1}}
    with pytest.raises(InputError, match=r"there is no qrels/train\.tsv\. Name one .*: dev, test\."):
        find_qrels(folder, "train")
    with pytest.raises(InputError, match=r"there is no qrels/test\.tsv\. Give a file"):
        find_qrels(folder / "qrels")


def test_a_header_is_told_from_a_judgment() -> None:
    assert is_header("query_id\tcorpus_id\tscore")
    assert is_header("Query-ID corpus-id SCORE")
    assert not is_header("q1\td1\t1")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "query-id\tcorpus-id\tscore\nq1\td1\n",
            r"t\.tsv, line 2: .* has 3 columns between tabs, .* has 2\.",
        ),
        ("q1\td1\tgood\n", r"line 1: the grade 'good'"),
        ("q1\td1\t1\nq1\td1\t0\n", r"line 2: .* judged 0 here and 1 on line 1"),
        ("query-id\tcorpus-id\tscore\n", r"t\.tsv: the file holds no judgment"),
        ("\td1\t1\n", "an id is empty"),
    ],
)
def test_what_is_no_judgment_is_refused_by_line(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "t.tsv"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_qrels(file)
