"""The meeting-memory contract: four files in a read-only directory, someone without rights, a bare Python."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from hybridrank.tasks.meetings.assemble import assemble
from hybridrank.tasks.meetings.history import read_history
from hybridrank.tasks.meetings.memory import Memory
from hybridrank.tasks.meetings.notes import make_memory
from hybridrank.tasks.meetings.questions import read_questions
from hybridrank.tasks.meetings.recall import Index
from hybridrank.tasks.meetings.scripts import as_json
from tests.app.stage import NOBODY, prepare, tree
from tests.chat_server import TEXT, USELESS, Behaviour, chat_server, good, long_text, says
from tests.command_line import DATA

FILES = {"memory.json", "build.sh", "run.sh", "answer.sh"}
SHARED = Path(__file__).parents[3] / "shared" / "data" / "meetings"
QUESTION = "What was decided about the humidity sensors?"
ODD_QUESTIONS = [
    "",
    " \t",
    "-",
    "--output",
    "--question=x",
    '\'; exit 3; echo "$(id)" `id` $HOME \\',
    "two\nlines\r\nand more",
    "温室のセンサーは? 🎉🎉 café",
    "\ud83c",  # half of a pair, which reaches a process as bytes that are not UTF-8
    "the of and",
    "pump " * 20_000,
]
NAMES = count()


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """The four files, and whoever runs them; ``work`` is a directory that may be written."""

    root: Path
    code: Path
    python: Path
    identity: Mapping[str, Any]

    def run(
        self, script: str, *arguments: object, python: str | None = None, **environment: str
    ) -> subprocess.CompletedProcess[bytes]:
        folder = str(self.python.parent) if python is None else os.path.dirname(python)
        given = [os.fsencode(self.code / script)]
        given += [one if isinstance(one, bytes) else os.fsencode(str(one)) for one in arguments]
        done = subprocess.run(
            given,
            env={"PATH": f"{folder}{os.pathsep}{os.defpath}", **environment},
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=300,
            check=False,
            **(self.identity if python is None else {}),
        )
        assert done.stdout == b""
        assert b"Traceback" not in done.stderr
        return done

    def work(self) -> Path:
        folder = self.root / f"work {next(NAMES)}"
        folder.mkdir()
        if self.identity:
            os.chown(folder, NOBODY, NOBODY)
        return folder

    def build(self, memory: Path | None = None, **how: Any) -> Path:
        index = self.work() / "the index"
        done = self.run("build.sh", "--memory", memory or self.code / "memory.json", "--output", index, **how)
        assert done.returncode == 0, done.stderr
        return index

    def recall(self, index: Path, question: str, **how: Any) -> list[str]:
        output = self.work() / "memories.json"
        asked = question.encode("utf-8", "surrogatepass")
        done = self.run("run.sh", "--index", index, "--question", asked, "--output", output, **how)
        assert done.returncode == 0, done.stderr
        found = json.loads(output.read_bytes())
        assert isinstance(found, list)
        assert len(found) <= 10
        assert all(isinstance(note, str) for note in found)
        return found

    def answer(self, question: str, memories: bytes, **how: Any) -> str:
        work = self.work()
        (work / "memories.json").write_bytes(memories)
        (work / "memories.json").chmod(0o444)
        output = work / "answer.txt"
        asked = question.encode("utf-8", "surrogatepass")
        done = self.run(
            "answer.sh", "--question", asked, "--memories", work / "memories.json", "--output", output, **how
        )
        assert done.returncode == 0, done.stderr
        text = output.read_bytes().decode("utf-8")
        assert 0 < len(text) <= 2_000
        assert text.strip()
        return text.strip()


@pytest.fixture(scope="module")
def memory() -> Memory:
    return make_memory(read_history(DATA / "meetings" / "history.jsonl"), max_bytes=8_000)


@pytest.fixture(scope="module")
def delivery(memory: Memory) -> Iterator[Delivery]:
    # Not pytest's own directory: nobody else may enter that.
    root = Path(tempfile.mkdtemp(prefix='it\'s "quoted" ü '))
    root.chmod(0o755)
    try:
        python, identity = prepare(root)
        (root / "memory.json").write_text(memory.to_json(), encoding="utf-8")
        code = assemble(root / "memory.json", root / "made here").rename(root / "then $moved")
        for path in [*code.iterdir(), code]:
            path.chmod(path.stat().st_mode & 0o555)
        yield Delivery(root=root, code=code, python=python, identity=identity)
    finally:
        for folder, _, _ in os.walk(root):
            os.chmod(folder, 0o755)
        shutil.rmtree(root)


@pytest.fixture(scope="module")
def index(delivery: Delivery) -> Path:
    """An index of the sample's memory, which nobody may write any more."""
    index = delivery.build()
    for path in [*index.iterdir(), index, index.parent]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    return index


def test_there_are_exactly_four_regular_files(delivery: Delivery, memory: Memory) -> None:
    modes = {path.name: path.lstat().st_mode for path in delivery.code.iterdir()}
    assert modes.keys() == FILES
    assert all(stat.S_ISREG(mode) for mode in modes.values())
    assert all(mode & 0o111 == 0o111 for name, mode in modes.items() if name.endswith(".sh"))
    assert (delivery.code / "memory.json").read_text(encoding="utf-8") == memory.to_json()


def test_the_scripts_are_text_and_the_same_for_any_memory(delivery: Delivery, tmp_path: Path) -> None:
    other = make_memory(read_history(DATA / "meetings" / "history.jsonl")[:2], max_bytes=2_000)
    (tmp_path / "m.json").write_text(other.to_json(), encoding="utf-8")
    made, given = tree(assemble(tmp_path / "m.json", tmp_path / "app")), tree(delivery.code)
    assert {name for name in FILES if made[name] == given[name]} == FILES - {"memory.json"}
    for name in FILES - {"memory.json"}:
        text = given[name].decode("utf-8")
        assert all(character.isprintable() or character == "\n" for character in text)
        assert max(map(len, text.splitlines())) <= 200


def test_every_script_carries_the_licence_of_what_it_carries(delivery: Delivery) -> None:
    for path in delivery.code.glob("*.sh"):
        text = path.read_text(encoding="utf-8")
        assert "Apache License 2.0" in text
        assert ("#:: snowballstemmer/COPYING" in text) == ("#:: snowballstemmer/english_stemmer.py" in text)


@pytest.mark.parametrize("question", ODD_QUESTIONS, ids=lambda question: ascii(question[:20]))
def test_no_question_makes_a_process_fail(delivery: Delivery, index: Path, question: str) -> None:
    found = delivery.recall(index, question)
    assert set(found) <= set(Index.open(index).notes)
    delivery.answer(question, as_json(found).encode("utf-8"))


def test_a_search_writes_nothing_but_its_output(delivery: Delivery, index: Path) -> None:
    before = tree(index)
    assert delivery.recall(index, QUESTION)
    assert tree(index) == before
    assert tree(delivery.code).keys() == FILES


def test_the_same_notes_in_the_same_order_as_the_library_s(delivery: Delivery, index: Path) -> None:
    opened = Index.open(index)
    for one in read_questions(DATA / "meetings" / "validation_questions.jsonl"):
        assert delivery.recall(index, one.question) == opened.search(one.question, 10), one


def test_the_same_notes_over_the_contract_s_data(delivery: Delivery) -> None:
    if not SHARED.exists():
        pytest.skip("the contract's data is not here")
    # Every third meeting: it is the search that is compared, whatever the memory holds.
    made = make_memory(read_history(SHARED / "history.jsonl")[::3], max_bytes=60_000)
    memory = delivery.work() / "memory.json"
    memory.write_text(made.to_json(), encoding="utf-8")
    index = delivery.build(memory)
    library = Index.build(made)
    for one in read_questions(SHARED / "validation_questions.jsonl"):
        assert delivery.recall(index, one.question) == library.search(one.question, 10), one


@pytest.mark.parametrize("version", ["3.10", "3.11", "3.12", "3.13", "3.14"])
def test_every_python_that_is_here_will_do(delivery: Delivery, index: Path, version: str) -> None:
    found = shutil.which(f"python{version}")
    ask = [found or "", "-I", "-c", "import sys; print(sys.executable)"]
    environment = {**os.environ, "PYENV_VERSION": version}  # for pyenv's shims, which ask for a choice
    said = (
        subprocess.run(ask, env=environment, capture_output=True, text=True, check=False) if found else None
    )
    if said is None or said.returncode:
        pytest.skip(f"there is no Python {version} here")
    # By the name python3, in a directory with nothing else.
    folder = delivery.work()
    (folder / "python3").symlink_to(said.stdout.strip())
    python = str(folder / "python3")
    again = delivery.build(python=python)
    assert tree(again) == tree(index)
    notes = delivery.recall(again, QUESTION, python=python)
    assert notes == delivery.recall(index, QUESTION)
    text = delivery.answer(QUESTION, as_json(notes).encode("utf-8"), python=python)
    assert text == delivery.answer(QUESTION, as_json(notes).encode("utf-8"))


def test_nothing_of_the_environment_takes_part(delivery: Delivery, index: Path) -> None:
    trap = delivery.work()
    for name in ("json", "re", "hybridrank", "sitecustomize"):
        (trap / f"{name}.py").write_text("raise SystemExit('taken')", encoding="ascii")
    environment = {"PYTHONPATH": str(trap), "PYTHONHOME": "/nowhere", "LC_ALL": "C", "PYTHONUTF8": "0"}
    assert delivery.recall(index, QUESTION, **environment) == delivery.recall(index, QUESTION)


@pytest.mark.parametrize("form", ["--question=-k $HOME", "--question=="])
def test_a_value_may_stand_after_an_equals_sign(delivery: Delivery, index: Path, form: str) -> None:
    output = delivery.work() / "found.json"
    assert delivery.run("run.sh", form, f"--output={output}", f"--index={index}").returncode == 0
    assert isinstance(json.loads(output.read_bytes()), list)


@pytest.mark.parametrize(
    ("script", "arguments", "reason"),
    [
        ("build.sh", (), b"must be given"),
        ("build.sh", ("--memory", "/nowhere", "--output", "/nowhere/index"), b"/nowhere: cannot be read"),
        ("run.sh", ("--index", "/nowhere", "--question", "q", "--output", "/nowhere/o"), b"/nowhere"),
        ("answer.sh", ("--questions", "q"), b"none of the options"),
    ],
)
def test_what_cannot_be_used_is_said(
    delivery: Delivery, script: str, arguments: tuple[str, ...], reason: bytes
) -> None:
    done = delivery.run(script, *arguments)
    assert done.returncode == 2
    assert done.stderr.startswith(b"error: ")
    assert reason in done.stderr


def test_an_output_that_cannot_be_written_is_said(delivery: Delivery, index: Path) -> None:
    place = delivery.code / "found.json"
    if os.geteuid() == 0 and not delivery.identity:
        pytest.skip("nothing is closed to the superuser")
    done = delivery.run("run.sh", "--index", index, "--question", "q", "--output", place)
    assert (done.returncode, b"cannot be written" in done.stderr) == (2, True)


@pytest.mark.parametrize("memories", [b"[]", b"{}", b"", b"\xff", b'[""]', b"[null]", b'["\\ud800"]'])
def test_odd_notes_get_an_answer(delivery: Delivery, memories: bytes) -> None:
    delivery.answer(QUESTION, memories)


def test_the_same_answer_is_given_again(delivery: Delivery, index: Path) -> None:
    notes = as_json(delivery.recall(index, QUESTION)).encode("utf-8")
    assert delivery.answer(QUESTION, notes) == delivery.answer(QUESTION, notes)


@pytest.mark.parametrize(
    ("behaviour", "text"),
    [(good, TEXT), (says("Ja, 🎉."), "Ja, 🎉."), (long_text, None)],
    ids=["good", "emoji", "long"],
)
def test_a_service_s_text_is_the_answer(delivery: Delivery, behaviour: Behaviour, text: str | None) -> None:
    with chat_server(behaviour) as server:
        found = delivery.answer(
            QUESTION, b'["Grad C: It leaks."]', OPENROUTER_BASE_URL=server.address, OPENROUTER_API_KEY="k1"
        )
    assert len(server.requests) == 1
    assert found == text or (text is None and found.endswith("leaks badly."))


@pytest.mark.parametrize("name", USELESS)
def test_a_useless_service_is_asked_twice_at_most(delivery: Delivery, name: str) -> None:
    with chat_server(USELESS[name]) as server:
        text = delivery.answer(QUESTION, b'["Grad C: It leaks."]', OPENROUTER_BASE_URL=server.address)
    assert text == "Grad C: It leaks."
    assert 1 <= len(server.requests) <= 2


def test_the_scripts_of_a_checkout_do_the_same(index: Path, tmp_path: Path) -> None:
    scripts = Path(__file__).parents[2] / "app" / "meetings"
    environment = {**os.environ, "HYBRIDRANK_PYTHON": sys.executable}
    for script, arguments in (
        ("run.sh", ["--index", index, "--question", QUESTION, "--output", tmp_path / "found.json"]),
        (
            "answer.sh",
            ["--question", QUESTION, "--memories", tmp_path / "found.json", "--output", tmp_path / "a.txt"],
        ),
    ):
        subprocess.run([scripts / script, *map(str, arguments)], env=environment, check=True)
    assert json.loads((tmp_path / "found.json").read_bytes()) == Index.open(index).search(QUESTION, 10)
    assert (tmp_path / "a.txt").read_text(encoding="utf-8").strip()
