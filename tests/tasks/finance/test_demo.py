from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from hybridrank.tasks.finance import FinanceIndex
from hybridrank.tasks.finance.demo import demo
from hybridrank.tasks.finance.evaluate import evaluate


@pytest.fixture(scope="module")
def shown() -> str:
    return demo(40)  # more than there are: all


def test_every_question_is_shown_with_its_spans(
    shown: str, sample_index: FinanceIndex, sample_folder: Path
) -> None:
    questions = [json.loads(line) for line in (sample_folder / "questions.jsonl").read_bytes().splitlines()]
    assert shown.count("\nQ: ") == len(questions)
    for question in questions:
        part = shown[shown.index(f"Q: {question['question']}") :].split("\n\n")[0]
        places = re.findall(r"^ [* ] \d\. (\S+) \[(\d+):(\d+)\]", part, re.MULTILINE)
        assert [(name, int(start), int(end)) for name, start, end in places] == [
            (span.document_id, span.start, span.end) for span in sample_index.spans(question["question"])
        ]


def test_a_mark_stands_where_evidence_was_found(shown: str) -> None:
    for part in shown.split("\n\n")[1:-1]:
        (found, of) = map(int, re.findall(r"\[(\d+) of (\d+) facts? covered\]", part)[0])
        assert 0 <= found <= of
        assert (found > 0) == (re.search(r"^ \* ", part, re.MULTILINE) is not None), part


def test_the_lines_with_the_evidence_are_quoted(shown: str, sample_texts: dict[str, str]) -> None:
    quoted = re.findall(r"^ \* \d\. (\S+) \[(\d+):(\d+)\].*\n {7}(.+)$", shown, re.MULTILINE)
    assert len(quoted) > 20
    for name, start, end, line in quoted:
        assert line in " ".join(sample_texts[name][int(start) : int(end)].split())


def test_the_measure_of_all_questions_closes_it(
    shown: str, sample_index: FinanceIndex, sample_folder: Path
) -> None:
    found = evaluate(sample_index, sample_folder / "questions.jsonl", sample_folder / "labels.jsonl")
    assert shown.splitlines()[-1] == (
        f"All {len(found.questions)} questions: EvidenceRecall@5 {found.quality:.3f}, "
        f"DocHit@5 {found.document_hit:.3f}"
    )


def test_three_questions_are_shown_unless_told_otherwise() -> None:
    assert demo().count("\nQ: ") == 3
    assert demo(1).count("\nQ: ") == 1
