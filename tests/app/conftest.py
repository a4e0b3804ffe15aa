"""The assembled directory and one index of the sample reports, for the whole session."""

from __future__ import annotations

import importlib.resources
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from hybridrank.tasks.finance.assemble import assemble
from tests.app.stage import NOBODY, Stage, prepare

SAMPLE = Path(str(importlib.resources.files("hybridrank") / "data" / "finance"))


@pytest.fixture(scope="session")
def stage() -> Iterator[Stage]:
    # Not pytest's own directory: nobody else may enter that.
    root = Path(tempfile.mkdtemp(prefix='it\'s "quoted" ü '))
    root.chmod(0o755)
    try:
        python, identity = prepare(root)
        assemble(root / "assembled here")
        code = (root / "assembled here").rename(root / "then moved")
        for path in [*code.rglob("*"), code]:
            path.chmod(path.stat().st_mode & 0o555)
        (root / "closed").mkdir(mode=0o555)
        for name in ("tmp", "cache"):
            (root / name).mkdir()
            if identity:
                os.chown(root / name, NOBODY, NOBODY)
        yield Stage(root=root, code=code, python=python, identity=identity)
    finally:
        for folder, _, _ in os.walk(root):
            os.chmod(folder, 0o755)
        shutil.rmtree(root)


@pytest.fixture(scope="session")
def sample_folder() -> Path:
    return SAMPLE


@pytest.fixture(scope="session")
def sample(stage: Stage) -> Path:
    """The sample reports as a read-only corpus."""
    return stage.corpus((SAMPLE / "reports.jsonl").read_bytes().splitlines())


@pytest.fixture(scope="session")
def sample_questions() -> list[bytes]:
    return (SAMPLE / "questions.jsonl").read_bytes().splitlines()


@pytest.fixture(scope="session")
def index(stage: Stage, sample: Path) -> Path:
    """An index of the sample reports that build.sh made."""
    directory = stage.index()
    code, err = stage.build(sample, directory)
    assert code == 0, err
    return directory
