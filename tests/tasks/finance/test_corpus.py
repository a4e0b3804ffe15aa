from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridrank.errors import InputError
from hybridrank.tasks.finance.corpus import (
    Problem,
    Question,
    Report,
    read_questions,
    read_reports,
)

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=40)
BOM = b"\xef\xbb\xbf"

# A line that gives no report and no question, and why.
UNREADABLE = [
    (b'{"document_id": "a"', r"not valid JSON \(Expecting ',' delimiter, column 20\)"),
    (b"plain words", r"not valid JSON \(Expecting value"),
    (b'{"text": "\xff"}', r"byte 11 of the line is not UTF-8\. Save the file as UTF-8"),
    (b'{"text": "\xed\xa0\x80"}', "byte 11 of the line is not UTF-8"),  # a surrogate that is not escaped
    (b"[" * 100_000, "JSON that is nested too deeply"),
    (b'{"a": ' * 50_000 + b"1" + b"}" * 50_000, "JSON that is nested too deeply"),
    (b"9" * 5000, "not valid JSON"),  # more digits than Python reads
    (b"[1, 2]", "a JSON list, not an object"),
    (b"null", "a JSON NoneType, not an object"),
    (BOM + b"{}", r"not valid JSON \(Unexpected UTF-8 BOM"),  # for it is not the first line
]


def write(path: Path, *lines: object) -> Path:
    raw = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    path.write_bytes(b"\n".join(raw))
    return path


def report(document_id: object, text: object = "x") -> dict[str, object]:
    return {"document_id": document_id, "text": text}


def question(query_id: object, text: object = "x?") -> dict[str, object]:
    return {"query_id": query_id, "question": text}


@given(
    texts=st.lists(ANY_TEXT, max_size=5),
    escaped=st.booleans(),
    ending=st.sampled_from(["\n", "\r\n", "\n\n"]),
)
def test_reports_come_back_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], escaped: bool, ending: str
) -> None:
    if not escaped:  # unescaped JSON may hold U+2028 and other line separators, though no lone surrogates
        texts = [text.encode("utf-8", "replace").decode() for text in texts]
    lines = [json.dumps(report(text, text), ensure_ascii=escaped) + ending for text in texts]
    path = tmp_path_factory.mktemp("corpus")
    (path / "reports.jsonl").write_bytes("".join(lines).encode())
    step = ending.count("\n")
    assert list(read_reports(path)) == [
        Report(document_id=text, text=text, line=1 + step * place) for place, text in enumerate(texts)
    ]


def test_a_directory_or_the_file_itself(tmp_path: Path) -> None:
    path = write(tmp_path / "reports.jsonl", report("a"))
    assert list(read_reports(tmp_path)) == list(read_reports(str(path))) == list(read_reports(path)) != []


def test_byte_order_mark_blank_lines_and_other_keys(tmp_path: Path) -> None:
    path = write(
        tmp_path / "any-name",
        BOM + json.dumps(report("a")).encode(),
        b"",
        b"  \r",
        report("b") | {"form": ["10-K"]},
    )
    assert [(found.document_id, found.line) for found in read_reports(path)] == [("a", 1), ("b", 4)]


@pytest.mark.parametrize("content", [b"", b"\n \r\n", BOM, BOM + b"\r\n"])
def test_a_file_without_lines_holds_nothing(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "reports.jsonl"
    path.write_bytes(content)
    assert [*read_reports(tmp_path), *read_questions(path)] == []


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        *UNREADABLE,
        (b'{"text": "x"}', r"no 'document_id' among \['text'\], not a string\. Give each line a string 'doc"),
        (b'{"document_id": 7, "text": "x"}', "'document_id' is int, not a string"),
        (b'{"document_id": "a", "title": "x"}', r"no 'text' among \['document_id', 'title'\]"),
        (b'{"document_id": "a", "text": null}', "'text' is NoneType, not a string"),
    ],
)
def test_an_unreadable_report_is_named_by_file_and_line(tmp_path: Path, line: bytes, reason: str) -> None:
    path = write(tmp_path / "reports.jsonl", report("first"), b"", line, report("last"))
    reports = read_reports(tmp_path)
    assert next(reports).document_id == "first"
    with pytest.raises(InputError, match=reason) as caught:
        next(reports)
    assert (caught.value.file, caught.value.line) == (str(path), 3)
    assert str(caught.value).startswith(f"{path}, line 3: ")
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        *UNREADABLE,
        (b'{"question": "x"}', "no 'query_id' among"),
        (b'{"query_id": "b", "question": 3}', "'question' is int, not a string"),
        (b'{"query_id": "first", "question": "x"}', "the query_id 'first' stood on line 1 already"),
    ],
)
def test_an_unreadable_question_costs_no_other(tmp_path: Path, line: bytes, reason: str) -> None:
    path = write(tmp_path / "queries.jsonl", question("first"), line, question("last"))
    first, problem, last = read_questions(path)
    assert first == Question(query_id="first", text="x?")
    assert last == Question(query_id="last", text="x?")
    assert isinstance(problem, Problem)
    assert (problem.error.file, problem.error.line) == (str(path), 2)
    with pytest.raises(InputError, match=reason):
        raise problem.error


def test_a_bad_line_does_not_use_an_id_up(tmp_path: Path) -> None:
    path = write(tmp_path / "queries.jsonl", question("a", None), question("a"), question("a"))
    assert [type(found).__name__ for found in read_questions(path)] == ["Problem", "Question", "Problem"]


@given(st.lists(st.text(st.characters(exclude_categories=()), max_size=3), max_size=8))
def test_each_id_is_answered_once(tmp_path_factory: pytest.TempPathFactory, ids: list[str]) -> None:
    path = write(tmp_path_factory.mktemp("queries") / "q.jsonl", *map(question, ids))
    found = [one.query_id for one in read_questions(path) if isinstance(one, Question)]
    assert found == list(dict.fromkeys(ids))


@pytest.mark.parametrize("read", [read_reports, read_questions])
@pytest.mark.parametrize("name", ["nowhere", "folder"])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, read: object, name: str) -> None:
    (tmp_path / "folder" / "reports.jsonl").mkdir(parents=True)
    place = tmp_path / name
    with pytest.raises(InputError, match="cannot be read") as caught:
        list(read(place))  # type: ignore[operator]
    assert str(caught.value.file).startswith(str(place))
    assert caught.value.remedy
