import os
import subprocess
import sys
import threading
from collections.abc import Iterator

import numpy as np
import pytest

from hybridrank import accelerators
from hybridrank.accelerators import kernels, searched, use_backend
from hybridrank.errors import InputError, MissingExtra
from hybridrank.postings import Postings

WORTH = 1000  # postings
CODES = "<u2"


class Compiler:
    """In place of the real one: compiles what is asked for when it is allowed to."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.go = threading.Event()

    def __call__(self, codes: str) -> object:
        self.asked.append(codes)
        assert self.go.wait(10)
        return f"kernels of {codes}"


@pytest.fixture
def compiler(monkeypatch: pytest.MonkeyPatch) -> Iterator[Compiler]:
    fake = Compiler()
    monkeypatch.setattr(accelerators, "_compile", fake)
    monkeypatch.setattr(accelerators, "find_spec", lambda name: name)
    monkeypatch.setattr(accelerators, "_WORTH", WORTH)
    monkeypatch.setattr("hybridrank.accelerators.atexit.register", lambda *given: None)
    yield fake
    fake.go.set()
    finish()


@pytest.fixture(autouse=True)
def state(monkeypatch: pytest.MonkeyPatch) -> accelerators.State:
    anew = accelerators.State()
    monkeypatch.setattr(accelerators, "_state", anew)
    return anew


def finish() -> None:
    if accelerators._state.aside is not None:
        accelerators._state.aside.join()


def test_searches_go_on_while_kernels_are_compiled_aside(compiler: Compiler) -> None:
    searched(WORTH - 1, CODES)
    assert kernels(CODES) is None
    assert accelerators._state.aside is None
    for _ in range(3):  # and they are compiled once
        searched(1, CODES)
        assert kernels(CODES) is None
    compiler.go.set()
    finish()
    assert kernels(CODES) == "kernels of <u2"
    assert kernels("<u4") is None
    assert compiler.asked == [CODES]
    use_backend("numpy")
    assert kernels(CODES) is None


def test_few_postings_are_never_worth_it(compiler: Compiler, monkeypatch: pytest.MonkeyPatch) -> None:
    three = Postings.build(np.array([0, 1, 1, 2]), np.array([0, 2, 3, 4]), n_terms=3)
    for _ in range(WORTH // 3):
        three.top(np.array([1]), 10)
    before = accelerators._state.aside
    while accelerators._state.aside is None:
        three.top_many([np.array([1])], 10)
    assert (before, accelerators._state.postings) == (None, WORTH)


def test_another_type_of_codes_is_compiled_by_itself(compiler: Compiler) -> None:
    compiler.go.set()
    for codes in (CODES, "<u4"):
        searched(WORTH, codes)
        finish()
    assert [kernels(CODES), kernels("<u4")] == ["kernels of <u2", "kernels of <u4"]
    searched(1, CODES)
    assert compiler.asked == [CODES, "<u4"]


def test_a_compiler_that_fails_is_not_asked_again(
    compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(codes: str) -> object:
        compiler.asked.append(codes)
        raise OSError("no space left")

    monkeypatch.setattr(accelerators, "_compile", failing)
    for _ in range(3):
        searched(WORTH, CODES)
        finish()
    assert kernels(CODES) is None
    assert compiler.asked == [CODES]


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_who_has_chosen_gets_no_thread(backend: accelerators.Backend, compiler: Compiler) -> None:
    use_backend(backend)
    searched(WORTH, CODES)
    assert accelerators._state.aside is None


def test_without_numba(monkeypatch: pytest.MonkeyPatch, state: accelerators.State) -> None:
    monkeypatch.setattr(accelerators, "find_spec", lambda name: None)
    monkeypatch.setattr(accelerators, "_WORTH", WORTH)
    for _ in range(2):
        searched(WORTH, CODES)
    assert (state.aside, kernels(CODES)) == (None, None)
    with pytest.raises(MissingExtra, match=r"numba is not installed.*hybridrank\[fast\]"):
        use_backend("numba")


def test_numba_waits_for_the_compiler(compiler: Compiler) -> None:
    searched(WORTH, CODES)
    use_backend("numba")
    threading.Timer(0.01, compiler.go.set).start()
    assert kernels(CODES) == "kernels of <u2"
    assert kernels("<u4") == "kernels of <u4"
    assert compiler.asked == [CODES, "<u4"]


def test_numba_compiles_at_once() -> None:
    pytest.importorskip("numba")
    use_backend("numba")
    assert kernels(CODES) is sys.modules["hybridrank.maxscore_numba"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_fork_waits_for_the_compiler(compiler: Compiler) -> None:
    searched(WORTH, CODES)
    threading.Timer(0.01, compiler.go.set).start()
    child = os.fork()
    if child == 0:
        os._exit(0 if kernels(CODES) is not None else 1)
    assert os.waitpid(child, 0)[1] == 0
    searched(WORTH, "<u4")  # and nothing is locked afterwards
    finish()
    assert compiler.asked == [CODES, "<u4"]


ENDLESS = """
from hybridrank import accelerators

def compile(codes):
    while True:
        pass

accelerators._compile, accelerators.find_spec = compile, str
accelerators.searched(1 << 40, "<u2")
assert accelerators._state.aside.is_alive()
"""


def test_the_end_of_a_process_ends_the_compiler() -> None:
    done = subprocess.run([sys.executable, "-c", ENDLESS], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_another_name_is_refused() -> None:
    with pytest.raises(InputError, match="the backend is 'cuda'"):
        use_backend("cuda")  # type: ignore[arg-type]
