"""``hybridrank finance``: evidence in financial reports."""

from __future__ import annotations

import argparse
import json
import signal
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from hybridrank.commands.files import (
    check_outputs,
    device_of,
    input_path,
    lines_of,
    output_path,
    path_of,
    whole_directory,
    whole_file,
    write_text,
    writing,
)
from hybridrank.commands.parsing import Parser
from hybridrank.commands.services import add_budget_to, signals_from
from hybridrank.commands.terminal import (
    FAILED,
    INTERRUPTED,
    add_json,
    finish,
    positive_number,
    progress,
    say,
    tell,
)
from hybridrank.records import counted

if TYPE_CHECKING:
    from hybridrank.tasks.finance import FinanceIndex

__all__ = ["add_to"]

_QUERIES = '{"query_id", "question"} a line; - is standard input'


def add_to(parser: Parser) -> None:
    """Give the parser of ``finance`` its commands."""
    parser.description = "From annual reports and questions to the spans of text that hold the facts."
    parser.examples = [
        "hybridrank finance build --corpus reports/ --index-dir reports.index",
        "hybridrank finance run --index-dir reports.index --queries q.jsonl --output spans.jsonl",
    ]
    commands = parser.add_commands()
    _add_build_to(commands.add_parser("build", help="index a corpus of reports"))
    _add_run_to(commands.add_parser("run", help="answer questions with spans"))
    _add_evaluate_to(commands.add_parser("evaluate", help="score an index on questions with labels"))
    _add_train_to(commands.add_parser("train", help="learn the order of spans from labelled questions"))
    assemble = commands.add_parser("assemble", help="write the scripts and all that they need")
    assemble.description = "Write a directory that answers on a machine that has Python and nothing else."
    assemble.examples = ["hybridrank finance assemble --output app/"]
    assemble.add_argument("--output", type=path_of, required=True, metavar="DIR", help="a new or empty one")
    add_json(assemble)
    assemble.set_defaults(command=_assemble)


def _add_build_to(build: Parser) -> None:
    build.description = "Index the reports of a corpus."
    build.examples = ["hybridrank finance build --corpus reports/ --index-dir reports.index"]
    build.add_argument("--corpus", type=path_of, required=True, metavar="DIR", help="holds reports.jsonl")
    build.add_argument("--index-dir", type=path_of, required=True, metavar="DIR", help="the index")
    _add_workers_to(build)
    add_json(build)
    build.set_defaults(command=_build)


def _add_workers_to(parser: Parser) -> None:
    parser.add_argument(
        "--workers",
        type=positive_number,
        metavar="N",
        help="processes that share the work (default: one a processor, fewer where there is little to do)",
    )


def _add_run_to(run: Parser) -> None:
    run.description = "Answer each question with at most five spans, each row written as soon as it is whole."
    run.examples = [
        "hybridrank finance run --index-dir reports.index --queries q.jsonl --output spans.jsonl",
        "hybridrank finance run --index-dir reports.index --queries - --output - < q.jsonl | head -n 1",
    ]
    run.add_argument("--index-dir", type=path_of, required=True, metavar="DIR", help="the index")
    run.add_argument("--queries", type=input_path, required=True, metavar="FILE.jsonl", help=_QUERIES)
    run.add_argument(
        "--output",
        type=output_path,
        required=True,
        metavar="FILE.jsonl",
        help='{"query_id", "spans"} a line; - is standard output',
    )
    _add_workers_to(run)
    add_json(run)
    add_budget_to(run)
    run.set_defaults(command=_run)


def _add_evaluate_to(evaluate: Parser) -> None:
    evaluate.description = "Score the spans that an index answers with, by labels."
    evaluate.examples = [
        "hybridrank finance evaluate --index-dir reports.index --queries q.jsonl --labels labels.jsonl"
    ]
    evaluate.add_argument("--index-dir", type=path_of, required=True, metavar="DIR", help="the index")
    evaluate.add_argument("--queries", type=input_path, required=True, metavar="FILE.jsonl", help=_QUERIES)
    evaluate.add_argument(
        "--labels",
        type=input_path,
        required=True,
        metavar="FILE.jsonl",
        help='{"query_id", "units"} a line, one for each question; see the README',
    )
    evaluate.add_alias("--qrels", "--labels")
    evaluate.add_argument("--json", action="store_true", help="with each question's score, as JSON")
    add_budget_to(evaluate)
    evaluate.set_defaults(command=_evaluate)


def _add_train_to(train: Parser) -> None:
    train.description = (
        "Learn a ranker of spans; the package brings one that was learned from FinQA's labels."
    )
    train.examples = [
        "hybridrank finance train --data data/ --output ranker/ --learn mine",
        "hybridrank finance train --data data/ --output ranker/ --report study.json --plot features.png",
    ]
    train.add_argument(
        "--data",
        type=path_of,
        required=True,
        metavar="DIR",
        help="corpora, questions, labels, as hybridrank.tasks.finance.datasets has it",
    )
    train.add_argument(
        "--learn",
        nargs="+",
        metavar="NAME",
        help="the sets of questions to learn from (default: finqa-raw and finqa-named); a NAME of "
        "validation/NAME.queries.jsonl",
    )
    train.add_argument("--output", type=path_of, required=True, metavar="MODEL", help="the model's directory")
    train.add_argument(
        "--report", type=output_path, metavar="FILE.json", help="cross-validation, ablation, learning curve"
    )
    train.add_argument("--plot", type=output_path, metavar="FILE.png", help="the features' importances")
    add_json(train)
    train.set_defaults(command=_train)


def _build(options: argparse.Namespace) -> int:
    from hybridrank.tasks.finance import build

    size = _size_of(options.corpus)
    with progress("Indexing", "reports") as advance, writing(options.index_dir):
        built = build(
            options.corpus,
            options.index_dir,
            workers=options.workers,
            progress=lambda reports, characters: advance(
                reports, min(1.0, characters / size) if size else None
            ),
        )
    if not built.reports:
        tell(f"warning: {options.corpus} holds no report: nothing can be found in it")
    message = (
        f"{counted(built.reports, 'report')} ({counted(built.characters, 'character')}) indexed in "
        f"{options.index_dir}: {counted(built.blocks, 'block')}, {counted(built.terms, 'term')}"
    )
    return finish(options, message, **asdict(built), index_dir=options.index_dir)


def _size_of(corpus: Path) -> int:
    """The bytes of a corpus, which are somewhat more than its characters; 0 where that is not known."""
    from hybridrank.tasks.finance.corpus import reports_file

    try:
        return reports_file(corpus).stat().st_size
    except OSError:
        return 0  # whoever reads it says what is wrong


def _run(options: argparse.Namespace) -> int:
    from hybridrank.tasks.finance.run import run

    index = _open(options)
    with progress("Answering", "questions", lines_of(options.queries)) as advance:
        done = run(
            index,
            options.queries,
            device_of(options.output),
            workers=options.workers,
            progress=advance,
            complain=tell,
        )
    parts = [f"{counted(done.rows, 'row')} written to {options.output}"]
    parts += [f"{counted(done.problems, 'line')} gave no question"] if done.problems else []
    parts += [f"{counted(done.failed, 'question')} failed"] if done.failed else []
    parts += _services_of(index)
    parts += [f"stopped early by {signal.Signals(done.stopped).name}"] if done.stopped else []
    finish(options, ", ".join(parts), **asdict(done), output=options.output)
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
    lost = f", {counted(index.neural.degraded, 'question')} without" if index.neural.degraded else ""
    return [f"services: {index.neural.usage}{lost}"]


def _evaluate(options: argparse.Namespace) -> int:
    from hybridrank.tasks.finance.evaluate import evaluate

    index = _open(options)
    with progress("Answering", "questions", lines_of(options.queries)) as advance:
        result = evaluate(index, options.queries, options.labels, progress=advance)
    if options.json:
        return say(json.dumps(result.to_json()))
    return say(
        f"{result.measure} {result.quality:.4f}, DocHit@5 {result.document_hit:.4f}, "
        f"{counted(len(result.questions), 'question')}"
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
    check_outputs(options.plot, options.report)  # so is this
    learn = tuple(options.learn or TRAINING_SETS)
    sets = None if options.report else learn
    examples = read_examples(options.data, sets=sets, tell=tell)
    model = train(one for one in examples if one.is_of(learn))
    model.save(options.output)
    if options.plot:
        with whole_file(options.plot) as file:
            plot(model, file)
    if options.report:
        report = study(examples, learn=learn, tell=tell)
        write_text(options.report, json.dumps(report, indent=2) + "\n", "the report")
    questions = model.training["queries"]
    message = f"{counted(questions, 'question')} learned, model written to {options.output}"
    return finish(options, message, questions=questions, output=options.output)


def _assemble(options: argparse.Namespace) -> int:
    from hybridrank.tasks.finance.assemble import assemble

    with whole_directory(options.output) as directory:
        assemble(directory)
    return finish(options, f"assembled in {options.output}", output=options.output)
