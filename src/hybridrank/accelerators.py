"""Whether compiled kernels are used, which changes how fast a search is and nothing else."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Literal

from hybridrank.errors import InputError, MissingExtra

__all__ = ["State", "kernels", "use_backend"]

_WORTH = 64  # searches after which compiling, which takes seconds, is taken to pay off

Backend = Literal["auto", "numba", "numpy"]


@dataclass
class State:
    """What this process has chosen, and how often it has searched."""

    backend: Backend = "auto"
    searches: int = 0
    kernels: Any = None


_state = State()


def use_backend(name: Backend) -> None:
    """Choose what searches run on: ``"numpy"``, ``"numba"`` (extra ``fast``), or ``"auto"``.

    ``"auto"``, which is the default, takes numba when it is installed and a process searches often enough for
    compiling to pay off. Results are the same, bit for bit. The choice holds for the process and is never
    stored.

    Raises :class:`~hybridrank.errors.InputError` for another name and
    :class:`~hybridrank.errors.MissingExtra` when numba is asked for and not installed.
    """
    if name not in ("auto", "numba", "numpy"):
        raise InputError(f"the backend is {name!r}", remedy='Give "auto", "numba" or "numpy".')
    if name == "numba" and find_spec("numba") is None:
        raise MissingExtra("numba", extra="fast")
    _state.backend = name


def kernels(searches: int = 1) -> Any:
    """The module of compiled kernels, when the next ``searches`` are to run on it, else ``None``."""
    if _state.backend == "numpy":
        return None
    if _state.kernels is None:
        _state.searches += searches
        if _state.backend == "auto" and (_state.searches < _WORTH or find_spec("numba") is None):
            return None
        _state.kernels = importlib.import_module("hybridrank.maxscore_numba")
    return _state.kernels
