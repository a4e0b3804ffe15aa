"""The systems that are compared, behind one interface. Only here does the benchmark know hybridrank."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

PLAIN = "plain"
OURS = "hybridrank"
SYSTEMS = (PLAIN, OURS)


class SpanLike(Protocol):
    """Characters `start` to `end` of one report."""

    @property
    def document_id(self) -> str:
        """The report's id."""

    @property
    def start(self) -> int:
        """The first character."""

    @property
    def end(self) -> int:
        """The character after the last."""


class Searcher(Protocol):
    """An opened index."""

    def spans(self, question: str) -> Sequence[SpanLike]:
        """Give at most five spans, best first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """How to build an index (corpus directory, index directory) and how to open it."""

    build: Callable[[Path, Path], object]
    open: Callable[[Path], Searcher]


def load(name: str) -> System:
    """Import the system of that name, and nothing of the other.

    Raises ValueError for a name that is not in SYSTEMS.
    """
    if name == PLAIN:
        from benchmarks import plain

        return System(build=plain.build, open=plain.PlainIndex.open)
    if name == OURS:
        from hybridrank.tasks import finance

        return System(build=finance.build, open=finance.FinanceIndex.open)
    raise ValueError(f"no system named {name!r}; there are {', '.join(SYSTEMS)}")
