"""The whole finance job on the sample reports that the package brings."""

from __future__ import annotations

import tempfile
from importlib.resources import as_file, files
from pathlib import Path

from hybridrank.tasks.finance.corpus import Question, read_questions
from hybridrank.tasks.finance.evaluate import evaluate
from hybridrank.tasks.finance.index import build
from hybridrank.tasks.finance.scoring import Label, Place, covers, read_labels
from hybridrank.tasks.finance.search import Evidence, FinanceIndex

__all__ = ["demo"]

_QUOTED = 3  # lines of a span that are shown


def demo(n_questions: int = 3) -> str:
    """Build the sample's index, answer its questions, and say what was found and how well.

    The first ``n_questions`` are shown with their spans: ``*`` marks one that covers labelled evidence.
    """
    sample = files("hybridrank") / "data" / "finance"
    with as_file(sample) as data, tempfile.TemporaryDirectory() as index_dir:
        built = build(data, index_dir)
        index = FinanceIndex.open(index_dir)
        labels = read_labels(data / "labels.jsonl")
        questions = [one for one in read_questions(data / "questions.jsonl") if isinstance(one, Question)]
        parts = [
            f"{built.reports} made-up reports, {built.characters:,} characters; {len(questions)} questions.\n"
            "A question names no report; the answer is at most five spans of at most 512 characters.\n"
            "* marks a span that covers a labelled fact, which is quoted; of others the first line is shown."
        ]
        parts += [
            _shown(question, index.evidence(question.text), labels[question.query_id])
            for question in questions[:n_questions]
        ]
        result = evaluate(index, Path(data) / "questions.jsonl", Path(data) / "labels.jsonl")
    parts.append(
        f"All {len(questions)} questions: {result.measure} {result.quality:.3f}, "
        f"DocHit@5 {result.document_hit:.3f}"
    )
    return "\n\n".join(parts)


def _shown(question: Question, evidence: list[Evidence], label: Label) -> str:
    spans = [Place(one.span.document_id, one.span.start, one.span.end) for one in evidence]
    found = sum(any(covers(spans, place) for place in unit) for unit in label.units)
    lines = [f"Q: {question.text}   [{found} of {len(label.units)} facts covered]"]
    for one, span in zip(evidence, spans, strict=True):
        mark = "*" if any(covers([span], place) for unit in label.units for place in unit) else " "
        lines.append(f" {mark} {one.rank}. {span.document_id} [{span.start}:{span.end}]  {one.report}")
        held = [place for unit in label.units for place in unit if covers([span], place)]
        lines.extend(f"       {line}" for line in _excerpt(one, held))
    return "\n".join(lines)


def _excerpt(evidence: Evidence, held: list[Place]) -> list[str]:
    """The lines of a span that hold labelled evidence, or its first lines."""
    start = evidence.span.start
    if held:
        texts = [evidence.text[place.start - start : place.end - start] for place in dict.fromkeys(held)]
        return [" ".join(text.split()) for text in texts][:_QUOTED]
    return [" ".join(line.split()) for line in evidence.text.splitlines() if line.strip()][:1]
