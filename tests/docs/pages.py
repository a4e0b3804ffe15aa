"""The pages of docs/ as what can be run: blocks of code with the output that a page shows for them.

A fence says what it holds: ``python`` is run, and a bare fence right behind it is what it prints; ``console``
holds commands after ``$``, each with its output; ``json`` and ``text`` hold data. There is no other kind.

The blocks of a page go on from one another. A comment ``<!-- needs: langchain_core service -->`` begins anew,
with what the blocks behind it need: modules that may be missing, and ``service``, the stand-in for Jina's
services on loopback.
"""

from __future__ import annotations

import ast
import contextlib
import doctest
import gc
import io
import json
import os
import re
import shlex
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest import mock

from benchmarks.stub_service import StubService
from hybridrank import accelerators
from hybridrank.errors import HybridrankWarning

__all__ = ["DOCS", "ROOT", "Block", "Session", "defects", "page_names", "run", "sessions"]

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

_FENCE = re.compile(r"^( *)```(.*)$")
_NEEDS = re.compile(r"^<!-- needs: (.*) -->$")
_COMMAND = re.compile(r"^\$ (.*)$", re.MULTILINE)
_SHELL = re.compile(r"[|&;<>$`*]")
_PROGRAMS = ("$", "hybridrank", "nox", "pip", "python", "python3", ".venv/bin/")


@dataclass(frozen=True)
class Block:
    """What stands between two fences; ``line`` is that of its first line in the page, counted from 1, and
    ``follows`` says whether only blank lines are between it and the block before."""

    kind: str
    text: str
    line: int
    follows: bool = False


@dataclass
class Session:
    """Blocks that go on from one another, and what they need."""

    page: Path
    line: int = 1
    needs: tuple[str, ...] = ()
    blocks: list[Block] = field(default_factory=list)

    @property
    def name(self) -> str:
        place = f":{self.line}" if self.line > 1 else ""
        return f"{self.page.relative_to(DOCS).as_posix()}{place}"

    @property
    def missing(self) -> list[str]:
        """The needed modules that are not installed."""
        return [name for name in self.needs if name != "service" and not _is_installed(name)]


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # what it is a part of is missing
        return False


def page_names() -> list[str]:
    """The pages, by their path in docs/."""
    return sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))


def sessions(page: Path, text: str | None = None) -> list[Session]:
    """The sessions of a page, empty ones left out.

    Raises ``ValueError`` for a fence that is not at the margin, or not closed.
    """
    found = [Session(page)]
    start: int | None = None
    kind, follows = "", False
    lines = (page.read_text(encoding="utf-8") if text is None else text).splitlines()
    for number, line in enumerate(lines, start=1):
        fence = _FENCE.match(line)
        if fence and fence[1]:
            raise ValueError(f"{page.name}, line {number}: a fence that is not at the margin is not run")
        if fence and start is None:
            start, kind = number + 1, fence[2]
        elif fence and start is not None:
            body = "".join(f"{one}\n" for one in lines[start - 1 : number - 1])
            found[-1].blocks.append(Block(kind, body, start, follows))
            start, follows = None, True
        elif start is None and line.strip():
            follows = False
            if needs := _NEEDS.match(line):
                found.append(Session(page, number, tuple(needs[1].split())))
    if start is not None:
        raise ValueError(f"{page.name}, line {start}: the fence is not closed")
    return [session for session in found if session.blocks]


def defects(session: Session) -> Iterator[str]:
    """What keeps a block of a session from being run or checked."""
    before = None
    for block in session.blocks:
        if problem := _defect(block, before):
            yield f"{session.page.name}, line {block.line}: {problem}"
        before = block


def _defect(block: Block, before: Block | None) -> str | None:
    if block.kind == "":
        is_output = block.follows and before is not None and before.kind == "python"
        return None if is_output else "a bare fence is the output of a block of Python right before it"
    if block.kind == "console":
        return None if block.text.startswith("$ ") else "a console begins with a command after '$ '"
    if block.kind == "json":
        try:
            for line in block.text.splitlines():
                json.loads(line)
        except ValueError as error:
            return f"no JSON: {error}"
        return None
    if block.kind == "text":
        looks = any(line.startswith(_PROGRAMS) for line in block.text.splitlines()) or _is_code(block.text)
        return "this looks like code, which is to be run: python or console" if looks else None
    return None if block.kind == "python" else f"nobody runs a block of {block.kind!r}"


def _is_code(text: str) -> bool:
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return False
    return any(isinstance(node, ast.Call | ast.Import | ast.ImportFrom) for node in ast.walk(tree))


def run(session: Session, folder: Path) -> None:
    """Run the blocks of a session in a folder, and compare what they print with what the page shows.

    Raises ``AssertionError`` for a difference, and what a block raises, with the page's own line numbers.
    """
    (folder / "src").symlink_to(ROOT / "src")
    (folder / "examples").symlink_to(ROOT / "examples")
    variables = {
        name: value for name, value in os.environ.items() if not name.startswith(("JINA_", "OPENROUTER_"))
    }
    with contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch.dict(os.environ, variables, clear=True))
        stack.enter_context(_inside(folder))
        # Compiling takes longer than all pages together, and changes nothing that they show.
        stack.enter_context(mock.patch.object(accelerators, "_state", accelerators.State("numpy")))
        stack.enter_context(warnings.catch_warnings())
        if set(session.needs) - {"service"}:  # what frameworks warn of is theirs
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", HybridrankWarning)
        url = stack.enter_context(StubService()).url if "service" in session.needs else None
        names: dict[str, Any] = {"__name__": "page"}
        _run(session, names, url)
        warnings.simplefilter("ignore", ResourceWarning)  # pages do not close what they open
        names.clear()
        gc.collect()


def _run(session: Session, names: dict[str, Any], url: str | None) -> None:
    for block, after in zip(session.blocks, [*session.blocks[1:], None], strict=True):
        if block.kind == "python":
            shown = after.text if after is not None and after.kind == "" else ""
            with mock.patch.dict(os.environ, {} if url is None else {"JINA_BASE_URL": url}):
                _compare(session, block, shown, _printed_by_python(session, block, names))
        elif block.kind == "console":
            for command, shown in _commands(block):
                _compare(session, block, shown, _printed_by_command(command))


def _printed_by_python(session: Session, block: Block, names: dict[str, Any]) -> str:
    code = compile("\n" * (block.line - 1) + block.text, session.page, "exec", dont_inherit=True)
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(code, names)
    return out.getvalue()


def _commands(block: Block) -> Iterator[tuple[str, str]]:
    parts = _COMMAND.split(block.text)[1:]
    for command, shown in zip(parts[::2], parts[1::2], strict=True):
        yield command, shown.removeprefix("\n")


def _printed_by_command(command: str) -> str:
    from hybridrank.cli import main  # by the few pages that have commands

    words = shlex.split(command)
    if words[0] == "hybridrank" and not _SHELL.search(command):  # here, for a process takes half a second
        with (
            contextlib.redirect_stdout(io.StringIO()) as out,
            contextlib.redirect_stderr(out),
            contextlib.suppress(SystemExit),  # as --help ends, and what cannot be understood
        ):
            main(words[1:])
        return out.getvalue()
    command = re.sub(r"(?<![\w./-])hybridrank(?= )", f"{sys.executable} -m hybridrank", command)
    command = re.sub(r"(?<![\w./-])python(?= )", sys.executable, command)
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        command,
        shell=True,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.stdout


def _compare(session: Session, block: Block, shown: str, printed: str) -> None:
    # Editors take blanks at the end of a line away.
    shown, printed = (re.sub(r" +$", "", text, flags=re.MULTILINE) for text in (shown, printed))
    if not doctest.OutputChecker().check_output(shown, printed, doctest.ELLIPSIS):
        raise AssertionError(
            f"{session.page.name}, line {block.line}: the page shows\n{shown}"
            f"but what is printed is\n{printed}"
        )


@contextlib.contextmanager
def _inside(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
