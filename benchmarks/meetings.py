"""Measure ways of keeping and recalling what meetings said, on labelled questions.

    python -m benchmarks.meetings --data DIR [--max-bytes N] [--json FILE] [--plot FILE.png]
    python -m benchmarks.meetings --smoke

DIR holds `history.jsonl` and `validation.jsonl`, or QMSum's published `.json` files; one of its files will do
too. With `JINA_BASE_URL` or `JINA_API_KEY` set, dense and fused recall are measured as well.
"""

from __future__ import annotations

import argparse
import importlib.resources
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from benchmarks.command_line import run_command
from benchmarks.meetings_measure import (
    OURS,
    Kept,
    MeetingSet,
    answers_recall,
    baselines,
    bm25,
    evaluate,
    read_set,
    time_scripts,
    with_services,
)
from benchmarks.meetings_methods import candidates, idf_coverage, select
from benchmarks.meetings_report import Report, plot, print_report
from hybridrank.errors import HybridrankError
from hybridrank.tasks.meetings.answer import LONGEST
from hybridrank.tasks.meetings.neural import JinaService
from hybridrank.tasks.meetings.notes import make_memory

_WIDTH_WITHOUT_TERMINAL = 110  # wide enough that no cell is cut in a log or a file
_SMOKE_BYTES = 6_000
_SHARES = (0.125, 0.25, 0.5, 1.0, 2.0)  # of the budget, for the plot


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; 0 on success, 1 with a message where it cannot be run."""
    return run_command(_parser(), _run, arguments, HybridrankError)


def _run(options: argparse.Namespace, errors: Console) -> None:
    report = _measure(options, errors)
    output = Console()
    if not output.is_terminal:
        output = Console(width=_WIDTH_WITHOUT_TERMINAL)
    print_report(output, report)
    if options.json:
        options.json.write_text(json.dumps(report.as_json(), indent=2) + "\n", encoding="utf-8")
    if options.plot:
        plot(report, options.plot)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.meetings", description="Measure ways of keeping and recalling meetings."
    )
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--data", type=Path, metavar="DIR", help="meetings and labelled questions")
    source.add_argument("--smoke", action="store_true", help="the sample that the package ships, in seconds")
    parser.add_argument(
        "--max-bytes", type=int, metavar="N", help="of a memory (default: the contract's, by meetings)"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write everything measured as JSON")
    parser.add_argument("--plot", type=Path, metavar="FILE.png", help="EvidenceHit against the budget")
    parser.add_argument("--no-times", action="store_true", help="do not time the scripts")
    return parser


def _measure(options: argparse.Namespace, errors: Console) -> Report:
    if options.smoke:
        data = read_set(Path(str(importlib.resources.files("hybridrank") / "data" / "meetings")))
    else:
        data = read_set(options.data)
    budget = options.max_bytes or (_SMOKE_BYTES if options.smoke else data.budget)
    service = JinaService.from_environment(os.environ)
    with errors.status("choosing notes") as status:
        kept = {name: Kept.of_sources(found) for name, found in baselines(data, budget).items()}
        kept |= {name: Kept.of(make_memory(data.meetings, max_bytes=budget, selector=name)) for name in OURS}
        status.update("recalling notes")
        systems = [
            evaluate(data, name, recall, one.sources, search)
            for name, one in kept.items()
            for recall, search in (("BM25", bm25(one.texts)), ("ours", one.search))
        ]
        mine = kept[OURS[0]]
        if service is not None:
            status.update("asking for vectors")
            for recall, search in with_services(mine, service).items():
                systems.append(evaluate(data, OURS[0], recall, mine.sources, search))
        status.update("answering")
        answers = answers_recall(data, mine.sources, mine.search, LONGEST)
        status.update("trying other budgets")
        curve = _curve(data, budget) if options.plot else {}
        status.update("timing the scripts")
        times = None if options.no_times else time_scripts(mine.memory, data.questions[0].question)
    return Report(data.name, len(data.meetings), budget, systems, answers, times, curve)


def _curve(data: MeetingSet, budget: int) -> dict[str, list[tuple[int, float]]]:
    """EvidenceHit at several budgets: of the best of the usual ways, and of ours."""
    lines: dict[str, list[tuple[int, float]]] = {}
    for share in _SHARES:
        size = round(budget * share)
        plain = Kept.of_sources(select(candidates(data.meetings), idf_coverage, size))
        mine = Kept.of(make_memory(data.meetings, max_bytes=size, selector=OURS[0]))
        for name, one, search in (
            ("idf coverage + BM25", plain, bm25(plain.texts)),
            ("ours", mine, mine.search),
        ):
            system = evaluate(data, name, name, one.sources, search)
            lines.setdefault(name, []).append((size, system.mean("evidence_hit")))
    return lines


if __name__ == "__main__":
    sys.exit(main())
