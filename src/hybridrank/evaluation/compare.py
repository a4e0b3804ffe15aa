"""Several systems on the same judged queries: their quality, what differs and whether by more than chance."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from hybridrank.errors import HybridrankWarning, InputError
from hybridrank.evaluation.measures import DEFAULT_MEASURES, check_measures, depth_of, score_queries
from hybridrank.evaluation.results import Difference, Evaluation, Latency, SystemResult
from hybridrank.evaluation.significance import RESAMPLES, holm, paired_interval, paired_test
from hybridrank.evaluation.units import Unit, check_overlap, search_units
from hybridrank.protocols import Retriever
from hybridrank.records import counted

__all__ = ["Run", "compare", "evaluate", "search_all"]

_SAME = 1e-12  # a difference of less is none


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """What a system found: ids, best first, by query; and the seconds that each query took, if known."""

    ranked: Mapping[str, Sequence[str]]
    seconds: Mapping[str, float] = field(default_factory=dict)
    degraded: Mapping[str, str] = field(default_factory=dict)


def evaluate(
    retrievers: Mapping[str, Retriever],
    queries: Mapping[str, str],
    judgments: Mapping[str, Mapping[str, int]],
    *,
    runs: Mapping[str, Run] | None = None,
    measures: Sequence[str] = DEFAULT_MEASURES,
    baseline: str | None = None,
    unit: Unit = "passage",
    depth: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Evaluation:
    """Search every judged query with each retriever and compare what they find, and what ``runs`` found.

    ``queries`` maps ids to texts, ``judgments`` query ids to grades by id; ``unit`` says whether those are
    ids of passages or of documents, of which a ranking then holds each at its best passage. ``depth`` is how
    many are looked for: by default what the measures look at. ``progress`` is told the searches done. The
    other arguments, and what is raised, are as in :func:`compare`.

    >>> from hybridrank import LexicalIndex, Passage
    >>> index = LexicalIndex.build([Passage(id="a", text="Net sales rose."), Passage(id="b", text="Rain.")])
    >>> result = evaluate({"bm25": index}, {"q": "Did sales rise?"}, {"q": {"a": 1}}, measures=["RR@10"])
    >>> result.systems[0].means
    {'RR@10': 1.0}
    """
    names = check_measures(measures)
    judged = {query_id: queries[query_id] for query_id in check_overlap(queries, _filled(judgments))}
    doubled = sorted(retrievers.keys() & (runs or {}).keys())
    if doubled:
        raise InputError(f"two systems are named {doubled[0]!r}", remedy="Give each a name of its own.")
    found: dict[str, Run] = {}
    for place, (name, retriever) in enumerate(retrievers.items()):
        found[name] = search_all(
            retriever,
            judged,
            depth=depth or depth_of(names),
            unit=unit,
            progress=_after(progress, place * len(judged)),
        )
    grades = {query_id: judgments[query_id] for query_id in judged}
    return compare({**found, **(runs or {})}, grades, queries=judged, measures=names, baseline=baseline)


def _filled(judgments: Mapping[str, Mapping[str, int]]) -> list[str]:
    return [query_id for query_id, of_query in judgments.items() if of_query]


def _after(progress: Callable[[int], None] | None, before: int) -> Callable[[int], None] | None:
    return None if progress is None else lambda done: progress(before + done)


def search_all(
    retriever: Retriever,
    queries: Mapping[str, str],
    *,
    depth: int,
    unit: Unit = "passage",
    progress: Callable[[int], None] | None = None,
) -> Run:
    """Search queries one after the other, taking the time of each; ``depth`` units are looked for.

    A first search that is not counted brings into memory what searches need.
    """
    ranked: dict[str, list[str]] = {}
    seconds: dict[str, float] = {}
    degraded: dict[str, str] = {}
    for done, (query_id, text) in enumerate(queries.items(), start=1):
        if done == 1:
            retriever.search(text, depth)
        began = time.perf_counter()
        ranking = retriever.search(text, depth)
        seconds[query_id] = time.perf_counter() - began
        if ranking.degraded is not None:
            degraded[query_id] = ranking.degraded
        units = search_units(retriever, text, depth, unit, ranking)
        ranked[query_id] = [hit.passage_id for hit in units]
        if progress is not None:
            progress(done)
    return Run(ranked=ranked, seconds=seconds, degraded=degraded)


def compare(
    runs: Mapping[str, Run],
    judgments: Mapping[str, Mapping[str, int]],
    *,
    queries: Mapping[str, str] | None = None,
    measures: Sequence[str] = DEFAULT_MEASURES,
    baseline: str | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Evaluation:
    """Compare runs on judged queries; each but the ``baseline``, by default the first, is tested against it.

    Scored are the judged queries, when ``queries`` is given those among them; a run that lacks one scores as
    if it had found nothing. For each measure a difference has a 95 % bootstrap interval and the p-value of a
    paired randomization test, raised by Holm's method over the systems tested
    (:mod:`hybridrank.evaluation.significance`).

    Raises :class:`~hybridrank.errors.InputError` without runs, for a baseline that is none of them, for a
    measure that is not known, and when ids of queries do not match at all; warns where some do not, where a
    run finds no judged id, and where a retriever's rankings were degraded.

    >>> ours, theirs = Run(ranked={"q": ["a"]}), Run(ranked={"q": ["x", "a"]})
    >>> result = compare({"theirs": theirs, "ours": ours}, {"q": {"a": 1}}, measures=["RR"])
    >>> result.differences[0].difference
    0.5
    """
    names = check_measures(measures)
    if not runs:
        raise InputError("there is nothing to compare", remedy="Give at least one run.")
    first = next(iter(runs)) if baseline is None else baseline
    if first not in runs:
        raise InputError(f"no system is named {first!r}", remedy=f"Name one of {', '.join(runs)}.")
    ids = _filled(judgments) if queries is None else check_overlap(queries, _filled(judgments))
    if not ids:
        raise InputError("there are no judgments", remedy="Give judgments of some queries.")
    judged = {query_id: judgments[query_id] for query_id in ids}
    results = {name: _result(name, run, judged, names) for name, run in runs.items()}
    return Evaluation(
        baseline=first,
        measures=names,
        queries={query_id: (queries or {}).get(query_id, "") for query_id in ids},
        systems=tuple(results.values()),
        differences=tuple(_differences(results, first, names, resamples, seed)),
    )


def _result(
    name: str, run: Run, judged: Mapping[str, Mapping[str, int]], measures: Sequence[str]
) -> SystemResult:
    missing = [query_id for query_id in judged if query_id not in run.ranked]
    if len(missing) == len(judged):
        check_overlap(run.ranked, judged, what=f"queries of {name}")  # raises, with examples
    notes = []
    if missing:
        notes.append(f"{name} has no ranking for {len(missing)} of {len(judged)} judged queries")
    if run.degraded:
        reason = next(iter(run.degraded.values()))
        notes.append(f"{name} was degraded on {counted(len(run.degraded), 'query')} ({reason})")
    if not any(set(found).intersection(judged.get(query_id, ())) for query_id, found in run.ranked.items()):
        one = next((found[0] for found in run.ranked.values() if found), None)
        wanted = next(iter(next(iter(judged.values()))))
        notes.append(f"{name} finds nothing that is judged: it has ids such as {one!r}, judged is {wanted!r}")
    for note in notes:
        warnings.warn(note, HybridrankWarning, stacklevel=4)
    values = score_queries(measures, judged, run.ranked)
    by_query = {measure: tuple(of_query[one] for one in judged) for measure, of_query in values.items()}
    return SystemResult(
        name=name,
        means={measure: float(np.mean(of_query)) for measure, of_query in by_query.items()},
        by_query=by_query,
        latency=_latency(run.seconds.values()),
        notes=tuple(notes),
    )


def _latency(seconds: Iterable[float]) -> Latency | None:
    taken = list(seconds)
    if not taken:
        return None
    median, p99 = np.percentile(taken, (50, 99)).tolist()
    return Latency(median=median, p99=p99)


def _differences(
    results: Mapping[str, SystemResult], baseline: str, measures: Sequence[str], resamples: int, seed: int
) -> Iterable[Difference]:
    others = [result for name, result in results.items() if name != baseline]
    for measure in measures:
        theirs = np.array(results[baseline].by_query[measure])
        enough = len(theirs) > 1
        rows = [np.array(other.by_query[measure]) for other in others]
        p_values = [paired_test(ours, theirs, resamples=resamples, seed=seed) for ours in rows if enough]
        raised: list[float | None] = [*holm(p_values)] if enough else [None] * len(rows)
        for place, (other, ours) in enumerate(zip(others, rows, strict=True)):
            interval = paired_interval(ours, theirs, resamples=resamples, seed=seed) if enough else None
            yield Difference(
                system=other.name,
                baseline=baseline,
                measure=measure,
                difference=float((ours - theirs).mean()),
                low=None if interval is None else interval.low,
                high=None if interval is None else interval.high,
                p_value=p_values[place] if enough else None,
                p_adjusted=raised[place],
                better=int(np.sum(ours - theirs > _SAME)),
                worse=int(np.sum(theirs - ours > _SAME)),
            )
