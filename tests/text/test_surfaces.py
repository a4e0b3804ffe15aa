import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridrank.text.folding import fold
from hybridrank.text.surfaces import find_surfaces, is_unspaced, iter_surfaces, unspaced_spans

NUMBERS_AND_MARKS = st.text(st.sampled_from("0123456789akmst-,.'’ éक्ष東"), max_size=20)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("net sales", ["net", "sales"]),
        ("snake_case, half-life/a", ["snake", "case", "half", "life", "a"]),
        ("company's companies' l'or", ["company's", "companies", "l", "or"]),
        ("o'brien's don'ts", ["o", "brien's", "don", "ts"]),
        ("$ 1,234.5", ["1,234.5"]),
        ("$1,234,567 (2,345.67)", ["1,234,567", "2,345.67"]),
        ("1,2,3 12,34 1234,567 1,2345", ["1", "2", "3", "12", "34", "1234", "567", "1", "2345"]),
        ("in 2009, 2010.", ["in", "2009", "2010"]),
        ("192.168.0.1 v1.2 .5", ["192.168.0.1", "v1.2", "5"]),
        ("3m 2.5bn 1,000m q2 fy2018", ["3m", "2.5bn", "1,000m", "q2", "fy2018"]),
        ("10-k 10-k's 8-k/a form-10-q 10-k405", ["10-k", "10-k's", "8-k", "a", "form", "10-q", "10", "k405"]),
        ("s-1 f-12 x-rays covid-19", ["s-1", "f-12", "x", "rays", "covid", "19"]),
        ("1-for-2 2018-12-31", ["1", "for", "2", "2018", "12", "31"]),
        ("1,000-k 3.5-k", ["1,000", "k", "3.5", "k"]),
        ("u.s. u.s.a u.sales j.p.morgan a.b1", ["u.s", "u.s.a", "u", "sales", "j.p", "morgan", "a", "b1"]),
        ("c c++ c# r&d at&t", ["c", "c", "c", "r", "d", "at", "t"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("naïve café's", ["naïve", "café's"]),
        ("東京2018年 iphone手機", ["東京", "2018", "年", "iphone", "手機"]),
        ("ภาษาไทย", ["ภาษาไทย"]),
        ("", []),
        ("?!… 🎉", []),
    ],
)  # fmt: skip
def test_finds(text: str, found: list[str]) -> None:
    assert find_surfaces(fold(text)) == found


@given(st.text() | NUMBERS_AND_MARKS)
def test_each_surface_stands_where_it_is_said_to(text: str) -> None:
    folded = fold(text)
    places = list(iter_surfaces(folded))
    assert [surface for _, surface in places] == find_surfaces(folded)
    assert all(folded[at : at + len(surface)] == surface for at, surface in places)


@given(st.text() | NUMBERS_AND_MARKS)
def test_every_letter_and_digit_lies_in_a_surface_or_a_cut_off_contraction(text: str) -> None:
    folded = fold(text)
    rest = list(folded)
    for at, surface in iter_surfaces(folded):
        rest[at : at + len(surface)] = " " * len(surface)
    assert not re.search(r"[a-z0-9\x80-\U0010ffff]", "".join(rest))


@given(st.text(st.sampled_from("abks019-.,' "), max_size=20))
def test_ascii_is_cut_alike_alone_and_beside_other_letters(text: str) -> None:
    assert find_surfaces(f"{text} é") == [*find_surfaces(text), "é"]


@given(st.text(st.sampled_from("東京都สวัสดี가ា\u3099"), min_size=1))
def test_units_of_an_unspaced_run_cover_it_once_and_pairs_join_neighbours(run: str) -> None:
    spans = list(unspaced_spans(run))
    units, pairs = spans[::2], spans[1::2]
    assert "".join(run[start:end] for start, end in units) == run
    assert pairs == [(start, end) for (start, _), (_, end) in pairwise(units)]


@pytest.mark.parametrize(
    ("surface", "unspaced"),
    [("東京", True), ("한국", True), ("ไทย", True), ("abc", False), ("हि", False), ("ጤና", False)],
)
def test_tells_scripts_without_spaces(surface: str, unspaced: bool) -> None:
    assert is_unspaced(surface) is unspaced


def test_both_classes_of_letters_together_are_all_of_unicode_outside_ascii() -> None:
    # Otherwise a letter could fall between them and vanish.
    lost = [code for code in range(0x80, 0x110000) if find_surfaces(chr(code)) != [chr(code)]]
    assert lost == []
