"""Work that is shared among processes: results in the order of the work, and little of it at a time.

Processes are spawned, not forked, for a library may have started threads by then; so a program that asks for
them must be importable, with what it does below ``if __name__ == "__main__":``. An interrupt reaches the
process that shares the work alone, which gives up what is not begun; a process that is left alone ends.
Where processes cannot be started, or one is lost, the work that is left is done here instead.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from itertools import chain, islice
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TypeVar

from hybridrank.errors import InputError
from hybridrank.tasks.finance.corpus import reports_file

__all__ = ["in_order", "processors", "workers_for_build", "workers_for_run"]

_Work = TypeVar("_Work")
_Result = TypeVar("_Result")

_AHEAD = 3  # pieces of work a process, done or waiting: enough that none is idle while a long one is done
_MOST = 32  # processes; some systems have a limit
_BUILD_BYTES = 8_000_000  # of reports, below which a process takes longer to start than it saves
_RUN_QUESTIONS = 64  # likewise


def processors() -> int:
    """The processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1  # pragma: no cover - where there is no affinity


def workers_for_build(workers: int | None, corpus: str | os.PathLike[str]) -> int:
    """The number that was asked for, or how many processes are worth their start for a corpus.

    That is 1 for a pipe, whose size is not known. Raises :class:`~hybridrank.errors.InputError` for a number
    below 1.
    """
    path = reports_file(corpus)
    return _fitting(workers, path.stat().st_size // _BUILD_BYTES if path.is_file() else 1)


def workers_for_run(workers: int | None, queries: str | os.PathLike[str]) -> int:
    """The same for a file of questions, and 1 for a pipe in any case: its next line may be long in coming."""
    path, given = Path(queries), _fitting(workers, 1)
    if not path.is_file():
        return 1
    if workers is not None:
        return given
    with path.open("rb") as lines:
        return _fitting(None, sum(1 for _ in lines) // _RUN_QUESTIONS)


def _fitting(workers: int | None, pieces: int) -> int:
    if workers is None:
        return max(1, min(pieces, processors(), _MOST))
    if workers < 1:
        raise InputError(f"{workers} workers", remedy="Give 1 to do the work in this process, or more.")
    return min(workers, _MOST)


def in_order(
    items: Iterable[_Work],
    there: Callable[[_Work], _Result],
    here: Callable[[_Work], _Result],
    *,
    workers: int,
    complain: Callable[[str], None],
) -> Generator[tuple[_Work, _Result], None, None]:
    """Each item with its result, in order; ``there`` is called in another process, and ``here`` in this one.

    With one worker all is done here. ``there`` and items must be picklable; an item on which ``there`` fails
    is done here, with all that is left, and ``complain`` is told why.
    """
    left = iter(items)
    if workers > 1:
        with _pool(workers, complain) as pool:
            if pool is not None:
                left = yield from _shared(pool, left, there, workers * _AHEAD, complain)
    for item in left:
        yield item, here(item)


def _shared(
    pool: ProcessPoolExecutor,
    left: Iterator[_Work],
    there: Callable[[_Work], _Result],
    ahead: int,
    complain: Callable[[str], None],
) -> Generator[tuple[_Work, _Result], None, Iterator[_Work]]:
    """The results of items until there are none left, or a process fails; returns the items that are left."""
    waiting: deque[tuple[_Work, Future[_Result]]] = deque()
    while True:
        for item in islice(left, ahead - len(waiting)):
            waiting.append((item, _submit(pool, there, item)))
        if not waiting:
            return left
        item, future = waiting.popleft()
        try:
            result = future.result()
        except Exception as error:
            reason = str(error) or type(error).__name__
            complain(f"a process that shared the work failed, the rest is done in one: {reason}")
            # What has been done there by now may build on what failed, so that it is done again.
            return chain([item], [item for item, _ in waiting], left)
        yield item, result


@contextmanager
def _pool(workers: int, complain: Callable[[str], None]) -> Iterator[ProcessPoolExecutor | None]:
    try:
        pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), initializer=_begin)
    except (ImportError, NotImplementedError, OSError) as error:  # no semaphores, or no place for them
        complain(f"no other process can be started, the work is done in one: {error}")
        yield None
        return
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def _submit(pool: ProcessPoolExecutor, work: Callable[[_Work], _Result], item: _Work) -> Future[_Result]:
    """Share one item; what keeps a process from being started is the outcome, not raised."""
    try:
        with _interrupts_held():
            return pool.submit(work, item)
    except (BrokenExecutor, OSError) as error:
        failed: Future[_Result] = Future()
        failed.set_exception(error)
        return failed


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Hold interrupts back for a moment; a process that is started meanwhile never sees one."""
    if sys.platform == "win32":  # pragma: no cover
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin() -> None:
    """What a new process does first."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    threading.Thread(target=_end_after, args=(parent,), daemon=True).start()


def _end_after(parent: BaseProcess | None) -> None:
    """End when the process that shares the work is gone, killed perhaps: nobody else would say so."""
    if parent is not None:
        parent.join()
        os._exit(1)
