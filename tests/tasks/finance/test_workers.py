from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hybridrank.errors import InputError
from hybridrank.tasks.finance import workers
from hybridrank.tasks.finance.workers import in_order, processors, workers_for_build, workers_for_run

HERE = os.getpid()

# What other processes are to do has to be found in a module.


def square(number: int) -> tuple[int, int]:
    return number * number, os.getpid()


def square_slowly_at_first(number: int) -> tuple[int, int]:
    time.sleep(0.2 if number == 0 else 0)
    return square(number)


def square_or_fail(number: int) -> tuple[int, int]:
    if number == 3:
        raise ZeroDivisionError("on purpose")
    return square(number)


def square_or_die(number: int) -> tuple[int, int]:
    if number == 3:
        os._exit(9)
    return square(number)


def shared(
    there: Callable[[int], tuple[int, int]], number: int = 20
) -> tuple[list[tuple[int, tuple[int, int]]], list[str]]:
    complaints: list[str] = []
    found = list(in_order(range(number), there, square, workers=2, complain=complaints.append))
    return found, complaints


def test_results_are_in_the_order_of_the_items_whoever_is_quicker() -> None:
    found, complaints = shared(square_slowly_at_first)
    assert [(item, result) for item, (result, _) in found] == [(n, n * n) for n in range(20)]
    makers = {maker for _, (_, maker) in found}
    assert HERE not in makers
    assert 1 <= len(makers) <= 2
    assert complaints == []
    assert multiprocessing.active_children() == []


def test_one_worker_is_this_process() -> None:
    found = list(in_order(range(3), square_or_die, square, workers=1, complain=pytest.fail))
    assert found == [(n, (n * n, HERE)) for n in range(3)]


def test_only_a_few_items_are_taken_ahead() -> None:
    taken: list[int] = []

    def items() -> Iterator[int]:
        for number in range(100):
            taken.append(number)
            yield number

    results = in_order(items(), square, square, workers=2, complain=pytest.fail)
    for done in range(10):
        next(results)
        assert len(taken) <= done + 1 + 2 * workers._AHEAD
    results.close()
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize(
    ("there", "reason"), [(square_or_fail, "on purpose"), (square_or_die, "terminated abruptly")]
)
def test_what_fails_there_is_done_here_with_all_that_is_left(
    there: Callable[[int], tuple[int, int]], reason: str
) -> None:
    complaints: list[str] = []
    results = in_order(range(20), there, square, workers=2, complain=complaints.append)
    found = list(results)
    assert multiprocessing.active_children() == []
    assert [(item, result) for item, (result, _) in found] == [(n, n * n) for n in range(20)]
    assert all(maker == HERE for item, (_, maker) in found if item >= 3)
    (complaint,) = complaints
    assert complaint.startswith("a process that shared the work failed, the rest is done in one: ")
    assert reason in complaint


def test_where_no_process_can_be_started_all_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise PermissionError(13, "no semaphores")

    monkeypatch.setattr("hybridrank.tasks.finance.workers.ProcessPoolExecutor", refuse)
    found, complaints = shared(square)
    assert found == [(n, (n * n, HERE)) for n in range(20)]
    assert complaints == [
        "no other process can be started, the work is done in one: [Errno 13] no semaphores"
    ]


def test_a_process_that_cannot_be_started_when_it_is_wanted_is_done_without(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: Any) -> Any:
        raise BlockingIOError(11, "no more processes")

    monkeypatch.setattr("concurrent.futures.ProcessPoolExecutor.submit", refuse)
    found, (complaint,) = shared(square)
    assert found == [(n, (n * n, HERE)) for n in range(20)]
    assert complaint.endswith("no more processes")


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_processes_that_are_left_alone_end() -> None:
    """A killed process cannot tell its helpers."""
    program = "import tests.tasks.finance.test_workers as tests; tests.main()"
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=Path(__file__).parents[3],
    ) as started:
        assert started.stdout is not None
        helpers = list(map(int, started.stdout.readline().split()))
        started.kill()
    assert len(helpers) >= 1
    end = time.monotonic() + 60
    while any(map(is_there, helpers)):
        assert time.monotonic() < end, "a process stayed behind"
        time.sleep(0.02)


def is_there(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    # One that has ended may wait for someone to ask how.
    status = Path(f"/proc/{process}/stat")
    return not (status.exists() and ") Z " in status.read_text(encoding="utf-8"))


def main() -> None:
    results = in_order(iter(range(100)), square, square, workers=2, complain=print)
    helpers = {next(results)[1][1] for _ in range(8)}
    print(*helpers, flush=True)
    signal.pause()


# --- how many


def test_the_processors_are_those_of_this_process() -> None:
    assert 1 <= processors() <= (os.cpu_count() or 1)


@pytest.fixture
def eight_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "processors", lambda: 8)


@pytest.mark.parametrize(("megabytes", "wanted"), [(0, 1), (15, 1), (24, 3), (900, 8)])
def test_a_corpus_has_as_many_as_it_is_worth(
    tmp_path: Path, megabytes: int, wanted: int, eight_processors: None
) -> None:
    with (tmp_path / "reports.jsonl").open("wb") as file:
        file.truncate(megabytes * 10**6)
    assert workers_for_build(None, tmp_path) == workers_for_build(None, tmp_path / "reports.jsonl") == wanted
    assert workers_for_build(5, tmp_path) == 5


@pytest.mark.parametrize(("lines", "wanted"), [(0, 1), (64, 1), (200, 3), (4000, 8)])
def test_questions_have_as_many_as_they_are_worth(
    tmp_path: Path, lines: int, wanted: int, eight_processors: None
) -> None:
    (tmp_path / "q.jsonl").write_text("{}\n" * lines, encoding="ascii")
    assert workers_for_run(None, tmp_path / "q.jsonl") == wanted
    assert workers_for_run(5, tmp_path / "q.jsonl") == 5


def test_what_is_not_there_is_somebody_else_s_business(tmp_path: Path) -> None:
    assert workers_for_build(None, tmp_path) == workers_for_run(None, tmp_path / "none") == 1


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes of POSIX")
def test_a_pipe_of_questions_has_one_even_when_more_are_asked_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert workers_for_run(None, tmp_path / "pipe") == workers_for_run(4, tmp_path / "pipe") == 1
    assert workers_for_build(None, tmp_path / "pipe") == 1
    assert workers_for_build(4, tmp_path / "pipe") == 4


def test_no_system_is_asked_for_more_processes_than_it_may_have(tmp_path: Path) -> None:
    assert workers_for_build(10**6, tmp_path) == workers._MOST


@pytest.mark.parametrize("number", [0, -1])
def test_fewer_than_one_is_refused(tmp_path: Path, number: int) -> None:
    for choose in (workers_for_build, workers_for_run):
        with pytest.raises(InputError, match=f"{number} workers"):
            choose(number, tmp_path)
