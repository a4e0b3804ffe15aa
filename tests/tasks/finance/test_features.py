"""Every feature, counted again from the texts in plain Python."""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybridrank.features import KINDS, query_kinds
from hybridrank.tasks.finance import FinanceIndex, features
from hybridrank.tasks.finance.candidates import CandidateFinder, Candidates, Weights
from hybridrank.tasks.finance.corpus import Question, read_questions
from hybridrank.tasks.finance.features import GROUPS, NAMES, EvidenceFeatures
from hybridrank.tasks.finance.index import REPORT_B, REPORT_K1
from hybridrank.tasks.finance.layout import BLOCK, clean
from hybridrank.tasks.finance.neural import NeuralScores
from hybridrank.text.tokens import Tokenizer

Make = Callable[[Sequence[tuple[str, str]]], FinanceIndex]

EXTRA = [
    "What was the net income of Skerrivane Air in 2019, and what were its total assets?",
    "net sales from 2018 to 2022 in fiscal year 2021, change in percent?",
    "Vendrosk balance sheet: total current liabilities in the first quarter of 2024",
    "How many 737 aircraft, and 20.1 percent?",
    "capex",
    "sales sales sales",
]


@pytest.fixture(scope="module")
def evidence_features(sample_index: FinanceIndex) -> EvidenceFeatures:
    return EvidenceFeatures(CandidateFinder(sample_index.reports, Weights(depth=300)))


@pytest.fixture(scope="module")
def questions(sample_folder: Path) -> list[str]:
    found = read_questions(sample_folder / "questions.jsonl")
    return [*EXTRA, *(one.text for one in found if isinstance(one, Question))]


def find(features: EvidenceFeatures, question: str, n: int = 600) -> Candidates:
    found = features.finder.find(question)
    assert found is not None
    return found.best(n)


class Recount:
    """The features of a question's windows, one by one, from texts and layout."""

    def __init__(self, finder: CandidateFinder, found: Candidates) -> None:
        self.finder, self.found, self.reports = finder, found, finder.reports
        lexicon = self.reports.lexicon
        self.terms = [lexicon.terms[number] for number in found.terms.tolist()]
        blocks = block_terms(finder)
        self.idf: dict[str, float] = {}
        for term, weight in zip(self.terms, found.term_weights.tolist(), strict=True):
            df = sum(term in block for block in blocks)
            self.idf[term] = weight * math.log(1 + (len(blocks) - df + 0.5) / (df + 0.5))
        self.scores = found.score.tolist()
        order = sorted(range(len(found)), key=lambda place: -self.scores[place])
        self.rank = {place: rank for rank, place in enumerate(order)}
        words = found.word_score.tolist()
        order = sorted(range(len(found)), key=lambda place: -words[place])
        self.word_rank = {place: rank for rank, place in enumerate(order)}
        self.report_scores = self._score_reports()

    def _score_reports(self) -> list[float]:
        """BM25 of every report as one text."""
        texts = [Counter(one) for one in report_terms(self.finder)]
        mean = sum(text.total() for text in texts) / len(texts)
        scores = [0.0] * len(texts)
        for term, weight in zip(self.terms, self.found.term_weights.tolist(), strict=True):
            df = sum(text[term] > 0 for text in texts)
            idf = math.log(1 + (len(texts) - df + 0.5) / (df + 0.5))
            for at, text in enumerate(texts):
                long = REPORT_K1 * (1 - REPORT_B + REPORT_B * text.total() / mean)
                scores[at] += weight * idf * text[term] / (text[term] + long)
        return scores

    def segment(self, number: int) -> list[str]:
        return segment_terms(self.finder)[number]

    def damped(self, term: str, report: int) -> float:
        number = self.reports.lexicon.id_of(term)
        assert number is not None
        named = self.reports.names.named_by(number)
        if named is None or not named[report]:
            return self.idf[term]
        how_well = float(self.found.names[report])
        return self.idf[term] * (1 - (1 - self.finder.weights.named_term) * min(1.0, 2 * how_well))

    def of(self, place: int) -> dict[str, float]:
        found, reports = self.found, self.reports
        first, last = int(found.first[place]), int(found.last[place])
        report, block = int(found.report[place]), int(found.block[place])
        lines = [self.segment(number) for number in range(first, last)]
        stream = [term for line in lines for term in line]
        window = set(stream)
        header = {term for term, there in zip(self.terms, found.in_header[:, place], strict=True) if there}
        whole_block = block_terms(self.finder)[block]
        return (
            self._of_order(place, report, block)
            | self._of_words(place, lines, stream, [bool(one) for one in reports.rows[first:last]])
            | self._of_matches(report, window, header, whole_block)
            | self._of_pairs(stream)
            | self._of_report(report)
            | self._of_period(report, window, header, whole_block)
            | self._of_table(first, last, stream)
            | self._of_question()
            | {"dense": math.nan, "cross_encoder": math.nan}
        )

    def _of_order(self, place: int, report: int, block: int) -> dict[str, float]:
        found, scores = self.found, self.scores
        best = max(scores)
        per_report: dict[int, list[float]] = {}
        for other, score in zip(found.report.tolist(), scores, strict=True):
            per_report.setdefault(other, []).append(score)
        mine = sorted(per_report[report], reverse=True)
        rivals = {max(some) for some in per_report.values()}
        blocks = dict(zip(found.block.tolist(), found.block_score.tolist(), strict=True))
        in_block = [
            score for score, other in zip(scores, found.block.tolist(), strict=True) if other == block
        ]
        return {
            "score": scores[place],
            "score_relative": scores[place] / best,
            "score_rank": math.log(1 + self.rank[place]),
            "block_gap": max(in_block) - scores[place],
            "block": blocks[block],
            "block_relative": blocks[block] / max(blocks.values()),
            "block_rank": math.log(1 + sum(one > blocks[block] for one in set(blocks.values()))),
            "block_words": float(found.block_words[place]),
            "report_best": mine[0] / best,
            "report_third": mine[:3][-1] / best,
            "report_share": math.log(1 + len(mine)) / math.log(1 + len(scores)),
            "report_place": math.log(1 + sum(one > mine[0] for one in rivals)),
            "report_gap": (mine[0] - scores[place]) / best,
        }

    def _of_words(
        self, place: int, lines: list[list[str]], stream: list[str], rows: list[bool]
    ) -> dict[str, float]:
        words, whole = self.found.word_score.tolist(), sum(self.idf.values())
        weights = [sum(self.idf[term] for term in set(line) & set(self.terms)) / whole for line in lines]
        ranked = [*sorted(weights, reverse=True), 0.0]
        matched = set(stream) & set(self.terms)
        return {
            "words": words[place],
            "words_relative": words[place] / max(words),
            "words_rank": math.log(1 + self.word_rank[place]),
            "line_best": ranked[0],
            "line_second": ranked[1],
            "row_best": max((one for one, row in zip(weights, rows, strict=True) if row), default=0.0),
            "window": len(matched) / max(shortest(stream, matched), 1),
        }

    def _of_matches(
        self, report: int, window: set[str], header: set[str], block: set[str]
    ) -> dict[str, float]:
        idf = {term: self.damped(term, report) for term in self.terms}
        own = {term: value for term, value in idf.items() if term in self.found.question.sequence}

        def share(of: dict[str, float], where: set[str]) -> float:
            return sum(value for term, value in of.items() if term in where) / max(sum(of.values()), 1e-9)

        def missing(where: set[str]) -> float:
            return max((value for term, value in idf.items() if term not in where), default=0.0) / max(
                idf.values()
            )

        return {
            "in_window": share(idf, window),
            "in_header": share(idf, header),
            "in_either": share(idf, window | header),
            "in_block": share(idf, block),
            "own_window": share(own, window),
            "own_either": share(own, window | header),
            "own_block": share(own, block),
            "matched": len(window & set(self.terms)) / len(self.terms),
            "missing_window": missing(window | header),
            "missing_block": missing(window | header | block),
        }

    def _of_pairs(self, stream: list[str]) -> dict[str, float]:
        sequence = self.found.question.sequence
        asked = {pair for pair in pairwise(sequence) if set(pair) <= set(self.terms)}
        met = asked & set(pairwise(stream))

        def weigh(pairs: set[tuple[str, str]]) -> float:
            return sum(self.idf[one] + self.idf[other] for one, other in pairs)

        return {"pairs": weigh(met) / weigh(asked) if asked else math.nan, "pairs_count": len(met)}

    def _of_report(self, report: int) -> dict[str, float]:
        scores, names = self.report_scores, self.found.names.tolist()
        profile, quarter = self.reports.profiles[report], self.found.question.quarter
        namesakes = sum(name >= max(names) - 1e-9 for name in names)
        return {
            "report": scores[report] / max(scores),
            "report_rank": math.log(1 + sum(score > scores[report] * (1 + 1e-6) for score in scores)),
            "name": names[report],
            "name_relative": names[report] / max(names) if max(names) else 0.0,
            "named": max(names),
            "namesakes": math.log(1 + namesakes) if max(names) > 0.2 else 0.0,
            "annual": float(profile.form == "10-K"),
            "quarter": float(profile.quarter == quarter) if quarter else math.nan,
        }

    def _of_period(
        self, report: int, window: set[str], header: set[str], block: set[str]
    ) -> dict[str, float]:
        question, fiscal = self.found.question, self.reports.profiles[report].fiscal_year
        years = {str(year) for year in question.years}
        numbers = {term for term in self.terms if re.fullmatch(r"[\d.]+", term) and not is_year(term)}

        def share(of: set[str], where: set[str]) -> float:
            return len(of & where) / len(of) if of else math.nan

        gap = max(-4, min(4, fiscal - question.report_year))
        return {
            "year_gap": gap if fiscal and question.report_year else math.nan,
            "years_window": share(years, window),
            "years_header": share(years, header),
            "years_either": share(years, window | header),
            "years_block": share(years, block | header),
            "years_asked": len(years),
            "numbers": share(numbers, window),
        }

    def _of_table(self, first: int, last: int, stream: list[str]) -> dict[str, float]:
        reports = self.reports
        statement = int(reports.statements[first])
        numbers = [term for term in stream if re.fullmatch(r"[\d.]+", term) and not is_year(term)]
        return {
            "rows": sum(map(bool, reports.rows[first:last])) / (last - first),
            "digits": len(numbers) / max(len(stream), 1),
            "tabular": float(reports.headers[first] >= 0),
            "table_top": float(reports.headers[first] == first),
            "statement": (statement > 0) + (statement in self.found.question.statements),
        }

    def _of_question(self) -> dict[str, float]:
        kinds = query_kinds(self.found.question.text)
        return {
            "terms_asked": len(self.terms),
            "idf_asked": sum(self.idf.values()),
            "idf_rarest": max(self.idf.values()),
            **{f"asks_{kind}": float(kind in kinds) for kind in KINDS},
        }


def is_year(term: str) -> bool:
    return term.isdecimal() and 1980 <= int(term) <= 2049 and len(term) == 4


def shortest(stream: list[str], wanted: set[str]) -> int:
    """The length of the shortest stretch that holds all that is wanted."""
    for length in range(len(wanted), len(stream) + 1):
        for at in range(len(stream) - length + 1):
            if wanted <= set(stream[at : at + length]):
                return length
    return 0


@lru_cache(maxsize=4)
def segment_terms(finder: CandidateFinder) -> list[list[str]]:
    reports, tokenizer, found = finder.reports, Tokenizer(), []
    for report, text in enumerate(map(clean, reports.texts)):
        for segment in range(*reports.segment_ptr[report : report + 2].tolist()):
            found.append(tokenizer.terms(text[reports.starts[segment] : reports.ends[segment]]))
    return found


@lru_cache(maxsize=4)
def block_terms(finder: CandidateFinder) -> list[set[str]]:
    segments = segment_terms(finder)
    return [
        {term for segment in segments[first:last] for term in segment}
        for first, last in pairwise(finder.reports.block_starts.tolist())
    ]


@lru_cache(maxsize=4)
def report_terms(finder: CandidateFinder) -> list[list[str]]:
    segments = segment_terms(finder)
    return [
        [term for segment in segments[first:last] for term in segment]
        for first, last in pairwise(finder.reports.segment_ptr.tolist())
    ]


def test_each_feature_is_what_the_texts_say(
    evidence_features: EvidenceFeatures, questions: list[str]
) -> None:
    picks = random.Random(0)
    for number, question in enumerate(questions):
        found = find(evidence_features, question, n=(600, 40, 7)[number % 3])
        values = evidence_features.compute(found)
        assert values.shape == (len(found), len(NAMES))
        assert values.dtype == np.float32
        recount = Recount(evidence_features.finder, found)
        best = np.argsort(-found.score)[:3].tolist()
        for place in {*best, *picks.sample(range(len(found)), min(9, len(found)))}:
            expected = recount.of(place)
            assert expected.keys() == set(NAMES)
            for name, value in zip(NAMES, values[place].tolist(), strict=True):
                assert value == pytest.approx(expected[name], rel=2e-5, abs=2e-6, nan_ok=True), (
                    question,
                    place,
                    name,
                )


def test_the_questions_try_every_feature(evidence_features: EvidenceFeatures, questions: list[str]) -> None:
    """So that the recount above can tell a feature from another, or from nothing."""
    rows = np.concatenate([evidence_features.compute(find(evidence_features, one)) for one in questions])
    for column, name in enumerate(NAMES):
        values = rows[:, column]
        if name not in GROUPS["neural"]:
            assert len(np.unique(values[~np.isnan(values)])) > 1, name


def test_the_table_of_the_module_lists_the_features_in_their_order() -> None:
    assert features.__doc__ is not None
    table = features.__doc__.split("\n===")[2]
    listed: dict[str, list[str]] = {}
    group = ""
    for line in table.splitlines()[1:]:
        row = re.match(r"(?:``(\w+)``)? +``(\w+…?)`` ", line)
        if row is None:
            assert line.startswith(" " * 39), line
            continue
        group = row[1] or group
        names = [f"asks_{kind}" for kind in KINDS] if row[2] == "asks_…" else [row[2]]
        listed.setdefault(group, []).extend(names)
    assert list(listed) == list(GROUPS)
    # Within a group the order of the columns is another matter.
    assert {name: sorted(names) for name, names in listed.items()} == {
        name: sorted(names) for name, names in GROUPS.items()
    }
    assert tuple(name for names in GROUPS.values() for name in names) == NAMES == EvidenceFeatures.names
    assert len(set(NAMES)) == len(NAMES)


# -- what cannot be said


def nan_names(evidence_features: EvidenceFeatures, question: str) -> set[str]:
    values = evidence_features.compute(find(evidence_features, question))
    assert not np.isinf(values).any()
    return {name for column, name in enumerate(NAMES) if np.isnan(values[:, column]).all()}


YEARS = {"years_window", "years_header", "years_either", "years_block"}


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("net sales", {"pairs"}),
        ("sales", set()),
        ("net sales of 2019", {"pairs", *YEARS, "year_gap"}),
        ("sales of the 2019 annual report", {"pairs", *YEARS, "year_gap"}),
        ("net sales in the first quarter", {"pairs", "quarter"}),
        ("net sales of 20.1 percent", {"pairs", "numbers"}),
        ("sales of 98765.5 unheard-of", set()),  # of which the corpus knows but one word
    ],
)
def test_what_a_question_does_not_ask_cannot_be_said(
    evidence_features: EvidenceFeatures, question: str, said: set[str]
) -> None:
    unsaid = {"pairs", "quarter", "numbers", "year_gap", *YEARS, *GROUPS["neural"]}
    assert nan_names(evidence_features, question) == unsaid - said


def test_nothing_else_is_ever_missing(evidence_features: EvidenceFeatures, questions: list[str]) -> None:
    may_miss = {"pairs", "quarter", "numbers", "year_gap", *YEARS, *GROUPS["neural"]}
    for question in questions:
        values = evidence_features.compute(find(evidence_features, question))
        missing = {NAMES[column] for column in np.flatnonzero(np.isnan(values).any(axis=0))}
        assert missing <= may_miss


def test_a_report_of_no_year_has_no_gap(make_index: Make) -> None:
    index = make_index([("a", "Words alone, zorvan among them."), ("b", "FORM 10-K\n2019\nzorvan 2019")])
    features = EvidenceFeatures(index.finder)
    found = find(features, "zorvan in 2018")
    gaps = features.compute(found)[:, NAMES.index("year_gap")]
    assert np.isnan(gaps[found.report == 0]).all()
    assert gaps[found.report == 1].tolist() == [1.0] * int((found.report == 1).sum())


def test_neural_scores_are_taken_as_they_are(evidence_features: EvidenceFeatures) -> None:
    found = find(evidence_features, EXTRA[0])
    without = evidence_features.compute(found)
    dense = np.linspace(-1, 1, len(found))
    cross = np.where(np.arange(len(found)) % 2, 0.25, np.nan)
    given = evidence_features.compute(found, dense=dense, cross_encoder=cross)
    places = [NAMES.index(name) for name in ("dense", "cross_encoder")]
    np.testing.assert_array_equal(given[:, places], np.stack([dense, cross], axis=1, dtype=np.float32))
    assert np.isnan(without[:, places]).all()
    others = [column for column in range(len(NAMES)) if column not in places]
    np.testing.assert_array_equal(given[:, others], without[:, others])
    said = NeuralScores(dense=dense, cross_encoder=cross)
    np.testing.assert_array_equal(evidence_features.with_neural(without, said), given)
    assert np.isnan(without[:, places]).all()  # as it was


# -- what makes no difference


WORDS = ["pilots", "carriers", "net", "sales", "2019", "goodwill", "aircraft", "lease", "737", "water"]
OF_ORDER = {"pairs", "pairs_count"}


@settings(max_examples=20)
@given(st.permutations(WORDS))
def test_the_order_of_the_words_asked_for_shows_in_their_neighbours_alone(
    evidence_features: EvidenceFeatures, words: list[str]
) -> None:
    one, other = (find(evidence_features, " ".join(some)) for some in (WORDS, words))
    columns = [column for column, name in enumerate(NAMES) if name not in OF_ORDER]
    values = [evidence_features.compute(found)[:, columns] for found in (one, other)]
    np.testing.assert_array_equal(one.first, other.first)
    np.testing.assert_array_equal(values[0], values[1])


def test_a_question_leaves_nothing_behind(
    evidence_features: EvidenceFeatures, sample_index: FinanceIndex
) -> None:
    for question in EXTRA:
        evidence_features.compute(find(evidence_features, question))
    fresh = EvidenceFeatures(CandidateFinder(sample_index.reports, Weights(depth=300)))
    for question in EXTRA[::-1]:
        np.testing.assert_array_equal(
            evidence_features.compute(find(evidence_features, question)),
            fresh.compute(find(fresh, question)),
        )


COVER = (
    "FORM 10-K\nANNUAL REPORT\nFor the fiscal year ended December 31, 2019\nZorvan Inc.\n"
    "(Exact name of registrant)\n"
)


LONG = "Words of other things. " * 16  # no window that holds one has room for another


def block_of(lines: Sequence[str]) -> str:
    """Lines and filler that make up one block, out of which no window reaches."""
    text = "".join(f"{line}\n" for line in (LONG, *lines))
    while len(text) <= BLOCK - len(LONG):
        text += "Nothing is said here of what was asked.\n"
    return f"{text}{LONG}\n"


def by_text(index: FinanceIndex, question: str) -> dict[str, list[list[float]]]:
    """The features of the windows of each text, without ranks in which ties go by the place in the index."""
    features = EvidenceFeatures(index.finder)
    found = find(features, question)
    kept = [column for column, name in enumerate(NAMES) if name not in ("score_rank", "words_rank")]
    rows: dict[str, list[list[float]]] = {}
    for place, values in enumerate(np.nan_to_num(features.compute(found)[:, kept], nan=-9).tolist()):
        text = index.text(int(found.report[place]))[found.start[place] : found.end[place]]
        rows.setdefault(text.lower(), []).append(values)
    return {text: sorted(some) for text, some in rows.items()}


BODY = ["Tarn sales rose to 5.5 in 2018.", "Fleet | 2019 | 2018", "Tarn aircraft | 7 | 8", "Quill | 7 | 3"]
NEUTRAL = [
    (COVER, BODY, ["About the tarn.", "Nothing."]),
    (COVER.replace("Zorvan", "Quill"), ["Quill has tarn sales.", "Fleet | 2018", "Tarn | 3"], ["More."]),
]


def index_of(make_index: Make, write: Callable[[str], str], turn: int) -> FinanceIndex:
    reports = []
    for number, (cover, *parts) in enumerate(NEUTRAL):
        blocks = [block_of([write(line) for line in part]) for part in parts[::turn]]
        reports.append((f"r{number}", block_of([cover]) + "".join(blocks)))
    return make_index(reports)


ASKED = ["tarn sales and aircraft of the fleet in 2018", "Quill fleet in 2019?"]


@pytest.mark.parametrize("question", ASKED)
def test_where_a_block_stands_in_its_report_says_nothing(make_index: Make, question: str) -> None:
    """Or a page would be known by its place, whatever stands on it."""
    before = by_text(index_of(make_index, str, 1), question)
    assert len(before) > 8
    assert by_text(index_of(make_index, str, -1), question) == before


@pytest.mark.parametrize("question", ASKED)
def test_capitals_say_nothing(make_index: Make, question: str) -> None:
    before = by_text(index_of(make_index, str, 1), question)
    assert by_text(index_of(make_index, str.upper, 1), question) == before
