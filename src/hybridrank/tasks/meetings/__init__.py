"""Meetings: remember a long history in a small, readable memory, recall its notes, and answer from them.

Names are imported when they are first used: reading, making, searching and answering need different things.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hybridrank.tasks.meetings.history import HistoryFields, Meeting, Turn, read_history
    from hybridrank.tasks.meetings.memory import Memory
    from hybridrank.tasks.meetings.notes import make_memory
    from hybridrank.tasks.meetings.recall import Index

_HOME_OF = {
    "HistoryFields": "history",
    "Index": "recall",
    "Meeting": "history",
    "Memory": "memory",
    "Turn": "history",
    "make_memory": "notes",
    "read_history": "history",
}

__all__ = ["HistoryFields", "Index", "Meeting", "Memory", "Turn", "make_memory", "read_history"]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
