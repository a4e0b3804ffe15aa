"""How the command line is understood, and what is said where it is not: examples, and what may have been
meant."""

from __future__ import annotations

import argparse
import difflib
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from hybridrank.commands.terminal import FAILED, tell
from hybridrank.errors import IndexNotFound

__all__ = ["Parser", "did_you_mean", "nearby"]


class Parser(argparse.ArgumentParser):
    """A parser, and a maker of parsers of commands, that takes no option by its beginning, says what may have
    been meant by a mistyped one, and ends its help with examples.

    >>> parser = Parser(prog="hybridrank search", examples=["hybridrank search my.index 'plan C'"])
    >>> print(parser.format_help().partition("examples:")[2].strip())
    hybridrank search my.index 'plan C'
    """

    def __init__(self, *, examples: Sequence[str] = (), **options: Any) -> None:
        super().__init__(**{"allow_abbrev": False, **options})
        self.examples = examples

    def add_commands(self) -> argparse._SubParsersAction[Parser]:
        """Let commands follow; without one, all of them are listed."""
        self.set_defaults(command=self._list_commands)
        return self.add_subparsers(title="commands", metavar="COMMAND")

    def _list_commands(self, options: argparse.Namespace) -> int:
        tell(f"{self.format_help().rstrip()}\n\nerror: say which command")
        return FAILED

    def add_alias(self, other: str, option: str) -> None:
        """Understand ``other`` as ``option``, without a word of it in the help."""
        self._option_string_actions[other] = self._option_string_actions[option]

    def format_help(self) -> str:
        """The help, with the examples at its end."""
        shown = "".join(f"  {example}\n" for example in self.examples)
        return super().format_help() + (f"\nexamples:\n{shown}" if shown else "")

    def parse_known_args(  # type: ignore[override]  # its overloads tell namespaces apart, which is no matter here
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        """As its parent does, but a mistyped option is told before what else may be missing."""
        given = sys.argv[1:] if args is None else list(args)
        for word in given:
            if word == "--" or (self._subparsers is not None and not word.startswith("-")):
                break  # what follows is no option, or a command's
            name = word.partition("=")[0]
            if word.startswith("--") and " " not in word and name not in self._option_string_actions:
                self.error(f"there is no option {name}{did_you_mean(name, self._option_string_actions)}")
        return super().parse_known_args(given, namespace)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        known = [str(one) for one in action.choices]
        hint = did_you_mean(str(value), known) or f"; choose from {', '.join(known)}"
        if action.metavar == "COMMAND":
            self.error(f"there is no command {value!r}{hint}")
        raise argparse.ArgumentError(action, f"there is no {value!r}{hint}")

    def error(self, message: str) -> NoReturn:
        """Say what cannot be understood, and end with the exit code for what cannot be used."""
        self.print_usage(sys.stderr)
        self.exit(FAILED, f"{self.prog}: error: {message}\n")


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """What to add to a complaint about a word, when something known is like it.

    >>> did_you_mean("--ouput", ["--output", "--json"])
    '; did you mean --output?'
    >>> did_you_mean("zebra", ["search"])
    ''
    """
    close = difflib.get_close_matches(word, list(known), n=1)
    return f"; did you mean {close[0]}?" if close else ""


def nearby(error: BaseException) -> str:
    """What to add to an error about a path that is not there: what lies beside it under a name that is like
    it."""
    path = (
        getattr(error, "file", None) or getattr(error, "directory", None) or getattr(error, "filename", None)
    )
    missing = isinstance(error, IndexNotFound | FileNotFoundError) or "o such " in str(error)
    if not path or not missing or os.path.lexists(path):
        return ""
    place = Path(path)
    while not os.path.lexists(place.parent):
        place = place.parent
    try:
        names = os.listdir(place.parent)
    except OSError:
        return ""
    close = difflib.get_close_matches(place.name, names, n=1)
    return f" Did you mean {place.parent / close[0]}?" if close else ""
