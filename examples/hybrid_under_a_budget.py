"""Words, vectors and a cross-encoder together, within a budget that is never exceeded.

    python examples/hybrid_under_a_budget.py

With JINA_API_KEY or JINA_BASE_URL set it asks that service, at most six times. With neither it starts a
stand-in on this machine, whose vectors count words: it shows what is sent and spent, not what a model finds.
Needs the extra `jina`: pip install 'hybridrank[jina]'
"""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from importlib.resources import files
from pathlib import Path

from hybridrank import (
    Budget,
    CrossEncoderReranker,
    DenseIndex,
    HybridrankError,
    JinaClient,
    JinaEmbedder,
    Ledger,
    LexicalIndex,
    hybrid,
    read_corpus,
    split_documents,
)

QUESTIONS = [
    "which glue for outdoor joints",
    "how do I stop the slugs",
    "how is the sourdough starter fed",
]


def main() -> None:
    """Search the sample notes with all three, until the budget is spent."""
    passages = list(split_documents(read_corpus(str(files("hybridrank") / "data" / "notes")), max_chars=400))
    with ExitStack() as stack:
        if not (os.environ.get("JINA_API_KEY") or os.environ.get("JINA_BASE_URL")):
            sys.path.insert(0, str(Path(__file__).parents[1]))  # the checkout, which has the stand-in
            from benchmarks.stub_service import StubService

            os.environ["JINA_BASE_URL"] = stack.enter_context(StubService()).url
            print("no service is named: a stand-in answers, on this machine\n")
        ledger = Ledger(Budget(requests=6, tokens=50_000, seconds=60))
        client = stack.enter_context(JinaClient.from_env(ledger=ledger))
        words = LexicalIndex.build(passages)
        vectors = DenseIndex.build(passages, JinaEmbedder(client))
        print(f"{len(passages)} passages embedded: {ledger.usage}")
        pipeline = hybrid(words, vectors, rerankers=[CrossEncoderReranker(client, depth=20)])
        for question in QUESTIONS:
            found = pipeline.search(question, k=1)
            print(f"\n{question}: {found[0].passage_id}")
            print(f"   left are {ledger.remaining.requests} requests, {ledger.remaining.tokens:,} tokens")
            print(f"   {found.degraded or 'all three had their say'}")


if __name__ == "__main__":
    try:
        main()
    except HybridrankError as error:  # such as the extra that is missing
        sys.exit(str(error))
