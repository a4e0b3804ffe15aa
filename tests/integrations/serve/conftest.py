"""What the tests of the server have in common."""

from collections.abc import Iterator

import pytest

from hybridrank.accelerators import use_backend


@pytest.fixture(autouse=True, scope="module")
def _without_compiling() -> Iterator[None]:
    """Compiling takes longer than a client waits, and comes at whatever search is the 64th of the process."""
    use_backend("numpy")
    yield
    use_backend("auto")
