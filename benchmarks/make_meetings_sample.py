"""Build the bundled sample of meetings from its readable sources.

A source is a text file a meeting, called after it. Each line is a turn, `Speaker: text`; `[2]` before it says
that it holds evidence for question 2. After a line `---` come the questions, `2 | question | answer`. The
product is the layout of `hybridrank.tasks.meetings.history` and `.questions`; marked turns that stand no more
than two turns apart make one range of evidence. The same sources always give the same bytes.

    python -m benchmarks.make_meetings_sample
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "tests" / "data_sources" / "meetings"
OUTPUT = ROOT / "src" / "hybridrank" / "data" / "meetings"
TURN = re.compile(r"(?:\[([0-9]+)\] )?([^:]+): (.+)")
QUESTION = re.compile(r"([0-9]+) \| (.+?) \| (.+)")
_GAP = 3  # marked turns up to this far apart belong to one range


class SampleError(ValueError):
    """A source that cannot be built from; the message names the place and the remedy."""


def read_meeting(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The meeting of a source, and its questions with labels."""
    dialogue, _, asked = path.read_text(encoding="utf-8").partition("\n---\n")
    turns: list[dict[str, str]] = []
    marked: dict[str, list[int]] = {}
    for number, line in enumerate(dialogue.splitlines(), start=1):
        found = TURN.fullmatch(line)
        if found is None:
            raise SampleError(f"{path}, line {number}: no turn; write `Speaker: text`")
        if found[1]:
            marked.setdefault(found[1], []).append(len(turns))
        turns.append({"speaker": found[2], "text": found[3]})
    questions = []
    for line in asked.splitlines():
        found = QUESTION.fullmatch(line)
        if found is None or found[1] not in marked:
            raise SampleError(
                f"{path}: {line!r} is no question with marked turns; write `1 | question | answer`"
            )
        evidence = marked.pop(found[1])
        questions.append(
            {
                "question_id": f"{path.stem}-s{int(found[1]) - 1:02}",
                "question": found[2],
                "reference_answer": found[3],
                "meeting_id": path.stem,
                "evidence_turns": ranges(evidence),
                "fine_sentences": [{"turn": turn, "text": turns[turn]["text"]} for turn in evidence],
            }
        )
    if marked:
        raise SampleError(f"{path}: turns are marked for {', '.join(marked)}, of which there is no question")
    return {"meeting_id": path.stem, "turns": turns}, questions


def ranges(turns: Sequence[int]) -> list[list[int]]:
    """The ranges, both ends included, that turns make which stand near one another.

    >>> ranges([4, 5, 8, 20])
    [[4, 8], [20, 20]]
    """
    found: list[list[int]] = []
    for turn in turns:
        if found and turn - found[-1][1] <= _GAP:
            found[-1][1] = turn
        else:
            found.append([turn, turn])
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Build the sample; 0 on success, 1 with a message where a source is not as it should be."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.make_meetings_sample")
    parser.add_argument("--sources", type=Path, default=SOURCES, metavar="DIR")
    parser.add_argument("--output", type=Path, default=OUTPUT, metavar="DIR")
    options = parser.parse_args(arguments)
    try:
        built = [read_meeting(path) for path in sorted(options.sources.glob("*.txt"))]
        if not built:
            raise SampleError(f"{options.sources}: no .txt file found; give the directory with --sources")
    except SampleError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    labelled = [question for _, questions in built for question in questions]
    bare = [{key: row[key] for key in ("question_id", "question")} for row in labelled]
    options.output.mkdir(parents=True, exist_ok=True)
    write(options.output / "history.jsonl", (meeting for meeting, _ in built))
    write(options.output / "validation.jsonl", labelled)
    write(options.output / "validation_questions.jsonl", bare)
    return 0


def write(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Write JSON lines, with the same bytes on every system."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="ascii", newline="\n")


if __name__ == "__main__":
    sys.exit(main())
