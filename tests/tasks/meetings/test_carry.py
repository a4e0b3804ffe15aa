from __future__ import annotations

import gc
import subprocess
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest

from hybridrank.tasks.meetings import carry
from hybridrank.tasks.meetings.carry import Carried, start

SCRIPT = """\
#!/bin/sh
exec true
#:: carried_box/tool.py
from carried_box.inner.part import VALUE


def main(arguments):
    if not arguments:
        raise ValueError("none given")
    return VALUE + len(arguments)

#:: carried_box/inner/part.py
VALUE = 40
#:: carried_box/broken.py
this is no Python

#:: carried_box/COPYING
Do as you like.
"""


@pytest.fixture
def script(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / 'it\'s a "script".sh'
    path.write_text(SCRIPT, encoding="utf-8")
    before = list(sys.meta_path)
    yield path
    gc.enable()
    sys.meta_path[:] = before
    for name in [name for name in sys.modules if name.partition(".")[0] == "carried_box"]:
        del sys.modules[name]


def test_a_carried_module_runs_and_finds_its_like(script: Path) -> None:
    assert start(str(script), "carried_box.tool", ["a", "b"]) == 42
    assert "carried_box.broken" not in sys.modules


def test_lines_are_numbered_as_they_stand_in_the_script(script: Path) -> None:
    with pytest.raises(ValueError, match="none given") as caught:
        start(str(script), "carried_box.tool", [])
    frame = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (frame.filename, frame.line) == (str(script), 'raise ValueError("none given")')


def test_what_is_not_carried_is_looked_for_elsewhere(script: Path) -> None:
    carried = Carried(str(script))
    assert carried.find_spec("json") is None
    assert carried.find_spec("carried_box.COPYING") is None
    package = carried.find_spec("carried_box.inner")
    assert package is not None
    assert package.submodule_search_locations == []
    with pytest.raises(ModuleNotFoundError):
        start(str(script), "carried_box.nothing", [])


def test_an_older_python_is_told_what_is_needed(
    script: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 9))
    assert start(str(script), "carried_box.tool", []) == 2
    assert "Python 3.10 or newer" in capsys.readouterr().err


def test_its_text_can_stand_between_single_quotes() -> None:
    text = Path(carry.__file__).read_text(encoding="utf-8")
    assert "'" not in text
    assert f"\n{carry.MARK}" not in text
    said = subprocess.run(
        [sys.executable, "-I", "-S", "-c", text + "\nprint(MARK)"], capture_output=True, text=True, check=True
    )
    assert said.stdout == "#:: \n"
