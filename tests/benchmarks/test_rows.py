from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.rows import BenchmarkError, read_rows


def test_only_newlines_end_a_row_and_blank_lines_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes('{"a": "x\u2028y"}\r\n\n  \n{"a": 2}'.encode())
    assert list(read_rows(path)) == [{"a": "x\u2028y"}, {"a": 2}]


def test_an_unreadable_row_is_named_by_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"a": 1}\n{"a": \n', encoding="utf-8")
    with pytest.raises(BenchmarkError, match=r"rows.jsonl:2: not JSON"):
        list(read_rows(path))
    path.write_text('{"a": 1}\n[]\n', encoding="utf-8")
    with pytest.raises(BenchmarkError, match=r"rows.jsonl:2: expected a JSON object, found list"):
        list(read_rows(path))
    path.write_bytes(b'{"a": "\xff"}\n')
    with pytest.raises(BenchmarkError, match=r"cannot read .*rows.jsonl"):
        list(read_rows(path))
    with pytest.raises(BenchmarkError, match=r"cannot read .*missing.jsonl"):
        list(read_rows(tmp_path / "missing.jsonl"))
