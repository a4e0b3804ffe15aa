"""A history of meetings as a few kilobytes of readable notes, and questions answered from these alone.

    python examples/meeting_memory.py                              a question on six made-up meetings
    python examples/meeting_memory.py "Who will do the wiring?"    another one

No generative model is needed. With OPENROUTER_BASE_URL or OPENROUTER_API_KEY set, a chat service writes the
answer.
"""

from __future__ import annotations

import os
import sys
from importlib.resources import as_file, files

from hybridrank.generation import ChatService
from hybridrank.tasks.meetings import Index, make_memory, read_history
from hybridrank.tasks.meetings.answer import answer

QUESTION = "What was wrong with the humidity sensors?"


def main() -> None:
    """Make a memory of the sample, recall notes, and answer."""
    question = sys.argv[1] if len(sys.argv) > 1 else QUESTION
    with as_file(files("hybridrank") / "data" / "meetings" / "history.jsonl") as path:
        meetings = read_history(path)
    said = sum(len(turn.text) for meeting in meetings for turn in meeting.turns)

    memory = make_memory(meetings, max_bytes=8_000)
    size = len(memory.to_json().encode())
    print(
        f"{len(meetings)} meetings, {said:,} characters: {len(memory.notes)} notes of {size:,} bytes in all\n"
    )

    notes = Index.build(memory).search(question, 3)
    print(f"{question}\n")
    for number, note in enumerate(notes, start=1):
        print(f"note {number}: {' '.join(note.split())[:200]} ...\n")
    print(f"answer: {answer(question, notes, service=ChatService.from_environment(os.environ)).text}")


if __name__ == "__main__":
    main()
