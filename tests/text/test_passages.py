import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridrank.errors import InputError
from hybridrank.records import Passage
from hybridrank.text.passages import split_document, split_documents, split_spans

TEXTS = st.text(st.characters(exclude_categories=())) | st.text(
    st.sampled_from("ab. !\n\r\t\x00\u2028。」é\u0301क\u093f\U0001f469\u200d\U0001f3fd\ud800"), max_size=200
)
LIMITS = st.integers(1, 40)


@given(TEXTS, LIMITS)
def test_passages_are_what_stands_in_the_text_at_their_offsets(text: str, limit: int) -> None:
    for passage in split_document(text, "d", max_chars=limit):
        assert passage.text == text[passage.start : passage.start + len(passage.text)]
        assert passage.end == passage.start + len(passage.text)
        assert 1 <= len(passage.text) <= limit


@given(TEXTS, LIMITS)
def test_all_but_white_space_lies_in_exactly_one_stretch(text: str, limit: int) -> None:
    spans = split_spans(text, limit)
    edges = [0, *(edge for span in spans for edge in span), len(text)]
    assert edges == sorted(edges)
    between = [text[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True)]
    assert not "".join(between).strip()
    assert all(text[start:end] == text[start:end].strip() for start, end in spans)


@given(TEXTS)
def test_what_fits_is_not_cut(text: str) -> None:
    spans = split_spans(text, max(1, len(text)))
    assert [text[start:end] for start, end in spans] == ([text.strip()] if text.strip() else [])


@given(st.text(st.sampled_from("ab \r\n"), max_size=100), LIMITS)
def test_a_line_break_of_two_characters_is_never_parted(text: str, limit: int) -> None:
    edges = {edge for span in split_spans(text, limit) for edge in span}
    assert not any(text[edge - 1 : edge + 1] == "\r\n" for edge in edges)


@given(st.text(st.sampled_from("aक\u093f\u0301"), max_size=60))
def test_marks_stay_with_their_letter_where_there_is_room(text: str) -> None:
    limit = 12
    for start, _ in split_spans(text, limit)[1:]:
        is_mark = unicodedata.category(text[start])[0] == "M"
        assert not is_mark or all(
            unicodedata.category(char)[0] == "M" for char in text[start - limit + 1 : start]
        )


@pytest.mark.parametrize(
    ("text", "limit", "pieces"),
    [
        ("First part.\n\nSecond. Third.", 24, ["First part.", "Second. Third."]),
        ("A line of words\nand one more of them", 30, ["A line of words", "and one more of them"]),
        ("One two. Three four five", 16, ["One two.", "Three four five"]),
        ("T.\n\nlong words without a stop", 20, ["T.\n\nlong words", "without a stop"]),
        ("one two three", 8, ["one two", "three"]),
        ("ab cdefghijkl", 8, ["ab", "cdefghij", "kl"]),
        ("exactly ten", 7, ["exactly", "ten"]),
        ("abcdefgh", 3, ["abc", "def", "gh"]),
        ("东京。大阪。京都", 7, ["东京。大阪。", "京都"]),
        ("x\r\n\r\ny", 3, ["x", "y"]),
        ("aaae\u0301b", 4, ["aaa", "e\u0301b"]),
        ("a\u0301\u0301\u0301\u0301", 2, ["a\u0301", "\u0301\u0301", "\u0301"]),
        ("ab\U0001f469\u200d\U0001f52c", 3, ["ab", "\U0001f469\u200d\U0001f52c"]),
        ("ab\U0001f44b\U0001f3fd", 3, ["ab", "\U0001f44b\U0001f3fd"]),
        (" \n ", 3, []),
    ],
)  # fmt: skip
def test_cuts_at_the_best_place(text: str, limit: int, pieces: list[str]) -> None:
    assert [text[start:end] for start, end in split_spans(text, limit)] == pieces


def test_a_giant_line_is_cut_hard() -> None:
    spans = split_spans("x" * 1_000_003, 1000)
    assert len(spans) == 1001
    assert spans[-1] == (1_000_000, 1_000_003)


def test_passages_know_their_document() -> None:
    documents = [Passage(id="d", text="one two", metadata={"year": 2018}), Passage(id="e", text="")]
    assert list(split_documents(documents, max_chars=4)) == [
        Passage(id="d:0", text="one", document_id="d", start=0, metadata={"year": 2018}),
        Passage(id="d:4", text="two", document_id="d", start=4, metadata={"year": 2018}),
    ]


def test_a_passage_needs_room() -> None:
    with pytest.raises(InputError, match="max_chars is 0"):
        split_spans("text", 0)


@given(st.text(st.sampled_from("ab \f\n."), max_size=80), LIMITS)
def test_pages_are_kept_apart(text: str, limit: int) -> None:
    found = split_document(text, "d", max_chars=limit, metadata={"file": "f"}, pages=True)
    for passage in found:
        assert text[passage.start : passage.end] == passage.text
        assert "\f" not in passage.text
        page = text.count("\f", 0, passage.start) + 1
        assert passage.metadata == ({"file": "f", "page": page} if "\f" in text else {"file": "f"})
        assert passage.id == f"d:{passage.start}"
    shown = "".join(char for passage in found for char in passage.text if not char.isspace())
    assert shown == "".join(char for char in text if not char.isspace())


def test_without_pages_a_form_feed_is_white_space_like_other() -> None:
    (passage,) = split_document("one\ftwo", "d")
    assert (passage.text, passage.metadata) == ("one\ftwo", {})
