"""Which files are written; what they do is tried in tests/app."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from hybridrank.errors import InputError
from hybridrank.tasks.meetings.assemble import COMMANDS, MOST_BYTES, assemble, script
from hybridrank.tasks.meetings.memory import Memory
from tests.app.stage import tree


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory, sample_memory: Memory) -> Path:
    path = tmp_path_factory.mktemp("memory") / "any name.json"
    path.write_text(sample_memory.to_json(), encoding="utf-8")
    return path


def carried(command: str) -> dict[str, str]:
    """The files that a script carries, by name."""
    sections = script(command).split("\n#:: ")[1:]
    return {name: text for name, _, text in (section.partition("\n") for section in sections)}


def test_a_directory_can_be_assembled_again(memory: Path, tmp_path: Path) -> None:
    first = tree(assemble(memory, tmp_path / "a" / "b"))
    assert first["memory.json"] == memory.read_bytes()
    assert tree(assemble(memory, tmp_path / "a" / "b")) == first


def test_other_places_are_left_alone(memory: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    for place, reason in ((tmp_path, "holds notes.txt"), (tmp_path / "notes.txt", "is a file")):
        with pytest.raises(InputError, match=reason):
            assemble(memory, place)
    with pytest.raises(InputError, match="cannot be written"):
        assemble(memory, tmp_path / "notes.txt" / "there")
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize("content", [None, b"\xff", b"{", b'"a'])
def test_a_file_that_is_no_memory_is_refused(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "m.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        assemble(path, tmp_path / "app")
    assert caught.value.file == str(path)
    assert not (tmp_path / "app").exists()


def test_a_memory_that_is_too_large_is_refused(memory: Path, tmp_path: Path) -> None:
    large = tmp_path / "m.json"
    large.write_bytes(memory.read_bytes() + b" " * MOST_BYTES)
    with pytest.raises(InputError, match=r"of 183,981 allowed"):
        assemble(large, tmp_path / "app")


@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_carried_is_whole_and_needs_nothing_else(command: str) -> None:
    files = carried(command)
    modules = {name.removesuffix(".py").replace("/", ".") for name in files if name.endswith(".py")}
    packages = {name.rpartition(".")[0] for name in modules}
    for name, text in files.items():
        if not name.endswith(".py"):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                named = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                named = [node.module or ""]
            else:
                continue
            for one in named:
                top = one.partition(".")[0]
                assert top in sys.stdlib_module_names or top in {"hybridrank", "snowballstemmer"}, (name, one)
    assert "hybridrank.tasks.meetings.scripts" in modules
    assert all(package.partition(".")[0] in {"hybridrank", "snowballstemmer"} for package in packages)


def test_a_script_carries_what_its_command_needs_and_no_more() -> None:
    assert "hybridrank/generation.py" in carried("answer")
    assert "hybridrank/generation.py" not in carried("run")
    assert "hybridrank/tasks/meetings/recall.py" in carried("run")
    assert "hybridrank/tasks/meetings/recall.py" not in carried("answer")
    assert "hybridrank/tasks/meetings/memory.py" in carried("build")


def test_a_carried_file_is_the_library_s_own() -> None:
    from hybridrank.tasks.meetings import recall

    own = Path(recall.__file__).read_text(encoding="utf-8")
    assert carried("run")["hybridrank/tasks/meetings/recall.py"] == own


def test_a_link_in_the_directory_gives_way_to_a_file(tmp_path: Path, sample_memory: Memory) -> None:
    memory, elsewhere, target = tmp_path / "m.json", tmp_path / "other.json", tmp_path / "app"
    memory.write_text(sample_memory.to_json(), encoding="utf-8")
    elsewhere.write_text("precious", encoding="utf-8")
    target.mkdir()
    (target / "memory.json").symlink_to(elsewhere)
    assemble(memory, target)
    assert not (target / "memory.json").is_symlink()
    assert elsewhere.read_text(encoding="utf-8") == "precious"
