"""The command line. Results go to standard output, all that is said about the work to standard error."""

from __future__ import annotations

import argparse
import importlib.metadata
import sys
import warnings
from collections.abc import Sequence

from hybridrank.commands import completion, doctor, evaluate, finance, meetings, report, search, serve
from hybridrank.commands.files import standard_input
from hybridrank.commands.parsing import Parser, nearby
from hybridrank.commands.terminal import (
    EXIT_CODES,
    FAILED,
    INTERRUPTED,
    end_output,
    positive_number,
    say,
    show_warning,
    tell,
)
from hybridrank.errors import HybridrankError, HybridrankWarning

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code, one of
    :data:`~hybridrank.commands.terminal.EXIT_CODES`.

    Raises ``SystemExit``, with code 2, for arguments that cannot be understood.
    """
    options = _parser().parse_args(arguments)
    with warnings.catch_warnings():
        warnings.showwarning = show_warning
        warnings.simplefilter("always", HybridrankWarning)
        try:
            with standard_input(options):
                code: int = options.command(options)
            if sys.stdout is not None:
                sys.stdout.flush()  # here, where it is still understood why it fails
        except HybridrankError as error:
            tell(f"error: {error}{nearby(error)}")
            return FAILED
        except BrokenPipeError:  # the reader has seen enough, as `head` does
            end_output()
            return 0
        except OSError as error:
            end_output()
            place = "" if error.filename is None else f"{error.filename}: "
            tell(f"error: {place}{error.strerror or error}{nearby(error)}")
            return FAILED
        except KeyboardInterrupt:
            tell("interrupted")
            return INTERRUPTED
    return code


def _version() -> str:
    try:
        return f"hybridrank {importlib.metadata.version('hybridrank')}"
    except importlib.metadata.PackageNotFoundError:  # run from the sources, or from an assembled directory
        return "hybridrank, not installed"


def _parser() -> Parser:
    parser = Parser(
        prog="hybridrank",
        description="Find the passages that answer a question.",
        epilog=f"exit codes: {'; '.join(f'{code}: {what}' for code, what in EXIT_CODES.items())}.",
        examples=["hybridrank index notes/ --output my.index && hybridrank search my.index 'plan C'"],
    )
    commands = parser.add_commands()
    parser.set_defaults(command=lambda options: say(parser.format_help().rstrip()))
    parser.add_argument("--version", action="version", version=_version())
    search.add_index_to(commands.add_parser("index", help="index a file or a folder of texts"))
    search.add_search_to(commands.add_parser("search", help="search an index"))
    search.add_rank_to(commands.add_parser("rank", help="rank the lines of a file"))
    evaluate.add_to(commands.add_parser("evaluate", help="measure rankings on judged queries"))
    report.add_to(commands.add_parser("report", help="show rankings as an HTML page"))
    _add_demo_to(commands.add_parser("demo", help="the whole finance job on the sample reports"))
    finance.add_to(commands.add_parser("finance", help="evidence in financial reports"))
    meetings.add_to(commands.add_parser("meetings", help="a memory of meetings, and answers from it"))
    serve.add_to(commands.add_parser("serve", help="search and rerank over HTTP"))
    doctor.add_to(
        commands.add_parser("doctor", help="do outside services answer, and what would a job spend")
    )
    completion.add_to(commands.add_parser("completion", help="complete commands in a shell"), parser)
    return parser


def _add_demo_to(parser: Parser) -> None:
    parser.description = "Index the sample reports, answer their questions, and say how well."
    parser.examples = ["hybridrank demo --questions 1"]
    parser.add_argument(
        "--questions", type=positive_number, default=3, metavar="N", help="to show (default 3)"
    )
    parser.set_defaults(command=_demo)


def _demo(options: argparse.Namespace) -> int:
    from hybridrank.tasks.finance.demo import demo

    return say(demo(options.questions))
