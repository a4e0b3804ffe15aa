import sys

import pytest

from hybridrank import accelerators
from hybridrank.accelerators import kernels, use_backend
from hybridrank.errors import InputError, MissingExtra


@pytest.fixture(autouse=True)
def _anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accelerators, "_state", accelerators.State())


def without_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accelerators, "find_spec", lambda name: None)


def test_numpy_never_compiles() -> None:
    use_backend("numpy")
    assert kernels(10**6) is None


def test_auto_compiles_once_that_pays_off() -> None:
    pytest.importorskip("numba")
    assert kernels(10) is None
    assert kernels(50) is None
    module = kernels(4)
    assert module is sys.modules["hybridrank.maxscore_numba"]
    assert kernels() is module
    use_backend("numpy")
    assert kernels() is None


def test_auto_goes_on_without_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    without_numba(monkeypatch)
    assert kernels(10**6) is None
    with pytest.raises(MissingExtra, match=r"numba is not installed.*hybridrank\[fast\]"):
        use_backend("numba")


def test_numba_compiles_at_once() -> None:
    pytest.importorskip("numba")
    use_backend("numba")
    assert kernels() is sys.modules["hybridrank.maxscore_numba"]


def test_another_name_is_refused() -> None:
    with pytest.raises(InputError, match="the backend is 'cuda'"):
        use_backend("cuda")  # type: ignore[arg-type]
