"""What words of a finance question ask for: general knowledge of statements and ratios, from any textbook.

A question says *capex* where a cash flow statement says *purchases of property, plant and equipment*, and
*quick ratio* where a balance sheet has its parts. :data:`CONCEPTS` maps the one to the other, and says on
which primary statement the parts stand.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from hybridrank.tasks.finance.layout import BALANCE, CASH, INCOME

__all__ = ["CONCEPTS", "NAME_NOISE", "OPERATIONS", "Concept", "is_number"]

_YEAR = re.compile(r"(?:19[89]|20[0-4])[0-9]")
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)*")


class Concept(NamedTuple):
    """A wording in questions, the wordings of reports that may answer it, and the statements these are on."""

    asked: re.Pattern[str]
    reported: str
    statements: frozenset[int]


def _concept(asked: str, reported: str = "", *statements: int) -> Concept:
    return Concept(re.compile(rf"\b(?:{asked})", re.IGNORECASE), reported, frozenset(statements))


CONCEPTS = (
    # Cash flow
    _concept(
        r"cap(?:ital\s+)?ex\b|capital\s+(?:expend|spend|intens)\w*",
        "purchases of property plant and equipment; capital expenditures; additions to property",
        CASH,
    ),
    _concept(
        r"free\s+cash\s+flows?|fcf\b",
        "net cash provided by operating activities; purchases of property plant and equipment; "
        "capital expenditures",
        CASH,
    ),
    _concept(
        r"operating\s+cash\s+flows?|cash\s+(?:flows?\s+)?from\s+operati",
        "net cash provided by operating activities",
        CASH,
    ),
    _concept(r"(?:payout|retention)\s+ratio|cash\s+dividends", "dividends paid; net income", CASH, INCOME),
    _concept(r"d&a\b|depreciation", "depreciation and amortization", CASH),
    # Balance sheet
    _concept(r"pp\s?&?n?e\b|property,?\s+plant", "property plant and equipment net", BALANCE),
    _concept(
        r"quick\s+ratio|acid.test|liquidity",
        "total current assets; inventories; cash and cash equivalents; accounts receivable; "
        "total current liabilities",
        BALANCE,
    ),
    _concept(
        r"working\s+capital|current\s+ratio", "total current assets; total current liabilities", BALANCE
    ),
    _concept(
        r"debt.to.(?:equity|capital|assets?)|leverage|gearing",
        "long term debt; total liabilities; total shareholders equity; total stockholders equity",
        BALANCE,
    ),
    _concept(
        r"total\s+(?:assets|liabilities|debt)|current\s+(?:assets|liabilities)|accounts\s+(?:pay|receiv)able"
        r"|inventor(?:y|ies)|year.end|equity\b|goodwill",
        "",
        BALANCE,
    ),
    # Balance sheet and income statement
    _concept(
        r"inventory\s+turn|days\s+(?:of\s+)?inventory|dio\b|cash\s+conversion",
        "inventories; cost of sales; cost of goods sold",
        BALANCE,
        INCOME,
    ),
    _concept(
        r"days\s+(?:accounts\s+)?payables?|dpo\b|cash\s+conversion|payables?\s+turn",
        "accounts payable; cost of sales; cost of goods sold",
        BALANCE,
        INCOME,
    ),
    _concept(
        r"days\s+sales\s+outstanding|dso\b|receivables?\s+turn",
        "accounts receivable; net sales; net revenues",
        BALANCE,
        INCOME,
    ),
    _concept(r"return\s+on\s+(?:\w+\s+)?assets|roa\b", "net income; total assets", BALANCE, INCOME),
    _concept(
        r"return\s+on\s+(?:\w+\s+)?equity|roe\b",
        "net income; total shareholders equity; total stockholders equity",
        BALANCE,
        INCOME,
    ),
    _concept(
        r"asset\s+turn",
        "net sales; net revenues; total assets; property plant and equipment net",
        BALANCE,
        INCOME,
    ),
    # Income statement
    _concept(
        r"gross\s+(?:profit|margin)",
        "net sales; net revenues; cost of sales; cost of revenue; gross profit; gross margin",
        INCOME,
    ),
    _concept(
        r"operating\s+(?:profit|income|margin|result)",
        "operating income; income from operations; net sales; net revenues",
        INCOME,
    ),
    _concept(r"ebitda?r?\b", "operating income; depreciation and amortization", INCOME, CASH),
    _concept(
        r"tax\s+rate", "provision for income taxes; income before income taxes; effective tax rate", INCOME
    ),
    _concept(
        r"interest\s+coverage", "interest expense; operating income; income before income taxes", INCOME
    ),
    _concept(
        r"cogs\b|cost\s+of\s+(?:goods|sales|revenue)",
        "cost of sales; cost of goods sold; cost of products sold; cost of revenue",
        INCOME,
    ),
    _concept(r"eps\b|earnings\s+per\s+share", "earnings per share; diluted; basic", INCOME),
    _concept(
        r"net\s+(?:income|profit|earnings|margin)|bottom\s+line|profit\s+margin",
        "net income; net earnings; net sales; revenues",
        INCOME,
    ),
    _concept(r"sg&?a\b", "selling general and administrative", INCOME),
    _concept(r"r&d\b", "research and development", INCOME),
    _concept(r"revenues?\b|sales\b|top\s?line", "net sales; net revenues; total revenues; revenue"),
    # Statements by their names
    _concept(r"balance\s+sheet|financial\s+position", "", BALANCE),
    _concept(
        r"income\s+statement|p\s?&\s?l\b|profit\s+and\s+loss|statements?\s+of\s+(?:income|operations|earnings)",
        "",
        INCOME,
    ),
    _concept(r"cash\s+flows?\s+statement|statements?\s+of\s+cash|cash\s+flows?\b", "", CASH),
    # Elsewhere in a report
    _concept(r"ceo\b", "chief executive officer"),
    _concept(r"cfo\b", "chief financial officer"),
    _concept(
        r"legal\s+(?:battle|issue|dispute|matter|proceeding)|lawsuit|litigation",
        "legal proceedings; litigation; contingencies",
    ),
    _concept(
        r"(?:debt\s+)?securities\s+(?:are\s+)?(?:registered|traded|listed)",
        "securities registered pursuant to section 12 b; title of each class; name of each exchange on which "
        "registered; notes due",
    ),
    _concept(r"acqui(?:sition|red)", "acquisitions; acquired; purchase price"),
    _concept(r"geograph|regions?\b|countr", "geographic areas; region; international"),
)

# Words that say what is to be done with the facts, not which facts: no page is found by them.
OPERATIONS = (
    "percent percentage percentual ratio average total difference change increase decrease growth rate much "
    "many value amount sum calculate compute compare comparison portion proportion net million billion "
    "thousand dollar usd year years period approximately roughly question answer based according considering"
)

# Words of a cover page that belong to no company in particular.
NAME_NOISE = (
    "form annual report quarterly pursuant section securities exchange act commission united states "
    "washington fiscal year ended quarter period date transition current mark one earnings news release "
    "results inc corp corporation company companies co plc ltd limited incorporated group holding holdings "
    "llc lp nv sa ag the of and exhibit delaware item table contents index file number content for to no low "
    "dc press media contact investor relations first second third fourth full announces reports 10-K 10-Q "
    "8-K exact name registrant specified charter january february march april may june july august september "
    "october november december"
)


def is_number(term: str) -> bool:
    """Whether a term is a number, and not one that stands for a year.

    >>> [is_number(term) for term in ("1234.5", "2018", "10k", "net")]
    [True, False, False, False]
    """
    return _NUMBER.fullmatch(term) is not None and _YEAR.fullmatch(term) is None
