from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.plain import PlainIndex, build, pack_lines

texts = st.text(st.sampled_from("ab \n"), max_size=120)


@given(texts, st.integers(1, 12))
def test_windows_are_short_disjoint_in_order_and_lose_nothing_but_blanks(text: str, size: int) -> None:
    windows = list(pack_lines(text, size))
    assert all(0 < end - start <= size and text[start:end].strip() for start, end in windows)
    assert all(end <= following for (_, end), (following, _) in pairwise(windows))
    left_out = [
        text[end:start]
        for (_, end), (start, _) in zip([(0, 0), *windows], [*windows, (None, 0)], strict=True)
    ]
    assert not "".join(left_out).strip()


@given(texts, st.integers(1, 12))
def test_packing_is_greedy_and_cuts_only_lines_that_are_too_long(text: str, size: int) -> None:
    for start, end in pack_lines(text, size):
        assert start == 0 or text[start - 1] == "\n" or "\n" not in text[start - size : start]
        next_line_end = (text + "\n").find("\n", end + 1)
        assert end == len(text) or next_line_end - start > size


def test_a_window_of_512_characters_is_whole() -> None:
    text = "x" * 255 + "\n" + "y" * 256 + "\n" + "z"
    assert list(pack_lines(text)) == [(0, 512), (513, 514)]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    reports = {
        "small": "alpha beta\n" + "x" * 600 + "\ngamma delta",
        "other": "alpha\r\nepsilon 🦊 zeta",
        "empty": "",
    }
    rows = [json.dumps({"document_id": key, "text": text}) + "\n" for key, text in reports.items()]
    (tmp_path / "reports.jsonl").write_text("".join(rows), encoding="utf-8")
    return tmp_path


def test_a_saved_index_finds_the_window_with_the_words(corpus: Path) -> None:
    build(corpus, corpus / "index")
    index = PlainIndex.open(corpus / "index")
    assert index.spans("gamma delta?")[0] == ("small", 523, 623)
    assert index.spans("zeta")[0] == ("other", 0, 21)


def test_fewer_windows_than_five_and_words_unknown_are_no_trouble(corpus: Path) -> None:
    build(corpus, corpus / "index")
    index = PlainIndex.open(corpus / "index")
    assert len(index.spans("alpha")) == 4
    assert len(index.spans("unheard")) == 4
