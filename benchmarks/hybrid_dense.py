"""A dense index of every window of a corpus, where that is affordable."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from benchmarks.hybrid_methods import Method, less
from benchmarks.hybrid_questions import Question, Tell
from benchmarks.plain import pack_lines
from hybridrank.dense import DenseIndex
from hybridrank.jina import JinaClient, JinaEmbedder
from hybridrank.records import Hit, Passage, Usage
from hybridrank.tasks.finance.scoring import Place, evidence_recall, page_hit
from hybridrank.tasks.finance.search import FinanceIndex
from hybridrank.tasks.finance.spans import MOST_SPANS

__all__ = ["whole_corpus"]

NAME = "dense, every window"


def whole_corpus(
    questions: Sequence[Question], client: JinaClient, work: Path, tell: Tell
) -> dict[str, Method]:
    """The best five of all windows of a corpus by cosine, a method for each set.

    Windows are lines packed to 512 characters. The cost is that of the questions; that of a corpus is borne
    by the first question about it.
    """
    quality: dict[str, list[float]] = {}
    usage: dict[str, list[Usage]] = {}
    indexes: dict[str, DenseIndex] = {}
    for number, question in enumerate(questions, start=1):
        before = client.ledger.usage
        corpus = question.set_name.partition("/")[0]
        if corpus not in indexes:
            tell(f"embedding every window of {corpus}")
            passages = _windows(question.index)
            indexes[corpus] = DenseIndex.build(passages, JinaEmbedder(client), work / f"{corpus}-dense")
        if number % 25 == 1:
            tell(f"searching every window, {number} of {len(questions)}")
        places = [_place(hit) for hit in indexes[corpus].search(question.text, MOST_SPANS)]
        label = question.example.label
        found = page_hit(label.pages, places) if label.pages else evidence_recall(label.units, places)
        quality.setdefault(question.set_name, []).append(found)
        usage.setdefault(question.set_name, []).append(less(client.ledger.usage, before))
    return {
        name: Method(name=NAME, quality=np.array(some), usage=usage[name]) for name, some in quality.items()
    }


def _windows(index: FinanceIndex) -> Iterator[Passage]:
    for number, document in enumerate(index.reports.ids):
        text = index.text(number)
        for start, end in pack_lines(text):
            yield Passage(id=f"{document}:{start}", document_id=document, start=start, text=text[start:end])


def _place(hit: Hit) -> Place:
    document, _, start = hit.passage_id.rpartition(":")
    length = len(hit.passage.text) if hit.passage else 0
    return Place(document, int(start), int(start) + length)
