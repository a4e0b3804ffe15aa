"""``hybridrank finance``: evidence in financial reports."""

from __future__ import annotations

import argparse
import json
import signal
from typing import TYPE_CHECKING

from hybridrank.commands.services import add_budget_to, signals_from
from hybridrank.commands.terminal import (
    FAILED,
    INTERRUPTED,
    path_of,
    progress,
    say,
    tell,
    writing,
)
from hybridrank.errors import InputError

if TYPE_CHECKING:
    from hybridrank.tasks.finance import FinanceIndex

__all__ = ["add_to"]

_QUERIES = '{"query_id", "question"} a line'


def add_to(parser: argparse.ArgumentParser) -> None:
    """Give the parser of ``finance`` its commands."""
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    build = commands.add_parser("build", help="index a corpus of reports")
    build.add_argument("--corpus", type=path_of, required=True, metavar="DIR", help="holds reports.jsonl")
    build.add_argument("--index-dir", type=path_of, required=True, metavar="DIR")
    build.set_defaults(command=_build)

    run = commands.add_parser("run", help="answer questions with spans")
    run.add_argument("--index-dir", type=path_of, required=True, metavar="DIR")
    run.add_argument("--queries", type=path_of, required=True, metavar="FILE.jsonl", help=_QUERIES)
    run.add_argument(
        "--output", type=path_of, required=True, metavar="FILE.jsonl", help='{"query_id", "spans"} a line'
    )
    add_budget_to(run)
    run.set_defaults(command=_run)

    evaluate = commands.add_parser("evaluate", help="score an index on questions with labels")
    evaluate.add_argument("--index-dir", type=path_of, required=True, metavar="DIR")
    evaluate.add_argument("--queries", type=path_of, required=True, metavar="FILE.jsonl", help=_QUERIES)
    evaluate.add_argument(
        "--labels",
        type=path_of,
        required=True,
        metavar="FILE.jsonl",
        help='{"query_id", "units"} a line, one for each question; see the README',
    )
    evaluate.add_argument("--json", action="store_true", help="with each question's score, as JSON")
    add_budget_to(evaluate)
    evaluate.set_defaults(command=_evaluate)

    train = commands.add_parser("train", help="learn the order of spans from labelled questions")
    train.add_argument(
        "--data",
        type=path_of,
        required=True,
        metavar="DIR",
        help="corpora, questions, labels, as hybridrank.tasks.finance.datasets has it; learned from are the "
        "sets named finqa-raw and finqa-named",
    )
    train.add_argument("--output", type=path_of, required=True, metavar="MODEL", help="the model's directory")
    train.add_argument(
        "--report", type=path_of, metavar="FILE.json", help="cross-validation, ablation, learning curve"
    )
    train.add_argument("--plot", type=path_of, metavar="FILE.png", help="the features' importances")
    train.set_defaults(command=_train)

    assemble = commands.add_parser("assemble", help="write the scripts and all that they need")
    assemble.add_argument("--output", type=path_of, required=True, metavar="DIR")
    assemble.set_defaults(command=_assemble)


def _build(options: argparse.Namespace) -> int:
    from hybridrank.tasks.finance import build

    with progress("Indexing", "reports") as advance, writing(options.index_dir):
        built = build(
            options.corpus, options.index_dir, progress=lambda reports, characters: advance(reports)
        )
    tell(
        f"{built.reports} reports ({built.characters:,} characters) indexed in {options.index_dir}: "
        f"{built.blocks:,} blocks, {built.terms:,} terms"
    )
    return 0


def _run(options: argparse.Namespace) -> int:
    from hybridrank.tasks.finance.run import run

    index = _open(options)
    with progress("Answering", "questions") as advance:
        done = run(index, options.queries, options.output, progress=advance, complain=tell)
    parts = [f"{done.rows} rows written to {options.output}"]
    parts += [f"{done.problems} lines gave no question"] if done.problems else []
    parts += [f"{done.failed} questions failed"] if done.failed else []
    parts += _services_of(index)
    parts += [f"stopped early by {signal.Signals(done.stopped).name}"] if done.stopped else []
    tell(", ".join(parts))
    # SIGTERM is how a time limit strikes, and what is done by then counts; Ctrl-C ends what comes after too.
    if done.stopped:
        return INTERRUPTED if done.stopped == signal.SIGINT else 0
    return FAILED if done.problems and not done.rows else 0


def _open(options: argparse.Namespace) -> FinanceIndex:
    """The index, with what asks services about the questions of the file."""
    from hybridrank.tasks.finance import FinanceIndex

    index = FinanceIndex.open(options.index_dir)  # before anything is said of services or questions
    index.neural = signals_from(options, options.index_dir, options.queries)
    return index


def _services_of(index: FinanceIndex) -> list[str]:
    if index.neural is None:
        return []
    lost = f", {index.neural.degraded} questions without" if index.neural.degraded else ""
    return [f"services: {index.neural.usage}{lost}"]


def _evaluate(options: argparse.Namespace) -> int:
    from hybridrank.tasks.finance.evaluate import evaluate

    index = _open(options)
    with progress("Answering", "questions") as advance:
        result = evaluate(index, options.queries, options.labels, progress=advance)
    if options.json:
        return say(json.dumps(result.to_json()))
    return say(
        f"{result.measure} {result.quality:.4f}, DocHit@5 {result.document_hit:.4f}, "
        f"{len(result.questions)} questions"
    )


def _train(options: argparse.Namespace) -> int:
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
    examples = read_examples(options.data, sets=sets, tell=tell)
    model = train(one for one in examples if one.may_be_learned_from)
    model.save(options.output)
    if options.plot:
        plot(model, options.plot)
    if options.report:
        report = study(examples, tell=tell)
        options.report.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    tell(f"{model.training['queries']} questions learned, model written to {options.output}")
    return 0


def _assemble(options: argparse.Namespace) -> int:
    from hybridrank.tasks.finance.assemble import assemble

    tell(f"assembled in {assemble(options.output)}")
    return 0
