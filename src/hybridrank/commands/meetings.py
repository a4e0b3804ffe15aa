"""``hybridrank meetings``: a memory of meetings, and answers from it."""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import fields, replace
from pathlib import Path

from hybridrank.commands.terminal import path_of, positive_number, say, tell, writing
from hybridrank.errors import InputError
from hybridrank.tasks.meetings.history import FIELDS, HistoryFields

__all__ = ["add_to"]


def add_to(parser: argparse.ArgumentParser) -> None:
    """Give the parser of ``meetings`` its commands."""
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    remember = commands.add_parser("remember", help="make a memory of a history")
    remember.add_argument(
        "--history",
        type=path_of,
        required=True,
        metavar="FILE.jsonl",
        help='{"meeting_id", "turns": [{"speaker", "text"}]} a line',
    )
    remember.add_argument("--output", type=path_of, required=True, metavar="FILE.json", help="the memory")
    remember.add_argument(
        "--max-bytes", type=positive_number, metavar="N", help="of the memory (default 183981)"
    )
    remember.add_argument("--provenance", type=path_of, metavar="FILE.json", help="where each note is from")
    remember.add_argument("--selector", choices=("plain", "learned"), default="plain", help="default: plain")
    remember.add_argument(
        "--field",
        action="append",
        default=[],
        metavar="NAME=FIELD",
        help="what the history calls a field, as text=content; may be repeated",
    )
    remember.set_defaults(command=_remember)

    assemble = commands.add_parser("assemble", help="write the four files of a delivery")
    assemble.add_argument("--memory", type=path_of, required=True, metavar="FILE.json")
    assemble.add_argument("--output", type=path_of, required=True, metavar="DIR")
    assemble.set_defaults(command=_assemble)

    build = commands.add_parser("build", help="index a memory")
    build.add_argument("--memory", type=path_of, required=True, metavar="FILE.json")
    build.add_argument("--output", type=path_of, required=True, metavar="DIR", help="the index")
    build.set_defaults(command=_build)

    recall = commands.add_parser("recall", help="find the notes that bear on a question")
    recall.add_argument("--index", type=path_of, required=True, metavar="DIR")
    recall.add_argument(
        "--question", required=True, metavar="TEXT", help="one that begins with -: --question=-…"
    )
    recall.add_argument(
        "--output", type=path_of, metavar="FILE.json", help="a list of notes (default: shown)"
    )
    recall.set_defaults(command=_recall)

    answer = commands.add_parser("answer", help="answer a question from recalled notes")
    answer.add_argument(
        "--question", required=True, metavar="TEXT", help="one that begins with -: --question=-…"
    )
    answer.add_argument(
        "--memories", type=path_of, required=True, metavar="FILE.json", help="a list of notes"
    )
    answer.add_argument("--output", type=path_of, metavar="FILE.txt", help="the answer (default: shown)")
    answer.set_defaults(command=_answer)

    demo = commands.add_parser("demo", help="the whole job on the sample meetings")
    demo.add_argument("--questions", type=positive_number, default=3, metavar="N", help="to show (default 3)")
    demo.set_defaults(command=_demo)


def _remember(options: argparse.Namespace) -> int:
    from hybridrank.tasks.meetings.assemble import MOST_BYTES
    from hybridrank.tasks.meetings.history import read_history
    from hybridrank.tasks.meetings.notes import make_memory

    _check_apart(options.history, options.output, options.provenance)
    meetings = read_history(options.history, _history_fields(options.field))
    memory = make_memory(meetings, max_bytes=options.max_bytes or MOST_BYTES, selector=options.selector)
    text = memory.to_json()
    with writing(options.output, "the memory"):
        options.output.write_text(text, encoding="utf-8")
        if options.provenance:
            options.provenance.write_text(json.dumps(memory.provenance(), indent=0) + "\n", encoding="utf-8")
    tell(
        f"{len(memory.notes)} notes of {len(meetings)} meetings, {len(text.encode('utf-8')):,} bytes, "
        f"in {options.output}"
    )
    if not memory.notes:
        tell("Nothing can be recalled from it: no sentence fits into a note, or too few bytes are allowed.")
    return 0


def _check_apart(history: Path, output: Path, provenance: Path | None) -> None:
    """Refuse to write over the history, or one output over the other."""
    given = [("--history", history), ("--output", output), ("--provenance", provenance)]
    places: dict[Path, str] = {}
    for name, path in given:
        # /dev/null may be named twice, and so may a pipe
        if path is None or (path.exists() and not path.is_file()):
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

    tell(f"assembled in {assemble(options.memory, options.output)}")
    return 0


def _build(options: argparse.Namespace) -> int:
    from hybridrank.tasks.meetings.scripts import build

    with writing(options.output):
        build(str(options.memory), str(options.output), os.environ)
    tell(f"{options.memory} indexed in {options.output}")
    return 0


def _recall(options: argparse.Namespace) -> int:
    from hybridrank.tasks.meetings.scripts import as_json, recall, write

    found = recall(str(options.index), options.question, os.environ)
    if options.output:
        write(str(options.output), as_json(found))
        return 0
    if not found:
        tell("nothing found")
    for rank, note in enumerate(found, start=1):
        say(f"{rank}. {' '.join(note.split())}")
    return 0


def _answer(options: argparse.Namespace) -> int:
    from hybridrank.tasks.meetings.scripts import answer, write

    text = answer(options.question, str(options.memories), os.environ)
    if options.output:
        write(str(options.output), text + "\n")
        return 0
    return say(text)


def _demo(options: argparse.Namespace) -> int:
    from hybridrank.tasks.meetings.demo import demo

    return say(demo(options.questions))
