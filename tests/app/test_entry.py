"""What the scripts say where they cannot work, and that they work from a checkout."""

from __future__ import annotations

import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hybridrank.bundle import PYTHON_NOTE, SYSTEM, _shared_library, python_tag, script_source
from tests.app.stage import Stage

SCRIPTS = script_source("finance")


def start(script: str | Path, *arguments: object, **options: str | Path) -> subprocess.CompletedProcess[str]:
    python = options.pop("python", sys.executable)
    return subprocess.run(
        [script, *map(str, arguments)],
        env={"PATH": os.defpath, "HYBRIDRANK_PYTHON": str(python)},
        cwd=options.pop("cwd", "/"),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    """The scripts with libraries that are empty but for the note of this Python."""
    for name in ("build.sh", "run.sh", "entry.py"):
        shutil.copy(SCRIPTS / name, tmp_path / name)
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / PYTHON_NOTE).write_text(python_tag() + "\n", encoding="ascii")
    return tmp_path


def test_they_work_from_a_checkout(sample_folder: Path, tmp_path: Path) -> None:
    built = start(SCRIPTS / "build.sh", "--corpus", sample_folder, "--index-dir", tmp_path / "index")
    assert (built.returncode, built.stdout) == (0, "")
    queries, output = sample_folder / "questions.jsonl", tmp_path / "out.jsonl"
    given = ("--index-dir", tmp_path / "index", "--queries", queries, "--output", output)
    ran = start("./run.sh", *given, cwd=SCRIPTS)
    assert (ran.returncode, ran.stderr) == (0, f"32 rows written to {output}\n")


def test_wrong_arguments_are_told(tmp_path: Path) -> None:
    for script, missing in (
        ("build.sh", "--corpus, --index-dir"),
        ("run.sh", "--index-dir, --queries, --output"),
    ):
        ran = start(SCRIPTS / script)
        assert ran.returncode == 2
        assert ran.stderr.splitlines()[-1].endswith(f"arguments are required: {missing}")


def test_another_python_than_it_was_assembled_for_is_refused(empty: Path) -> None:
    (empty / "lib" / PYTHON_NOTE).write_text("cpython-399-z80-cpm\n", encoding="ascii")
    ran = start(empty / "run.sh")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == (
        f"error: {empty}: assembled for Python cpython-399-z80-cpm, not {python_tag()} ({sys.executable}). "
        "Set HYBRIDRANK_PYTHON to a Python that fits, or assemble it again with this one.\n"
    )


def test_what_was_not_assembled_to_the_end_is_refused(empty: Path) -> None:
    (empty / "lib" / PYTHON_NOTE).unlink()
    ran = start(empty / "build.sh")
    assert (ran.returncode, ran.stderr.count("\n")) == (2, 1)
    assert ran.stderr.startswith(f"error: {empty}: it was not assembled to the end, or copied in part.")


def test_a_python_that_lacks_what_is_needed_is_refused(
    empty: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    bare = tmp_path_factory.mktemp("bare")
    base = getattr(sys, "_base_executable", sys.executable)
    subprocess.run([base, "-m", "venv", "--without-pip", bare], check=True)
    ran = start(empty / "build.sh", python=bare / "bin" / "python")
    assert (ran.returncode, ran.stderr.count("\n")) == (2, 1)
    assert "hybridrank is not installed for " in ran.stderr
    ran = start(SCRIPTS / "build.sh", "--corpus", empty, "--index-dir", empty, python=bare / "bin" / "python")
    assert (ran.returncode, ran.stderr.count("\n")) == (2, 1)
    assert "numpy is not installed for " in ran.stderr


def test_a_python_that_is_too_old_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 9, 18))
    with pytest.raises(SystemExit) as stop:
        runpy.run_path(str(SCRIPTS / "entry.py"), run_name="__main__")
    assert stop.value.code == 2
    err = capsys.readouterr().err
    assert err.startswith(f"error: {SCRIPTS}: this needs Python 3.10 or newer, not ")
    assert err.endswith("Set HYBRIDRANK_PYTHON to one.\n")
    assert err.count("\n") == 1


def test_a_python_that_is_not_there_is_named(empty: Path) -> None:
    ran = start(empty / "run.sh", python=empty / "no such python")
    assert ran.returncode == 127
    assert "no such python" in ran.stderr


def test_the_environment_s_modules_are_not_taken(empty: Path, tmp_path: Path) -> None:
    (tmp_path / "hybridrank").mkdir()
    (tmp_path / "hybridrank" / "cli.py").write_text("raise SystemExit('taken')", encoding="ascii")
    ran = subprocess.run(
        [SCRIPTS / "run.sh"],
        env={"PATH": os.defpath, "HYBRIDRANK_PYTHON": sys.executable, "PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "arguments are required: --index-dir" in ran.stderr


# --- libraries that the system lacks


LOAD = """
import runpy, sys
load = runpy.run_path(sys.argv[1])["load_libraries"]
load(sys.argv[2])
print(open("/proc/self/maps").read())
"""


def loaded(folder: Path, code: str = LOAD) -> str:
    """What is mapped into a process that loads the libraries of a folder."""
    ran = subprocess.run(
        [sys.executable, "-I", "-c", code, SCRIPTS / "entry.py", folder],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.stderr == ""
    return ran.stdout


@pytest.fixture
def libraries(tmp_path: Path) -> Path:
    """A library under a name that the system's loader does not know, one that it knows, and none at all."""
    known = _shared_library("libgomp.so.1")
    if known is None:
        pytest.skip("there is no libgomp here")
    folder = tmp_path / "system"
    folder.mkdir()
    shutil.copyfile(known, folder / "libgourd.so.1")
    shutil.copyfile(known, folder / "libm.so.6")
    (folder / "libbroken.so.1").write_text("no library", encoding="ascii")
    return folder


def test_what_the_system_lacks_is_loaded_from_the_folder(libraries: Path) -> None:
    found = loaded(libraries)
    assert str(libraries / "libgourd.so.1") in found
    assert str(libraries / "libm.so.6") not in found  # the system's own goes first
    assert "libbroken" not in found


def test_without_a_folder_nothing_is_loaded(tmp_path: Path) -> None:
    assert str(tmp_path) not in loaded(tmp_path / "none")


# As on a machine without libgomp: the loader finds it by its path alone, and it is needed by its name.
LIGHTGBM = """
import ctypes, runpy, sys
real = ctypes.CDLL
def lacking(name, *rest, **more):
    if name == "libgomp.so.1":
        raise OSError("libgomp.so.1: cannot open shared object file")
    return real(name, *rest, **more)
ctypes.CDLL = lacking
sys.path.insert(0, sys.argv[2])
runpy.run_path(sys.argv[1])["load_libraries"](sys.argv[2] + "/system")
ctypes.CDLL = real
import lightgbm
assert lightgbm.__file__.startswith(sys.argv[2]), lightgbm.__file__
print(open("/proc/self/maps").read())
"""


def test_lightgbm_stands_on_the_library_that_was_brought(stage: Stage) -> None:
    if not (stage.code / "lib" / SYSTEM / "libgomp.so.1").exists():
        pytest.skip("there is no libgomp here")
    found = loaded(stage.code / "lib", LIGHTGBM)
    gomp = {line.split(maxsplit=5)[-1] for line in found.splitlines() if "/libgomp.so" in line}
    assert gomp == {str(stage.code / "lib" / SYSTEM / "libgomp.so.1")}
