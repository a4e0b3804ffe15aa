"""Run the measured steps in processes of their own and gather what they say."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.rows import BenchmarkError, read_rows
from benchmarks.systems import OURS, PLAIN, SYSTEMS, UNLEARNED
from hybridrank.tasks.finance.datasets import Corpus, EvaluationSet, read_query_ids
from hybridrank.tasks.finance.scoring import QueryScore, score

ROOT = Path(__file__).resolve().parent.parent
MEBIBYTE = 2**20
MEGABYTE = 10**6
SINGLE_THREADED = dict.fromkeys(
    (
        "MKL_NUM_THREADS",
        "NUMBA_NUM_THREADS",
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
    ),
    "1",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """What building one index took; sizes in bytes, the corpus as the file lies on disk."""

    corpus: str
    system: str
    seconds: float
    corpus_bytes: int
    peak_bytes: int
    index_bytes: int

    @property
    def megabytes_per_second(self) -> float:
        """Corpus megabytes (10^6 bytes) indexed in a second."""
        return self.corpus_bytes / MEGABYTE / self.seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One system's answers to one set: a score and the milliseconds of each query, in the set's order."""

    system: str
    scores: tuple[QueryScore, ...]
    milliseconds: tuple[float, ...]
    open_seconds: float
    peak_bytes: int

    @property
    def quality(self) -> float:
        """Mean quality, in 0 to 1."""
        return statistics.fmean(one.quality for one in self.scores)

    @property
    def document_hit(self) -> float:
        """DocHit@5, in 0 to 1."""
        return statistics.fmean(one.document for one in self.scores)

    @property
    def invalid(self) -> int:
        """How many rows broke a rule."""
        return sum(one.invalid is not None for one in self.scores)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Both systems on one set."""

    set_name: str
    corpus: str
    metric: str
    plain: Run
    ours: Run


def compare(
    sets: Sequence[EvaluationSet],
    work: Path,
    on_step: Callable[[str], None] = lambda step: None,
    *,
    learned: bool = True,
) -> tuple[list[Build], list[Comparison]]:
    """Build each system once a corpus, run every set on it, and score the answers.

    Without `learned` ours ranks without its model. Indexes and result rows are written below `work`;
    `on_step` is told what begins. Raises BenchmarkError where a step fails or a question has no label.
    """
    builds, comparisons = [], []
    for corpus in {one.corpus.name: one.corpus for one in sets}.values():
        for system in SYSTEMS:
            on_step(f"corpus {corpus.name}: {system} builds")
            builds.append(_build(system, corpus, work / corpus.name / system))
        for one in sets:
            if one.corpus is corpus:
                runs = {}
                for system in SYSTEMS:
                    on_step(f"corpus {corpus.name}: {system} answers {one.name}")
                    variant = system if learned or system == PLAIN else UNLEARNED
                    runs[system] = _search(variant, one, work / corpus.name / system)
                metric = "PageHit@5" if next(iter(one.labels.values())).pages else "EvidenceRecall@5"
                comparisons.append(
                    Comparison(
                        set_name=one.name,
                        corpus=corpus.name,
                        metric=metric,
                        plain=runs[PLAIN],
                        ours=runs[OURS],
                    )
                )
    return builds, comparisons


def _build(system: str, corpus: Corpus, index_dir: Path) -> Build:
    found = run_worker("build", system, corpus.path, index_dir)
    size = sum(file.stat().st_size for file in index_dir.rglob("*") if file.is_file())
    return Build(corpus=corpus.name, system=system, corpus_bytes=corpus.size, index_bytes=size, **found)


def _search(system: str, one: EvaluationSet, index_dir: Path) -> Run:
    queries = read_query_ids(one.queries)
    unlabelled = [query for query in queries if query not in one.labels]
    if unlabelled:
        raise BenchmarkError(
            f"{one.queries}: no label for {len(unlabelled)} questions, the first is {unlabelled[0]!r}"
        )
    results = index_dir.parent / f"{one.name}.{system}.jsonl"
    found = run_worker("search", system, index_dir, one.queries, results)
    return Run(
        system=system,
        scores=tuple(score(queries, one.labels, read_rows(results), one.corpus.lengths)),
        milliseconds=tuple(found["milliseconds"]),
        open_seconds=found["open_seconds"],
        peak_bytes=found["peak_bytes"],
    )


def run_worker(step: str, system: str, *paths: Path) -> dict[str, Any]:
    """Run one step of `benchmarks.worker` in a new, single-threaded Python and return what it measured.

    Raises BenchmarkError with the end of the worker's own words where it fails.
    """
    process = subprocess.run(
        [sys.executable, "-m", "benchmarks.worker", step, system, *(str(path.resolve()) for path in paths)],
        cwd=ROOT,
        env=os.environ | SINGLE_THREADED,
        capture_output=True,
        text=True,
        check=False,
    )
    if process.returncode:
        raise BenchmarkError(
            f"{system} failed to {step} (exit {process.returncode}):\n{process.stderr[-4000:].strip()}"
        )
    measured: dict[str, Any] = json.loads(process.stdout)
    return measured
