from __future__ import annotations

import pytest

from hybridrank.tasks.finance.layout import BALANCE, CASH, INCOME
from hybridrank.tasks.finance.lexicon import CONCEPTS, NAME_NOISE, OPERATIONS, Concept
from hybridrank.text.tokens import Tokenizer

# Two wordings of questions for each concept, in the order of the concepts.
WORDINGS = [
    ("the FY18 capex of", "Capital expenditure as a share"),
    ("free cash flow conversion", "its FCF?"),
    ("operating cash flow ratio", "cash from operations"),
    ("dividend payout ratio", "Retention Ratio"),
    ("D&A margin", "depreciation expense"),
    ("net PP&E", "property, plant and equipment"),
    ("quick ratio", "an acid-test"),
    ("working capital", "current ratio"),
    ("debt-to-equity", "leverage"),
    ("year-end", "total current liabilities"),
    ("inventory turnover", "DIO"),
    ("days payable outstanding", "cash conversion cycle"),
    ("days sales outstanding", "receivables turnover"),
    ("return on assets", "return on total assets"),
    ("return on equity", "ROE"),
    ("fixed asset turnover", "asset turn"),
    ("gross margin", "gross profit"),
    ("operating margin", "operating income"),
    ("unadjusted EBITDA", "ebitdar"),
    ("effective tax rate", "tax rates"),
    ("interest coverage ratio", "interest coverage"),
    ("COGS", "cost of goods sold"),
    ("diluted EPS", "earnings per share"),
    ("net income", "net profit margin"),
    ("SG&A", "sga"),
    ("R&D spending", "r&d"),
    ("revenue growth", "top line"),
    ("on the balance sheet", "statement of financial position"),
    ("income statement", "P&L"),
    ("cash flow statement", "statement of cash flows"),
    ("who is CEO", "the ceo's"),
    ("who is CFO", "cfo"),
    ("legal battles", "litigation"),
    ("debt securities are registered", "securities listed"),
    ("acquisitions", "acquired"),
    ("by geography", "which regions"),
]


@pytest.mark.parametrize(("concept", "wordings"), list(zip(CONCEPTS, WORDINGS, strict=True)))
def test_each_concept_knows_its_wordings(concept: Concept, wordings: tuple[str, str]) -> None:
    assert all(concept.asked.search(f"What was {wording} in 2020?") for wording in wordings)


@pytest.mark.parametrize("concept", CONCEPTS)
def test_each_concept_adds_words_or_a_statement(concept: Concept) -> None:
    assert concept.statements <= {BALANCE, INCOME, CASH}
    assert concept.statements or Tokenizer().terms(concept.reported)
    assert all(Tokenizer().terms(wording) for wording in concept.reported.split(";")) or not concept.reported


@pytest.mark.parametrize("concept", CONCEPTS)
@pytest.mark.parametrize(
    "text", ["", "What is it?", "escape, landscape, recap", "steps", "sedate tycoon", "presales wages aroe"]
)
def test_no_concept_is_seen_where_it_is_not(concept: Concept, text: str) -> None:
    assert concept.asked.search(text) is None


def test_each_wording_of_reports_is_listed_once() -> None:
    for concept in CONCEPTS:
        wordings = [wording.strip() for wording in concept.reported.split(";")]
        assert len(wordings) == len(set(wordings))


def test_lists_of_words_are_words() -> None:
    terms = Tokenizer().terms
    assert {"percentag", "year", "million"} <= set(terms(OPERATIONS))
    assert {"10k", "registr", "delawar", "decemb"} <= set(terms(NAME_NOISE))
    assert len(set(OPERATIONS.split())) == len(OPERATIONS.split())
    assert len(set(NAME_NOISE.split())) == len(NAME_NOISE.split())
