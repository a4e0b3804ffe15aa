from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.stub_service import StubService
from hybridrank.cli import main
from hybridrank.commands.services import add_budget_to, signals_from
from hybridrank.jina.client import JinaClient
from hybridrank.tasks.finance import build
from tests.tasks.finance.tiny_data import SAMPLE

NOWHERE = "http://127.0.0.1:9"


def options_of(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_budget_to(parser)
    return parser.parse_args(arguments)


@pytest.fixture
def service() -> Iterator[StubService]:
    with StubService() as running:
        yield running


@pytest.fixture(scope="module")
def index_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("index")
    build(SAMPLE, where)
    return where


def test_without_a_service_in_the_environment_none_is_asked(tmp_path: Path) -> None:
    assert signals_from(options_of(), tmp_path, tmp_path, {}) is None
    assert list(tmp_path.iterdir()) == []
    named = {"JINA_BASE_URL": NOWHERE}
    assert signals_from(options_of("--no-services"), tmp_path, tmp_path, named) is None


def test_questions_are_counted_and_the_budget_is_that_of_the_options(tmp_path: Path) -> None:
    (tmp_path / "queries").write_bytes(b"{}\n{}\n{}\n")
    options = options_of("--max-requests", "7", "--max-tokens", "900", "--max-seconds", "60")
    signals = signals_from(options, tmp_path, tmp_path / "queries", {"JINA_BASE_URL": NOWHERE})
    assert signals is not None
    assert signals.ledger is not None
    budget = signals.ledger.budget
    assert (budget.requests, budget.tokens, budget.seconds) == (7, 900, 60.0)
    assert signals.questions_left == 3
    assert (tmp_path / "services" / "responses.sqlite").is_file()


def test_a_cache_that_cannot_be_is_done_without(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "services").write_bytes(b"a file")
    signals = signals_from(options_of(), tmp_path, tmp_path / "none", {"JINA_API_KEY": "secret"})
    assert signals is not None
    told = capsys.readouterr().err
    assert "answers of services are not kept" in told
    assert "secret" not in told


def test_a_missing_extra_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from hybridrank.errors import MissingExtra

    def refuse(*_: object, **__: object) -> JinaClient:
        raise MissingExtra("httpx", extra="jina")

    monkeypatch.setattr("hybridrank.jina.JinaClient", refuse)
    assert signals_from(options_of(), tmp_path, tmp_path, {"JINA_BASE_URL": NOWHERE}) is None
    assert "hybridrank[jina]" in capsys.readouterr().err


def rows_of(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def test_a_run_asks_once_a_question_and_a_second_run_nothing(
    index_dir: Path,
    service: StubService,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    queries = SAMPLE / "questions.jsonl"
    run = ["finance", "run", "--index-dir", str(index_dir), "--queries", str(queries), "--output"]
    assert main([*run, str(tmp_path / "plain")]) == 0
    monkeypatch.setenv("JINA_BASE_URL", service.url)
    assert main([*run, str(tmp_path / "first")]) == 0
    assert service.requests["/v1/rerank"] == len(rows_of(queries))
    assert main([*run, str(tmp_path / "second")]) == 0
    assert service.requests["/v1/rerank"] == len(rows_of(queries))
    assert rows_of(tmp_path / "first") == rows_of(tmp_path / "second")
    assert rows_of(tmp_path / "first") != rows_of(tmp_path / "plain")
    assert f"services: {service.requests['/v1/rerank']} requests" in capsys.readouterr().err


def test_a_run_never_exceeds_its_budget_and_answers_every_question(
    index_dir: Path,
    service: StubService,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    queries = SAMPLE / "questions.jsonl"
    monkeypatch.setenv("JINA_BASE_URL", service.url)
    monkeypatch.setattr("hybridrank.commands.services._cache", lambda index_dir: None)
    run = ["finance", "run", "--index-dir", str(index_dir), "--queries", str(queries)]
    assert main([*run, "--output", str(tmp_path / "out"), "--max-requests", "3"]) == 0
    assert service.requests["/v1/rerank"] == 3
    assert len(rows_of(tmp_path / "out")) == len(rows_of(queries))
    assert f"{len(rows_of(queries)) - 3} questions without" in capsys.readouterr().err
