from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.hybrid import main
from benchmarks.hybrid_methods import covered, with_neural
from benchmarks.hybrid_questions import N_CANDIDATES, Question, read_all, sampled
from benchmarks.stub_service import StubService
from hybridrank.tasks.finance.datasets import sample_sets
from hybridrank.tasks.finance.features import NAMES
from hybridrank.tasks.finance.neural import NeuralScores

SOME = 10
OURS = [
    "lexical",
    "dense",
    "equal RRF",
    "hybrid()",
    "chosen fusion",
    "hybrid(), reranked",
    "learned",
    "learned + fixed weight",
    "learned with features",
    "mean of both learned",
]


@pytest.fixture(scope="module")
def questions(tmp_path_factory: pytest.TempPathFactory) -> list[Question]:
    return read_all(sample_sets()[0], tmp_path_factory.mktemp("work"), lambda message: None)


def run(folder: Path, *arguments: str) -> dict[str, Any]:
    file = folder / "measured.json"
    options = ["--smoke", "--questions", str(SOME), "--without-budget", "--json", str(file), *arguments]
    assert main(options) == 0
    found: dict[str, Any] = json.loads(file.read_text())
    return found


def test_all_ways_are_measured_and_a_second_run_asks_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plot = tmp_path / "plot.png"
    with StubService() as service:
        common = [
            "--service",
            service.url,
            "--cache",
            str(tmp_path / "cache"),
            "--work",
            str(tmp_path / "work"),
        ]
        first = run(tmp_path, *common, "--dense-windows", "all", "--plot", str(plot))
        asked_ours = sum(service.requests.values())
        again = run(tmp_path, *common, "--dense-windows", "all")
    assert plot.read_bytes().startswith(b"\x89PNG")
    printed = capsys.readouterr().out
    assert "it is no trained reranker" in " ".join(printed.lower().split())
    (methods,) = first["sets"].values()
    names = [method["method"] for method in methods]
    assert names[: len(OURS)] == OURS
    assert names[-1] == "dense, every window"
    assert first["requests_of_a_second_run"] == 0
    by_name = {method["method"]: method for method in methods}
    for method in methods:
        assert method["questions"] == len(method["by_question"]) == SOME
        assert method["quality"] == pytest.approx(np.mean(method["by_question"]))
    assert by_name["lexical"]["requests"] == by_name["learned"]["requests"] == 0
    assert SOME < by_name["dense"]["requests"] <= 2 * SOME
    assert by_name["hybrid(), reranked"]["requests"] == by_name["dense"]["requests"] + SOME
    (repeated,) = again["sets"].values()
    ours = [*OURS, "dense, every window"]
    assert sum(method["requests"] for method in repeated if method["method"] in ours) == 0
    assert [(one["method"], one["by_question"]) for one in repeated] == [
        (one["method"], one["by_question"]) for one in methods
    ]
    frameworks = sum(
        one["requests"] - by_name["dense"]["requests"] for one in methods if one["method"] not in ours
    )
    counted = sum(
        by_name[name]["requests"] for name in ("hybrid(), reranked", "learned with features", ours[-1])
    )
    assert asked_ours == counted + frameworks


def test_without_a_service_nothing_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("JINA_API_KEY", "JINA_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    assert main(["--data", str(tmp_path)]) == 1
    assert "there is no service to ask" in capsys.readouterr().err


@pytest.mark.parametrize("count", ["0", "-1", "x"])
def test_a_sample_has_a_size(count: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--smoke", "--questions", count])
    assert "give a whole number of 1 or more" in capsys.readouterr().err


def test_candidates_are_the_best_windows_with_their_own_texts(questions: list[Question]) -> None:
    for question in questions:
        assert 0 < len(question.candidates) <= N_CANDIDATES
        example = question.example
        for place, text in zip(question.candidates, question.texts(question.candidates), strict=True):
            assert len(text) == example.end[place] - example.start[place]
        found = question.ranking(example.score[list(question.candidates)].tolist())
        assert [int(hit.passage_id) for hit in found] == list(question.candidates)
        assert question.quality(found) == example.quality(question.candidates[:5])


def test_masks_tell_which_units_a_candidate_holds(questions: list[Question]) -> None:
    for question in questions:
        holds, masks = question.example.holds(), question.masks()
        assert masks.pop("all") == 2 ** holds.shape[1] - 1
        for place, mask in masks.items():
            assert [bool(mask >> unit & 1) for unit in range(holds.shape[1])] == holds[int(place)].tolist()


def test_a_sample_is_the_same_every_time_and_within_the_set(tmp_path: Path) -> None:
    sets, _ = sample_sets()
    assert sampled(sets, None, tmp_path) == sets
    (one,) = sampled(sets, 3, tmp_path / "a")
    (same,) = sampled(sets, 3, tmp_path / "b")
    (more,) = sampled(sets, 1000, tmp_path)
    lines = one.queries.read_text().splitlines()
    assert lines == same.queries.read_text().splitlines()
    assert len(lines) == 3
    every = [json.loads(line)["query_id"] for line in sets[0].queries.read_text().splitlines()]
    assert [json.loads(line)["query_id"] for line in more.queries.read_text().splitlines()] == every


def test_neural_scores_become_features_of_a_copy(questions: list[Question]) -> None:
    example = questions[0].example
    count = len(example.start)
    said = NeuralScores(dense=np.arange(float(count)), cross_encoder=-np.arange(float(count)))
    taught = with_neural(example, said)
    assert taught.features[:, NAMES.index("dense")].tolist() == said.dense.tolist()
    assert taught.features[:, NAMES.index("cross_encoder")].tolist() == said.cross_encoder.tolist()
    assert np.isnan(example.features[:, NAMES.index("dense")]).all()
    assert covered([example], [example.score]) == covered([taught], [example.score])
