from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import plain
from hybridrank.ranking_model import RankingModel
from hybridrank.records import Span
from hybridrank.tasks.finance import FinanceIndex, build
from hybridrank.tasks.finance.candidates import Weights
from hybridrank.tasks.finance.corpus import Question, read_questions
from hybridrank.tasks.finance.features import NAMES
from hybridrank.tasks.finance.ranker import DEPTH, WINDOWS, open_model
from hybridrank.tasks.finance.scoring import Label, Place, evidence_recall, find_problem, read_labels
from hybridrank.tasks.finance.search import Evidence
from hybridrank.tasks.finance.spans import cover

Make = Callable[[Sequence[tuple[str, str]]], FinanceIndex]

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=60)
WORDS = st.sampled_from(
    [
        "net",
        "sales",
        "Corrimont",
        "2022",
        "FY19",
        "total assets",
        "?",
        "Vendrosk's",
        "\U0001f600",
        "\x00",
        "\ud800",
        "\n",
    ]
)
QUESTIONS = ANY_TEXT | st.lists(WORDS, max_size=10).map(" ".join)

COMPANIES = {
    "CORRIMONT": "Corrimont Packaging",
    "SKRV": "Skerrivane Air",
    "VENDROSK": "Vendrosk Process Systems",
    "OLLERWICK": "Ollerwick Water",
    "MARROWBY": "Marrowby Grocers",
    "ORVS": "Orvessa Medical Technologies",
    "TOLQUIST": "Tolquist Railcar Leasing",
}


@pytest.fixture(scope="session")
def questions(sample_folder: Path) -> dict[str, str]:
    found = read_questions(sample_folder / "questions.jsonl")
    return {one.query_id: one.text for one in found if isinstance(one, Question)}


@pytest.fixture(scope="session")
def labels(sample_folder: Path) -> dict[str, Label]:
    return read_labels(sample_folder / "labels.jsonl")


def check(spans: list[Span], texts: dict[str, str], n_spans: int = 5) -> None:
    """The contract's rules, and ours: spans begin and end with a character, and none repeats the others."""
    assert len(spans) <= n_spans
    rows = [{"document_id": span.document_id, "start": span.start, "end": span.end} for span in spans]
    lengths = {name: len(text) for name, text in texts.items()}
    for row in rows:
        assert find_problem({"query_id": "q", "spans": [row]}, lengths) is None
    for span in spans:
        text = texts[span.document_id][span.start : span.end]
        assert text == text.strip()
    covered: set[tuple[str, int]] = set()
    for span in spans:
        held = {(span.document_id, at) for at in range(span.start, span.end)}
        assert not held <= covered
        covered |= held


def check_unlearned(spans: list[Span], texts: dict[str, str], n_spans: int = 5) -> None:
    """Without a model no two spans share more than half, besides."""
    check(spans, texts, n_spans)
    for one, other in combinations(spans, 2):
        shared = min(one.end, other.end) - max(one.start, other.start)
        assert one.document_id != other.document_id or 2 * shared <= min(
            one.end - one.start, other.end - other.start
        )


# -- any question


@settings(max_examples=60)
@given(QUESTIONS, st.integers(0, 12))
def test_spans_keep_the_contract(
    sample_index: FinanceIndex, sample_texts: dict[str, str], question: str, n_spans: int
) -> None:
    spans = sample_index.spans(question, n_spans)
    check(spans, sample_texts, n_spans)
    assert sample_index.spans(question, 12)[:n_spans] == spans


@settings(max_examples=40)
@given(QUESTIONS, st.integers(0, 12))
def test_spans_of_the_unlearned_order_keep_the_contract(
    unlearned_index: FinanceIndex, sample_texts: dict[str, str], question: str, n_spans: int
) -> None:
    spans = unlearned_index.spans(question, n_spans)
    check_unlearned(spans, sample_texts, n_spans)
    assert unlearned_index.spans(question, 12)[:n_spans] == spans


@pytest.mark.parametrize(
    "question",
    [
        "net sales " * 10_000,
        "\U0001f600" * 100_000,
        "x" * 100_000,
        "net sales\x00" * 9,
        "\ud800net sales\udfff",
        "FY" + " " * 99_999,
    ],
    ids=["words", "emoji", "one word", "NUL", "surrogates", "space"],
)
def test_strange_questions(sample_index: FinanceIndex, sample_texts: dict[str, str], question: str) -> None:
    spans = sample_index.spans(question)
    check(spans, sample_texts)
    assert len(spans) == (5 if "net sales" in question else 0)


@settings(max_examples=12)
@given(
    st.lists(
        st.sampled_from(["Net | 5 | 4\n", "zorvan rose. ", "\n", "\r\n", "\ud800", "\U0001f600 ", "x" * 700]),
        max_size=60,
    )
)
def test_spans_of_strange_reports_keep_the_contract(make_index: Make, pieces: list[str]) -> None:
    texts = {"a": "".join(pieces), "b": "".join(reversed(pieces))}
    index = make_index(list(texts.items()))
    spans = index.spans("zorvan net 5 x")
    check(spans, texts)
    check_unlearned(FinanceIndex(index.reports).spans("zorvan net 5 x"), texts)
    known = {"zorvan rose. ", "Net | 5 | 4\n"} & set(pieces)
    assert bool(spans) or not known


@pytest.fixture(params=["learned", "unlearned"])
def either_index(
    request: pytest.FixtureRequest, sample_index: FinanceIndex, unlearned_index: FinanceIndex
) -> FinanceIndex:
    return {"learned": sample_index, "unlearned": unlearned_index}[request.param]


def check_evidence(index: FinanceIndex, texts: dict[str, str], question: str) -> list[Evidence]:
    """Evidence is the spans, each with its place, its text and what was found in it."""
    evidence = index.evidence(question)
    assert [one.span for one in evidence] == index.spans(question)
    assert [one.rank for one in evidence] == list(range(1, len(evidence) + 1))
    asked = index.finder.parser(question).terms
    for one in evidence:
        assert one.text == texts[one.span.document_id][one.span.start : one.span.end]
        assert one.words >= 0
        assert one.block > 0
        assert set(one.terms) <= set(asked)
        assert set(one.terms) <= set(index.finder.parser.tokenizer.terms(one.text))
    return evidence


@settings(max_examples=30)
@given(QUESTIONS)
def test_evidence_is_the_spans_with_reasons(
    sample_index: FinanceIndex, sample_texts: dict[str, str], question: str
) -> None:
    evidence = check_evidence(sample_index, sample_texts, question)
    assert not evidence or evidence[0].score == max(one.score for one in evidence)


@settings(max_examples=30)
@given(QUESTIONS)
def test_evidence_of_the_unlearned_order_is_sorted_by_its_score(
    unlearned_index: FinanceIndex, sample_texts: dict[str, str], question: str
) -> None:
    scores = [one.score for one in check_evidence(unlearned_index, sample_texts, question)]
    assert scores == sorted(scores, reverse=True)


def test_evidence_says_what_each_feature_gave_to_it(
    sample_index: FinanceIndex, unlearned_index: FinanceIndex, questions: dict[str, str]
) -> None:
    for question in list(questions.values())[:6]:
        evidence = sample_index.evidence(question)
        assert all(tuple(sorted(one.pulls)) == tuple(sorted(NAMES)) for one in evidence)
        alike = [one.score - sum(one.pulls.values()) for one in evidence]  # the same for every window
        assert max(alike) - min(alike) <= 1e-6
        assert len({tuple(one.pulls.items()) for one in evidence}) > 1
        assert all(one.pulls == {} for one in unlearned_index.evidence(question))


# -- with and without a model


def test_the_shipped_model_is_used_unless_told_otherwise(
    sample_directory: Path, sample_index: FinanceIndex, unlearned_index: FinanceIndex
) -> None:
    assert sample_index.ranker is not None
    assert sample_index.finder.weights == Weights(depth=DEPTH)
    shipped = FinanceIndex.open(sample_directory, model="shipped")
    assert shipped.ranker is not None
    assert shipped.ranker.model.training == sample_index.ranker.model.training
    assert unlearned_index.ranker is None
    assert unlearned_index.finder.weights == Weights()
    assert FinanceIndex(sample_index.reports).ranker is None


def test_weights_are_kept_but_for_the_depth_that_a_model_needs(sample_index: FinanceIndex) -> None:
    assert sample_index.ranker is not None
    weights = Weights(year=0.1, depth=7)
    assert FinanceIndex(sample_index.reports, weights).finder.weights == weights
    learned = FinanceIndex(sample_index.reports, weights, sample_index.ranker.model)
    assert learned.finder.weights == Weights(year=0.1, depth=DEPTH)


def test_the_model_s_scores_choose_the_spans(
    sample_index: FinanceIndex, questions: dict[str, str], tmp_path: Path
) -> None:
    """A model that likes windows the less, the better they are: the answers are others, by its own order."""
    features = np.random.default_rng(0).random((400, len(NAMES)))
    grades = (features[:, NAMES.index("score_rank")] > 0.5).astype(int)
    RankingModel.train(features, grades, [40] * 10, NAMES, rounds=5).save(tmp_path)
    contrary = open_model(tmp_path)
    assert contrary is not None
    index = FinanceIndex(sample_index.reports, model=contrary)
    assert index.ranker is not None
    for question in list(questions.values())[:5]:
        found = index.finder.find(question)
        assert found is not None
        found = found.best(WINDOWS)
        scores = index.ranker.score(index.ranker.features.compute(found))
        evidence = index.evidence(question)
        assert [(one.span.start, one.span.end, one.score) for one in evidence] == [
            (found.start[place], found.end[place], scores[place])
            for place in cover(found.report, found.start, found.end, scores)
        ]
        assert [one.span for one in evidence] != sample_index.spans(question)


def test_evidence_names_company_and_year(either_index: FinanceIndex) -> None:
    best = either_index.evidence("How many pilots did Skerrivane Air lose to bigger carriers in 2019?")[0]
    assert (best.report, best.fiscal_year) == ("SKERRIVANE AIR HOLDINGS, INC.", 2019)
    assert {"pilot", "carrier"} <= set(best.terms)
    assert "pilots" in best.text


def test_many_questions_in_one_call_and_in_any_order(
    sample_index: FinanceIndex, questions: dict[str, str]
) -> None:
    asked = list(questions.values())
    together = sample_index.spans_many(asked)
    assert together == [sample_index.spans(question) for question in asked]
    shuffled = random.Random(0).sample(range(len(asked)), len(asked))
    assert sample_index.spans_many(asked[place] for place in shuffled) == [
        together[place] for place in shuffled
    ]
    assert sample_index.spans_many(asked, 1) == [spans[:1] for spans in together]


def test_another_build_answers_the_same(
    sample_index: FinanceIndex, sample_folder: Path, questions: dict[str, str], tmp_path: Path
) -> None:
    build(sample_folder, tmp_path)
    again = FinanceIndex.open(tmp_path, verify="full")
    assert len(again) == len(sample_index) == 12
    asked = list(questions.values())
    assert [again.evidence(question) for question in asked] == [
        sample_index.evidence(question) for question in asked
    ]


# -- the right report, and the right place in it


@pytest.mark.parametrize("company", COMPANIES)
@pytest.mark.parametrize(
    "asked",
    [
        "What was the net income of {}?",
        "{}: sales or revenue?",
        "How much did {} spend on capex in FY2020?",
        "{}",
        "What were total current liabilities of {} as of December 31, 2018?",
        "Describe the competition that {}'s managers faced",
    ],
)
def test_a_company_that_is_named_comes_first(sample_index: FinanceIndex, company: str, asked: str) -> None:
    best = sample_index.spans(asked.format(COMPANIES[company]))[0]
    assert best.document_id.startswith(company)


@pytest.mark.parametrize("asked", ["What was the net income of {} in {}?", "{} {}", "How did {} do in FY{}?"])
def test_the_report_of_the_company_and_year_that_are_named_comes_first(
    sample_index: FinanceIndex, asked: str
) -> None:
    reports = sample_index.reports
    for document_id, profile in zip(reports.ids, reports.profiles, strict=True):
        company = document_id.partition("_")[0]
        best = sample_index.spans(asked.format(COMPANIES[company], profile.fiscal_year))[0]
        # Two reports of one company are for a period that ends in 2023, and either will do.
        same = {"MARROWBY_2022_10K", "MARROWBY_2023Q1_EARNINGS"}
        assert best.document_id in (same if document_id in same else {document_id})


@pytest.mark.parametrize(
    ("question", "document_id"),
    [
        ("What was the net income of Vendrosk in the first quarter of 2024?", "VENDROSK_2024Q1_10Q"),
        ("Marrowby Q1 2023 sales", "MARROWBY_2023Q1_EARNINGS"),
    ],
)
def test_a_quarterly_report_that_is_asked_for_comes_first(
    sample_index: FinanceIndex, question: str, document_id: str
) -> None:
    assert sample_index.spans(question)[0].document_id == document_id


def recall(answers: dict[str, list[Place]], labels: dict[str, Label]) -> float:
    return sum(evidence_recall(labels[name].units, places) for name, places in answers.items()) / len(answers)


def places(spans: list[Span]) -> list[Place]:
    return [Place(span.document_id, span.start, span.end) for span in spans]


def test_evidence_recall_on_the_sample_is_good_and_better_than_the_plain_recipe_s(
    unlearned_index: FinanceIndex,
    sample_folder: Path,
    questions: dict[str, str],
    labels: dict[str, Label],
    tmp_path: Path,
) -> None:
    plain.build(sample_folder, tmp_path)
    recipe = plain.PlainIndex.open(tmp_path)
    ours = recall({name: places(unlearned_index.spans(text)) for name, text in questions.items()}, labels)
    theirs = recall(
        {name: [Place(*one) for one in recipe.spans(text)] for name, text in questions.items()}, labels
    )
    assert ours >= 0.89  # 0.922 when this was written, against 0.797
    assert ours > theirs + 0.05


def test_the_learned_order_is_no_worse_on_the_sample(
    sample_index: FinanceIndex,
    unlearned_index: FinanceIndex,
    questions: dict[str, str],
    labels: dict[str, Label],
) -> None:
    learned, unlearned = (
        recall({name: places(index.spans(text)) for name, text in questions.items()}, labels)
        for index in (sample_index, unlearned_index)
    )
    assert learned >= unlearned - 0.035  # one question of the 32 is 0.031


def test_the_right_report_is_among_the_spans_of_every_sample_question(
    sample_index: FinanceIndex, questions: dict[str, str], labels: dict[str, Label]
) -> None:
    for name, text in questions.items():
        assert labels[name].documents & {span.document_id for span in sample_index.spans(text)}, text


def test_ids_that_say_nothing_cost_little(
    make_index: Make, sample_texts: dict[str, str], questions: dict[str, str], labels: dict[str, Label]
) -> None:
    ids = {name: f"{at:x}9f3e{at:x}" for at, name in enumerate(sample_texts)}
    index = make_index([(ids[name], text) for name, text in sample_texts.items()])
    back = {new: old for old, new in ids.items()}
    answers = {
        name: [Place(back[span.document_id], span.start, span.end) for span in index.spans(text)]
        for name, text in questions.items()
    }
    assert recall(answers, labels) >= 0.85


def test_the_span_is_the_row_though_its_header_helps_to_find_it(make_index: Make) -> None:
    rows = "".join(f"Type {kind} | 1 | 2\n" for kind in "ABCDEFGHJK" * 9)
    cover = "FORM 10-K\nANNUAL REPORT\nFor the fiscal year ended\nDecember 31, 2019\n"
    prose = "The company describes its fleet in words. " * 30
    headers = {"a": "Number of aircraft | owned | leased", "b": "Some other objects | owned | leased"}
    index = make_index([(name, f"{cover}{prose}\n{header}\n{rows}") for name, header in headers.items()])
    found = index.evidence("How many aircraft of type K?")
    assert found[0].span.document_id == "a"
    rows_alone = [one for one in found if "aircraft" not in one.text]
    assert [one.span.document_id for one in rows_alone[:2]] == ["a", "a"]
    assert all(one.text.startswith("Type") for one in rows_alone[:2])


def test_texts_are_kept_for_the_next_question(sample_index: FinanceIndex) -> None:
    assert sample_index.text(0) is sample_index.text(0)
