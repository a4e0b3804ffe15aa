from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from hybridrank.bundle import script_source
from hybridrank.errors import InputError
from hybridrank.tasks.finance import assemble as module
from hybridrank.tasks.finance.assemble import SCRIPTS, assemble


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out what takes seconds to copy; tests/app runs the whole."""
    monkeypatch.setattr(module, "_NEEDED", ("PyStemmer",))
    monkeypatch.setattr(module, "_SERVICES", ("no-such-thing",))


def test_it_holds_the_scripts_and_the_libraries(tmp_path: Path) -> None:
    target = tmp_path / "new" / "app"
    before = os.umask(0o077)
    try:
        assert assemble(target) == target
    finally:
        os.umask(before)
    assert {path.name for path in target.iterdir()} == {"build.sh", "run.sh", "entry.py", "lib"}
    for name in SCRIPTS:
        assert (target / name).read_bytes() == (script_source("finance") / name).read_bytes()
    modes = {name: stat.S_IMODE((target / name).stat().st_mode) for name in ("", *SCRIPTS, "lib")}
    assert modes == {"": 0o755, "build.sh": 0o755, "run.sh": 0o755, "entry.py": 0o644, "lib": 0o755}
    assert (target / "lib" / "hybridrank" / "cli.py").is_file()
    assert list((target / "lib").glob("Stemmer*"))


def test_an_empty_directory_and_one_assembled_before_will_do(tmp_path: Path) -> None:
    assemble(tmp_path)
    (tmp_path / "lib" / "left.py").write_text("", encoding="utf-8")
    (tmp_path / "run.sh").write_text("old", encoding="utf-8")
    assemble(tmp_path)
    assert not (tmp_path / "lib" / "left.py").exists()
    assert (tmp_path / "run.sh").read_bytes() == (script_source("finance") / "run.sh").read_bytes()


def test_a_directory_that_holds_something_else_is_left_alone(tmp_path: Path) -> None:
    for name in ("thesis.tex", "a.txt", ".hidden", "z.txt"):
        (tmp_path / name).write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match=r": holds \.hidden, a\.txt, thesis\.tex\. Give a new or an empty"):
        assemble(tmp_path)
    assert len(list(tmp_path.iterdir())) == 4


def test_a_file_is_no_directory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match="file: is a file"):
        assemble(tmp_path / "file")
    with pytest.raises(InputError, match=r"below: cannot be written \(Not a directory\)"):
        assemble(tmp_path / "file" / "below")


def test_the_originals_are_not_assembled_onto() -> None:
    with pytest.raises(InputError, match="holds the originals"):
        assemble(script_source("finance"))


def test_what_is_not_installed_is_named_before_the_old_is_touched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assemble(tmp_path)
    monkeypatch.setattr(module, "_NEEDED", ("PyStemmer", "no-such-thing"))
    with pytest.raises(InputError, match="no-such-thing is not installed"):
        assemble(tmp_path)
    assert list((tmp_path / "lib").glob("Stemmer*"))


def test_a_failure_to_write_names_the_directory(tmp_path: Path) -> None:
    (tmp_path / "lib").write_text("a file where the libraries go", encoding="utf-8")
    with pytest.raises(
        InputError, match=r": cannot be written \(.*\). Choose a directory that you may write"
    ):
        assemble(tmp_path)


def test_what_asks_services_is_brought_where_it_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_SERVICES", ("snowballstemmer",))
    monkeypatch.setattr(module, "_SERVICES_ON_OLD", ("no-such-thing",))
    assemble(tmp_path)
    assert list((tmp_path / "lib").glob("snowballstemmer*"))
    monkeypatch.setattr(module, "_SERVICES", ("snowballstemmer", "no-such-thing"))
    assemble(tmp_path)
    assert not list((tmp_path / "lib").glob("snowballstemmer*"))
