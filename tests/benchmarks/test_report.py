from __future__ import annotations

import io
import json
from collections.abc import Sequence

import pytest
from rich.console import Console

from benchmarks.measure import Build, Comparison, Run
from benchmarks.report import as_json, interval_of, print_tables
from hybridrank.tasks.finance.scoring import QueryScore


def make_run(system: str, qualities: Sequence[float], invalid: str | None = None) -> Run:
    scores = tuple(
        QueryScore(query_id=str(number), quality=quality, document=1.0, invalid=invalid)
        for number, quality in enumerate(qualities)
    )
    times = tuple(float(number) for number in range(1, len(qualities) + 1))
    return Run(system=system, scores=scores, milliseconds=times, open_seconds=0.25, peak_bytes=3 * 2**20)


def make_comparison(metric: str, plain: Run, ours: Run) -> Comparison:
    return Comparison(set_name="some-set", corpus="small", metric=metric, plain=plain, ours=ours)


BUILDS = [
    Build(
        corpus="small",
        system=system,
        seconds=seconds,
        corpus_bytes=8_000_000,
        peak_bytes=64 * 2**20,
        index_bytes=2**20,
    )
    for system, seconds in (("plain", 2.0), ("hybridrank", 4.0))
]
UNITS = make_comparison(
    "EvidenceRecall@5", make_run("plain", [0.0, 0.5, 0.0, 0.5]), make_run("hybridrank", [0.5, 1.0, 0.5, 1.0])
)
PAGES = make_comparison(
    "PageHit@5", make_run("plain", [0.0, 1.0]), make_run("hybridrank", [1.0, 1.0], invalid="offsets")
)
SINGLE = make_comparison("EvidenceRecall@5", make_run("plain", [0.0]), make_run("hybridrank", [1.0]))


def printed(*comparisons: Comparison) -> list[str]:
    file = io.StringIO()
    print_tables(Console(file=file, width=110), BUILDS, comparisons)
    return file.getvalue().splitlines()


def cells(lines: list[str], measure: str) -> list[str]:
    (line,) = (line for line in lines if f" {measure} " in line)
    return [cell.strip() for cell in line.split("│") if cell.strip()]


def test_both_systems_stand_side_by_side_with_the_interval_of_their_difference() -> None:
    lines = printed(UNITS)
    assert cells(lines, "EvidenceRecall@5")[:4] == ["some-set", "small", "EvidenceRecall@5", "0.250"]
    assert cells(lines, "EvidenceRecall@5")[4:] == ["0.750", "+0.500 [+0.500, +0.500]"]
    assert cells(lines, "DocHit@5") == [
        "4 questions",
        "DocHit@5",
        "1.000",
        "1.000",
        "+0.000 [+0.000, +0.000]",
    ]
    assert cells(lines, "ms a query, one core")[-3:] == ["2.5", "2.5", "x 1.00"]
    assert cells(lines, "build seconds") == ["small", "build seconds", "2.00", "4.00", "x 2.00"]
    assert cells(lines, "MB a second")[1:] == ["4.00", "2.00", "x 0.50"]
    assert cells(lines, "peak memory, MiB")[1:] == ["64", "64", "x 1.00"]


def test_the_reward_is_labelled_as_the_mapping_of_a_proxy() -> None:
    lines = printed(UNITS)
    assert cells(lines, "reward*") == ["reward*", "0.073", "0.369", "+0.296"]
    assert "not a result on the real set" in " ".join(" ".join(lines).split())


def test_pages_have_no_reward_and_invalid_rows_are_shown_where_there_are_some() -> None:
    lines = printed(PAGES)
    assert not any(" reward* " in line for line in lines)
    assert cells(lines, "invalid rows") == ["invalid rows", "0", "2"]
    assert not any("invalid rows" in line for line in printed(UNITS))


def test_one_question_has_no_interval() -> None:
    assert interval_of(SINGLE, "quality") is None
    assert cells(printed(SINGLE), "EvidenceRecall@5")[-1] == "-"


def test_the_json_holds_figures_intervals_costs_and_what_they_were_measured_on() -> None:
    found = json.loads(json.dumps(as_json(BUILDS, [UNITS, PAGES, SINGLE]), allow_nan=False))
    assert found["environment"]["packages"].keys() == {"hybridrank", "bm25s", "numpy", "scipy"}
    assert found["bootstrap"]["resamples"] == 10_000
    assert [(build["system"], build["megabytes_per_second"]) for build in found["builds"]] == [
        ("plain", 4.0),
        ("hybridrank", 2.0),
    ]
    units, pages, single = found["sets"]
    assert units["queries"] == 4
    assert units["systems"]["hybridrank"]["EvidenceRecall@5"] == 0.75
    assert units["systems"]["hybridrank"]["reward_mapping_of_proxy"] == pytest.approx(0.369, abs=1e-3)
    assert units["difference"]["EvidenceRecall@5"] == {"difference": 0.5, "low": 0.5, "high": 0.5}
    assert pages["systems"]["hybridrank"]["invalid"] == 2
    assert "reward_mapping_of_proxy" not in pages["systems"]["plain"]
    assert single["difference"] == {"EvidenceRecall@5": None, "DocHit@5": None}
