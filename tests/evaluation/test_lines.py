from __future__ import annotations

from pathlib import Path

import pytest

from hybridrank.errors import InputError
from hybridrank.evaluation.lines import columns, first_line, grade_of, score_of, text_lines


def test_ends_marks_and_blank_lines_are_no_content(tmp_path: Path) -> None:
    file = tmp_path / "lines.txt"
    file.write_bytes(b"\xef\xbb\xbfone\r\n\r\n  \ntwo\x85three\n")
    file.write_bytes("\ufeffone\r\n\r\n  \ntwo\x85three\n".encode())
    assert list(text_lines(file)) == [(1, "one"), (4, "two\x85three")]
    assert first_line(file) == "one"


def test_what_is_no_text_is_named_by_place(tmp_path: Path) -> None:
    file = tmp_path / "lines.txt"
    file.write_bytes("fine\nnaïve".encode("latin-1"))
    with pytest.raises(
        InputError, match=r"lines\.txt, line 2: byte 3 of the line is not UTF-8\. Save"
    ) as error:
        list(text_lines(file))
    assert error.value.line == 2
    with pytest.raises(InputError, match=r"cannot be read \(No such file"):
        list(text_lines(tmp_path / "none"))
    file.write_text("\n \n")
    with pytest.raises(InputError, match=r"lines\.txt: the file is empty"):
        first_line(file)


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("a b  c", ["a", "b", "c"]),
        ("a\tb c\td", ["a", "b c", "d"]),
        (" a b\t", ["a", "b"]),
        ("a\t\tb", ["a", "", "b"]),
    ],
)
def test_tabs_part_columns_where_there_are_any(line: str, parts: list[str]) -> None:
    assert columns(line) == parts


@pytest.mark.parametrize("text", ["", "1.5", "1_0", "one", "²", "--1", "1e3"])
def test_grades_are_whole_numbers(text: str) -> None:
    with pytest.raises(InputError, match=r"q, line 7: the grade .* is not a whole number"):
        grade_of(text, Path("q"), 7)
    assert [grade_of(good, Path("q"), 1) for good in ("0", "-2", "+3")] == [0, -2, 3]


@pytest.mark.parametrize("text", ["", "high", "nan", "inf", "-inf"])
def test_scores_are_finite(text: str) -> None:
    with pytest.raises(InputError, match=r"r, line 3: the score .* is not a finite number"):
        score_of(text, Path("r"), 3)
    assert score_of("-1.5e-3", Path("r"), 1) == -0.0015
