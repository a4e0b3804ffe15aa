from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hybridrank.tasks.finance import FinanceIndex
from hybridrank.tasks.finance.candidates import CandidateFinder, Candidates, Weights
from hybridrank.tasks.finance.layout import BALANCE, LONGEST, clean
from hybridrank.text.tokens import Tokenizer

Make = Callable[[Sequence[tuple[str, str]]], FinanceIndex]

TOKENIZER = Tokenizer()
WORDS = st.sampled_from(
    [
        *(
            "net sales",
            "total assets",
            "What was",
            "Corrimont",
            "Skerrivane Air",
            "Vendrosk",
            "2019",
            "FY2022",
            "Q1",
        ),
        *(
            "capex",
            "revenue",
            "water",
            "pilots",
            "the",
            "of",
            "backlog",
            "goodwill",
            "$ 5.4 million",
            "balance sheet",
        ),
        *(
            "unheard-of",
            "東京",
            "\ud800",
            "LIFO reserve",
            "lease payments after 2027",
            "inventories",
            "percentage",
        ),
    ]
)
QUESTIONS = st.lists(WORDS, min_size=1, max_size=8).map(" ".join)
ASKED = "What was the net income of Skerrivane Air in 2019, and what were its total assets?"


def find(index: FinanceIndex, question: str) -> Candidates:
    found = index.finder.find(question)
    assert found is not None
    return found


def window_text(index: FinanceIndex, found: Candidates, place: int) -> str:
    return clean(index.text(int(found.report[place])))[found.start[place] : found.end[place]]


def terms_of(index: FinanceIndex, found: Candidates) -> list[str]:
    return [index.reports.lexicon.terms[number] for number in found.terms.tolist()]


# -- windows, each counted again from its text


@settings(max_examples=25)
@given(QUESTIONS)
@example("the of")
@example("unheard-of words")
@example("2027")  # of a block without its neighbours
def test_frequencies_and_lengths_are_those_of_the_window_s_text(
    sample_index: FinanceIndex, question: str
) -> None:
    found = sample_index.finder.find(question)
    if found is None:
        assert not any(map(sample_index.reports.lexicon.id_of, sample_index.finder.parser(question).terms))
        return
    terms = terms_of(sample_index, found)
    assert found.frequencies.shape == found.in_header.shape == (len(terms), len(found))
    for place in range(0, len(found), 7):
        counts = Counter(TOKENIZER.terms(window_text(sample_index, found, place)))
        assert found.frequencies[:, place].tolist() == [counts[term] for term in terms]
        assert found.lengths[place] == counts.total() <= LONGEST


@settings(max_examples=25)
@given(QUESTIONS)
def test_headers_are_those_of_the_tables(sample_index: FinanceIndex, question: str) -> None:
    found = sample_index.finder.find(question)
    if found is None:
        return
    reports, terms = sample_index.reports, terms_of(sample_index, found)
    for place in range(0, len(found), 7):
        header, report = int(reports.headers[found.first[place]]), int(found.report[place])
        words: set[str] = set()
        if header >= 0:
            first = max(header - 2, int(reports.segment_ptr[report]))
            last = min(header + 2, int(reports.segment_ptr[report + 1]))
            text = clean(sample_index.text(report))
            words = {
                term
                for start, end in zip(reports.starts[first:last], reports.ends[first:last], strict=True)
                for term in TOKENIZER.terms(text[start:end])
            }
        assert found.in_header[:, place].tolist() == [term in words for term in terms]


@settings(max_examples=25)
@given(QUESTIONS)
def test_windows_are_those_of_the_segments_of_the_blocks(sample_index: FinanceIndex, question: str) -> None:
    found = sample_index.finder.find(question)
    if found is None:
        return
    reports = sample_index.reports
    blocks = list(dict.fromkeys(found.block.tolist()))
    segments = [at for block in blocks for at in range(*reports.block_starts[block : block + 2].tolist())]
    assert found.first.tolist() == segments
    assert found.last.tolist() == reports.window_ends[segments].tolist()
    assert found.start.tolist() == reports.starts[segments].tolist()
    assert found.end.tolist() == reports.ends[found.last - 1].tolist()
    assert found.report.tolist() == reports.report_of_block[found.block].tolist()
    assert found.statement.tolist() == reports.statements[segments].tolist()
    assert 0 < (found.end - found.start).min() <= (found.end - found.start).max() <= LONGEST
    scores = dict(zip(found.block.tolist(), found.block_score.tolist(), strict=True))
    assert blocks == sorted(scores, key=lambda block: (-scores[block], block))
    assert len(blocks) <= sample_index.finder.weights.depth
    assert len(found) == len(segments)


@settings(max_examples=15)
@given(QUESTIONS, QUESTIONS)
def test_a_question_leaves_nothing_behind(sample_index: FinanceIndex, question: str, other: str) -> None:
    first = sample_index.finder.find(question)
    sample_index.finder.find(other)
    again = CandidateFinder(sample_index.reports).find(question)
    assert (first is None) == (again is None)
    if first is not None and again is not None:
        for name in Candidates.__slots__:
            value = getattr(first, name)
            same = (
                value.tobytes() == getattr(again, name).tobytes()
                if name != "question"
                else value == again.question
            )
            assert same, name


# -- scores, worked out again one by one


def damping(index: FinanceIndex, term: int, names: list[float], report: int) -> float:
    named = index.reports.names.named_by(term)
    if named is None or not named[report]:
        return 1.0
    return 1 - 0.9 * min(1.0, 2 * names[report])


@pytest.mark.parametrize(
    "question", [ASKED, "By what percentage did net sales of water grow in FY2020?", "2027 Vendrosk Q1"]
)
def test_scores_add_up(sample_index: FinanceIndex, question: str) -> None:
    reports, weights = sample_index.reports, Weights()
    found = find(sample_index, question)
    names = reports.names.match(found.question).tolist()
    n_blocks = len(reports.block_starts) - 1
    df = {
        term: int(reports.blocks.indptr[term + 1] - reports.blocks.indptr[term])
        for term in found.terms.tolist()
    }
    idf = {term: math.log(1 + (n_blocks - count + 0.5) / (count + 0.5)) for term, count in df.items()}
    words = []
    for place in range(len(found)):
        length = weights.k1 * (1 - weights.b + weights.b * found.lengths[place] / reports.window_length)
        total = 0.0
        for row, (term, weight) in enumerate(
            zip(found.terms.tolist(), found.term_weights.tolist(), strict=True)
        ):
            tf = max(int(found.frequencies[row, place]), weights.header * bool(found.in_header[row, place]))
            share = weight * idf[term] * tf / (tf + length)
            total += share * damping(sample_index, term, names, int(found.report[place]))
        words.append(total)
    np.testing.assert_allclose(found.word_score, words, rtol=1e-9)
    share = (
        weights.statement
        * min(1.0, 2 * max(names))
        * np.isin(found.statement, list(found.question.statements))
    )
    score = found.word_score / max(words) + weights.block * found.block_score + share
    np.testing.assert_allclose(found.score, score, rtol=1e-9)


@pytest.mark.parametrize(
    "question", [ASKED, "By what percentage did net sales of water grow in FY2020?", "2027 Vendrosk Q1"]
)
def test_block_scores_add_up(sample_index: FinanceIndex, question: str) -> None:
    reports, weights = sample_index.reports, Weights()
    found = find(sample_index, question)
    names = reports.names.match(found.question).tolist()
    words: Counter[int] = Counter()
    for term, weight in zip(found.terms.tolist(), found.term_weights.tolist(), strict=True):
        some = slice(*reports.blocks.indptr[term : term + 2].tolist())
        for block, impact in zip(
            reports.blocks.docs[some].tolist(), reports.blocks.impacts[some].tolist(), strict=True
        ):
            words[block] += (
                weight * impact * damping(sample_index, term, names, int(reports.report_of_block[block]))
            )
    years = {0: 1.0, 1: weights.next_year, 2: weights.year_after_next, -1: weights.year_before}
    expected = {}
    for block, value in words.items():
        report = int(reports.report_of_block[block])
        profile = reports.profiles[report]
        later = profile.fiscal_year - found.question.report_year
        statement = reports.statements[reports.block_starts[block]] in found.question.statements
        expected[block] = (
            value / max(words.values())
            + weights.name * names[report]
            + weights.year * years.get(later, 0)
            + weights.annual * (profile.form == "10-K")
            + weights.quarter * (0 < found.question.quarter == profile.quarter)
            + weights.statement * min(1.0, 2 * max(names)) * statement
        )
    best = sorted(expected, key=lambda block: -expected[block])[: weights.depth]
    opened = dict(zip(found.block.tolist(), found.block_score.tolist(), strict=True))
    assert set(opened) == set(best)
    for block, score in opened.items():
        assert score == pytest.approx(expected[block], rel=1e-6)


# -- what raises a report


def block_score_of(index: FinanceIndex, question: str) -> dict[str, float]:
    found = index.finder.find(question)
    assert found is not None
    return {
        index.reports.ids[int(report)]: float(found.block_score[found.report == report].max())
        for report in found.report
    }


def annual(name: str, year: int, form: str = "10-K") -> str:
    cover = (
        f"FORM {form}\nFor the fiscal year ended December 31, {year}\n{name}\n(Exact name of registrant)\n"
    )
    return cover + "Some words.\n" * 5 + "Net sales rose.\n"


def test_the_year_asked_for_then_the_next_raise_a_report(make_index: Make) -> None:
    index = make_index([(f"z{year}", annual("Zorvan Inc.", year)) for year in range(2014, 2021)])
    scores = block_score_of(index, "Why did sales rise in fiscal year 2016?")
    order = sorted(scores, key=lambda name: -scores[name])
    assert order[:4] == ["z2016", "z2017", "z2018", "z2015"]
    assert len({round(scores[name], 6) for name in order[4:]}) == 1
    assert scores["z2018"] < scores["z2017"] < scores["z2016"]


def test_a_name_raises_its_reports_and_excludes_none(make_index: Make) -> None:
    index = make_index(
        [(f"x{at}", annual(name, 2018)) for at, name in enumerate(("Zorvan Inc.", "Quill Corp", "Tarn Co"))]
    )
    scores = block_score_of(index, "Quill sales")
    assert scores["x1"] > scores["x0"] == scores["x2"] > 0


def test_a_quarter_raises_its_reports(make_index: Make) -> None:
    index = make_index([(f"{at}_Q{at}", annual("Zorvan Inc.", 2018, "10-Q")) for at in (1, 2, 3)])
    scores = block_score_of(index, "sales in the second quarter")
    assert scores["2_Q2"] == pytest.approx(scores["1_Q1"] + 0.3)
    assert len(set(block_score_of(index, "sales").values())) == 1


def test_an_annual_report_goes_before_a_quarterly_one(make_index: Make) -> None:
    index = make_index([("q", annual("Zorvan Inc.", 2018, "10-Q")), ("k", annual("Zorvan Inc.", 2018))])
    scores = block_score_of(index, "sales")
    assert scores["k"] > scores["q"]


def test_a_statement_is_preferred_once_a_company_is_named(make_index: Make) -> None:
    table = "".join(f"Inventory of kind {at} | {at} | {at}\n" for at in range(12))
    cover = "FORM 10-K\nANNUAL REPORT\n2019\nUNITED STATES\n"
    headings = {"a": "CONSOLIDATED BALANCE RECORDS", "b": "CONSOLIDATED BALANCE SHEETS"}
    reports = [(name, f"{cover * 5}{heading}\n{table}") for name, heading in headings.items()]
    index = make_index([*reports, ("z", "Zorvan Inc.")])
    found = find(index, "inventory")
    assert BALANCE in found.statement[found.report == 1].tolist()
    assert not found.statement[found.report == 0].any()
    assert [found.score[found.report == report].max() for report in (0, 1)] == [found.score.max()] * 2
    found = find(index, "inventory of Zorvan")
    other_best, statement_best = (found.score[found.report == report].max() for report in (0, 1))
    assert statement_best >= other_best + 0.2
    found = find(index, "kind of Zorvan")  # which is no part of a balance sheet
    assert found.score[found.report == 0].max() == found.score[found.report == 1].max()


# -- the best windows alone


@settings(max_examples=25)
@given(QUESTIONS, st.integers(0, 40))
@example("net sales", 3)
def test_the_best_are_those_of_the_highest_scores_in_the_same_order(
    sample_index: FinanceIndex, question: str, n: int
) -> None:
    found = sample_index.finder.find(question)
    if found is None:
        return
    best = found.best(n)
    order = sorted(range(len(found)), key=lambda place: (-found.score[place], place))
    kept = sorted(order[:n])
    assert len(best) == len(kept) == min(n, len(found))
    of_question = {"question", "terms", "term_weights", "names"}
    by_term = {"frequencies", "in_header"}
    for name in Candidates.__slots__:
        value, whole = getattr(best, name), getattr(found, name)
        if name in of_question:
            assert value is whole
        else:
            np.testing.assert_array_equal(value, whole[:, kept] if name in by_term else whole[kept])


def test_all_of_them_are_the_candidates_themselves(sample_index: FinanceIndex) -> None:
    found = find(sample_index, ASKED)
    assert found.best(len(found)) is found
    assert found.best(10**6) is found
    assert found.best(len(found) - 1) is not found


def test_how_well_reports_are_named_and_what_words_give_a_block_are_kept(sample_index: FinanceIndex) -> None:
    found = find(sample_index, ASKED)
    assert found.names.tolist() == sample_index.reports.names.match(found.question).tolist()
    assert found.names.argmax() in found.report
    assert found.block_words.shape == found.block_score.shape
    assert 0 < found.block_words.min() <= found.block_words.max() == 1
    of_block = dict(zip(found.block.tolist(), found.block_words.tolist(), strict=True))
    assert [of_block[block] for block in found.block.tolist()] == found.block_words.tolist()


def test_ties_go_to_the_report_that_comes_first(make_index: Make) -> None:
    index = make_index([(name, "alpha zorvan omega") for name in "cab"])
    unlearned = FinanceIndex(index.reports)  # a model may have learned something of ranks
    assert [span.document_id for span in unlearned.spans("zorvan")] == ["c", "a", "b"]
    assert find(index, "zorvan").block.tolist() == [0, 1, 2]


def test_only_the_best_blocks_are_opened(make_index: Make) -> None:
    index = make_index([(f"r{at}", "zorvan " * (at % 7 + 1) + "filler " * 9) for at in range(80)])
    everything = CandidateFinder(index.reports).find("zorvan")
    assert everything is not None
    assert len(set(everything.block.tolist())) == 60
    few = CandidateFinder(index.reports, Weights(depth=3)).find("zorvan")
    assert few is not None
    assert few.block.tolist() == everything.block.tolist()[:3]


def test_weights_below_zero_may_leave_nothing(sample_index: FinanceIndex) -> None:
    weights = Weights(name=-9.0, annual=-9.0)
    assert CandidateFinder(sample_index.reports, weights).find("Tolquist railcars") is None


@pytest.mark.parametrize("question", ["", "the of and", "?!", "unheard-of", "\ud800", "\U0001f600" * 50])
def test_a_question_of_no_known_word_has_no_candidates(sample_index: FinanceIndex, question: str) -> None:
    assert sample_index.finder.find(question) is None
    assert [*sample_index.spans(question), *sample_index.evidence(question)] == []
