"""A Milvus Lite for all tests of a process, started once; each test takes a collection of its own."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

_NUMBERS = count()


@pytest.fixture(scope="session")
def lite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The path of a file of Milvus Lite's; skips where it is not installed."""
    for package in ("pymilvus", "milvus_lite"):
        pytest.importorskip(package, reason="needs Milvus Lite: pip install 'hybridrank[milvus]'")
    return tmp_path_factory.mktemp("milvus") / "lite.db"


@pytest.fixture
def collection() -> Callable[[], str]:
    """Gives names of collections that nobody has."""
    return lambda: f"test_{next(_NUMBERS)}"
