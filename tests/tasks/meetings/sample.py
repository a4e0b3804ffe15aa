"""The bundled sample of meetings, as tests use it."""

from __future__ import annotations

from hybridrank.tasks.meetings.history import read_history
from hybridrank.tasks.meetings.questions import read_labelled_questions
from tests.command_line import DATA

FOLDER = DATA / "meetings"
MEETINGS = read_history(FOLDER / "history.jsonl")
QUESTIONS = read_labelled_questions(FOLDER / "validation.jsonl")
MAX_BYTES = 8_000
