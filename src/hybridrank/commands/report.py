"""``hybridrank report``: rankings as one HTML page that opens from the disk."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from hybridrank.commands.files import check_outputs, input_path, output_path, write_text
from hybridrank.commands.inputs import LABELS_HELP, add_queries, named_path, read_labels, with_model
from hybridrank.commands.parsing import Parser
from hybridrank.commands.terminal import add_json, finish, positive_number, progress
from hybridrank.errors import InputError
from hybridrank.records import counted

if TYPE_CHECKING:
    from hybridrank.evaluation.units import Unit
    from hybridrank.lexical import LexicalIndex
    from hybridrank.protocols import Retriever
    from hybridrank.records import Ranking

    _Run = Mapping[str, tuple[str, ...]]

__all__ = ["add_to"]

_BM25 = "bm25"


def add_to(parser: Parser) -> None:
    """Give the parser of ``report`` its arguments."""
    parser.description = (
        "Write one HTML file that shows what each query finds, with the matches in their context and the "
        "reasons, and how two rankings differ. It asks nothing of the network."
    )
    parser.examples = [
        "hybridrank report my.index --queries queries.txt --output report.html",
        "hybridrank report my.index --queries q.tsv --qrels q.txt --compare ranker/ --output report.html",
    ]
    add_queries(parser)
    parser.add_argument(
        "--qrels",
        dest="labels",
        type=input_path,
        metavar="PATH",
        help=f"what fails comes first then: {LABELS_HELP}",
    )
    parser.add_alias("--labels", "--qrels")
    parser.add_argument(
        "--ranking",
        type=named_path,
        metavar="NAME=PATH",
        help="show a run file or a learned ranker's directory in place of the index's BM25",
    )
    parser.add_argument(
        "--compare",
        type=named_path,
        metavar="NAME=PATH",
        help="show beside it another run file or learned ranker",
    )
    parser.add_argument("-k", type=positive_number, default=10, metavar="N", help="hits shown (default 10)")
    parser.add_argument("--title", default="Ranking report", help="of the page")
    parser.add_argument(
        "--output",
        type=output_path,
        required=True,
        metavar="FILE.html",
        help="the page; - is standard output",
    )
    add_json(parser)
    parser.set_defaults(command=_report)


def _report(options: argparse.Namespace) -> int:
    from hybridrank.evaluation.formats import read_queries
    from hybridrank.evaluation.trec import read_run
    from hybridrank.evaluation.units import check_overlap
    from hybridrank.lexical import LexicalIndex
    from hybridrank.report.page import render
    from hybridrank.report.rows import Side

    check_outputs(options.output)
    systems: list[tuple[str, Path | None]] = [options.ranking or (_BM25, None)]
    systems += [options.compare] if options.compare else []
    names = [name for name, _ in systems]
    if len(set(names)) < len(names):
        raise InputError(f"both rankings are named {names[0]!r}", remedy="Name them: NAME=PATH.")
    runs = {name: read_run(path) for name, path in systems if path is not None and not path.is_dir()}
    index = LexicalIndex.open(options.index)
    queries = read_queries(options.queries)
    labels = None if options.labels is None else read_labels(index, options.labels, split=options.split)
    if labels is not None:
        check_overlap(queries, labels.grades)
    unit = _unit_of(index, queries, runs)
    searched: dict[str, Retriever] = {
        name: index if path is None else with_model(index, path, name=name)
        for name, path in systems
        if name not in runs
    }
    with progress("Searching", "queries", len(searched) * len(queries)) as advance:
        rankings = _search(searched, queries, options.k, unit, advance)
    rankings |= {name: _of_run(index, run, queries, unit, rankings) for name, run in runs.items()}
    page = render(
        [Side(name=name, rankings=rankings[name]) for name in names],
        queries,
        tokenizer=index.vocabulary.tokenizer,
        judgments=None if labels is None else labels.grades,
        k=options.k,
        title=options.title,
    )
    write_text(options.output, page, "the page")
    message = f"{counted(len(queries), 'query')} shown in {options.output}"
    return finish(options, message, queries=len(queries), output=options.output)


def _unit_of(index: LexicalIndex, queries: Mapping[str, str], runs: Mapping[str, _Run]) -> Unit:
    """What is shown side by side: documents as soon as a run ranks these, else passages."""
    from hybridrank.evaluation.units import check_overlap, tell_unit

    units: list[Unit] = ["passage"]
    for name, run in runs.items():
        check_overlap(run, queries, what=f"queries of {name}", known="queries to show")
        units.append(tell_unit(index.passages, run, what=f"{name}'s"))
    return "document" if "document" in units else "passage"


def _search(
    systems: Mapping[str, Retriever],
    queries: Mapping[str, str],
    k: int,
    unit: Unit,
    advance: Callable[[int], None],
) -> dict[str, dict[str, Ranking]]:
    from hybridrank.evaluation.units import search_units

    found: dict[str, dict[str, Ranking]] = {}
    done = 0
    for name, retriever in systems.items():
        found[name] = {}
        for query_id, text in queries.items():
            found[name][query_id] = search_units(retriever, text, k, unit)
            done += 1
            advance(done)
    return found


def _of_run(
    index: LexicalIndex,
    run: _Run,
    queries: Mapping[str, str],
    unit: Unit,
    searched: Mapping[str, Mapping[str, Ranking]],
) -> dict[str, Ranking]:
    """The rankings of a run, with the passages of the index: of a document the one that a search found, or
    else its first."""
    from hybridrank.evaluation.units import by_unit
    from hybridrank.passage_store import documents_of, ids_of
    from hybridrank.records import Hit, Ranking

    positions = {name: at for at, name in enumerate(ids_of(index.passages))}
    if unit == "document":
        for first, document in enumerate(documents_of(index.passages)):
            if document is not None:
                positions.setdefault(document, first)
    rankings = {}
    for query_id, text in queries.items():
        seen = {hit.passage_id: hit for found in searched.values() for hit in found[query_id]}
        hits = []
        for rank, name in enumerate(run.get(query_id, ()), start=1):
            at = seen[name].position if name in seen else positions.get(name)
            passage = None if at is None else index.passages[at]
            place = len(index) if at is None else at
            hits.append(Hit(passage_id=name, position=place, rank=rank, score=1 / rank, passage=passage))
        rankings[query_id] = by_unit(Ranking(query=text, hits=tuple(hits)), unit)
    return rankings
