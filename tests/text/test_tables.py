from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridrank.errors import InputError
from hybridrank.text.tables import read_rows

PATH = Path("t.csv")
FIELDS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0\r") | st.sampled_from('",\n;')
)


def read(content: bytes, delimiter: str = ",") -> list[tuple[int, dict[str, str]]]:
    return list(read_rows(enumerate(io.BytesIO(content), start=1), PATH, delimiter))


@given(st.lists(st.tuples(FIELDS, FIELDS), max_size=5), st.sampled_from([",", "\t"]))
def test_what_the_standard_library_writes_is_read_as_it_was(
    rows: list[tuple[str, str]], delimiter: str
) -> None:
    written = io.StringIO()
    writer = csv.writer(written, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerows([("id", "text"), *rows])
    found = read(written.getvalue().encode(), delimiter)
    assert [(row["id"], row["text"]) for _, row in found] == rows


def test_rows_have_the_lines_on_which_they_end() -> None:
    content = b'id,text\r\na,"one\r\ntwo"\r\n\r\nb,three'
    assert read(content) == [(3, {"id": "a", "text": "one\r\ntwo"}), (5, {"id": "b", "text": "three"})]


def test_a_header_with_semicolons_says_the_delimiter() -> None:
    assert read(b"id;text\na;one, two\n") == [(2, {"id": "a", "text": "one, two"})]
    assert read(b"id,text\na,one; two\n") == [(2, {"id": "a", "text": "one; two"})]


@pytest.mark.parametrize("content", [b"", b"\n\n", b"id,text\n"])
def test_without_rows_there_is_none(content: bytes) -> None:
    assert read(content) == []


def test_a_field_may_be_longer_than_the_standard_library_allows_by_itself() -> None:
    assert len(read(b"id,text\na," + b"x" * 200_000)[0][1]["text"]) == 200_000


@pytest.mark.parametrize(
    ("content", "line", "reason"),
    [
        (b"id,text\na\n", 2, "a row has 2 fields, as the header has, and this one 1. Put a field"),
        (b"id,text\na,b,c\n", 2, "and this one 3"),
        (b"id,id\n", 1, r"the columns are \['id', 'id'\]. Name the columns in the first row"),
        (b'id,text\na,"open\n', 2, r"the row cannot be read \(unexpected end of data\). See to its quotes"),
        (b'id,text\na,"x"y\n', 2, r"the row cannot be read \("),
        (b"id,text\n\na,caf\xe9\n", 3, "byte 6 of the line is not UTF-8"),
    ],
)
def test_a_row_that_cannot_be_read_is_named(content: bytes, line: int, reason: str) -> None:
    with pytest.raises(InputError, match=rf"^t.csv, line {line}: .*{reason}"):
        read(content)
