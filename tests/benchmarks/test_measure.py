from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.measure import Build, Run, compare, run_worker
from benchmarks.rows import BenchmarkError, read_rows
from hybridrank.tasks.finance.datasets import EvaluationSet, find_sets
from hybridrank.tasks.finance.scoring import QueryScore

REPORTS = {
    "QUILL_2020_10K": "quill works\nannual report 2020\nthe kiln in Dover burned 14 tons of clay .\n",
    "HERON_2021_10K": "heron boats\nannual report 2021\nrevenue | 2021 | 2020\nsails | $ 31 | $ 29\n",
}


def write(path: Path, *rows: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture
def sets(tmp_path: Path) -> list[EvaluationSet]:
    def place(document_id: str, words: str) -> dict[str, Any]:
        start = REPORTS[document_id].index(words)
        return {"document_id": document_id, "start": start, "end": start + len(words)}

    kiln, sails = place("QUILL_2020_10K", "the kiln in Dover"), place("HERON_2021_10K", "sails | $ 31")
    reports = [{"document_id": key, "text": text} for key, text in REPORTS.items()]
    write(tmp_path / "corpus-tiny" / "reports.jsonl", *reports)
    questions = [
        {"query_id": "q1", "question": "How much clay did the kiln in Dover burn?"},
        {"query_id": "q2", "question": "What were the sails' revenue of Heron Boats in 2021?"},
    ]
    kinds: dict[str, list[dict[str, Any]]] = {
        "units": [{"units": [[kiln]]}, {"units": [[sails]]}],
        "pages": [{"pages": [kiln]}, {"pages": [sails]}],
    }
    for name, evidence in kinds.items():
        write(tmp_path / "validation" / f"{name}.queries.jsonl", *questions)
        labels = [
            {"query_id": query["query_id"]} | one for query, one in zip(questions, evidence, strict=True)
        ]
        write(tmp_path / "validation" / f"{name}.labels.jsonl", *labels)
    found, _ = find_sets(tmp_path)
    return found


def test_each_system_builds_once_and_answers_every_set(sets: list[EvaluationSet], tmp_path: Path) -> None:
    steps: list[str] = []
    builds, comparisons = compare(sets, tmp_path / "work", steps.append)

    assert [(build.corpus, build.system) for build in builds] == [("tiny", "plain"), ("tiny", "hybridrank")]
    assert all(build.index_bytes > 0 and build.peak_bytes > 2**20 and build.seconds > 0 for build in builds)
    assert [(one.set_name, one.metric) for one in comparisons] == [
        ("pages", "PageHit@5"),
        ("units", "EvidenceRecall@5"),
    ]
    for one in comparisons:
        for run in (one.plain, one.ours):
            assert [score.query_id for score in run.scores] == ["q1", "q2"]
            assert len(run.milliseconds) == 2
            assert run.invalid == 0
            assert run.document_hit == 1.0
    assert comparisons[1].plain.quality == comparisons[1].ours.quality == 1.0
    assert len(steps) == 6
    rows = list(read_rows(tmp_path / "work" / "tiny" / "units.hybridrank.jsonl"))
    assert [row["query_id"] for row in rows] == ["q1", "q2"]


def test_a_question_without_a_label_stops_the_benchmark(sets: list[EvaluationSet], tmp_path: Path) -> None:
    write(sets[0].queries, {"query_id": "q9", "question": "?"})
    with pytest.raises(BenchmarkError, match="no label for 1 questions, the first is 'q9'"):
        compare(sets, tmp_path / "work")


def test_a_step_that_fails_says_why_in_the_worker_s_words(tmp_path: Path) -> None:
    with pytest.raises(
        BenchmarkError, match=r"(?s)plain failed to build \(exit 1\).*cannot read .*reports\.jsonl"
    ):
        run_worker("build", "plain", tmp_path / "nowhere", tmp_path / "index")


def test_speed_and_means_follow_from_what_was_measured() -> None:
    build = Build(corpus="c", system="s", seconds=4.0, corpus_bytes=10_000_000, peak_bytes=1, index_bytes=1)
    assert build.megabytes_per_second == 2.5
    scores = (
        QueryScore(query_id="a", quality=0.5, document=1.0),
        QueryScore(query_id="b", quality=0.0, document=0.0, invalid="keys"),
    )
    run = Run(system="s", scores=scores, milliseconds=(1.0, 2.0), open_seconds=0.1, peak_bytes=1)
    assert (run.quality, run.document_hit, run.invalid) == (0.25, 0.5, 1)
