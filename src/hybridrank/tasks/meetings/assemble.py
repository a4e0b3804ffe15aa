"""The four files that fulfil the contract on a machine that has a bare Python and nothing else.

A script carries, as plain source below its first lines, the modules that its command can come to need: those
named by an import, anywhere, starting from what it calls in :mod:`~hybridrank.tasks.meetings.scripts`.
Nothing in it depends on the memory.
"""

from __future__ import annotations

import ast
import importlib.metadata
import importlib.util
from collections.abc import Iterator
from os import PathLike
from pathlib import Path

from hybridrank.bundle import check_target, script_source
from hybridrank.errors import InputError
from hybridrank.tasks.meetings import carry
from hybridrank.tasks.meetings.memory import Memory

__all__ = ["COMMANDS", "MEMORY", "MOST_BYTES", "assemble", "script"]

COMMANDS = ("build", "run", "answer")
MEMORY = "memory.json"
MOST_BYTES = 183_981
"""What a memory may measure."""

_ENTRY = "hybridrank.tasks.meetings.scripts"
_FUNCTION = {"build": "build", "run": "recall", "answer": "answer"}  # of the entry, for each command
_CARRIED = ("hybridrank", "snowballstemmer")
_HEAD = """\
{comments}
# Made by hybridrank; Apache License 2.0. All that it runs stands below as source, each file after a line that
# begins with "#::" and its name. -I and -S: no module from elsewhere; -B: nothing is written beside it.
exec "${{HYBRIDRANK_PYTHON:-python3}}" -I -S -B -X utf8 -c '
{loader}

import os
os._exit(start(sys.argv[1], "{entry}", sys.argv[2:]))  # at once: all is written, and to tidy up takes time
' "$0" {command} "$@"
"""


def assemble(memory: str | PathLike[str], output: str | PathLike[str]) -> Path:
    """Write ``memory.json`` and the three scripts into a directory, and return it.

    The directory may be new, empty, or one that was assembled before; anything else is refused with
    :class:`~hybridrank.errors.InputError`, as is a file that holds no memory or one that is too large.
    """
    content = _checked_memory(Path(memory))
    scripts = {f"{command}.sh": script(command) for command in COMMANDS}
    target = Path(output)
    check_target(target, {MEMORY, *scripts})
    try:
        target.mkdir(parents=True, exist_ok=True)
        _put(target / MEMORY, content, 0o644)
        for name, text in scripts.items():
            _put(target / name, text.encode("utf-8"), 0o755)
    except OSError as error:
        raise InputError(
            f"cannot be written ({error.strerror or error})",
            file=target,
            remedy="Choose a directory that you may write, on a disk with room.",
        ) from error
    return target


def script(command: str) -> str:
    """The text of the script for ``build``, ``run`` or ``answer``; the same for every memory."""
    original = (script_source("meetings") / f"{command}.sh").read_text(encoding="utf-8")
    loader = Path(carry.__file__).read_text(encoding="utf-8").rstrip()
    head = _HEAD.format(
        comments=original.partition("\nset ")[0], loader=loader, entry=_ENTRY, command=command
    )
    parts = [head]
    parts.extend(f"\n{carry.MARK}{path}\n{text}" for path, text in _files(command))
    return "".join(parts)


def _checked_memory(path: Path) -> bytes:
    try:
        content = path.read_bytes()
        Memory.from_json(content.decode("utf-8"))
    except InputError as error:
        raise InputError(error.reason, file=path, line=error.line, remedy=error.remedy) from None
    except OSError as error:
        raise InputError(
            f"cannot be read ({error.strerror})", file=path, remedy="Make one: hybridrank meetings remember."
        ) from error
    except UnicodeDecodeError:
        raise InputError("is not UTF-8", file=path, remedy="Save it as UTF-8.") from None
    if len(content) > MOST_BYTES:
        raise InputError(
            f"measures {len(content):,} bytes, of {MOST_BYTES:,} allowed",
            file=path,
            remedy="Make a smaller one: hybridrank meetings remember --max-bytes.",
        )
    return content


def _put(path: Path, content: bytes, mode: int) -> None:
    if path.is_symlink():  # the file is to be here, not where that leads
        path.unlink()
    path.write_bytes(content)
    path.chmod(mode)


def _files(command: str) -> Iterator[tuple[str, str]]:
    """The files that a command can come to need, by name, with their texts; licences last."""
    found: dict[str, str] = {}
    waiting = [_ENTRY]
    while waiting:
        name = waiting.pop()
        path = _module_file(name)
        if name in found or path is None:
            continue
        found[name] = path.read_text(encoding="utf-8")
        tree = ast.parse(found[name])
        waiting.extend(_imported(tree, name, _unused(tree, _FUNCTION[command]) if name == _ENTRY else set()))
    for name in sorted(found):
        yield f"{name.replace('.', '/')}.py", found[name]
    for package in sorted({name.partition(".")[0] for name in found} - {"hybridrank"}):
        yield from _licences(package)


def _module_file(name: str) -> Path | None:
    """Where the source of a module lies; ``None`` for no module and for a package, which is carried empty."""
    top, *inner = name.split(".")
    spec = importlib.util.find_spec(top)
    if spec is None or spec.origin is None or not inner:
        return None
    path = Path(spec.origin).parent.joinpath(*inner).with_suffix(".py")
    return path if path.is_file() else None


def _unused(tree: ast.Module, function: str) -> set[str]:
    """The functions of a module that one of them cannot come to call."""
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    used: set[str] = set()
    waiting = [function]
    while waiting:
        name = waiting.pop()
        if name in functions and name not in used:
            used.add(name)
            waiting.extend(node.id for node in ast.walk(functions[name]) if isinstance(node, ast.Name))
    return functions.keys() - used


def _imported(tree: ast.AST, module: str, skipped: set[str]) -> Iterator[str]:
    """The modules that may be meant by the imports below a node, but for types and ``skipped`` functions."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.FunctionDef) and node.name in skipped:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.partition(".")[0] in _CARRIED)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                base = ".".join([*module.split(".")[: -node.level], *([base] if base else [])])
            if base.partition(".")[0] in _CARRIED:
                yield base
                yield from (f"{base}.{alias.name}" for alias in node.names)
        else:
            yield from _imported(node, module, skipped)


def _licences(package: str) -> Iterator[tuple[str, str]]:
    """The licence files of an installed distribution, which go where its code goes."""
    for place in importlib.metadata.distribution(package).files or ():
        if place.name.partition(".")[0] in ("COPYING", "LICENSE", "LICENCE", "NOTICE"):
            yield f"{package}/{place.name}", Path(str(place.locate())).read_text(encoding="utf-8")
