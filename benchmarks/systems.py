"""The systems that are compared, behind one interface. Only here does the benchmark know hybridrank."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

PLAIN = "plain"
OURS = "hybridrank"
UNLEARNED = "unlearned"
"""Ours without the model: the same index, ranked by no weight that was learned from labels."""
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

    Raises ValueError for any other name.
    """
    if name == PLAIN:
        from benchmarks import plain

        return System(build=plain.build, open=plain.PlainIndex.open)
    if name in (OURS, UNLEARNED):
        from hybridrank.tasks import finance
        from hybridrank.tasks.finance.ranker import SHIPPED

        model = SHIPPED if name == OURS else None
        return System(
            build=finance.build, open=lambda index_dir: finance.FinanceIndex.open(index_dir, model=model)
        )
    raise ValueError(f"no system named {name!r}; there are {PLAIN}, {OURS} and {UNLEARNED}")
