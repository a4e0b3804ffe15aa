"""Python modules inside a shell script: found when the script runs, and compiled only where they are used.

A script hands this file to ``python3 -c``, between single quotes, with its own path and a command as
arguments. So nothing here may hold a single quote.
"""

from __future__ import annotations

import gc
import sys
from _frozen_importlib import ModuleSpec  # by way of importlib it would take a sixth of the start

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

MARK = "#:: "
"""What a line begins with that names the file whose text follows."""


class Carried:
    """The modules of a script, for the import system; packages have no code of their own."""

    def __init__(self, script: str) -> None:
        with open(script, encoding="utf-8") as file:
            sections = file.read().split("\n" + MARK)
        self.script = script
        self.sources: dict[str, tuple[int, str]] = {}
        self.packages: set[str] = set()
        line = sections[0].count("\n") + 2  # where the text of the next file begins, from 0
        for section in sections[1:]:
            path, _, source = section.partition("\n")
            if path.endswith(".py"):
                name = path[:-3].replace("/", ".")
                self.sources[name] = (line, source)
                while "." in name:
                    name = name.rpartition(".")[0]
                    self.packages.add(name)
            line += section.count("\n") + 1

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Where a module comes from: from here, or (None) from elsewhere."""
        if name in self.sources or name in self.packages:
            return ModuleSpec(name, self, origin=self.script, is_package=name in self.packages)  # type: ignore[arg-type]
        return None

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave it to Python to make the module."""

    def exec_module(self, module: ModuleType) -> None:
        """Run the text of a module; its lines are numbered as they stand in the script."""
        line, source = self.sources.get(module.__name__, (0, ""))
        exec(compile("\n" * line + source, self.script, "exec", dont_inherit=True), module.__dict__)


def start(script: str, module: str, arguments: Sequence[str]) -> int:
    """Run ``main`` of a carried module; returns its exit code."""
    if sys.version_info < (3, 10):  # noqa: UP036 - any Python may be called python3
        sys.stderr.write("error: this needs Python 3.10 or newer. Set HYBRIDRANK_PYTHON to one.\n")
        return 2
    gc.disable()  # in a process that ends in an instant nothing is worth collecting
    sys.meta_path.insert(0, Carried(script))
    code: int = __import__(module, fromlist=["main"]).main(arguments)
    return code
