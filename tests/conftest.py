"""Settings for every test, and what several of them start from."""

from pathlib import Path

import pytest
from hypothesis import settings

from hybridrank.cli import main
from tests.command_line import DATA

# The machines that run the tests are shared, so that a slow example says nothing.
settings.register_profile("hybridrank", deadline=None, max_examples=40)
settings.register_profile("thorough", deadline=None, max_examples=500)  # pytest --hypothesis-profile thorough
settings.load_profile("hybridrank")


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of the sample notes, made by the command line; to be read only."""
    directory = tmp_path_factory.mktemp("notes") / "index"
    assert main(["index", str(DATA / "notes"), "--output", str(directory)]) == 0
    return directory


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of the sample reports, made by the command line; to be read only."""
    directory = tmp_path_factory.mktemp("reports") / "index"
    assert main(["finance", "build", "--corpus", str(DATA / "finance"), "--index-dir", str(directory)]) == 0
    return directory
