from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hybridrank.tasks.finance.layout import BALANCE, BLOCK, CASH, INCOME, LONGEST, Layout, clean, lay_out

WHOLE_LINE = 400  # characters of a line that is never cut

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=60)
# Texts of what layout is about, of any length: lines, rows, gaps, sentences, words without end.
PIECES = st.sampled_from(
    [
        *(
            "\n",
            "\n",
            "\n",
            "\r\n",
            "\r",
            "\f",
            " ",
            " ",
            "  ",
            "\t",
            " | ",
            ". ",
            "! ",
            ";",
            ":  ",
            "\u2003",
        ),
        *("a", "word ", "net sales", "$ 1,234.5", "(12.3)", "2019", "2019s", "201c", "x" * 150, "x" * 700),
        *(
            "a long sentence of many words " * 9,
            "short one. " * 30,
            "\U0001f600" * 90,
            "\ud800",
            "\x00",
            "\x85",
        ),
        *(
            "CONSOLIDATED BALANCE SHEETS\n",
            "Statements of cash flows\n",
            "1 | 2 | 3\n" * 8,
            "Total  5\n" * 12,
        ),
    ]
)
TEXTS = ANY_TEXT | st.lists(PIECES, max_size=40).map("".join)


def segments(layout: Layout) -> list[tuple[int, int]]:
    return list(zip(layout.starts.tolist(), layout.ends.tolist(), strict=True))


def lines(text: str) -> list[tuple[int, int]]:
    """Where the lines that are not blank stand, without the white space around them."""
    found = []
    for line in re.finditer(r"[^\n\r\f]+", text):
        content = line.group()
        if content.strip():
            start = line.start() + len(content) - len(content.lstrip())
            found.append((start, start + len(content.strip())))
    return found


# -- segments


@given(TEXTS)
def test_segments_are_in_order_and_lose_nothing_but_white_space(text: str) -> None:
    found = segments(lay_out(text))
    assert all(0 <= start < end <= len(text) for start, end in found)
    assert all(end <= following for (_, end), (following, _) in pairwise(found))
    edges = [0, *(edge for segment in found for edge in segment), len(text)]
    lost = "".join(text[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True))
    assert not lost.strip()


def test_the_longest_span_is_that_of_the_contract() -> None:
    assert LONGEST == 512


@given(TEXTS)
def test_segments_are_short_and_begin_and_end_with_a_character(text: str) -> None:
    for start, end in segments(lay_out(text)):
        assert end - start <= LONGEST
        assert text[start:end] == text[start:end].strip()
        assert not re.search(r"[\n\r\f]", text[start:end])


@given(TEXTS)
@example("x" * WHOLE_LINE + "\n" + "y" * (WHOLE_LINE + 1))
def test_a_line_that_is_not_long_is_one_segment(text: str) -> None:
    whole = {line for line in lines(text) if line[1] - line[0] <= WHOLE_LINE}
    assert whole <= set(segments(lay_out(text)))


@given(TEXTS)
@example("one two " * 400)
def test_a_long_line_is_cut_between_sentences_or_words_if_there_are_any(text: str) -> None:
    begins = {start for start, _ in lines(text)}
    for start, _ in segments(lay_out(text)):
        if start not in begins and not text[start - 1].isspace():
            assert " " not in text[start - LONGEST // 2 : start]


@settings(max_examples=30)
@given(st.lists(st.sampled_from(["Sales rose.", "Why? No!", "It fell; then:", "x" * 200 + "."]), min_size=40))
def test_sentences_of_a_long_line_stay_whole(sentences: list[str]) -> None:
    text = "  ".join(sentences)
    ends = [found.end() for found in re.finditer(r"[.!?;:](?=\s|$)", text)]
    begins = [0, *(found.end() for found in re.finditer(r"[.!?;:]\s+(?=\S)", text))]
    assert segments(lay_out(text)) == list(zip(begins, ends, strict=True))


@pytest.mark.parametrize("text", ["", " ", "\n\f\r\n\t \x1c\u2028"])
def test_a_text_of_white_space_has_no_segments(text: str) -> None:
    layout = lay_out(text)
    assert (
        segments(layout)
        == layout.rows.tolist()
        == layout.blocks.tolist()
        == layout.window_ends.tolist()
        == []
    )


@pytest.mark.parametrize("word", ["x", "ab "])
def test_one_line_of_five_megabytes(word: str) -> None:
    text = word * (5_000_000 // len(word))
    layout = lay_out(text)
    lengths = layout.ends - layout.starts
    assert lengths.max() <= LONGEST
    assert lengths[:-1].min() >= LONGEST // 2
    assert layout.starts[0] == 0
    assert layout.ends[-1] == len(text.rstrip())


@given(TEXTS)
def test_the_same_text_has_the_same_layout_and_types(text: str) -> None:
    first, second = lay_out(text), lay_out(text)
    types = {"rows": np.bool_, "statements": np.int8}
    for name in Layout.__slots__:
        values = getattr(first, name)
        assert values.dtype == types.get(name, np.int32)
        assert values.tobytes() == getattr(second, name).tobytes()
        assert name == "blocks" or len(values) == len(first.starts)


# -- windows and blocks


@given(TEXTS)
def test_a_window_holds_all_the_whole_segments_that_fit(text: str) -> None:
    layout = lay_out(text)
    starts, ends = layout.starts.tolist(), layout.ends.tolist()
    for first, last in enumerate(layout.window_ends.tolist()):
        assert first < last
        assert ends[last - 1] - starts[first] <= LONGEST
        assert last == len(starts) or ends[last] - starts[first] > LONGEST


@given(TEXTS)
def test_blocks_partition_the_segments_and_are_closed_once_they_are_full(text: str) -> None:
    layout = lay_out(text)
    starts, ends, blocks = layout.starts.tolist(), layout.ends.tolist(), layout.blocks.tolist()
    assert blocks[:1] == [0] * bool(starts)
    assert blocks == sorted(set(blocks))
    for first, last in pairwise([*blocks, len(starts)]):
        assert first < last
        assert last == len(starts) or ends[last - 1] - starts[first] > BLOCK
        assert last - 1 == first or ends[last - 2] - starts[first] <= BLOCK


# -- rows and headers


@pytest.mark.parametrize(
    ("line", "is_row"),
    [
        ("Net sales | $ 5 | $ 4", True),
        (" | 2019 | 2018", True),
        ("name | position", True),  # of bars alone
        ("Net sales  $ 5  $ 4", True),
        ("Net sales\t5\t4", True),
        ("Total assets 5,012 4,870", False),
        ("Net sales  of the year", False),  # a gap, but no digit
        ("We had  5 plants and sold  4 of them, " * 6, False),  # justified prose
        ("a |b| c 5", False),
    ],
)
def test_rows(line: str, is_row: bool) -> None:
    assert lay_out(f"Prose.\n{line}\nProse.").rows.tolist() == [False, is_row, False]


def headers_one_by_one(rows: list[bool], lengths: list[int]) -> list[int]:
    """A table's rows have at most two short lines between them, and such lines belong to it too."""
    headers = []
    for at in range(len(rows)):
        back, header = at, -1
        while back >= 0:
            between = 0
            while back >= 0 and not rows[back] and between < 3 and lengths[back] < 60:
                between, back = between + 1, back - 1
            if back < 0 or not rows[back] or between > 2:
                break
            header, back = back, back - 1
        headers.append(header)
    return headers


@given(
    st.lists(st.sampled_from(["a | 1", "b | 2", "Label", "x" * 59, "x" * 60]), max_size=30).map("\n".join)
    | TEXTS
)
def test_headers_are_the_first_rows_of_tables(text: str) -> None:
    layout = lay_out(text)
    lengths = (layout.ends - layout.starts).tolist()
    assert layout.headers.tolist() == headers_one_by_one(layout.rows.tolist(), lengths)
    assert all(header >= 0 for header in layout.headers[layout.rows].tolist())


# -- statements

ROWS = "".join(f"Item number {at} | {at} | {at}\n" for at in range(12))


@pytest.mark.parametrize(
    ("heading", "kind"),
    [
        ("CONSOLIDATED BALANCE SHEETS", BALANCE),
        ("Consolidated Balance Shee ts (in millions)", BALANCE),
        ("Statement of Financial Position", BALANCE),
        ("Consolidated statements of financial condition", BALANCE),
        ("CONSOLIDATED STATEMENTS OF OPERATIONS", INCOME),
        ("Statements of Consolidated Income", INCOME),
        ("consolidated statement of earnings", INCOME),
        ("Consolidated Statements of Cash Flows", CASH),
        ("STATEMENT OF CONSOLIDATED CASH FLOW", CASH),
        ("Consolidated Statements of Comprehensive Income", 0),
        ("Consolidated Statements of Shareholders' Equity", 0),
        ("Notes to Consolidated Balance Sheets", 0),
        ("Consolidated Balance Sheets 47", 0),  # of a table of contents
        ("Item 8 | Statements of operations", 0),
        ("Our balance sheets are strong.", 0),
        ("The balance sheet is what we look at first " * 3, 0),
    ],
)
def test_statements_are_known_by_their_headings(heading: str, kind: int) -> None:
    layout = lay_out(f"Prose before.\n{heading}\n{ROWS}")
    assert layout.statements.tolist()[0] == 0
    assert set(layout.statements.tolist()[1:]) == {kind}


def test_a_heading_without_rows_opens_no_statement() -> None:
    assert not lay_out("CONSOLIDATED BALANCE SHEETS\n" + "Words only.\n" * 30 + ROWS).statements.any()
    assert not lay_out("CONSOLIDATED BALANCE SHEETS\n" + ROWS[:100]).statements.any()


def test_a_statement_ends_after_some_lines_or_where_the_next_begins() -> None:
    text = f"BALANCE SHEETS\n{ROWS * 3}STATEMENTS OF CASH FLOWS\n{ROWS * 10}"
    kinds = lay_out(text).statements.tolist()
    assert kinds[:37] == [BALANCE] * 37
    assert kinds[37:] == [CASH] * 60 + [0] * (len(kinds) - 97)


@given(TEXTS)
def test_statements_are_known_codes(text: str) -> None:
    assert set(lay_out(text).statements.tolist()) <= {0, BALANCE, INCOME, CASH}


# -- lost escapes


@given(
    TEXTS
    | st.lists(st.sampled_from(["201", "2019s", "201c", "201d", " ", "x", "1", ".", "2014"])).map("".join)
)
@example("2019s")
@example("a 201d")
def test_cleaning_keeps_every_place_and_blanks_remains_only(text: str) -> None:
    cleaned = clean(text)
    assert len(cleaned) == len(text)
    changed = [at for at in range(len(text)) if cleaned[at] != text[at]]
    assert all(cleaned[at] == " " for at in changed)
    remains = (range(*found.span(1)) for found in re.finditer("(?=(201[3489cd]s?))", text))
    assert set(changed) <= set().union(*remains)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("the company 2019s", "the company      "),
        ("2014continued", "    continued"),
        ("201csecurity 201d)", "    security 201d)"),
        ("201csecurity 201d", "    security     "),
        ("201cSecurity", "201cSecurity"),  # the texts with such remains are in lower case
        ("12019s", "12019s"),
        ("2018q4 2013h1", "2018q4 2013h1"),
        ("2014quarterly", "    quarterly"),
        ("2012s 2017s", "2012s 2017s"),
    ],
)
def test_remains(given: str, expected: str) -> None:
    assert clean(given) == expected


@given(
    st.integers(1900, 2099),
    st.sampled_from(
        ["in {}.", "{}", "({})", "{},", "{}-{}", "{}'s", "FY{} x", "{}/10", "$ {}", "{}Q1", "{} s", "{}\n"]
    ),
)
def test_years_stay(year: int, around: str) -> None:
    text = around.format(year, year + 1)
    assert clean(text) == text


def test_a_statement_is_found_behind_a_character_that_grows_in_lower_case() -> None:
    """One character becomes two, which would put all places behind it off."""
    rows = "".join(f"Item {number} | {number}00 | {number}01\n" for number in range(12))
    statement = f"CONSOLIDATED BALANCE SHEETS\n{rows}"
    for before in ("", "\u0130\n", "\u0130\u00c4\n" * 40):
        layout = lay_out(f"{before}{statement}")
        assert layout.statements[-13:].tolist() == [BALANCE] * 13
        assert not layout.statements[:-13].any()
