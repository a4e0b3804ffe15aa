"""Meetings: remember a long history in a small, readable memory, recall its notes, and answer from them.

Names are imported when they are first used: reading, making, searching and answering need different things.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybridrank.lazy import lazy_names

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

__getattr__, __dir__ = lazy_names(__name__, _HOME_OF)
