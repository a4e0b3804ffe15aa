"""What was measured on meetings, as tables for people, as JSON for programs, and as a plot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from benchmarks.meetings_measure import OUTCOMES, System, Times
from hybridrank.errors import MissingExtra
from hybridrank.evaluation.significance import CONFIDENCE, Interval, paired_interval
from hybridrank.tasks.finance.scoring import reward
from hybridrank.tasks.meetings.scoring import MEASURES, REFERENCE_QUALITY

_HEADINGS = {
    "evidence_hit": "EvidenceHit@10",
    "fine_hit": "FineHit@10",
    "meeting_recall": "MeetingRecall@10",
    "answer_hit": "AnsHit@10",
    "word_recall": "R1rec",
    "word_recall_right": "R1rec right",
    "memory_hit": "MemHit",
    "memory_fine_hit": "MemFineHit",
}
_WITH_INTERVAL = ("evidence_hit", "fine_hit", "meeting_recall")
REWARD_NOTE = (
    f"reward*: the contract's mapping (a quality of {REFERENCE_QUALITY:.4f} earns 0.2) of EvidenceHit@10, "
    "a proxy; it is not a result on the real set."
)
LEARNED_NOTE = (
    "learned: the shipped model has learned from labelled questions, and flatters itself on those; see "
    "hybridrank.tasks.meetings.training for how it does on meetings that it has not seen."
)


class Report(NamedTuple):
    """Everything measured on one set of meetings; ``answers`` is the word recall of the reference answers by
    the recalled notes and by the answers made of them."""

    name: str
    meetings: int
    budget: int
    systems: Sequence[System]
    answers: tuple[float, float]
    times: Times | None
    curve: Mapping[str, Sequence[tuple[int, float]]]

    def as_json(self) -> dict[str, Any]:
        """The same as plain values."""
        return {
            "set": self.name,
            "meetings": self.meetings,
            "questions": len(self.systems[0].scores),
            "budget": self.budget,
            "notes": [REWARD_NOTE, LEARNED_NOTE],
            "systems": [_system_json(one) for one in self.systems],
            "word_recall": dict(zip(("notes", "extracted_answers"), self.answers, strict=True)),
            "seconds": None if self.times is None else self.times._asdict(),
            "curve": self.curve,
        }


def print_report(console: Console, report: Report) -> None:
    """Print what each system reached, where it lost the rest, and what the scripts took."""
    console.print(
        f"{report.name}: {report.meetings} meetings, {len(report.systems[0].scores)} questions, "
        f"memory of at most {report.budget:,} bytes"
    )
    console.print(_quality_table(report.systems))
    for note in (REWARD_NOTE, LEARNED_NOTE):
        console.print(note, style="dim", soft_wrap=True)
    console.print(_ceiling_table(report.systems))
    console.print(_outcome_table(report.systems))
    notes, answers = report.answers
    console.print(
        f"Reference answers' words: {notes:.3f} in the recalled notes, {answers:.3f} in extracted answers"
    )
    if report.times is not None:
        times = report.times
        console.print(
            f"Whole processes: python3 -c pass {1000 * times.python:.0f} ms; build.sh {times.build:.2f} s; "
            f"run.sh {1000 * times.run:.0f} ms (x {times.run / times.python:.1f}); "
            f"answer.sh {1000 * times.answer:.0f} ms (x {times.answer / times.python:.1f})"
        )


def plot(report: Report, path: Path) -> None:
    """Draw EvidenceHit@10 against the budget; needs matplotlib."""
    try:
        import matplotlib
    except ImportError:
        raise MissingExtra("matplotlib", extra="bench") from None
    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 4), layout="constrained")
    for name, points in report.curve.items():
        axes.plot(*zip(*points, strict=True), marker="o", label=name)
    axes.set_xscale("log", base=2)
    axes.set_xlabel("bytes of the memory")
    axes.set_ylabel("EvidenceHit@10")
    axes.set_ylim(bottom=0)
    axes.set_title(f"{report.name}: {report.meetings} meetings")
    axes.legend()
    figure.savefig(path, metadata={"Software": None})
    pyplot.close(figure)


def interval(system: System, measure: str) -> Interval | None:
    """The mean of a measure with its bootstrap interval; None for a single question."""
    values = [getattr(score, measure) for score in system.scores]
    return paired_interval(values, [0.0] * len(values)) if len(values) > 1 else None


def _quality_table(systems: Sequence[System]) -> Table:
    table = Table(title=f"Ten notes a question, with {CONFIDENCE:.0%} intervals", title_justify="left")
    for heading in ("selection", "recall"):
        table.add_column(heading, no_wrap=True)
    for heading in ("notes", *(_HEADINGS[name] for name in _WITH_INTERVAL), "reward*"):
        table.add_column(heading, justify="right", no_wrap=True)
    for one in systems:
        table.add_row(
            one.selection,
            one.recall,
            str(one.notes),
            *(_interval_text(one, name) for name in _WITH_INTERVAL),
            f"{reward(one.mean('evidence_hit'), REFERENCE_QUALITY):.3f}",
        )
    return table


def _ceiling_table(systems: Sequence[System]) -> Table:
    names = [name for name in MEASURES if name not in _WITH_INTERVAL]
    table = Table(
        title="Words of the reference answers; what a perfect recall would reach", title_justify="left"
    )
    for heading in ("selection", "recall"):
        table.add_column(heading, no_wrap=True)
    for name in names:
        table.add_column(_HEADINGS[name], justify="right", no_wrap=True)
    for one in systems:
        table.add_row(one.selection, one.recall, *(f"{one.mean(name):.3f}" for name in names))
    return table


def _outcome_table(systems: Sequence[System]) -> Table:
    table = Table(title="Where the evidence was lost, share of the questions", title_justify="left")
    for heading in ("selection", "recall"):
        table.add_column(heading, no_wrap=True)
    for heading in OUTCOMES:
        table.add_column(heading, justify="right", no_wrap=True)
    for one in systems:
        table.add_row(one.selection, one.recall, *(f"{share:.2f}" for share in one.outcomes().values()))
    return table


def _interval_text(system: System, measure: str) -> str:
    found = interval(system, measure)
    if found is None:
        return f"{system.mean(measure):.3f}"
    return f"{found.difference:.3f} [{found.low:.2f}, {found.high:.2f}]"


def _system_json(one: System) -> dict[str, Any]:
    intervals = {name: interval(one, name) for name in _WITH_INTERVAL}
    return {
        "selection": one.selection,
        "recall": one.recall,
        "notes": one.notes,
        **{_HEADINGS[name]: one.mean(name) for name in MEASURES},
        "intervals": {
            _HEADINGS[name]: None if found is None else [found.low, found.high]
            for name, found in intervals.items()
        },
        "outcomes": one.outcomes(),
        "reward_mapping_of_proxy": reward(one.mean("evidence_hit"), REFERENCE_QUALITY),
    }
