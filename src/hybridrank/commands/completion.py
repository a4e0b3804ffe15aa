"""``hybridrank completion``: a script by which a shell completes commands, options and paths."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from hybridrank.commands.files import input_path, output_path, path_of
from hybridrank.commands.inputs import named_path
from hybridrank.commands.parsing import Parser
from hybridrank.commands.terminal import say
from hybridrank.errors import MissingExtra

__all__ = ["SHELLS", "add_to", "parsers"]

SHELLS = ("bash", "zsh", "fish")
_PATHS = (input_path, named_path, output_path, path_of)


def add_to(parser: Parser, root: Parser) -> None:
    """Give the parser of ``completion`` its arguments; ``root`` is what is completed."""
    parser.description = "Print a script by which a shell completes hybridrank's commands, options and paths."
    parser.examples = [
        'eval "$(hybridrank completion bash)"',
        "hybridrank completion bash > ~/.local/share/bash-completion/completions/hybridrank",
        'hybridrank completion zsh > "${fpath[1]}/_hybridrank"',
        "hybridrank completion fish > ~/.config/fish/completions/hybridrank.fish",
    ]
    parser.add_argument("shell", choices=SHELLS, help="one of bash, zsh and fish")
    parser.set_defaults(command=lambda options: _completion(options.shell, root))


def _completion(shell: str, root: Parser) -> int:
    try:
        import shtab
    except ModuleNotFoundError as error:
        raise MissingExtra("shtab", extra="completion") from error
    for _, parser in parsers(root):
        for action in parser._actions:
            if action.type in _PATHS:
                action.complete = shtab.FILE  # type: ignore[attr-defined]  # what shtab looks for
    return say(shtab.complete(root, shell))


def parsers(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """The parser of each command that is no group of commands, with its name."""
    groups = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    for group in groups:
        for one in group.choices.values():
            yield from parsers(one)
    if not groups:
        yield parser.prog, parser
