"""A memory of the sample, made once."""

from __future__ import annotations

import pytest

from hybridrank.tasks.meetings.memory import Memory
from hybridrank.tasks.meetings.notes import make_memory
from tests.tasks.meetings.sample import MAX_BYTES, MEETINGS


@pytest.fixture(scope="session")
def sample_memory() -> Memory:
    return make_memory(MEETINGS, max_bytes=MAX_BYTES)
