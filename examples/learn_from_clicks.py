"""From a log of clicks to a ranker, and whether it ranks better for companies that it has not learned from.

    python examples/learn_from_clicks.py

The log is made up: for each question ten people look at what BM25 shows, at lower places less often, and
click a good passage nine times in ten, others once in ten. With a log of your own, give `judged` its rows.
"""

from __future__ import annotations

import random
from collections import defaultdict
from importlib.resources import as_file, files
from statistics import fmean

from hybridrank import LearnedReranker, LexicalIndex, read_corpus, split_documents
from hybridrank.evaluation.formats import read_queries
from hybridrank.fusion_choice import ndcg
from hybridrank.tasks.finance.scoring import read_labels

LOOKED_AT = [rank**-0.7 for rank in range(1, 11)]  # how often: what is not seen is not clicked, however good


def judged(log: list[tuple[str, list[str], set[str]]]) -> dict[str, dict[str, int]]:
    """Grades by query: 1 for what was clicked at more than half of the times that it was probably looked at.

    The log has rows of query id, passages shown and passages clicked (Joachims, Swaminathan and Schnabel,
    *Unbiased Learning-to-Rank with Biased Feedback*, WSDM 2017).
    """
    surplus: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for query_id, shown, clicked in log:
        for passage_id, looks in zip(shown, LOOKED_AT, strict=False):
            surplus[query_id][passage_id] += (passage_id in clicked) - looks / 2
    return {query: {id: int(more > 0) for id, more in of.items()} for query, of in surplus.items()}


def main() -> None:
    """Play the log, learn with each company held out in turn, and compare by the true labels."""
    with as_file(files("hybridrank") / "data" / "finance") as sample:
        index = LexicalIndex.build(split_documents(read_corpus(sample / "reports.jsonl")))
        queries, labels = read_queries(sample / "questions.jsonl"), read_labels(sample / "labels.jsonl")
    good: dict[str, dict[str, int]] = defaultdict(dict)
    for id, label in labels.items():
        for at in (place for unit in label.units for place in unit):
            near = (one for one in index.passages if one.document_id == at.document_id)
            good[id].update({one.id: 1 for one in near if one.start < at.end and at.start < one.end})
    company = {id: min(label.documents).split("_")[0] for id, label in labels.items()}

    chance, log = random.Random(0), []
    found = {id: index.search(text, k=100) for id, text in queries.items()}
    for id, ranking in found.items():
        shown = [hit.passage_id for hit in ranking.top(10)]
        odds = [
            looks * (0.9 if one in good[id] else 0.1) for one, looks in zip(shown, LOOKED_AT, strict=False)
        ]
        for _ in range(10):
            log.append(
                (id, shown, {one for one, odd in zip(shown, odds, strict=True) if chance.random() < odd})
            )
    grades = judged(log)
    right = [grade == good[id].get(one, 0) for id, of in grades.items() for one, grade in of.items()]
    print(f"{len(log)} looks judge {len(right)} passages, {sum(right)} of them as the true labels do")

    gains = {}
    for held_out in set(company.values()):
        others = {id: of for id, of in grades.items() if company[id] != held_out}
        ranker = LearnedReranker.fit(index, queries, others)
        for id in queries.keys() - others.keys():
            orders = ([hit.passage_id for hit in one] for one in (found[id], ranker.rerank(found[id])))
            gains[id] = tuple(ndcg(order, good[id]) for order in orders)
    before, after = (fmean(of) for of in zip(*gains.values(), strict=True))
    print(f"nDCG@10 for companies held out: BM25 {before:.3f}, learned from clicks {after:.3f}")
    better, worse = (sum(sign * (new - old) > 0 for old, new in gains.values()) for sign in (1, -1))
    same = len(gains) - better - worse
    print(f"{better} questions are better, {worse} worse, {same} as before; that is a small sample")


if __name__ == "__main__":
    main()
