"""``hybridrank meetings``: a memory of meetings, and answers from it."""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import fields, replace
from pathlib import Path

from hybridrank.commands.files import (
    STDOUT,
    check_outputs,
    input_path,
    output_path,
    path_of,
    whole_directory,
    write_text,
    writing,
)
from hybridrank.commands.parsing import Parser
from hybridrank.commands.terminal import add_json, finish, positive_number, progress, say, tell
from hybridrank.errors import InputError
from hybridrank.records import counted
from hybridrank.tasks.meetings.history import FIELDS, HistoryFields

__all__ = ["add_to"]

_QUESTION = "one that begins with -: --question=-…"


def add_to(parser: Parser) -> None:
    """Give the parser of ``meetings`` its commands."""
    parser.description = "Keep of hours of meetings what can be read, find it again, and answer from it."
    parser.examples = [
        "hybridrank meetings remember --history history.jsonl --output memory.json",
        "hybridrank meetings build --memory memory.json --output memory.index",
        "hybridrank meetings recall --index memory.index --question 'Who has the key?'",
    ]
    commands = parser.add_commands()
    _add_remember_to(commands.add_parser("remember", help="make a memory of a history"))

    assemble = commands.add_parser("assemble", help="write the four files of a delivery")
    assemble.description = (
        "Write a memory and three scripts that answer from it on a machine with a bare Python."
    )
    assemble.examples = ["hybridrank meetings assemble --memory memory.json --output app/"]
    assemble.add_argument("--memory", type=path_of, required=True, metavar="FILE.json", help="the memory")
    assemble.add_argument("--output", type=path_of, required=True, metavar="DIR", help="a new or empty one")
    add_json(assemble)
    assemble.set_defaults(command=_assemble)

    build = commands.add_parser("build", help="index a memory")
    build.description = "Index the notes of a memory."
    build.examples = ["hybridrank meetings build --memory memory.json --output memory.index"]
    build.add_argument("--memory", type=input_path, required=True, metavar="FILE.json", help="- for stdin")
    build.add_argument("--output", type=path_of, required=True, metavar="DIR", help="the index")
    add_json(build)
    build.set_defaults(command=_build)

    _add_recall_to(commands.add_parser("recall", help="find the notes that bear on a question"))
    _add_answer_to(commands.add_parser("answer", help="answer a question from recalled notes"))

    demo = commands.add_parser("demo", help="the whole job on the sample meetings")
    demo.description = "Make a memory of the sample meetings, recall and answer, and say how well."
    demo.examples = ["hybridrank meetings demo --questions 1"]
    demo.add_argument("--questions", type=positive_number, default=3, metavar="N", help="to show (default 3)")
    demo.set_defaults(command=_demo)


def _add_remember_to(remember: Parser) -> None:
    remember.description = (
        "Keep of a history as many notes, in the speakers' words, as fit into a number of bytes."
    )
    remember.examples = [
        "hybridrank meetings remember --history history.jsonl --output memory.json --max-bytes 20000",
        "hybridrank meetings remember --history h.jsonl --field text=content --output memory.json",
    ]
    remember.add_argument(
        "--history",
        type=input_path,
        required=True,
        metavar="FILE.jsonl",
        help='{"meeting_id", "turns": [{"speaker", "text"}]} a line; - is standard input',
    )
    remember.add_argument(
        "--output",
        type=output_path,
        required=True,
        metavar="FILE.json",
        help="the memory; - is standard output",
    )
    remember.add_argument(
        "--max-bytes", type=positive_number, metavar="N", help="of the memory (default 183981)"
    )
    remember.add_argument(
        "--provenance", type=output_path, metavar="FILE.json", help="where each note is from"
    )
    remember.add_argument("--selector", choices=("plain", "learned"), default="plain", help="default: plain")
    remember.add_argument(
        "--field",
        action="append",
        default=[],
        metavar="NAME=FIELD",
        help="what the history calls a field, as text=content; may be repeated",
    )
    add_json(remember)
    remember.set_defaults(command=_remember)


def _add_recall_to(recall: Parser) -> None:
    recall.description = "Find at most ten notes that bear on a question."
    recall.examples = [
        "hybridrank meetings recall --index memory.index --question 'Who has the key?' --output notes.json"
    ]
    recall.add_argument("--index", type=path_of, required=True, metavar="DIR", help="of `meetings build`")
    recall.add_argument("--question", required=True, metavar="TEXT", help=_QUESTION)
    recall.add_argument(
        "--output", type=output_path, metavar="FILE.json", help="a JSON list of notes (default: shown)"
    )
    recall.add_argument("--json", action="store_true", help="one JSON object with the notes")
    recall.set_defaults(command=_recall)


def _add_answer_to(answer: Parser) -> None:
    answer.description = "Answer a question from recalled notes alone, by a chat service where there is one."
    answer.examples = [
        "hybridrank meetings answer --question 'Who has the key?' --memories notes.json",
        "hybridrank meetings recall --index memory.index --question 'Who?' --output - "
        "| hybridrank meetings answer --question 'Who?' --memories -",
    ]
    answer.add_argument("--question", required=True, metavar="TEXT", help=_QUESTION)
    answer.add_argument(
        "--memories",
        type=input_path,
        required=True,
        metavar="FILE.json",
        help="a JSON list of notes; - is standard input",
    )
    answer.add_argument("--output", type=output_path, metavar="FILE.txt", help="the answer (default: shown)")
    answer.add_argument("--json", action="store_true", help="one JSON object with the answer")
    answer.set_defaults(command=_answer)


def _remember(options: argparse.Namespace) -> int:
    from hybridrank.tasks.meetings.assemble import MOST_BYTES
    from hybridrank.tasks.meetings.history import read_history
    from hybridrank.tasks.meetings.notes import TRIALS, make_memory

    _check_apart(options.history, options.output, options.provenance)
    check_outputs(options.output, options.provenance)
    meetings = read_history(options.history, _history_fields(options.field))
    most = options.max_bytes or MOST_BYTES
    with progress("Remembering", "trials", TRIALS) as advance:
        memory = make_memory(meetings, max_bytes=most, selector=options.selector, progress=advance)
    text = memory.to_json()
    write_text(options.output, text, "the memory")
    if options.provenance:
        write_text(options.provenance, json.dumps(memory.provenance(), indent=0) + "\n", "the provenance")
    size = len(text.encode("utf-8"))
    message = (
        f"{counted(len(memory.notes), 'note')} of {counted(len(meetings), 'meeting')}, "
        f"{counted(size, 'byte')}, in {options.output}"
    )
    if not memory.notes:
        tell("Nothing can be recalled from it: no sentence fits into a note, or too few bytes are allowed.")
    return finish(
        options,
        message,
        notes=len(memory.notes),
        meetings=len(meetings),
        bytes=size,
        output=options.output,
    )


def _check_apart(history: Path, output: Path, provenance: Path | None) -> None:
    """Refuse to write over the history, or one output over the other."""
    given = [("--history", history), ("--output", output), ("--provenance", provenance)]
    places: dict[Path, str] = {}
    for name, path in given:
        # /dev/null may be named twice, and so may a pipe
        if path is None or path is STDOUT or (path.exists() and not path.is_file()):
            continue
        if other := places.get(path.resolve()):
            raise InputError(f"{name} is the same file as {other}", file=path, remedy="Name another file.")
        places[path.resolve()] = name


def _history_fields(given: list[str]) -> HistoryFields:
    names = [field.name for field in fields(FIELDS)]
    called = {}
    for one in given:
        name, equals, value = one.partition("=")
        if name not in names or not equals or not value:
            raise InputError(
                f"--field {one!r} names no field",
                remedy=f"Give NAME=FIELD; a NAME is one of {', '.join(names)}.",
            )
        called[name] = value
    return replace(FIELDS, **called)


def _assemble(options: argparse.Namespace) -> int:
    from hybridrank.tasks.meetings.assemble import assemble

    with whole_directory(options.output) as directory:
        assemble(options.memory, directory)
    return finish(options, f"assembled in {options.output}", output=options.output)


def _build(options: argparse.Namespace) -> int:
    from hybridrank.tasks.meetings.scripts import build

    with writing(options.output):
        build(str(options.memory), str(options.output), os.environ)
    message = f"{options.memory} indexed in {options.output}"
    return finish(options, message, memory=options.memory, output=options.output)


def _recall(options: argparse.Namespace) -> int:
    from hybridrank.tasks.meetings.scripts import as_json, recall

    found = recall(str(options.index), options.question, os.environ)
    if options.output:
        write_text(options.output, as_json(found), "the notes")
    if options.json:
        return say(json.dumps({"question": options.question, "notes": found}))
    if options.output:
        return 0
    if not found:
        tell("nothing found")
    for rank, note in enumerate(found, start=1):
        say(f"{rank}. {' '.join(note.split())}")
    return 0


def _answer(options: argparse.Namespace) -> int:
    from hybridrank.tasks.meetings.scripts import answer

    text = answer(options.question, str(options.memories), os.environ)
    if options.output:
        write_text(options.output, text + "\n", "the answer")
    if options.json:
        return say(json.dumps({"question": options.question, "answer": text}))
    return 0 if options.output else say(text)


def _demo(options: argparse.Namespace) -> int:
    from hybridrank.tasks.meetings.demo import demo

    return say(demo(options.questions))
