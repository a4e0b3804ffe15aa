from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hybridrank.tasks.finance.layout import BALANCE, CASH, INCOME
from hybridrank.tasks.finance.question import ParsedQuestion, QuestionParser
from hybridrank.text.tokens import Tokenizer

PARSE = QuestionParser(Tokenizer())
ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=60)
PIECES = st.sampled_from(
    [
        *(
            "What was ",
            "the capex ",
            "of 3M",
            "in FY18",
            " FY 2019",
            "2018",
            "2,019",
            "? ",
            ". ",
            "Answer in USD. ",
            "\n",
        ),
        *(
            "Q2 ",
            "third quarter ",
            "\u017fecond quarter ",
            "f\u0131rst quarter ",
            "2019 annual report",
            "10-K",
            "P&G",
            "AT&T's",
        ),
        *(
            "balance sheet",
            "net income ",
            "\ud800",
            "\x00",
            "\U0001f600",
            "東京",
            "if it is not relevant ",
            "2019s",
            "\u0662",
        ),
    ]
)
QUESTIONS = ANY_TEXT | st.lists(PIECES, max_size=15).map("".join)


@given(QUESTIONS)
def test_any_text_is_a_question(text: str) -> None:
    parsed = PARSE(text)
    assert all(term and 0 < weight <= 1 for term, weight in parsed.terms.items())
    assert all(1980 <= year <= 2049 for year in parsed.years)
    assert parsed.report_year == 0 or 1900 <= parsed.report_year <= 2099
    assert bool(parsed.report_year) or not parsed.years
    assert parsed.quarter in range(5)
    assert parsed.statements <= {BALANCE, INCOME, CASH}
    assert all(name == name.lower() for name in parsed.grams | parsed.capitals)
    assert QuestionParser(Tokenizer())(text) == parsed


@pytest.mark.parametrize(
    "text",
    [
        *("", "?", "the of and", "FY" + " " * 100_000 + "x", "2019" + " " * 100_000, "year" + "\n" * 100_000),
        *(
            "FY20 " * 20_000,
            "not " * 25_000,
            "\U0001f600" * 50_000,
            "\ud800" * 100_000,
            "\x00" * 100_000,
            "x" * 100_000,
        ),
    ],
    ids=repr,
)
def test_long_and_empty_questions(text: str) -> None:
    parsed = PARSE(text)
    assert parsed == PARSE(text[:8000])
    assert len(parsed.terms) <= 10


@settings(max_examples=10)
@given(st.text(max_size=20), st.text(max_size=20))
def test_what_is_too_long_for_a_question_is_not_looked_at(text: str, rest: str) -> None:
    assert PARSE(text.ljust(8000) + rest) == PARSE(text.ljust(8000))


# -- years


@given(
    st.integers(0, 99),
    st.sampled_from(["FY{}", "fy{} capex", "FY '{}?", "F.Y. {}", "FY\u2019{}", "the Fy  ' {},"]),
)
@example(49, "FY{}")
@example(50, "FY{}")
def test_two_digits_are_a_year_of_this_century_or_the_last(digits: int, around: str) -> None:
    year = 2000 + digits if digits < 50 else 1900 + digits
    parsed = PARSE(around.format(f"{digits:02}"))
    assert parsed.report_year == year
    assert parsed.years == ((year,) if 1980 <= year <= 2049 else ())


@pytest.mark.parametrize(
    ("text", "report_year"),
    [
        ("What was revenue?", 0),
        ("revenue in 2015 against 2017 and 2016", 2017),
        ("FY2016 revenue, with payments due in 2021", 2016),
        ("from FY15 to FY2017", 2017),
        ("the 2014 annual report on FY2016 and 2021", 2014),
        ("in the 2014 10-K, 2015 10Q, 2013 filing, of 2019", 2015),
        ("the 2014   quarterly\treport of 2019", 2014),
        ("2014 reported sales of 2019", 2019),
        ("as of december 31, 2009", 2009),
        ("in 2018q4", 2018),
        ("$ 2,019 and 2019.5 and 12019", 0),
        ("the year 1850", 0),
        ("the company 2019s debt", 0),  # the remains of an apostrophe
    ],
)
def test_the_year_of_the_report(text: str, report_year: int) -> None:
    assert PARSE(text).report_year == report_year


@pytest.mark.parametrize(
    ("text", "quarter"),
    [
        ("Q1 sales", 1),
        ("in q4 2020", 4),
        ("the Second   Quarter", 2),
        ("third-quarter results", 3),
        ("FOURTH\nQUARTER", 4),
        ("the \u017fecond quarter", 2),  # a long s is an s to a search that ignores case
        ("the f\u0131rst quarter", 1),  # and an i without a dot an i
        ("Q2 and the first quarter", 2),
        ("Q5, FAQ1, Q12, fifth quarter, first quarters", 0),
    ],
)
def test_quarters(text: str, quarter: int) -> None:
    assert PARSE(text).quarter == quarter


# -- words


def test_weights_of_words() -> None:
    terms = PARSE("What is the average goodwill? Please give percentages of goodwill and inventories.").terms
    assert terms["goodwil"] == 1.0
    assert terms["averag"] == 0.5  # an operation
    assert terms["inventori"] == 0.25  # in an instruction
    assert terms["percentag"] == 0.125  # an operation in an instruction
    assert "the" not in terms


@pytest.mark.parametrize(
    ("text", "weight"),
    [
        ("Inventories fell.", 1.0),
        ("Give inventories in USD.", 0.25),
        ("Give inventories in USD?", 1.0),
        ("Answer the question! here's what we need: inventories", 1.0),
        ("  respond with inventories", 0.25),
        ("If inventories are not a relevant metric, say so.", 0.25),
        ("If inventories isn\u2019t\nuseful then explain.", 0.25),
        ("If inventories fall, what then.", 1.0),
        ("Use inventories. Inventories?", 1.0),  # the heaviest counts
    ],
)
def test_instructions_count_less(text: str, weight: float) -> None:
    assert PARSE(text).terms["inventori"] == weight


def test_wordings_of_reports_are_added() -> None:
    parsed = PARSE("FY2018 capex?")
    assert parsed.statements == {CASH}
    assert parsed.terms["capex"] == parsed.terms["2018"] == 1.0
    assert parsed.terms["purchas"] == parsed.terms["equip"] == 0.6
    assert PARSE("the free cash flow").terms["net"] == 0.2  # an operation's word, weak
    assert PARSE("purchases, capex").terms["purchas"] == 1.0
    assert PARSE("return on assets and the cash flow statement").statements == {BALANCE, INCOME, CASH}


# -- names


def test_names_in_a_question() -> None:
    parsed = PARSE("Did Best Buy's AT&T deal beat P&G and MGM and PnC and CocaCola at 3M\u2019s?")
    assert {"best", "buy", "mgm", "3m"} <= parsed.name_terms
    assert {"best", "bestbuy", "buyatandt", "atandt", "mgm", "3m"} <= parsed.grams
    assert not {"at", "and", "did"} & parsed.grams  # stop words alone
    assert parsed.capitals == {"at", "mgm", "pc", "pg"}


@given(st.lists(st.sampled_from(["zorvan", "Quill", "tarn"]), min_size=1, max_size=5), st.booleans())
@example(["zorvan"], True)
def test_a_name_is_found_written_in_one_with_and_without_possessive(
    words: list[str], possessive: bool
) -> None:
    name = " ".join(words) + "'s" * possessive
    parsed: ParsedQuestion = PARSE(f"What did {name} earn?")
    assert "".join(words).lower() in parsed.grams
    assert {word.lower() for word in words} <= parsed.name_terms


# -- the words in order


def test_the_sequence_is_the_question_s_own_terms_in_order() -> None:
    parsed = PARSE("What was the capex of 3M in 2018? And the capex in 2017? Answer in USD millions.")
    expected = PARSE.tokenizer.terms("What was the capex of 3M in 2018? And the capex in 2017?")
    assert list(parsed.sequence)[: len(expected)] == expected
    assert parsed.sequence.count(*PARSE.tokenizer.terms("capex")) == 2
    assert {*PARSE.tokenizer.terms("USD millions")} <= set(parsed.sequence)  # an instruction's, too
    assert "purchas" in parsed.terms  # which the lexicon adds
    assert "purchas" not in parsed.sequence


@given(QUESTIONS)
def test_the_sequence_holds_terms_of_the_question_alone(text: str) -> None:
    parsed = PARSE(text)
    assert set(parsed.sequence) <= parsed.terms.keys()
    assert set(PARSE.tokenizer.terms(parsed.text)) == set(parsed.sequence)
    added = parsed.terms.keys() - set(parsed.sequence)
    assert all(parsed.terms[term] < 1 for term in added)


def test_the_text_is_the_question_as_it_was_read() -> None:
    assert PARSE("FY18 sales of the company 2019s mill").text == "2018 sales of the company       mill"
    assert len(PARSE("sales " * 9000).text) == 8000
