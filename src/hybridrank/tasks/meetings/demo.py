"""The whole job on the sample meetings that the package brings: remember, recall, answer."""

from __future__ import annotations

from importlib.resources import as_file, files
from statistics import fmean

from hybridrank.tasks.meetings.answer import answer
from hybridrank.tasks.meetings.history import read_history
from hybridrank.tasks.meetings.notes import make_memory
from hybridrank.tasks.meetings.questions import read_labelled_questions
from hybridrank.tasks.meetings.recall import Index
from hybridrank.tasks.meetings.scoring import Scorer

__all__ = ["demo"]

MAX_BYTES = 8_000
_SHOWN = 3  # notes of a question


def demo(n_questions: int = 3) -> str:
    """Make a memory of the sample, recall notes for its questions, and say what was found and how well.

    The first ``n_questions`` are shown with their best notes and the answer made of all ten: ``*`` marks a
    note of the right meeting.
    """
    with as_file(files("hybridrank") / "data" / "meetings") as folder:
        meetings = read_history(folder / "history.jsonl")
        questions = read_labelled_questions(folder / "validation.jsonl")
    memory = make_memory(meetings, max_bytes=MAX_BYTES)
    sources = memory.sources()
    index = Index.build(memory)
    scorer = Scorer(meetings, sources)
    said = sum(len(turn.text) for meeting in meetings for turn in meeting.turns)
    parts = [
        f"{len(meetings)} made-up meetings, {said:,} characters of dialogue, in a memory of at most "
        f"{MAX_BYTES:,} bytes: {len(memory.notes)} notes.\n* marks a note of the meeting that is asked about."
    ]
    scores = []
    for place, question in enumerate(questions):
        found = index.search(question.question, 10)
        scores.append(scorer.score(question, found))
        if place < n_questions:
            right = {source.text for source in sources if source.meeting_id == question.meeting_id}
            lines = [f"Q: {question.question}"]
            lines += [
                f" {'*' if note in right else ' '} {rank}. {note}"
                for rank, note in enumerate(found[:_SHOWN], start=1)
            ]
            parts.append("\n".join([*lines, f"A: {answer(question.question, found).text}"]))
    parts.append(
        f"All {len(questions)} questions: EvidenceHit@10 {fmean(one.evidence_hit for one in scores):.3f}, "
        f"FineHit@10 {fmean(one.fine_hit for one in scores):.3f}, "
        f"MeetingRecall@10 {fmean(one.meeting_recall for one in scores):.3f}"
    )
    return "\n\n".join(parts)
