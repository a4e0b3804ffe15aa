"""Imports go down only: a room knows the floors below, and its own floor as long as no circle arises."""

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import hybridrank

ROOT = Path(hybridrank.__file__).parent

# A name stands for a module, or for a package with all that is in it.
FLOORS = {
    "errors": 0,
    "lazy": 0,
    "records": 0,
    "array_files": 1,
    "budget": 1,
    "bundle": 1,
    "manifest": 1,
    "passage_store": 1,
    "protocols": 1,
    "storage": 1,
    "text": 1,
    "dense": 2,
    "embedding": 2,
    "engines": 2,
    "generation": 2,
    "jina": 2,
    "plain_http": 2,
    "accelerators": 2,
    "asked": 2,
    "bm25": 2,
    "inversion": 2,
    "lexical": 2,
    "maxscore": 2,
    "maxscore_numba": 2,
    "postings": 2,
    "residency": 2,
    "searcher": 2,
    "segments": 2,
    "vector_log": 2,
    "vectors": 2,
    "cross_encoder": 3,
    "features": 3,
    "found_texts": 3,
    "fusion": 3,
    "fusion_choice": 3,
    "learned": 3,
    "planner": 3,
    "ranking_model": 3,
    "pipeline": 4,
    "evaluation": 5,
    "report": 5,
    "tasks": 5,
    "__main__": 6,
    "app": 6,
    "cli": 6,
    "commands": 6,
    "doctor": 6,
    "integrations": 6,
    "": 7,  # the package itself, which imports lazily from everywhere and which nobody imports
}
ONLY_IMPORTERS = {"httpx": {"jina", "generation"}, "pymilvus": {"engines"}, "lightgbm": {"ranking_model"}}


def modules() -> dict[str, Path]:
    """The modules of the package, by dotted name without the package's own."""
    found = {}
    for path in ROOT.rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        if parts[0] != "data":
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


def room(module: str) -> str:
    return module.split(".")[0]


def imported(source: str, module: str, *, is_package: bool) -> Iterator[str]:
    """The absolute names of the modules that a source imports, anywhere in it."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                package = f"hybridrank.{module}".rstrip(".").split(".")
                package = package[: len(package) - node.level + is_package]
                base = ".".join([*package, *([node.module] if node.module else [])])
            for alias in node.names:
                # `from hybridrank.text import tokens` imports a module, `from ...tokens import Tokenizer`
                # does not.
                inside = f"{base}.{alias.name}".removeprefix("hybridrank.")
                yield f"hybridrank.{inside}" if inside in MODULES else base


def edges(module: str) -> set[str]:
    """The modules of the package that one of them imports."""
    path = MODULES[module]
    names = imported(path.read_text(encoding="utf-8"), module, is_package=path.name == "__init__.py")
    return {
        name.removeprefix("hybridrank").removeprefix(".")
        for name in names
        if name == "hybridrank" or name.startswith("hybridrank.")
    }


def test_every_module_has_a_floor() -> None:
    assert {room(module) for module in MODULES} <= FLOORS.keys()
    assert {"errors", "text.tokens", "lexical", "pipeline", ""} <= MODULES.keys()


@pytest.mark.parametrize("module", sorted(MODULES))
def test_imports_go_down(module: str) -> None:
    upward = {other for other in edges(module) if FLOORS[room(other)] > FLOORS[room(module)]}
    assert not upward


def test_there_is_no_cycle() -> None:
    # The package imports lazily, so what it names is not an import at run time.
    graph = {module: edges(module) for module in MODULES if module}
    list(TopologicalSorter(graph).static_order())


def test_tasks_do_not_know_each_other() -> None:
    for module in MODULES:
        if module.startswith("tasks."):
            task = module.split(".")[1]
            assert {other.split(".")[1] for other in edges(module) if other.startswith("tasks.")} <= {task}


@pytest.mark.parametrize("package", sorted(ONLY_IMPORTERS))
def test_outside_services_are_known_in_one_room(package: str) -> None:
    importers = {
        room(module)
        for module, path in MODULES.items()
        if any(
            name.split(".")[0] == package
            for name in imported(
                path.read_text(encoding="utf-8"), module, is_package=path.name == "__init__.py"
            )
        )
    }
    assert importers <= ONLY_IMPORTERS[package]


def test_every_form_of_import_is_seen() -> None:
    source = """
import numpy.random, hybridrank.errors
from hybridrank.text import tokens
from hybridrank.text.tokens import Tokenizer
from . import passages
from .folding import fold
from ..records import Passage
from .. import lexical
def later():
    import hybridrank
"""
    assert list(imported(source, "text.corpus", is_package=False)) == [
        "numpy.random",
        "hybridrank.errors",
        "hybridrank.text.tokens",
        "hybridrank.text.tokens",
        "hybridrank.text.passages",
        "hybridrank.text.folding",
        "hybridrank.records",
        "hybridrank.lexical",
        "hybridrank",
    ]
    assert list(imported("from . import tokens", "text", is_package=True)) == ["hybridrank.text.tokens"]


def test_a_cycle_would_be_seen() -> None:
    with pytest.raises(CycleError):
        list(TopologicalSorter({"a": {"b"}, "b": {"a"}}).static_order())
