"""The command line. Results go to standard output, all that is said about the work to standard error."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO

from hybridrank.errors import HybridrankError, HybridrankWarning, InputError

__all__ = ["main"]

_FAILED, _INTERRUPTED = 2, 128 + signal.SIGINT
_QUERIES = '{"query_id", "question"} a line'
# A text may hold what would move the cursor or recolour the terminal.
_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if chr(code) not in "\t\n"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code: 0, 2 for what cannot be used, or 130 after Ctrl-C.

    Raises ``SystemExit``, with code 2, for arguments that cannot be understood.
    """
    options = _parser().parse_args(arguments)
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        warnings.simplefilter("always", HybridrankWarning)
        try:
            code: int = options.command(options)
            if sys.stdout is not None:
                sys.stdout.flush()  # here, where it is still understood why it fails
        except HybridrankError as error:
            _tell(f"error: {error}")
            return _FAILED
        except BrokenPipeError:  # the reader has seen enough, as `head` does
            _end_output()
            return 0
        except OSError as error:
            _end_output()
            place = "" if error.filename is None else f"{error.filename}: "
            _tell(f"error: {place}{error.strerror or error}")
            return _FAILED
        except KeyboardInterrupt:
            _tell("interrupted")
            return _INTERRUPTED
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
    parser.set_defaults(command=lambda options: _say(parser.format_help().rstrip()))
    parser.add_argument("--version", action="version", version=_version())
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")

    index = commands.add_parser("index", help="index a .jsonl, .txt or .md file, or a folder of texts")
    index.add_argument("corpus", type=_path, metavar="CORPUS")
    index.add_argument("--output", type=_path, required=True, metavar="DIR", help="the index directory")
    index.add_argument(
        "--max-chars", type=_positive, default=1000, metavar="N", help="longest passage (default 1000)"
    )
    index.add_argument("--language", default="english", help="language of the stemmer (default english)")
    index.set_defaults(command=_index)

    search = commands.add_parser("search", help="search an index")
    search.add_argument("index", type=_path, metavar="DIR")
    search.add_argument("question", metavar="QUESTION", help="plain text; after -- it may start with a dash")
    search.add_argument("-k", type=_positive, default=10, metavar="N", help="passages (default 10)")
    search.add_argument("--json", action="store_true", help="one JSON object")
    search.add_argument("--explain", action="store_true", help="say why each passage is there")
    search.set_defaults(command=_search)

    demo = commands.add_parser("demo", help="the whole finance job on the sample reports")
    demo.add_argument("--questions", type=_positive, default=3, metavar="N", help="to show (default 3)")
    demo.set_defaults(command=_demo)

    _add_finance(commands.add_parser("finance", help="evidence in financial reports"))
    return parser


def _add_finance(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    build = commands.add_parser("build", help="index a corpus of reports")
    build.add_argument("--corpus", type=_path, required=True, metavar="DIR", help="holds reports.jsonl")
    build.add_argument("--index-dir", type=_path, required=True, metavar="DIR")
    build.set_defaults(command=_finance_build)

    run = commands.add_parser("run", help="answer questions with spans")
    run.add_argument("--index-dir", type=_path, required=True, metavar="DIR")
    run.add_argument("--queries", type=_path, required=True, metavar="FILE.jsonl", help=_QUERIES)
    run.add_argument(
        "--output", type=_path, required=True, metavar="FILE.jsonl", help='{"query_id", "spans"} a line'
    )
    run.set_defaults(command=_finance_run)

    evaluate = commands.add_parser("evaluate", help="score an index on questions with labels")
    evaluate.add_argument("--index-dir", type=_path, required=True, metavar="DIR")
    evaluate.add_argument("--queries", type=_path, required=True, metavar="FILE.jsonl", help=_QUERIES)
    evaluate.add_argument(
        "--labels",
        type=_path,
        required=True,
        metavar="FILE.jsonl",
        help='{"query_id", "units"} a line, one for each question; see the README',
    )
    evaluate.add_argument("--json", action="store_true", help="with each question's score, as JSON")
    evaluate.set_defaults(command=_finance_evaluate)

    train = commands.add_parser("train", help="learn the order of spans from labelled questions")
    train.add_argument("--data", type=_path, required=True, metavar="DIR", help="corpora, questions, labels")
    train.add_argument("--output", type=_path, required=True, metavar="MODEL", help="the model's directory")
    train.add_argument(
        "--report", type=_path, metavar="FILE.json", help="cross-validation, ablation, learning curve"
    )
    train.add_argument("--plot", type=_path, metavar="FILE.png", help="the features' importances")
    train.set_defaults(command=_finance_train)

    assemble = commands.add_parser("assemble", help="write the scripts and all that they need")
    assemble.add_argument("--output", type=_path, required=True, metavar="DIR")
    assemble.set_defaults(command=_finance_assemble)


def _index(options: argparse.Namespace) -> int:
    from hybridrank.lexical import LexicalIndex
    from hybridrank.text.corpus import read_corpus
    from hybridrank.text.passages import split_documents
    from hybridrank.text.tokens import Tokenizer

    tokenizer = Tokenizer(options.language)
    with _progress("Reading", "passages") as advance:
        passages = []
        for passage in split_documents(read_corpus(options.corpus), max_chars=options.max_chars):
            passages.append(passage)
            advance(len(passages))
    index = LexicalIndex.build(passages, tokenizer=tokenizer)
    with _writing(options.output):
        index.save(options.output)
    _tell(f"{len(index)} passages indexed in {options.output}")
    return 0


def _search(options: argparse.Namespace) -> int:
    from hybridrank.lexical import LexicalIndex

    ranking = LexicalIndex.open(options.index).search(options.question, options.k)
    if options.json:
        return _say(json.dumps(_ranking_to_json(ranking)))
    if options.explain:
        return _say(ranking.explain())
    if not ranking:
        _tell("nothing found")
    for hit in ranking:
        _say(f"{hit.rank}. {hit.passage_id}  ({hit.score:.3f})")
        if hit.passage is not None:
            _say(f"   {' '.join(hit.passage.text.split())}")
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


def _finance_build(options: argparse.Namespace) -> int:
    from hybridrank.tasks.finance import build

    with _progress("Indexing", "reports") as advance, _writing(options.index_dir):
        built = build(
            options.corpus, options.index_dir, progress=lambda reports, characters: advance(reports)
        )
    _tell(
        f"{built.reports} reports ({built.characters:,} characters) indexed in {options.index_dir}: "
        f"{built.blocks:,} blocks, {built.terms:,} terms"
    )
    return 0


def _finance_run(options: argparse.Namespace) -> int:
    from hybridrank.tasks.finance import FinanceIndex
    from hybridrank.tasks.finance.run import run

    index = FinanceIndex.open(options.index_dir)
    with _progress("Answering", "questions") as advance:
        done = run(index, options.queries, options.output, progress=advance, complain=_tell)
    parts = [f"{done.rows} rows written to {options.output}"]
    parts += [f"{done.problems} lines gave no question"] if done.problems else []
    parts += [f"{done.failed} questions failed"] if done.failed else []
    parts += [f"stopped early by {signal.Signals(done.stopped).name}"] if done.stopped else []
    _tell(", ".join(parts))
    # SIGTERM is how a time limit strikes, and what is done by then counts; Ctrl-C ends what comes after too.
    if done.stopped:
        return _INTERRUPTED if done.stopped == signal.SIGINT else 0
    return _FAILED if done.problems and not done.rows else 0


def _finance_evaluate(options: argparse.Namespace) -> int:
    from hybridrank.tasks.finance import FinanceIndex
    from hybridrank.tasks.finance.evaluate import evaluate

    index = FinanceIndex.open(options.index_dir)
    with _progress("Answering", "questions") as advance:
        result = evaluate(index, options.queries, options.labels, progress=advance)
    if options.json:
        return _say(json.dumps(result.to_json()))
    return _say(
        f"{result.measure} {result.quality:.4f}, DocHit@5 {result.document_hit:.4f}, "
        f"{len(result.questions)} questions"
    )


def _finance_train(options: argparse.Namespace) -> int:
    from hybridrank.tasks.finance.training import (
        TRAINING_SETS,
        plot,
        pyplot_for_files,
        read_examples,
        study,
        train,
    )

    if options.plot:
        pyplot_for_files()  # so that its absence is known before the work is done
    for path in filter(None, (options.plot, options.report)):
        if not path.parent.is_dir():  # so is this
            raise InputError("there is no such directory", file=path.parent, remedy="Make it first.")
    sets = None if options.report else TRAINING_SETS
    examples = read_examples(options.data, sets=sets, tell=_tell)
    model = train(one for one in examples if one.may_be_learned_from)
    model.save(options.output)
    if options.plot:
        plot(model, options.plot)
    if options.report:
        report = study(examples, tell=_tell)
        options.report.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    _tell(f"{model.training['queries']} questions learned, model written to {options.output}")
    return 0


def _finance_assemble(options: argparse.Namespace) -> int:
    from hybridrank.tasks.finance.assemble import assemble

    _tell(f"assembled in {assemble(options.output)}")
    return 0


def _demo(options: argparse.Namespace) -> int:
    from hybridrank.tasks.finance.demo import demo

    return _say(demo(options.questions))


@contextmanager
def _writing(directory: Path) -> Iterator[None]:
    """Name the index directory where its disk is full or fails, which such an error itself does not."""
    try:
        yield
    except OSError as error:
        raise InputError(
            f"the index could not be written ({error.strerror or error})",
            file=directory,
            remedy="Make room there, or choose another directory; an index that was there is as it was.",
        ) from error


@contextmanager
def _progress(what: str, unit: str) -> Iterator[Callable[[int], None]]:
    """A function to be told how much is done, which a terminal shows with the time taken."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda done: None
        return
    try:
        from rich.console import Console
        from rich.progress import MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
    except ImportError:  # an assembled directory carries no rich
        yield lambda done: None
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(f"{what} {unit}", total=None)
        yield lambda done: bar.update(task, completed=done)


def _path(text: str) -> Path:
    if not text:
        raise argparse.ArgumentTypeError("the path is empty")
    return Path(text)


def _positive(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of 1 or more")
    return number


def _say(text: str) -> int:
    """Print a result, with escapes for what the encoding of standard output lacks; returns exit code 0."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    print(text.translate(_CONTROLS).encode(encoding, "backslashreplace").decode(encoding))
    return 0


def _tell(message: str) -> None:
    """Print to standard error what is no result."""
    if sys.stderr is not None:  # where it is None, print would turn to standard output
        with suppress(OSError):  # nobody listening is no reason to stop the work
            print(message, file=sys.stderr, flush=True)


def _end_output() -> None:
    """Write what is buffered for standard output, or let it go nowhere rather than fail once more at exit."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    _tell(f"warning: {message}")
