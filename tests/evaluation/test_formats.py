from __future__ import annotations

from pathlib import Path

import pytest

from hybridrank.errors import InputError
from hybridrank.evaluation.formats import read_judgments, read_queries
from tests.evaluation.beir_data import write_beir


def written(tmp_path: Path, content: str) -> Path:
    file = tmp_path / "file"
    file.write_bytes(content.encode())
    return file


@pytest.mark.parametrize(
    "content",
    [
        '{"query_id": "1", "question": "boats"}\n{"query_id": "2", "question": "a plan"}\n',
        '\ufeff{"_id": "1", "text": "boats"}\r\n\r\n{"_id": "2", "text": "a plan"}\r\n',
        '{"id": "1", "query": "boats", "more": 1}\n{"id": "2", "query": "a plan"}',
        "1\tboats\n2\ta plan\n",
        "\ufeffboats\r\n a plan \r\n",
    ],
)
def test_queries_of_every_format_are_read_alike(tmp_path: Path, content: str) -> None:
    assert read_queries(written(tmp_path, content)) == {"1": "boats", "2": "a plan"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            '{"query_id": "1", "question": "a"}\n{"question": "b"}\n',
            r"line 2: no 'query_id' with a string among",
        ),
        ('{"query_id": "1", "question": ""}\n', r"line 1: no 'question' with a string"),
        ('{"query_id": "1", "question": "a"}\n{"query_id": \n', r"line 2: not valid JSON"),
        ("1\ta\n1\tb\n", r"line 2: the query '1' stands on line 1 already"),
        ("1\ta\n2\n", r"line 2: a line of queries has 2 columns between tabs, this one has 1"),
        ("1\ta\n2\tb\tc\n", r"line 2: .* has 3"),
        ("<top>\n<num> 301\n", r"these are topics in markup\. Give them as lines"),
        ("", r"the file is empty"),
    ],
)
def test_what_is_no_query_is_refused_by_line(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_queries(written(tmp_path, content))


@pytest.mark.parametrize(
    "content",
    [
        "q1 0 a 2\nq1 0 b 0\n",
        "query-id\tcorpus-id\tscore\nq1\ta\t2\nq1\tb\t0\n",
        "q1\ta\t2\nq1\tb\t0\n",
        '{"query_id": "q1", "judgments": {"a": 2, "b": false}}\n',
        '{"query_id": "q1", "judgments": {"a": 2}}\n{"query_id": "q1", "judgments": {"b": 0}}\n',
    ],
)
def test_judgments_of_every_format_are_read_alike(tmp_path: Path, content: str) -> None:
    assert read_judgments(written(tmp_path, content)) == {"q1": {"a": 2, "b": 0}}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"query_id": "q1"}\n', r"line 1: no 'judgments' by id among \['query_id'\]\. Give one object"),
        ('{"query_id": "q1", "judgments": {}}\n', r"line 1: no 'judgments'"),
        ('{"query_id": "q1", "judgments": {"a": 0.5}}\n', r"line 1: the grade of 'a' is 0\.5, not a whole"),
        (
            '{"query_id": "q", "judgments": {"a": 1}}\n{"query_id": "q", "judgments": {"a": 2}}\n',
            r"line 2: query 'q' and document 'a' are judged 2 here and 1 on line 1",
        ),
        ("q1 a\n", r"line 1: a line of judgments has 4 columns, this one has 2"),
    ],
)
def test_what_is_no_judgment_is_refused_by_line(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_judgments(written(tmp_path, content))


def test_a_beir_folder_holds_both(tmp_path: Path) -> None:
    folder = write_beir(tmp_path / "beir")
    assert read_queries(folder) == {"1": "boats", "2": "night train"}
    assert read_judgments(folder) == {"1": {"d1": 1}, "2": {"d 3": 2}}
    assert read_judgments(folder, split="dev") == {"1": {"d2": 1}}


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    for read in (read_queries, read_judgments):
        with pytest.raises(InputError, match=r"nowhere: there is no such file or folder\. Correct the path"):
            read(tmp_path / "nowhere")
