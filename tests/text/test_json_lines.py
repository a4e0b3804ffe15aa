from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridrank.errors import InputError
from hybridrank.text.json_lines import filled_lines, parse_row, read_json_lines

VALUES = st.none() | st.integers() | st.text(st.characters(exclude_categories=()))
REMEDY = "Try again."


@given(st.lists(st.dictionaries(st.text(max_size=5), VALUES, max_size=3), max_size=5))
def test_what_was_written_is_read_with_its_lines(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, object]]
) -> None:
    path = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="ascii")
    assert list(read_json_lines(path, REMEDY)) == list(enumerate(rows, start=1))


def test_a_mark_at_the_start_blank_lines_and_foreign_line_ends_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"a": "\xe2\x80\xa8"}\r\n \n\n{"b": 2}')
    assert list(read_json_lines(path, REMEDY)) == [(1, {"a": "\u2028"}), (4, {"b": 2})]
    assert [number for number, _ in filled_lines(path, REMEDY)] == [1, 4]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"a": "\xff"}', "byte 8 of the line is not UTF-8"),
        (b'{"a"', r"not valid JSON \(Expecting ':' delimiter, column 5\)"),
        (b'{"a": ' + b"1" * 5000 + b"}", "not valid JSON"),
        (b"[" * 100_000, "nested too deeply"),
        (b"[1]", "a JSON list, not an object"),
    ],
)
def test_a_line_that_is_no_object_is_refused_with_its_place(line: bytes, reason: str) -> None:
    with pytest.raises(InputError, match=reason) as caught:
        parse_row(line, Path("rows.jsonl"), 7)
    assert (caught.value.file, caught.value.line) == ("rows.jsonl", 7)
    assert caught.value.remedy


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(InputError, match=r"cannot be read .*Try again\.") as caught:
            list(read_json_lines(place, REMEDY))
        assert caught.value.file == str(place)
