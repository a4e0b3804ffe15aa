from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybridrank.tasks.finance.profile import Profile, name_grams, profile_report, years_in
from hybridrank.text.tokens import Tokenizer

TOKENIZER = Tokenizer()
ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=60)
NAME_WORDS = st.sampled_from(["Zorvan", "Quill", "Tarn", "3M", "Nestlé", "Brick", "Works", "A1"])
COVER_LINES = st.sampled_from(
    [
        *(
            "FORM 10-K",
            "Form 10-Q",
            "For the fiscal year ended December 31, 2019",
            "ZORVAN QUILL CORP.",
            "Tarn, Inc",
        ),
        *(
            "(Exact name of registrant as specified in its charter)",
            "1 Mill Road, Ohio",
            "\x0c",
            "\r",
            "x" * 130,
        ),
        *("fiscal year", "ended January 3", ", 2018", "2015", "", "\ud800"),
    ]
)
TEXTS = ANY_TEXT | st.lists(COVER_LINES, max_size=12).map("\n".join)


def profile(text: str, document_id: str = "x") -> Profile:
    return profile_report(document_id, text, TOKENIZER)


# -- any report has a profile


@given(ANY_TEXT, TEXTS)
def test_a_profile_survives_json(document_id: str, text: str) -> None:
    found = profile(text, document_id)
    assert Profile.from_json(json.loads(json.dumps(found.to_json()))) == found
    assert profile_report(document_id, text, Tokenizer()) == found


@settings(max_examples=30)
@given(
    st.builds(
        Profile,
        name=ANY_TEXT,
        aliases=st.lists(st.lists(ANY_TEXT).map(tuple)).map(tuple),
        joined=st.lists(ANY_TEXT).map(tuple),
        initials=st.lists(ANY_TEXT).map(tuple),
        fiscal_year=st.integers(),
        form=ANY_TEXT,
        quarter=st.integers(),
    )
)
def test_any_profile_survives_json(given: Profile) -> None:
    assert Profile.from_json(json.loads(json.dumps(given.to_json()))) == given


@given(ANY_TEXT, TEXTS)
def test_what_a_profile_says_is_in_range(document_id: str, text: str) -> None:
    found = profile(text, document_id)
    assert found.fiscal_year == 0 or 1899 <= found.fiscal_year <= 2099
    assert found.form in ("", "10-K", "10-Q", "8-K")
    assert found.quarter in range(5)
    assert found.name in text
    assert all(alias and all(alias) for alias in found.aliases)
    assert all(re.fullmatch("[a-z0-9]+", name) for name in (*found.joined, *found.initials))
    for names in (found.aliases, found.joined, found.initials):
        assert len(set(names)) == len(names)


@given(TEXTS, TEXTS)
def test_only_the_first_pages_are_read(text: str, rest: str) -> None:
    first = text.ljust(8000, "\n")
    assert profile(first + rest) == profile(first) == profile(text)


@pytest.mark.parametrize(
    "text", ["", "\x00", "\ud800" * 9000, "year" + " " * 9000, "x" * 9000, "(exact name of registrant"]
)
def test_a_text_without_a_cover_has_an_empty_profile(text: str) -> None:
    empty = Profile(name="", aliases=(), joined=(), initials=(), fiscal_year=0, form="", quarter=0)
    assert profile(text, "2019_10K") == empty


# -- fiscal years


@pytest.mark.parametrize(
    ("cover", "year"),
    [
        ("For the fiscal year ended December 31, 2019", 2019),
        ("FOR THE FISCAL YEAR ENDED: DECEMBER 31, 2019", 2019),
        ("for the fiscal year ended december 31 , 2019", 2019),  # tokenized
        ("For the fiscal\nyear  ended\r\nDecember\t31,\n2019", 2019),
        ("For the fiscal year ending Dec. 31, 2019", 2019),
        ("For the year ended June 30, 2019. The fiscal year 2018", 2019),
        ("for the fiscal year 2019", 2019),
        ("For the quarterly period ended March 31, 2019", 2019),
        ("For the quarter ended March 31, 2019", 2019),
        ("For the transition period from 1 to 2. For the fiscal year ended May 31, 2019", 2019),
        ("Fiscal year end 2019", 2019),
        ("For the fiscal year ended February 2, 2019 (fiscal 2018)", 2019),
        ("For the fiscal year ended January 28, 2023", 2023),
        ("For the fiscal year ended January 2, 2021", 2020),
        ("For the fiscal year ended Jan. 2, 2021", 2020),
        ("For the fiscal year ended December 31, 1999", 1999),
        ("August 14, 2023; in August 2023 and in 2022", 2023),  # no period: the year named most often
        ("In 2022 and in 2023", 2023),  # as often: the later
        ("For the period 201912 items", 0),
        ("Period ended (unaudited)", 0),
        ("", 0),
    ],
)
def test_fiscal_years(cover: str, year: int) -> None:
    assert profile(cover).fiscal_year == year


@given(
    st.integers(1, 31),
    st.integers(1990, 2049),
    st.sampled_from(["fiscal year ended", "52 weeks of the year ended"]),
)
def test_a_year_that_ends_in_the_first_week_of_january_is_the_year_before(
    day: int, year: int, words: str
) -> None:
    assert profile(f"For the {words} January {day}, {year}").fiscal_year == (year - 1 if day <= 7 else year)
    assert profile(f"For the {words} February {day}, {year}").fiscal_year == year


# -- forms and quarters


@pytest.mark.parametrize(
    ("cover", "form"),
    [
        ("FORM 10-K", "10-K"),
        ("Form 10 - k", "10-K"),
        ("form 10k/a", "10-K"),
        ("FORM\n10-Q\nas in our Form 10-K", "10-Q"),
        ("Form 8-K, with the Form 10-Q", "8-K"),
        ("News release", ""),
        ("Form 110-K, Form 10-KL, reform-10", ""),
    ],
)
def test_forms(cover: str, form: str) -> None:
    assert profile(cover).form == form


@pytest.mark.parametrize(
    ("document_id", "quarter"),
    [
        ("ZORVAN_2023Q2_10Q", 2),
        ("zorvan_2023q1_earnings", 1),
        ("ZORVAN_Q3_2023", 3),
        ("Q4-zorvan", 4),
        ("zorvan.2020.q4", 4),
        ("ZORVAN_2023_10K", 0),
        ("ZORVAN_2023Q5", 0),
        ("FAQ2_2020", 0),
        ("Q22", 0),
        ("", 0),
    ],
)
def test_quarters_come_from_the_id(document_id: str, quarter: int) -> None:
    assert profile("For the first quarter of 2023", document_id).quarter == quarter


# -- names


@given(
    st.lists(NAME_WORDS, min_size=1, max_size=5), st.sampled_from([", Inc.", " Corporation", " , inc .", ""])
)
def test_the_line_above_the_mark_is_the_name(words: list[str], suffix: str) -> None:
    name = " ".join(words) + suffix
    found = profile(
        f"FORM 10-K\n\n  {name}  \n\n1234\n  (Exact Name of\nRegistrant as specified in its charter)"
    )
    assert found.name == name
    assert found.aliases[0] == tuple(dict.fromkeys(TOKENIZER.terms(" ".join(words))))


@pytest.mark.parametrize(
    ("cover", "name"),
    [
        ("UNITED STATES\nFORM 10-K\nZorvan Quill Inc", "Zorvan Quill Inc"),
        (
            "form 10-k\nannual report\n2019\nzorvan quill technologies , inc .",
            "zorvan quill technologies , inc .",
        ),
        (
            "A\n\n\nb\nc\nd\nZorvan\nZorvan Holdings, L.L.C.",
            "Zorvan Holdings, L.L.C.",
        ),  # a suffix, further down
        ("Zorvan (exact name of registrant as specified)", "Zorvan"),
        ("Form\n10-K\n2019\nZorvan\n$ 5\nof the company", "Zorvan"),  # among the first four lines
        ("Form\n10-K\n2019\n$ 5\nZorvan\nof the company", ""),
        ("one two three four five six seven eight zorvan nine ten", ""),  # too many words for a name
        ("x\nx\n" + "x" * 130 + "\nZorvan, Inc.", ""),  # prose: the cover is over
        ("\n" * 3001 + "Zorvan, Inc.", ""),
    ],
)
def test_names(cover: str, name: str) -> None:
    assert profile(cover, "2019").name == name


def test_aliases_joined_names_and_initials() -> None:
    cover = "BANK OF THE ZORVAN & QUILL'S, INC.\n(Exact name of registrant as specified in its charter)"
    found = profile(cover, "ZQ-BANK_2019_10K")
    assert found.aliases == (("bank", "zorvan", "quill"), ("zq", "bank"))
    assert found.joined == ("bankofzorvanandquill", "zqbank")
    assert found.initials == ("bozaq", "bzq")
    assert profile("Zorvan Quill").initials == ("zq",)
    assert profile("Zorvan").initials == profile("B C D E F G").initials == ()


def test_a_random_id_names_nobody_wrongly() -> None:
    found = profile("Zorvan, Inc.", "7f3a9c")
    assert found.aliases == (("zorvan",),)
    assert found.joined == ("7f3a9c",)


# -- grams and years


@given(
    st.lists(st.sampled_from(["Best", "Buy's", "&", "3M", "é", "x-y", "1,2"]), max_size=8).map(" ".join),
    st.integers(1, 6),
)
def test_grams_are_all_runs_of_words(text: str, longest: int) -> None:
    words = re.findall("[a-z0-9]+", re.sub("'s", "", text.lower()).replace("&", " and "))
    runs = [
        "".join(words[at:end])
        for at in range(len(words))
        for end in range(at + 1, len(words) + 1)
        if end - at <= longest
    ]
    assert sorted(name_grams(text, longest)) == sorted(runs)


@given(
    st.lists(st.integers(1, 99_999), max_size=6),
    st.sampled_from([" and ", "-", "/", " (", "; ", "\n"]),
)
def test_years_are_those_from_1980_to_2049(numbers: list[int], between: str) -> None:
    text = between.join(map(str, numbers))
    assert years_in(text) == [number for number in numbers if 1980 <= number <= 2049]


@given(st.integers(1980, 2049), st.sampled_from(["1{}", "{}1", "1,{}", "{},5", "{}.5", "1.{}", "{},000"]))
def test_parts_of_other_numbers_are_no_years(year: int, number: str) -> None:
    assert years_in(f"a {number.format(year)} b") == []


@given(
    st.integers(1980, 2049),
    st.sampled_from(["FY{}", "{}, and", "{}. Then", "{}'s", "Q1{}", "{}Q1", "({})", "{},\n5"]),
)
def test_years_stand_beside_marks_and_letters(year: int, around: str) -> None:
    expected = [] if around == "Q1{}" else [year]
    assert years_in(around.format(year)) == expected


@given(ANY_TEXT)
def test_any_text_has_years_in_range(text: str) -> None:
    assert all(1980 <= year <= 2049 for year in years_in(text))
