"""One index of the sample reports for the whole session, and a way to index reports made up in a test."""

from __future__ import annotations

import importlib.resources
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from hybridrank.tasks.finance import FinanceIndex, build
from hybridrank.tasks.finance.corpus import read_reports


@pytest.fixture(scope="session")
def sample_folder() -> Path:
    return Path(str(importlib.resources.files("hybridrank") / "data" / "finance"))


@pytest.fixture(scope="session")
def sample_texts(sample_folder: Path) -> dict[str, str]:
    return {report.document_id: report.text for report in read_reports(sample_folder)}


@pytest.fixture(scope="session")
def sample_directory(sample_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("sample-index")
    build(sample_folder, directory)
    return directory


@pytest.fixture(scope="session")
def sample_index(sample_directory: Path) -> FinanceIndex:
    """With the shipped model, as users have it."""
    return FinanceIndex.open(sample_directory)


@pytest.fixture(scope="session")
def unlearned_index(sample_directory: Path) -> FinanceIndex:
    return FinanceIndex.open(sample_directory, model=None)


@pytest.fixture(scope="session")
def make_index(
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[[Sequence[tuple[str, str]]], FinanceIndex]:
    """Build an index of reports given as (document id, text)."""

    def make(reports: Sequence[tuple[str, str]]) -> FinanceIndex:
        place = tmp_path_factory.mktemp("made")
        lines = [json.dumps({"document_id": name, "text": text}) for name, text in reports]
        (place / "reports.jsonl").write_text("\n".join(lines), encoding="ascii")
        build(place, place / "index")
        return FinanceIndex.open(place / "index")

    return make
