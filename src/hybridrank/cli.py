"""The command line. Results go to standard output, all that is said about the work to standard error."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from hybridrank.commands import doctor, evaluate, finance, meetings, report, serve
from hybridrank.commands.inputs import with_model
from hybridrank.commands.terminal import (
    FAILED,
    INTERRUPTED,
    end_output,
    path_of,
    positive_number,
    progress,
    say,
    show_warning,
    tell,
    writing,
)
from hybridrank.errors import HybridrankError, HybridrankWarning

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code: 0, 1 from the doctor for a service that does not
    answer, 2 for what cannot be used, or 130 after Ctrl-C.

    Raises ``SystemExit``, with code 2, for arguments that cannot be understood.
    """
    options = _parser().parse_args(arguments)
    with warnings.catch_warnings():
        warnings.showwarning = show_warning
        warnings.simplefilter("always", HybridrankWarning)
        try:
            code: int = options.command(options)
            if sys.stdout is not None:
                sys.stdout.flush()  # here, where it is still understood why it fails
        except HybridrankError as error:
            tell(f"error: {error}")
            return FAILED
        except BrokenPipeError:  # the reader has seen enough, as `head` does
            end_output()
            return 0
        except OSError as error:
            end_output()
            place = "" if error.filename is None else f"{error.filename}: "
            tell(f"error: {place}{error.strerror or error}")
            return FAILED
        except KeyboardInterrupt:
            tell("interrupted")
            return INTERRUPTED
    return code


class _Parser(argparse.ArgumentParser):
    """A parser, and a maker of parsers of commands, that takes no option by its beginning."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"allow_abbrev": False, **options})


def _version() -> str:
    try:
        return f"hybridrank {importlib.metadata.version('hybridrank')}"
    except importlib.metadata.PackageNotFoundError:  # run from the sources, or from an assembled directory
        return "hybridrank, not installed"


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="hybridrank",
        description="Find the passages that answer a question.",
        epilog="Example: hybridrank index notes/ --output my.index && hybridrank search my.index 'plan C'",
    )
    parser.set_defaults(command=lambda options: say(parser.format_help().rstrip()))
    parser.add_argument("--version", action="version", version=_version())
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")

    index = commands.add_parser("index", help="index a .jsonl, .txt or .md file, or a folder")
    index.add_argument(
        "corpus",
        type=path_of,
        metavar="CORPUS",
        help='a folder of .txt and .md files, one of these, JSON lines {"id", "text"}, or a BEIR folder',
    )
    index.add_argument("--output", type=path_of, required=True, metavar="DIR", help="the index directory")
    index.add_argument(
        "--max-chars", type=positive_number, default=1000, metavar="N", help="longest passage (default 1000)"
    )
    index.add_argument("--language", default="english", help="language of the stemmer (default english)")
    index.set_defaults(command=_index)

    search = commands.add_parser("search", help="search an index")
    search.add_argument("index", type=path_of, metavar="DIR", help="the index directory")
    search.add_argument("question", metavar="QUESTION", help="plain text; after -- it may start with a dash")
    search.add_argument("-k", type=positive_number, default=10, metavar="N", help="passages (default 10)")
    search.add_argument("--json", action="store_true", help="one JSON object")
    search.add_argument("--explain", action="store_true", help="say why each passage is there")
    search.add_argument("--model", type=path_of, metavar="DIR", help="a learned ranker that orders the hits")
    search.set_defaults(command=_search)

    evaluate.add_to(commands.add_parser("evaluate", help="measure rankings on judged queries"))
    report.add_to(commands.add_parser("report", help="show rankings as an HTML page"))

    demo = commands.add_parser("demo", help="the whole finance job on the sample reports")
    demo.add_argument("--questions", type=positive_number, default=3, metavar="N", help="to show (default 3)")
    demo.set_defaults(command=_demo)

    finance.add_to(commands.add_parser("finance", help="evidence in financial reports"))
    meetings.add_to(commands.add_parser("meetings", help="a memory of meetings, and answers from it"))
    serve.add_to(commands.add_parser("serve", help="search and rerank over HTTP"))
    doctor.add_to(
        commands.add_parser("doctor", help="do outside services answer, and what would a job spend")
    )
    return parser


def _index(options: argparse.Namespace) -> int:
    from hybridrank.evaluation import beir
    from hybridrank.lexical import LexicalIndex
    from hybridrank.text.corpus import read_corpus
    from hybridrank.text.passages import split_documents
    from hybridrank.text.tokens import Tokenizer

    tokenizer = Tokenizer(options.language)
    with progress("Reading", "passages") as advance:
        passages = []
        is_beir = (options.corpus / beir.CORPUS).is_file()
        documents = beir.read_corpus(options.corpus) if is_beir else read_corpus(options.corpus)
        for passage in split_documents(documents, max_chars=options.max_chars):
            passages.append(passage)
            advance(len(passages))
    index = LexicalIndex.build(passages, tokenizer=tokenizer)
    with writing(options.output):
        index.save(options.output)
    tell(f"{len(index)} passages indexed in {options.output}")
    return 0


def _search(options: argparse.Namespace) -> int:
    from hybridrank.lexical import LexicalIndex

    index = LexicalIndex.open(options.index)
    retriever = index if options.model is None else with_model(index, options.model, name="learned")
    ranking = retriever.search(options.question, options.k)
    if options.json:
        return say(json.dumps(_ranking_to_json(ranking)))
    if options.explain:
        return say(ranking.explain())
    if not ranking:
        tell("nothing found")
    for hit in ranking:
        say(f"{hit.rank}. {hit.passage_id}  ({hit.score:.3f})")
        if hit.passage is not None:
            say(f"   {' '.join(hit.passage.text.split())}")
    return 0


def _ranking_to_json(ranking: Any) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "query": ranking.query,
        "hits": [
            {
                "id": hit.passage_id,
                "rank": hit.rank,
                "score": hit.score,
                "document_id": hit.passage.document_id,
                "start": hit.passage.start,
                "end": hit.passage.end,
                "text": hit.passage.text,
                "metadata": dict(hit.passage.metadata),
                "reasons": [asdict(reason) for reason in hit.reasons],
            }
            for hit in ranking
        ],
        "degraded": ranking.degraded,
        "usage": asdict(ranking.usage),
    }


def _demo(options: argparse.Namespace) -> int:
    from hybridrank.tasks.finance.demo import demo

    return say(demo(options.questions))
