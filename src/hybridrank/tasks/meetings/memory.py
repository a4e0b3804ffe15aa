r"""A memory of meetings: notes as readable JSON.

::

    {"format": "hybridrank meeting memory", "version": 1,
     "meetings": [["[key words of the topic] Speaker: what was said.\nOther: what was answered.", ...], ...]}

A list of notes for each meeting, in the order of the talk; in a note, a line for each who spoke. The standard
library alone.
"""

from __future__ import annotations

import json

from hybridrank.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from hybridrank.tasks.meetings.scoring import Source

__all__ = ["FORMAT", "VERSION", "Memory", "note_text", "split_topic"]

FORMAT = "hybridrank meeting memory"
VERSION = 1
_REMEDY = "Give a memory.json as `hybridrank meetings remember` writes it."


class Memory:
    """Notes by meeting; made by :func:`~hybridrank.tasks.meetings.notes.make_memory` or :meth:`from_json`.

    ``meetings`` holds the notes of each meeting, ``notes`` all of them in order. Where they came from is
    known only to the memory that was made, not to one that was read.
    """

    def __init__(self, meetings: Iterable[Iterable[str]], sources: Sequence[Source] | None = None) -> None:
        self.meetings = tuple(tuple(notes) for notes in meetings)
        self.notes = tuple(note for notes in self.meetings for note in notes)
        self._sources = None if sources is None else tuple(sources)

    @classmethod
    def of_sources(cls, sources: Iterable[Source]) -> Memory:
        """The memory whose notes these are, each once; the notes of a meeting are brought together."""
        grouped: dict[str, list[Source]] = {}
        for source in sources:
            grouped.setdefault(source.meeting_id, []).append(source)
        ordered = [source for of_meeting in grouped.values() for source in of_meeting]
        notes = (dict.fromkeys(source.text for source in of_meeting) for of_meeting in grouped.values())
        return cls(notes, ordered)

    def to_json(self) -> str:
        """The memory as text, a note a line; the same for the same notes. Half a surrogate pair is escaped.

        >>> print(Memory([["[pump] A: It leaks."], ["B: Fine."]]).to_json(), end="")
        {"format": "hybridrank meeting memory", "version": 1, "meetings": [
        ["[pump] A: It leaks."],
        ["B: Fine."]
        ]}
        """
        lists = (
            "[" + ",\n".join(json.dumps(note, ensure_ascii=False) for note in notes) + "]"
            for notes in self.meetings
        )
        head = json.dumps({"format": FORMAT, "version": VERSION})[:-1]
        text = f'{head}, "meetings": [\n' + ",\n".join(lists) + "\n]}\n"
        return text.encode("utf-8", "backslashreplace").decode("utf-8")

    @classmethod
    def from_json(cls, text: str) -> Memory:
        """Read a memory. Raises :class:`~hybridrank.errors.InputError` for what is none, or a newer one."""
        try:
            content = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InputError(
                f"is not valid JSON ({error})", line=getattr(error, "lineno", None), remedy=_REMEDY
            ) from None
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise InputError(f"is no memory: its 'format' is not {FORMAT!r}", remedy=_REMEDY)
        if content.get("version") != VERSION:
            raise InputError(
                f"is a memory of version {content.get('version')!r}, where this hybridrank reads {VERSION}",
                remedy="Use the hybridrank that made it, or make it again.",
            )
        meetings = content.get("meetings")
        if not isinstance(meetings, list) or not all(map(_is_notes, meetings)):
            raise InputError("'meetings' is not a list of lists of notes (strings)", remedy=_REMEDY)
        return cls(meetings)

    def sources(self) -> list[Source]:
        """The text, the meeting and the turns of each note, in order; once for each place that it quotes.

        Raises :class:`~hybridrank.errors.InputError` for a memory that was read: that does not hold them.
        """
        if self._sources is None:
            raise InputError(
                "a memory that was read does not know where its notes came from",
                remedy="Keep the one that was made, or its provenance.",
            )
        return list(self._sources)

    def provenance(self) -> list[dict[str, Any]]:
        """What :meth:`sources` has as plain values: ``text``, ``meeting_id``, ``turns`` as [first, last]."""
        return [
            {"text": one.text, "meeting_id": one.meeting_id, "turns": [one.first, one.last]}
            for one in self.sources()
        ]


def note_text(topic: Sequence[str], said: str) -> str:
    """A note of its topic's key words and what was said.

    >>> note_text(["pump", "seal"], "A: It leaks."), note_text([], "A: It leaks.")
    ('[pump seal] A: It leaks.', 'A: It leaks.')
    """
    return f"[{' '.join(topic)}] {said}" if topic else said


def split_topic(note: str) -> tuple[list[str], str]:
    """The key words of a note's topic, and what was said.

    >>> split_topic("[pump seal] A: It leaks."), split_topic("A: It [the pump] leaks.")
    ((['pump', 'seal'], 'A: It leaks.'), ([], 'A: It [the pump] leaks.'))
    """
    if note.startswith("["):
        topic, bracket, said = note[1:].partition("] ")
        if bracket:
            return topic.split(), said
    return [], note


def _is_notes(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(note, str) for note in value)
