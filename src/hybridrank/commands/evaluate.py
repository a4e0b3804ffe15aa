"""``hybridrank evaluate``: how well do systems rank, on queries with judgments of your own?"""

from __future__ import annotations

import argparse
import json
import shutil
import sys

from hybridrank.commands.files import check_outputs, input_path, output_path, whole_file, write_text
from hybridrank.commands.inputs import LABELS_HELP, add_queries, named_path, read_labels, with_model
from hybridrank.commands.parsing import Parser
from hybridrank.commands.terminal import positive_number, progress, say, tell
from hybridrank.errors import InputError

__all__ = ["add_to"]

_WIDE = 160  # columns where no terminal says how many it has
_BM25 = "bm25"


def add_to(parser: Parser) -> None:
    """Give the parser of ``evaluate`` its arguments."""
    parser.description = (
        "Search judged queries and measure the rankings, several systems side by side: BM25, learned "
        "rankers, which should not have learned from these queries, and run files of other systems."
    )
    parser.examples = [
        "hybridrank evaluate my.index --queries queries.tsv --qrels qrels.txt",
        "hybridrank evaluate my.index --queries beir/ --qrels beir/ --model ranker/ --run x=x.run --json",
        "hybridrank evaluate my.index --queries q.tsv --qrels q.txt --markdown table.md --plot means.svg",
    ]
    add_queries(parser)
    parser.add_argument(
        "--qrels", dest="labels", type=input_path, required=True, metavar="PATH", help=LABELS_HELP
    )
    parser.add_alias("--labels", "--qrels")
    parser.add_argument(
        "--run",
        type=named_path,
        action="append",
        default=[],
        metavar="NAME=FILE",
        help="a ranking in TREC's format to compare; may be repeated",
    )
    parser.add_argument(
        "--model",
        type=named_path,
        action="append",
        default=[],
        metavar="NAME=DIR",
        help="a learned ranker to compare; may be repeated",
    )
    parser.add_alias("--ranker", "--model")
    parser.add_argument("--baseline", metavar="NAME", help=f"what the others are tested against ({_BM25})")
    parser.add_argument(
        "--measures",
        nargs="+",
        metavar="MEASURE",
        help="as ir-measures names them (default nDCG@10 R@100 RR@10 P@5)",
    )
    parser.add_argument(
        "--depth", type=positive_number, metavar="N", help="hits looked for (default: what the measures need)"
    )
    parser.add_argument(
        "--differences", type=positive_number, default=3, metavar="N", help="worst and best queries shown (3)"
    )
    parser.add_argument("--json", action="store_true", help="with each query's values, as JSON")
    parser.add_argument("--markdown", type=output_path, metavar="FILE", help="write the tables as Markdown")
    parser.add_argument(
        "--plot", type=output_path, metavar="FILE", help="draw means and intervals: .png, .svg"
    )
    parser.set_defaults(command=_evaluate)


def _evaluate(options: argparse.Namespace) -> int:
    from hybridrank.evaluation.compare import Run, evaluate
    from hybridrank.evaluation.formats import read_queries
    from hybridrank.evaluation.measures import DEFAULT_MEASURES, check_measures
    from hybridrank.evaluation.plotting import pyplot_for_files
    from hybridrank.evaluation.show import plot, to_markdown, to_text
    from hybridrank.evaluation.trec import read_run
    from hybridrank.lexical import LexicalIndex
    from hybridrank.protocols import Retriever

    # What can be refused is refused before any search.
    measures = check_measures(options.measures or DEFAULT_MEASURES)
    check_outputs(options.markdown, options.plot)
    if options.plot:
        pyplot_for_files(extra="evaluate")
    names = [_BM25, *(one.name for one in (*options.model, *options.run))]
    if len(set(names)) < len(names):
        raise InputError(f"systems are named {', '.join(names)}", remedy="Give each a name of its own.")
    if options.baseline and options.baseline not in names:
        raise InputError(
            f"no system is named {options.baseline!r}", remedy=f"Name one of {', '.join(names)}."
        )
    index = LexicalIndex.open(options.index)
    queries = read_queries(options.queries)
    labels = read_labels(index, options.labels, split=options.split)
    runs = {one.name: Run(ranked=read_run(one.path)) for one in options.run}
    retrievers: dict[str, Retriever] = {_BM25: index}
    retrievers |= {one.name: with_model(index, one.path, name=one.name) for one in options.model}
    searches = len(retrievers) * len(queries.keys() & labels.grades.keys())
    with progress("Searching", "queries", searches) as advance:
        result = evaluate(
            retrievers,
            queries,
            labels.grades,
            runs=runs,
            measures=measures,
            baseline=options.baseline,
            unit=labels.unit,
            depth=options.depth,
            progress=advance,
        )
    tell(f"judged are {labels.unit}s")
    if options.markdown:
        write_text(options.markdown, to_markdown(result, queries=options.differences))
    if options.plot:
        with whole_file(options.plot) as file:
            plot(result, file)
    if options.json:
        return say(json.dumps({"judged": labels.unit, **result.to_json()}))
    width = shutil.get_terminal_size((_WIDE, 24)).columns if sys.stdout and sys.stdout.isatty() else _WIDE
    return say(to_text(result, width=width, queries=options.differences))
