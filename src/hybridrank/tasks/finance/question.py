"""What a question asks for: words with weights, years, quarter, statements. No label taught any of it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hybridrank.tasks.finance.layout import clean
from hybridrank.tasks.finance.lexicon import CONCEPTS, OPERATIONS
from hybridrank.tasks.finance.profile import name_grams, years_in
from hybridrank.text.tokens import Tokenizer

__all__ = ["ParsedQuestion", "QuestionParser"]

_OPERATION, _INSTRUCTION, _EXPANSION, _WEAK_EXPANSION = 0.5, 0.25, 0.6, 0.2

_PIVOT = 50  # of two digits, the first that stands for a year of the last century
_LONGEST = 8000  # characters of a question that are looked at; what is longer is no question
_FISCAL = re.compile(r"\b[Ff]\.?[Yy]\.?\s*(?:['’]\s*)?((?:19|20)\d\d|\d\d)\b")
_QUARTER = re.compile(r"\b(?:Q([1-4])|(?:(first)|(second)|(third)|(fourth))[\s-]+quarter)\b", re.IGNORECASE)
_REPORT_YEAR = re.compile(
    r"\b((?:19|20)\d\d)\s+(?:(?:annual|quarterly)\s*)?(?:report|10-?[kq]|filing)\b", re.IGNORECASE
)
_CLAUSE_END = re.compile(r"(?<=[.?!:;])\s+")
# Clauses that tell how to answer, not what is asked.
_INSTRUCTION_START = re.compile(
    r"\s*(?:please\b|answer\b|give\b|round\b|bas(?:e|ing)\b|address\b|assume\b|respond\b|provide\b|state\b"
    r"|use\b|here['’]?s?\b|we\s+(?:want|need)\b|your?\b|help\b|define\b"
    r"|if\b[^.?!]{1,80}?\b(?:not|isn['’]t)\b[^.?!]{1,80}?\b(?:relevant|useful|meaningful|something|applicable)\b)",
    re.IGNORECASE,
)
_CAPITALS = re.compile(r"\b(?:[A-Z][A-Za-z]?[A-Z]+|[A-Z]&[A-Z])\b")


@dataclass(frozen=True, kw_only=True, slots=True)
class ParsedQuestion:
    """A question taken apart.

    ``text`` is the question as it was read. ``terms`` maps each term to its weight in (0, 1], ``sequence``
    holds those of the question itself in order; ``name_terms`` are the terms that may name a company,
    ``grams`` runs of words written in one, ``capitals`` its abbreviations in lower case. ``years`` are those
    that it names, ``report_year`` the one that its report is likely to be for, or 0. ``quarter`` is 1 to 4,
    or 0. ``statements`` are codes from :mod:`hybridrank.tasks.finance.layout`.
    """

    text: str
    terms: dict[str, float]
    sequence: tuple[str, ...]
    name_terms: frozenset[str]
    grams: frozenset[str]
    capitals: frozenset[str]
    years: tuple[int, ...]
    report_year: int
    quarter: int
    statements: frozenset[int]


class QuestionParser:
    """Takes questions apart with the tokenizer of an index."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self._operations = frozenset(tokenizer.terms(OPERATIONS))
        self._expansions = {concept.reported: tokenizer.terms(concept.reported) for concept in CONCEPTS}

    def __call__(self, text: str) -> ParsedQuestion:
        """Take a question apart; any text is one, an empty one asks for nothing.

        >>> parsed = QuestionParser(Tokenizer())("What is the FY18 capex of 3M? Answer in USD millions.")
        >>> parsed.report_year, sorted(parsed.statements), parsed.terms["3m"], parsed.terms["purchas"]
        (2018, [3], 1.0, 0.6)
        """
        question = _FISCAL.sub(_full_year, clean(text[:_LONGEST]))
        terms: dict[str, float] = {}
        sequence: list[str] = []
        for clause in _CLAUSE_END.split(question):
            instruction = _INSTRUCTION_START.match(clause) is not None and not clause.rstrip().endswith("?")
            found = self.tokenizer.terms(clause)
            sequence += found
            for term in found:
                weight = _OPERATION if term in self._operations else 1.0
                terms[term] = max(terms.get(term, 0.0), weight * (_INSTRUCTION if instruction else 1.0))
        statements: set[int] = set()
        for concept in CONCEPTS:
            if concept.asked.search(question):
                statements |= concept.statements
                for term in self._expansions[concept.reported]:
                    weight = _WEAK_EXPANSION if term in self._operations else _EXPANSION
                    terms[term] = max(terms.get(term, 0.0), weight)
        years = tuple(years_in(question))
        report_years = [int(year) for year in _REPORT_YEAR.findall(question)]
        fiscal_years = [int(_full_year(found)) for found in _FISCAL.finditer(text[:_LONGEST])]
        quarter = _QUARTER.search(question)
        return ParsedQuestion(
            text=question,
            terms=terms,
            sequence=tuple(sequence),
            name_terms=frozenset(self.tokenizer.terms(re.sub(r"['’]s?\b", "", question))),
            grams=frozenset(filter(self._may_name, name_grams(question))),
            capitals=frozenset(re.sub("n|&", "", found).lower() for found in _CAPITALS.findall(question)),
            years=years,
            report_year=max(report_years or fiscal_years or years or [0]),
            quarter=_quarter_number(quarter) if quarter else 0,
            statements=frozenset(statements),
        )

    def _may_name(self, gram: str) -> bool:
        return self.tokenizer.term(gram) is not None


def _full_year(found: re.Match[str]) -> str:
    year = found.group(1)
    if len(year) == 4:
        return year
    return f"{19 if int(year) >= _PIVOT else 20}{year}"


def _quarter_number(found: re.Match[str]) -> int:
    # By the group, not by the word: without regard to case, other letters count as its letters, too.
    return int(found.group(1) or (found.lastindex or 0) - 1)
