"""From company reports to the exact spans that hold a question's facts, with a learned ranker and no network.

    python examples/finance_evidence.py                         a question on the package's made-up reports
    python examples/finance_evidence.py "Who left in 2019?"     another one

`hybridrank finance build --corpus DIR --index-dir INDEX` builds an index of your own reports.
"""

from __future__ import annotations

import sys
import tempfile
from importlib.resources import files

from hybridrank.tasks.finance import FinanceIndex, build

QUESTION = "What was Corrimont Packaging's LIFO reserve at the end of 2021?"


def main() -> None:
    """Build the sample's index, and show at most five spans with what speaks for each."""
    question = sys.argv[1] if len(sys.argv) > 1 else QUESTION
    with tempfile.TemporaryDirectory() as directory:
        built = build(str(files("hybridrank") / "data" / "finance"), directory)
        print(f"{built.reports} reports, {built.characters:,} characters\n\n{question}\n")

        for evidence in FinanceIndex.open(directory).evidence(question):
            span = evidence.span
            strongest = ", ".join(f"{name} {pull:+.2f}" for name, pull in list(evidence.pulls.items())[:3])
            print(f"{evidence.rank}. {span.document_id}, characters {span.start} to {span.end}")
            print(f"   {evidence.report}; most for it: {strongest}")
            print(f"   {' '.join(evidence.text.split())[:160]} ...\n")


if __name__ == "__main__":
    main()
