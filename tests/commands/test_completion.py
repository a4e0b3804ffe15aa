from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hybridrank.commands.completion import SHELLS
from tests.command_line import says

Capture = pytest.CaptureFixture[str]


def test_the_extra_is_named_where_it_is_missing(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert says(capsys, ["completion", "bash"]) == (
        2,
        "",
        "error: shtab is not installed. Install it with: pip install 'hybridrank[completion]'\n",
    )


@pytest.mark.parametrize("shell", SHELLS)
def test_each_shell_has_a_script(shell: str, capsys: Capture) -> None:
    pytest.importorskip("shtab", reason="needs the extra: pip install 'hybridrank[completion]'")
    code, out, err = says(capsys, ["completion", shell])
    assert (code, err) == (0, "")
    assert "hybridrank" in out
    assert ("-l explain" if shell == "fish" else "--explain") in out


@pytest.mark.skipif(shutil.which("bash") is None, reason="this system has no bash")
def test_bash_completes_commands_options_and_paths(tmp_path: Path, capsys: Capture) -> None:
    pytest.importorskip("shtab", reason="needs the extra: pip install 'hybridrank[completion]'")
    (tmp_path / "script").write_text(says(capsys, ["completion", "bash"])[1], encoding="utf-8")
    (tmp_path / "notes.index").mkdir()
    asked = (
        "sea",
        "finance tr",
        "search --expl",
        "meetings remember --sel",
        "meetings remember --selector le",
        "completion z",
        "search note",
    )
    # What bash does when the tabulator key is hit: it calls the function that it was told of.
    lines = [
        "cd " + str(tmp_path),
        "source ./script",
        "function=$(complete -p hybridrank | grep -oP '(?<=-F )\\S+')",
    ]
    for words in asked:
        typed = ["hybridrank", *words.split()]
        lines.append(f"COMP_WORDS=({' '.join(typed)}) COMP_CWORD={len(typed) - 1} COMPREPLY=()")
        lines.append("$function; echo ${COMPREPLY[@]}")
    ran = subprocess.run(
        ["bash", "--norc", "-c", "\n".join(lines)], capture_output=True, text=True, check=False
    )
    assert ran.stdout.splitlines() == [
        "search",
        "train",
        "--explain",
        "--selector",
        "learned",
        "zsh",
        "notes.index",
    ], ran.stderr
