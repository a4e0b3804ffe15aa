from __future__ import annotations

import ctypes
import hashlib
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from hybridrank import bundle as module
from hybridrank.bundle import PYTHON_NOTE, SYSTEM, _shared_library, bundle, python_tag, script_source
from hybridrank.errors import InputError

Make = Callable[..., None]
FILES = {
    "gourd/__init__.py": "colour = 'green'\n",
    "gourd/tests/__init__.py": "",
    "gourd/tests/test_colour.py": "",
    "gourd/tests/_helper.py": "",
    "gourd/tests/data/colours.txt": "",
    "gourd/conftest.py": "",
    "gourd/seeds.txt": "seven\n",
    "gourd-1.dist-info/licenses/LICENSE": "Do as you like.\n",
    "../../bin/gourd": "#!/bin/sh\n",
}


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Install a distribution by hand, where this Python finds it."""
    site = tmp_path / "env" / "lib" / "site"
    site.mkdir(parents=True)
    monkeypatch.syspath_prepend(str(site))

    def install(name: str, files: Mapping[str, str], *, record: bool = True, listed: str = "") -> None:
        place = site / f"{name}-1.dist-info"
        place.mkdir()
        for path, content in files.items():
            (site / path).parent.mkdir(parents=True, exist_ok=True)
            (site / path).write_text(content, encoding="utf-8")
        (place / "METADATA").write_text(f"Name: {name}\nVersion: 1\n", encoding="utf-8")
        if record:
            (place / "RECORD").write_text("".join(f"{path},,\n" for path in files) + listed, encoding="utf-8")

    return install


def tree(directory: Path) -> dict[str, str]:
    return {
        path.relative_to(directory).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }


def test_it_holds_the_package_and_what_was_named(tmp_path: Path, make: Make) -> None:
    make("gourd", FILES, listed="gourd/removed_since.py,,\n")
    bundle(tmp_path / "lib", ["gourd"])
    names = {name for name in tree(tmp_path / "lib") if not name.endswith(".pyc")}
    assert {name for name in names if not name.startswith("hybridrank/")} == {
        "gourd/__init__.py",
        "gourd/seeds.txt",
        "gourd/tests/__init__.py",  # numpy 2.2 itself imports a helper of its tests
        "gourd/tests/_helper.py",
        "gourd-1.dist-info/licenses/LICENSE",
        PYTHON_NOTE,
    }
    package = Path(module.__file__).parent
    assert {name for name in names if name.startswith("hybridrank/")} == {
        path.relative_to(package.parent).as_posix()
        for path in package.rglob("*")
        if path.is_file() and path.parent.name != "__pycache__"  # numba, too, keeps its own there
    } | {"hybridrank/LICENSE"}
    assert not list((tmp_path / "env").glob("lib/site/**/*.pyc"))  # the originals are left alone


def test_it_runs_compiled_with_nothing_installed(tmp_path: Path, make: Make) -> None:
    make("gourd", FILES)
    bundle(tmp_path / "lib", ["gourd"])
    code = (
        "import sys; sys.path[:0] = [sys.argv[1]]\n"
        "import gourd, hybridrank.errors as errors\n"
        "print(gourd.colour, gourd.__cached__)\n"
        "print(errors.__file__, errors.InputError.__init__.__code__.co_filename)"
    )
    ran = subprocess.run(
        [sys.executable, "-I", "-S", "-B", "-v", "-c", code, tmp_path / "lib"],
        capture_output=True,
        text=True,
        check=True,
    )
    lib = str(tmp_path / "lib")
    colour, cached, *errors = ran.stdout.split()
    assert colour == "green"
    assert f"code object from {cached!r}" in ran.stderr
    assert errors == [os.path.join(lib, "hybridrank", "errors.py")] * 2


def test_what_was_there_is_replaced(tmp_path: Path, make: Make) -> None:
    make("gourd", FILES)
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "old.py").write_text("old", encoding="utf-8")
    bundle(tmp_path / "lib", [])
    assert "old.py" not in tree(tmp_path / "lib")


def test_the_same_originals_give_the_same_bytes_anywhere(tmp_path: Path, make: Make) -> None:
    make("gourd", FILES)
    bundle(tmp_path / "one", ["gourd"])
    bundle(tmp_path / "another" / "place", ["gourd"])
    assert tree(tmp_path / "one") == tree(tmp_path / "another" / "place")
    assert any(name.endswith(".pyc") for name in tree(tmp_path / "one"))


def test_read_only_originals_and_a_strict_umask_give_what_everyone_may_read(
    tmp_path: Path, make: Make
) -> None:
    make("gourd", FILES)
    folder = tmp_path / "env" / "lib" / "site" / "gourd"
    (folder / "seeds.txt").chmod(0o400)
    (folder / "__init__.py").chmod(0o400)
    folder.chmod(0o500)
    before = os.umask(0o077)
    try:
        bundle(tmp_path / "lib", ["gourd"])
        bundle(tmp_path / "lib", ["gourd"])  # it can be replaced, too
    finally:
        os.umask(before)
        folder.chmod(0o700)
    for path in [tmp_path / "lib", *(tmp_path / "lib").rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) == (0o755 if path.is_dir() else 0o644), path
    assert list((tmp_path / "lib" / "gourd" / "__pycache__").glob("*.pyc"))


@pytest.mark.parametrize(
    ("files", "record"),
    [
        (FILES, False),
        ({"__editable__.gourd.pth": "/home/someone/gourd/src\n"}, True),
        ({"gourd.egg-link": "/home/someone/gourd\n"}, True),
    ],
)
def test_an_installation_whose_files_are_unknown_is_refused(
    tmp_path: Path, make: Make, files: Mapping[str, str], record: bool
) -> None:
    make("gourd", files, record=record)
    with pytest.raises(InputError, match=r"gourd does not say which files it has\. Install it with pip, not"):
        bundle(tmp_path / "lib", ["gourd"])


def test_a_distribution_that_is_missing_is_named_and_the_old_bundle_stays(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "old.py").write_text("old", encoding="utf-8")
    with pytest.raises(InputError, match=r"no-such-thing is not installed\. Install it: pip install"):
        bundle(tmp_path / "lib", ["no-such-thing"])
    assert list(tree(tmp_path / "lib")) == ["old.py"]


def test_the_note_says_for_which_python_it_is(tmp_path: Path) -> None:
    bundle(tmp_path / "lib", [])
    assert (tmp_path / "lib" / PYTHON_NOTE).read_text(encoding="ascii") == python_tag() + "\n"
    assert f"{sys.version_info[0]}{sys.version_info[1]}" in python_tag()


def test_the_scripts_are_found_in_a_checkout_and_in_an_installation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (script_source("finance") / "run.sh").is_file()
    package = tmp_path / "somewhere" / "src" / "hybridrank"
    package.mkdir(parents=True)
    monkeypatch.setattr(module, "_PACKAGE", package)
    with pytest.raises(InputError, match=r"the scripts of finance are neither in .* nor in "):
        script_source("finance")
    (tmp_path / "somewhere" / "app" / "finance").mkdir(parents=True)
    assert script_source("finance") == tmp_path / "somewhere" / "app" / "finance"
    (package / "app" / "finance").mkdir(parents=True)
    assert script_source("finance") == package / "app" / "finance"


# -- libraries of the system


def test_a_library_of_the_system_is_copied_under_the_name_that_it_is_asked_for(tmp_path: Path) -> None:
    known = _shared_library("libm.so.6")
    if known is None:
        pytest.skip("libm.so.6 is the name on Linux with glibc")
    assert known.name == "libm.so.6"
    bundle(tmp_path / "lib", [], ["libm.so.6"])
    copied = tmp_path / "lib" / SYSTEM / "libm.so.6"
    assert copied.read_bytes() == known.read_bytes()
    assert not copied.is_symlink()
    assert stat.S_IMODE(copied.stat().st_mode) == 0o644
    ctypes.CDLL(str(copied))


def test_a_library_that_is_not_there_is_done_without(tmp_path: Path) -> None:
    assert _shared_library("libno-such-thing.so.1") is None
    bundle(tmp_path / "lib", [], ["libno-such-thing.so.1"])
    assert not (tmp_path / "lib" / SYSTEM).exists()


def maps(monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
    """A library can be loaded, and this is what the system says of where it lies."""
    monkeypatch.setattr(ctypes, "CDLL", lambda name: None)
    text = "".join(f"7f00-7f01 r-xp 00000000 fe:01 131   {line}\n" for line in lines)
    monkeypatch.setattr(Path, "read_text", lambda self, **how: text)


def test_a_library_is_found_by_its_name_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    other = "/env/site/vendored.libs/libgourd-a34b.so.1.0.0"
    maps(monkeypatch, "[heap]", other, "/usr/lib/libgourdian.so.1", "/usr/my lib/libgourd.so.1.0.0", "")
    assert _shared_library("libgourd.so.1") == Path("/usr/my lib/libgourd.so.1")
    maps(monkeypatch, "[heap]", other)
    assert _shared_library("libgourd.so.1") is None


def test_where_the_system_does_not_say_what_is_loaded_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    maps(monkeypatch)

    def fail(self: Path, **how: str) -> str:
        raise FileNotFoundError

    monkeypatch.setattr(Path, "read_text", fail)
    assert _shared_library("libgourd.so.1") is None
