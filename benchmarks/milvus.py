"""What moves when an index moves to Milvus, measured with Milvus Lite: the words, and the learned ranker.

    python -m benchmarks.milvus --data DIR [--corpus NAME] [--passages N] [--json FILE]
    python -m benchmarks.milvus --smoke

The tables are about the quality of rankings. Searches are not timed: what Milvus Lite takes, which is written
in Python, says nothing of a cluster. What one process prepares for sending is timed without a server.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from benchmarks.command_line import run_command
from benchmarks.rows import BenchmarkError, read_rows
from hybridrank import (
    LearnedReranker,
    LexicalIndex,
    Passage,
    Ranking,
    Tokenizer,
    read_corpus,
    split_documents,
)
from hybridrank.engines import MilvusIndex
from hybridrank.errors import InputError
from hybridrank.tasks.finance.datasets import EvaluationSet, find_sets, sample_sets

_K = 10
_DEPTH = 100
_FOLDS = 5
_PARTS = 6  # segments, where a corpus comes in several
_FROM = 40  # passages out of which each one is drawn


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what the arguments name (sys.argv by default)."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.milvus", description=__doc__.split("\n")[0])
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--data", type=Path, metavar="DIR", help="evaluation data, as for benchmarks.finance")
    source.add_argument("--smoke", action="store_true", help="the sample reports")
    parser.add_argument("--corpus", default="full", help="whose passages the words are compared on")
    parser.add_argument("--set", default="finqa-raw", help="the questions")
    parser.add_argument("--passages", type=int, default=3000, help="how many")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write what was measured")
    return run_command(parser, _run, arguments, BenchmarkError, InputError)


def _run(options: argparse.Namespace, errors: Console) -> None:
    if options.smoke:
        (small,), _ = sample_sets()
        large = small.corpus.path
    else:
        (small,), _ = find_sets(options.data, [options.set], ["small"])
        large = options.data / f"corpus-{options.corpus}"
    with tempfile.TemporaryDirectory(prefix="hybridrank-milvus-") as folder:
        place = Path(folder) / "bench.db"
        with errors.status("comparing words"):
            words = compare_words(drawn(large, options.passages), questions(small)[:200], place)
        with errors.status("comparing rankers"):
            learned = compare_rankers(small, place)
        with errors.status("preparing"):
            prepared = prepared_a_second(cut(small))
    output = Console() if sys.stdout.isatty() else Console(width=120)
    _print(output, f"{options.passages:,} passages: the ten best, beside the embedded index", words)
    _print(output, f"{small.name} on corpus {small.corpus.name}, held out by company", learned)
    output.print(f"one process prepares {prepared:,.0f} passages a second of its processor time")
    if options.json is not None:
        measured = {"words": words, "learned": learned, "prepared a second": prepared}
        options.json.write_text(json.dumps(measured, indent=1) + "\n", "ascii")


def drawn(corpus: Path, number: int) -> list[Passage]:
    """Some passages of 1,000 characters at most, spread over the first reports of a corpus."""
    every = list(
        islice(split_documents(read_corpus(corpus / "reports.jsonl"), max_chars=1000), _FROM * number)
    )
    return [every[at] for at in sorted(random.Random(0).sample(range(len(every)), min(number, len(every))))]


def cut(of: EvaluationSet) -> list[Passage]:
    """The passages of 512 characters at most of a set's reports."""
    return list(split_documents(read_corpus(of.corpus.path / "reports.jsonl"), max_chars=512))


def questions(of: EvaluationSet) -> list[str]:
    """The questions of a set."""
    return [row["question"] for row in read_rows(of.queries)]


def compare_words(passages: Sequence[Passage], queries: Sequence[str], place: Path) -> list[dict[str, Any]]:
    """How like the ten best are to those of the embedded index, by who cuts the words and who weighs them."""
    embedded = LexicalIndex.build(passages)
    best = [[hit.position for hit in ranking] for ranking in embedded.search_many(queries, _K)]
    terms = Tokenizer().terms

    def escaped(text: str) -> str:  # so that Milvus's analyzer cuts what ours has cut
        return " ".join(f"t{term.encode().hex()}" for term in terms(text)) or "none"

    rows = []
    for name, words, parts in (
        ("Milvus's words and BM25, in one segment", str, 1),
        ("our words, Milvus's BM25, in one segment", escaped, 1),
        (f"our words, Milvus's BM25, in {_PARTS} segments", escaped, _PARTS),
    ):
        search = _bm25_function(passages, place, words, parts)
        rows.append(_like(name, search, queries, best))
    for parts in (1, _PARTS):
        first, *others = _cut(passages, parts)
        index = MilvusIndex.build(
            first, place, replace=True, average_length=embedded.postings.n_tokens / len(passages)
        )
        for some in others:
            index.add(some)

        def ours(query: str, index: MilvusIndex = index) -> list[int]:
            return [hit.position for hit in index.search(query, _K)]

        name = f"MilvusIndex, in {'one segment' if parts == 1 else f'{parts} segments'}"
        rows.append(_like(name, ours, queries, best))
        index.drop()
    return rows


def _cut(passages: Sequence[Passage], parts: int) -> list[Sequence[Passage]]:
    size = -(-len(passages) // parts)
    return [passages[start : start + size] for start in range(0, len(passages), size)]


def _bm25_function(
    passages: Sequence[Passage], place: Path, words: Callable[[str], str], parts: int
) -> Callable[[str], list[int]]:
    """A search by Milvus's own BM25."""
    from pymilvus import DataType, Function, FunctionType, MilvusClient

    client = MilvusClient(str(place))
    fields = client.create_schema(auto_id=False)
    fields.add_field("id", DataType.INT64, is_primary=True)
    fields.add_field("text", DataType.VARCHAR, max_length=65_535, enable_analyzer=True)
    fields.add_field("sparse", DataType.SPARSE_FLOAT_VECTOR)
    fields.add_function(
        Function(
            name="bm25",
            function_type=FunctionType.BM25,
            input_field_names=["text"],
            output_field_names=["sparse"],
        )
    )
    indexes = client.prepare_index_params()
    parameters = {"bm25_k1": 1.5, "bm25_b": 0.75}
    indexes.add_index("sparse", index_type="SPARSE_INVERTED_INDEX", metric_type="BM25", params=parameters)
    if client.has_collection("words"):
        client.drop_collection("words")
    client.create_collection("words", schema=fields, index_params=indexes)
    position = 0
    for some in _cut(passages, parts):
        rows = [{"id": position + at, "text": words(passage.text)} for at, passage in enumerate(some)]
        client.insert("words", rows)
        client.flush("words")
        position += len(some)

    def search(query: str) -> list[int]:
        (found,) = client.search("words", data=[words(query)], anns_field="sparse", limit=_K)
        return [hit["id"] for hit in found]

    return search


def _like(
    name: str, search: Callable[[str], list[int]], queries: Sequence[str], best: Sequence[Sequence[int]]
) -> dict[str, Any]:
    pairs = [(search(query), other) for query, other in zip(queries, best, strict=True)]
    return {
        "way": name,
        "same of ten": float(np.mean([len({*one} & {*other}) / len(other) for one, other in pairs if other])),
        "same first": float(np.mean([one[:1] == other[:1] for one, other in pairs])),
        "same order": float(np.mean([one == list(other) for one, other in pairs])),
    }


class Estimated:
    """An index on Milvus whose document frequencies are estimated from a part of its passages."""

    name = "bm25"

    def __init__(self, index: MilvusIndex, passages: Sequence[Passage], share: float) -> None:
        self.index, self.share = index, share
        self.tokenizer, self.k1, self.b = index.tokenizer, index.k1, index.b
        self.average_length, self.n_documents = index.average_length, len(passages)
        some = random.Random(0).sample(list(passages), max(1, round(share * len(passages))))
        self.counts = Counter(term for passage in some for term in set(self.tokenizer.terms(passage.text)))
        self.search, self.search_many, self.find = index.search, index.search_many, index.find

    def __len__(self) -> int:
        return self.n_documents

    def document_frequency(self, terms: Sequence[str]) -> NDArray[np.int64]:
        """Estimated: a term that is not in the part counts as one that one passage has."""
        return np.array([max(1, round(self.counts[term] / self.share)) for term in terms], dtype=np.int64)


class Found:
    """A retriever that gives what was found before."""

    name = "bm25"

    def __init__(self, rankings: Mapping[str, Ranking]) -> None:
        self.rankings = rankings

    def __len__(self) -> int:
        return len(self.rankings)

    def search(self, query: str, k: int = 10) -> Ranking:
        """What was found, cut to ``k``."""
        return self.rankings[query].top(k)

    def search_many(self, queries: Iterable[str], k: int = 10) -> list[Ranking]:
        """The same of each query."""
        return [self.search(query, k) for query in queries]


def compare_rankers(of: EvaluationSet, place: Path) -> list[dict[str, Any]]:
    """What a ranker that learns gains over the embedded index, over Milvus, and over less than that."""
    passages = cut(of)
    queries = {row["query_id"]: row["question"] for row in read_rows(of.queries)}
    judged = _judgments(of, passages)
    company = {name: min(of.labels[name].documents).split("_")[0] for name in judged}
    embedded = LexicalIndex.build(passages)
    index = MilvusIndex.build(passages, place, replace=True)
    rows = [
        _ranked("embedded", embedded, queries, judged, company),
        _ranked("MilvusIndex", index, queries, judged, company),
        _ranked("... df from a tenth", Estimated(index, passages, 0.1), queries, judged, company),
        _ranked("... df from a hundredth", Estimated(index, passages, 0.01), queries, judged, company),
    ]
    average = index.average_length
    for factor in (0.8, 1.25):
        index = MilvusIndex.build(passages, place, replace=True, average_length=factor * average)
        rows.append(_ranked(f"... average length x {factor}", index, queries, judged, company))
    index.drop()
    return rows


class Nowhere:
    """A client of a server that takes everything and has nothing."""

    def __getattr__(self, method: str) -> Callable[..., Any]:
        answers: dict[str, Any] = {"has_collection": False, "query": []}
        return lambda **_: answers.get(method)


def prepared_a_second(passages: Sequence[Passage]) -> float:
    """How many passages become rows, with their words cut and weighed, in a second of processor time."""
    started = time.process_time()
    MilvusIndex.build(passages, "http://nowhere", client=Nowhere(), average_length=40.0)
    return len(passages) / (time.process_time() - started)


def _judgments(of: EvaluationSet, passages: Iterable[Passage]) -> dict[str, dict[str, int]]:
    """The passages that touch a place with evidence, by question."""
    of_document: dict[str | None, list[Passage]] = {}
    for passage in passages:
        of_document.setdefault(passage.document_id, []).append(passage)
    return {
        name: {
            passage.id: 1
            for places in label.units
            for place in places
            for passage in of_document[place.document_id]
            if passage.start < place.end and place.start < passage.end
        }
        for name, label in of.labels.items()
    }


def _ranked(
    name: str,
    index: Any,
    queries: Mapping[str, str],
    judged: Mapping[str, Mapping[str, int]],
    company: Mapping[str, str],
) -> dict[str, Any]:
    companies = sorted(set(company.values()))
    fold = {one: number % _FOLDS for number, one in enumerate(companies)}
    found = {one: index.search(queries[one], _DEPTH) for one in judged}
    finder = Found({queries[one]: ranking for one, ranking in found.items()})
    learned: dict[str, Ranking] = {}
    for number in range(_FOLDS):
        others = {one: of for one, of in judged.items() if fold[company[one]] != number}
        ranker = LearnedReranker.fit(index, queries, others, retriever=finder, depth=_DEPTH)
        for one in judged:
            if fold[company[one]] == number:
                learned[one] = ranker.rerank(found[one])
    return {
        "index": name,
        **{f"BM25 {what}": value for what, value in _quality(found, judged).items()},
        **{f"learned {what}": value for what, value in _quality(learned, judged).items()},
    }


def _quality(rankings: Mapping[str, Ranking], judged: Mapping[str, Mapping[str, int]]) -> dict[str, float]:
    import ir_measures
    from ir_measures import R, nDCG

    run = {one: {hit.passage_id: -hit.rank for hit in ranking} for one, ranking in rankings.items()}
    found = ir_measures.calc_aggregate([nDCG @ 10, R @ 5], judged, run)
    return {str(measure): float(value) for measure, value in found.items()}


def _print(console: Console, title: str, rows: Sequence[Mapping[str, Any]]) -> None:
    table = Table(title=title, title_justify="left")
    for column in rows[0]:
        table.add_column(column, justify="left" if column in ("way", "index") else "right")
    for row in rows:
        table.add_row(*(value if isinstance(value, str) else f"{value:.4f}" for value in row.values()))
    console.print(table)


if __name__ == "__main__":
    sys.exit(main())
