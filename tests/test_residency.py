from pathlib import Path

import numpy as np
import pytest

from hybridrank import residency
from hybridrank.array_files import open_array
from hybridrank.residency import Residency

pytestmark = pytest.mark.skipif(
    not residency._STATM.exists(), reason="the system does not say what is resident"
)


@pytest.fixture
def array(tmp_path: Path) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    np.save(tmp_path / "array.npy", np.ones(1 << 20))
    return open_array(tmp_path / "array.npy")


def resident(array: "np.ndarray[tuple[int], np.dtype[np.float64]]", pages: Residency, searches: int) -> int:
    """The growth of mapped files in memory after an array was read and some searches were reported."""
    before = residency._resident_files()
    assert array.sum() == 1 << 20
    pages.searched(searches)
    return residency._resident_files() - before


def test_what_was_read_is_given_back_now_and_then(
    array: "np.ndarray[tuple[int], np.dtype[np.float64]]", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(residency, "_LEAST", 0)
    pages = Residency([array, np.ones(3)])
    assert resident(array, pages, 7) > array.nbytes / 2
    assert resident(array, pages, 1) < -array.nbytes / 2
    assert resident(array, pages, 9) < array.nbytes / 2
    assert array.sum() == 1 << 20


def test_little_is_left_alone(array: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> None:
    assert resident(array, Residency([array]), 100) > array.nbytes / 2


def test_what_is_in_memory_and_systems_that_do_not_say(
    array: "np.ndarray[tuple[int], np.dtype[np.float64]]", monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    Residency([np.ones(3)]).searched(100)
    monkeypatch.setattr(residency, "_STATM", tmp_path / "none")
    Residency([array]).searched(100)
    assert residency._resident_files() == 0
