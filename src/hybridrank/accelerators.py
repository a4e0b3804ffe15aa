"""Whether compiled kernels are used, which changes how fast a search is and nothing else."""

from __future__ import annotations

import atexit
import ctypes
import importlib
import os
import threading
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any, Literal

from hybridrank.errors import InputError, MissingExtra

__all__ = ["State", "kernels", "searched", "use_backend"]

_WORTH = 1 << 27  # postings of searches after which compiling, which takes seconds, is taken to pay off
_PATIENCE = 10.0  # seconds that the end of the process waits for the compiler at most

Backend = Literal["auto", "numba", "numpy"]


@dataclass
class State:
    """What this process has chosen, how much it has searched, and the kernels for each type of codes."""

    backend: Backend = "auto"
    postings: int = 0
    kernels: dict[str, Any] = field(default_factory=dict)
    aside: threading.Thread | None = None
    given_up: bool = False


_state = State()
_lock = threading.Lock()


def use_backend(name: Backend) -> None:
    """Choose what searches run on: ``"numpy"``, ``"numba"`` (extra ``fast``), or ``"auto"``.

    ``"auto"``, which is the default, takes numba when it is installed and a process searches so much that
    compiling pays off. That takes seconds, the first time on a machine, and is done in a thread while
    searches go on without. ``"numba"`` compiles at the next search, which waits for it. Results are the same,
    bit for bit. The choice holds for the process and is never stored.

    Raises :class:`~hybridrank.errors.InputError` for another name and
    :class:`~hybridrank.errors.MissingExtra` when numba is asked for and not installed.
    """
    if name not in ("auto", "numba", "numpy"):
        raise InputError(f"the backend is {name!r}", remedy='Give "auto", "numba" or "numpy".')
    if name == "numba" and find_spec("numba") is None:
        raise MissingExtra("numba", extra="fast")
    _state.backend = name


def kernels(codes: str) -> Any:
    """The module of compiled kernels when the next search of postings with codes of this type is to run on
    it, else ``None``."""
    state = _state
    if state.backend == "numpy":
        return None
    ready = state.kernels.get(codes)
    if ready is None and state.backend == "numba":
        if state.aside is not None:
            state.aside.join()
        ready = state.kernels[codes] = state.kernels.get(codes) or _compile(codes)
    return ready


def searched(postings: int, codes: str) -> None:
    """Say that a search without kernels had so many postings; in the end these are compiled aside."""
    state = _state
    state.postings += postings
    if state.postings < _WORTH or _settled(state, codes):
        return
    with _lock:
        if _settled(state, codes):  # by another thread, meanwhile
            return
        state.given_up = find_spec("numba") is None
        if not state.given_up:
            state.aside = threading.Thread(
                target=_compile_aside, args=(state, codes), name="hybridrank-compiler", daemon=True
            )
            state.aside.start()


def _settled(state: State, codes: str) -> bool:
    """Whether there is no compiling to be begun now."""
    at_work = state.aside is not None and state.aside.is_alive()
    return state.backend != "auto" or state.given_up or at_work or codes in state.kernels


def _compile(codes: str) -> Any:
    module = importlib.import_module("hybridrank.maxscore_numba")
    module.prepare(codes)
    return module


def _compile_aside(state: State, codes: str) -> None:
    atexit.register(_stop, threading.current_thread())
    try:
        state.kernels[codes] = _compile(codes)
    except BaseException:  # also when it is told to stop: searches go on as they are
        state.given_up = True


def _stop(thread: threading.Thread) -> None:
    """End a thread that compiles: one that the interpreter leaves running may fall over what is torn down."""
    if thread.is_alive() and thread.ident is not None:
        stop = ctypes.c_ulong(thread.ident), ctypes.py_object(SystemExit)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(*stop)
        thread.join(_PATIENCE)


def _before_fork() -> None:
    """Let a thread that compiles finish: the child would have its locks, and not the thread."""
    _lock.acquire()
    if _state.aside is not None and _state.aside is not threading.current_thread():
        _state.aside.join()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_lock.release, after_in_child=_lock.release)
