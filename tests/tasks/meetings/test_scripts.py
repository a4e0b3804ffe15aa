"""What the scripts do, in this process; as processes of their own they are tried in tests/app."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from hybridrank.tasks.meetings import neural, scripts
from hybridrank.tasks.meetings.answer import NOTHING
from hybridrank.tasks.meetings.memory import Memory
from hybridrank.tasks.meetings.recall import Index
from hybridrank.tasks.meetings.scripts import MOST_MEMORIES, answer, build, main, recall, write
from tests.chat_server import TEXT, chat_server, good, replies
from tests.tasks.meetings.sample import QUESTIONS

QUESTION = QUESTIONS[0].question


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory, sample_memory: Memory) -> Path:
    path = tmp_path_factory.mktemp("memory") / "memory.json"
    path.write_text(sample_memory.to_json(), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory, memory: Path) -> Path:
    path = tmp_path_factory.mktemp("index") / "index"
    build(str(memory), str(path), {})
    return path


def call(*arguments: object) -> int:
    return main([str(one) for one in arguments])


def test_the_three_commands_make_an_answer(memory: Path, tmp_path: Path) -> None:
    index, found, text = tmp_path / "index", tmp_path / "found.json", tmp_path / "answer.txt"
    assert call("build", "--memory", memory, "--output", index) == 0
    assert call("run", f"--index={index}", "--question", QUESTION, "--output", found) == 0
    assert call("answer", "--question", QUESTION, "--memories", found, "--output", text) == 0
    notes = json.loads(found.read_text(encoding="utf-8"))
    assert 0 < len(notes) <= MOST_MEMORIES == 10
    assert set(notes) <= set(Index.open(index).notes)
    answered = text.read_text(encoding="utf-8")
    assert answered.endswith("\n")
    assert 0 < len(answered) <= 2_000


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["build"], "--memory and --output must be given"),
        (["run", "--index", "i", "--output", "o"], "--question must be given"),
        (["run", "--index", "i", "--question"], "--question has no value"),
        (["run", "--index", "i", "--index", "j"], "--index is given twice"),
        (["run", "i"], "'i' is none of the options"),
        (["answer", "--index", "i"], "'--index' is none of the options"),
        (["build", "--memory=", "--output=o"], "--memory is empty"),
        (["build", "--memory", "/nowhere/m.json", "--output", "o"], "/nowhere/m.json: cannot be read"),
        (["run", "--index", "/nowhere", "--question", "q", "--output", "o"], "/nowhere"),
    ],
)
def test_what_cannot_be_used_is_said(
    arguments: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    err = capsys.readouterr().err
    assert err.startswith("error: ")
    assert reason in err


def test_a_memory_that_is_none_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for content in (b"\xff\xfe", b"{", b"7"):
        (tmp_path / "m.json").write_bytes(content)
        assert call("build", "--memory", tmp_path / "m.json", "--output", tmp_path / "i") == 2
        assert "m.json" in capsys.readouterr().err


@pytest.mark.parametrize(
    "question",
    ["", " ", "?!", "-k --help", "$(rm -rf /) `id`", "a\nb\0c", "🎉" * 50, "\udcff\ud800", "x " * 50_000],
)
def test_any_question_gets_a_list(index: Path, question: str) -> None:
    found = recall(str(index), question, {})
    assert set(found) <= set(Index.open(index).notes)
    assert len(found) == len(set(found)) <= 10


def test_a_search_that_fails_is_a_miss(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> list[str]:
        raise RuntimeError("odd")

    monkeypatch.setattr(Index, "search", fail)
    assert call("run", "--index", index, "--question", "q", "--output", tmp_path / "found.json") == 0
    assert json.loads((tmp_path / "found.json").read_bytes()) == []
    assert "nothing was recalled: RuntimeError('odd')" in capsys.readouterr().err


def test_services_are_asked_where_they_are_named(
    memory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[str] = []

    def made(notes: Sequence[str], service: neural.JinaService, **_: Any) -> neural.NoteVectors:
        asked.append(service.address)
        from array import array

        return neural.NoteVectors([array("f", [1.0]) for _ in notes], "m")

    def improve(question: str, index: Index, vectors: Any, *_: Any) -> Any:
        assert vectors is not None
        return [*index.search(question, neural.DEPTH)[::-1], *index.notes], ["a complaint"]

    monkeypatch.setattr(neural.NoteVectors, "made", made)
    monkeypatch.setattr(neural, "improve", improve)
    environ = {"JINA_BASE_URL": "http://host"}
    build(str(memory), str(tmp_path / "index"), environ)
    assert asked == ["http://host"]
    index = Index.open(tmp_path / "index")
    found = recall(str(tmp_path / "index"), QUESTION, environ)
    assert found == [*index.search(QUESTION, neural.DEPTH)[::-1], *index.notes][:10]
    assert "a complaint" in capsys.readouterr().err
    assert recall(str(tmp_path / "index"), QUESTION, {}) == index.search(QUESTION, 10)


@pytest.mark.parametrize(
    "environ",
    [{"JINA_BASE_URL": "nothing"}, {"JINA_API_KEY": "ü"}, {"JINA_API_KEY": " "}, {"JINA_BASE_URL": " "}],
)
def test_services_that_are_named_wrongly_change_nothing(
    memory: Path, index: Path, tmp_path: Path, environ: dict[str, str]
) -> None:
    build(str(memory), str(tmp_path / "index"), environ)
    assert recall(str(tmp_path / "index"), QUESTION, environ) == recall(str(index), QUESTION, {})


def test_a_service_that_fails_at_the_build_leaves_an_index(
    memory: Path, index: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with chat_server(replies(401, {"detail": "no"})) as server:
        build(str(memory), str(tmp_path / "index"), {"JINA_BASE_URL": server.address})
        assert "no vectors" in capsys.readouterr().err
        environ = {"JINA_BASE_URL": server.address}
        assert recall(str(tmp_path / "index"), QUESTION, environ)[:1] == recall(str(index), QUESTION, {})[:1]


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"[]", ""),
        (b'["", 7, null, {"text": "x"}]', "3 of 4 entries"),
        (b"{}", "no JSON list"),
        (b"null", "no JSON list"),
        (b"[", "not valid JSON"),
        (b"", "not valid JSON"),
        (b"\xff", "not UTF-8"),
        (b"[" * 100_000, "not valid JSON"),
        (None, "cannot be read"),
    ],
)
def test_odd_notes_get_an_answer_all_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes | None, complaint: str
) -> None:
    if content is not None:
        (tmp_path / "found.json").write_bytes(content)
    assert answer("Who?", str(tmp_path / "found.json"), {}) == NOTHING
    assert complaint in capsys.readouterr().err


def test_a_chat_service_is_asked_where_it_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "found.json").write_text('\ufeff["Grad C: The pump leaks."]', encoding="utf-8")
    memories = str(tmp_path / "found.json")
    with chat_server(replies(500, {}), good) as server:
        assert answer("Who?", memories, {"OPENROUTER_BASE_URL": server.address}) == TEXT
    assert "status 500" in capsys.readouterr().err
    assert answer("Who?", memories, {"OPENROUTER_BASE_URL": "gopher://x"}) == "Grad C: The pump leaks."
    assert "no service is asked" in capsys.readouterr().err


def test_a_file_is_written_whole_in_place_of_an_older_one(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("older and longer", encoding="utf-8")
    write(str(tmp_path / "out"), "new ü \ud800")
    assert (tmp_path / "out").read_text(encoding="utf-8") == "new ü ?"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_pipe_is_written_as_it_is(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with open(os.open(tmp_path / "pipe", os.O_RDWR), "rb", buffering=0) as pipe:
        write(str(tmp_path / "pipe"), "text")
        assert pipe.read(4) == b"text"


def test_where_nothing_can_be_made_beside_it_the_file_itself_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "replace", refuse)
    write(str(tmp_path / "out"), "text")
    assert (tmp_path / "out").read_text(encoding="utf-8") == "text"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_what_cannot_be_written_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "found.json").write_text("[]", encoding="utf-8")
    place = tmp_path / "no" / "folder" / "answer.txt"
    assert call("answer", "--question", "q", "--memories", tmp_path / "found.json", "--output", place) == 2
    assert f"{place}: cannot be written" in capsys.readouterr().err


def test_an_error_of_the_system_is_said(
    memory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Index, "save", full)
    assert call("build", "--memory", memory, "--output", tmp_path / "i") == 2
    assert capsys.readouterr().err == "error: build: No space left on device\n"


def test_nobody_need_listen(monkeypatch: pytest.MonkeyPatch) -> None:
    for listener in (None, io.StringIO()):
        if listener is not None:
            listener.close()
        monkeypatch.setattr(sys, "stderr", listener)
        scripts.complain("a word")


def test_an_answer_s_file_holds_two_thousand_characters_at_most(tmp_path: Path) -> None:
    found, text = tmp_path / "found.json", tmp_path / "answer.txt"
    found.write_text(json.dumps(["pump" * 2_000]), encoding="utf-8")
    assert call("answer", "--question", "pump?", "--memories", found, "--output", text) == 0
    assert len(text.read_text(encoding="utf-8")) == 2_000


def test_half_a_surrogate_pair_in_a_memory_is_kept(tmp_path: Path) -> None:
    memory, index, found = tmp_path / "memory.json", tmp_path / "index", tmp_path / "found.json"
    note = "A: The \ud800 pump leaks."
    memory.write_text(Memory([[note]]).to_json(), encoding="utf-8")
    assert call("build", "--memory", memory, "--output", index) == 0
    assert call("run", "--index", index, "--question", "pump?", "--output", found) == 0
    assert json.loads(found.read_text(encoding="utf-8")) == [note]


def test_what_was_found_stands_where_a_service_s_part_breaks(
    index: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def improve(*_: Any) -> Any:
        raise ZeroDivisionError

    monkeypatch.setattr(neural, "improve", improve)
    environ = {"JINA_BASE_URL": "http://127.0.0.1:9"}
    assert recall(str(index), QUESTION, environ) == recall(str(index), QUESTION, {})
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_vectors_that_cannot_be_written_leave_an_index(
    memory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def made(*_: Any, **__: Any) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(neural.NoteVectors, "made", made)
    build(str(memory), str(tmp_path / "index"), {"JINA_BASE_URL": "http://127.0.0.1:9"})
    assert recall(str(tmp_path / "index"), QUESTION, {})
    assert "No space left" in capsys.readouterr().err
