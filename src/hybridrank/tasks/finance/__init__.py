"""Evidence in financial reports: from a corpus of filings to the exact spans that hold a question's facts."""

from hybridrank.tasks.finance.index import BuildReport, build
from hybridrank.tasks.finance.search import Evidence, FinanceIndex

__all__ = ["BuildReport", "Evidence", "FinanceIndex", "build"]
