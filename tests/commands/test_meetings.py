from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from hybridrank.tasks.meetings.memory import Memory
from tests.command_line import DATA, says, says_in_json

HISTORY = DATA / "meetings" / "history.jsonl"
QUESTION = "What was decided about the humidity sensors?"


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from hybridrank.cli import main

    path = tmp_path_factory.mktemp("memory") / "memory.json"
    arguments = ["meetings", "remember", "--history", str(HISTORY), "--output", str(path)]
    assert main([*arguments, "--max-bytes", "6000", "--provenance", str(path.with_name("from.json"))]) == 0
    return path


@pytest.fixture(scope="module")
def index(memory: Path) -> Path:
    from hybridrank.cli import main

    path = memory.with_name("index")
    assert main(["meetings", "build", "--memory", str(memory), "--output", str(path)]) == 0
    return path


def test_a_memory_is_made_with_its_provenance(memory: Path) -> None:
    text = memory.read_text(encoding="utf-8")
    assert len(text.encode("utf-8")) <= 6_000
    notes = json.loads(memory.with_name("from.json").read_text(encoding="utf-8"))
    assert all(note.keys() == {"text", "meeting_id", "turns"} for note in notes)
    assert {note["text"] for note in notes} == {source for source in Memory.from_json(text).notes}


def test_it_says_what_it_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--history", HISTORY, "--output", tmp_path / "m.json", "--max-bytes", 3_000]
    code, out, err = says(capsys, ["meetings", "remember", *arguments])
    assert (code, out) == (0, "")
    assert " notes of 6 meetings, " in err


def test_a_history_of_other_fields_is_read_as_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    renamed = HISTORY.read_text(encoding="utf-8").replace('"meeting_id"', '"id"').replace('"text"', '"said"')
    (tmp_path / "h.jsonl").write_text(renamed, encoding="utf-8")
    arguments = ["meetings", "remember", "--history", tmp_path / "h.jsonl", "--max-bytes", 3_000]
    code, _, err = says(capsys, [*arguments, "--output", tmp_path / "a.json"])
    assert code == 2
    assert "line 1: no 'meeting_id'; the fields found are 'id', 'turns'" in err
    fields = ["--field", "meeting_id=id", "--field", "text=said"]
    assert says(capsys, [*arguments, *fields, "--output", tmp_path / "a.json"])[0] == 0
    assert (
        says(
            capsys,
            [
                "meetings",
                "remember",
                "--history",
                HISTORY,
                "--max-bytes",
                3_000,
                "--output",
                tmp_path / "b.json",
            ],
        )[0]
        == 0
    )
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


@pytest.mark.parametrize("field", ["text", "text=", "words=said"])
def test_a_field_that_names_none_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], field: str
) -> None:
    arguments = ["--history", HISTORY, "--output", tmp_path / "m.json", "--field", field]
    code, _, err = says(capsys, ["meetings", "remember", *arguments])
    assert code == 2
    assert "one of meeting_id, turns, speaker, text" in err


def test_the_four_files_are_assembled(
    memory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["meetings", "assemble", "--memory", memory, "--output", tmp_path / "app"]
    code, out, err = says(capsys, arguments)
    assert (code, out, err) == (0, "", f"assembled in {tmp_path / 'app'}\n")
    assert {path.name for path in (tmp_path / "app").iterdir()} == {
        "memory.json",
        "build.sh",
        "run.sh",
        "answer.sh",
    }


def test_notes_and_answers_are_shown_or_written(
    index: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["meetings", "recall", "--index", index, "--question", QUESTION]
    code, shown, _ = says(capsys, asked)
    assert code == 0
    assert shown.startswith("1. ")
    assert says(capsys, [*asked, "--output", tmp_path / "found.json"]) == (0, "", "")
    notes = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    assert [" ".join(note.split()) for note in notes] == [
        line.split(" ", 1)[1] for line in shown.splitlines()
    ]
    answer = ["meetings", "answer", "--question", QUESTION, "--memories", tmp_path / "found.json"]
    code, shown, _ = says(capsys, answer)
    assert (code, bool(shown.strip())) == (0, True)
    assert says(capsys, [*answer, "--output", tmp_path / "answer.txt"]) == (0, "", "")
    assert (tmp_path / "answer.txt").read_text(encoding="utf-8") == shown


def test_a_question_may_begin_with_a_dash(index: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert says(capsys, ["meetings", "recall", "--index", index, "--question=-zzz"]) == (
        0,
        "",
        "nothing found\n",
    )


def test_the_demo_shows_questions_notes_and_answers(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = says(capsys, ["meetings", "demo", "--questions", 2])
    assert code == 0
    assert out.count("\nQ: ") == out.count("\nA: ") == 2
    assert "EvidenceHit@10" in out


@pytest.mark.parametrize("command", ["remember", "build"])
def test_a_place_that_cannot_be_written_is_named(
    memory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    (tmp_path / "file").touch()
    place = tmp_path / "file" / "there"
    given = ["--history", HISTORY] if command == "remember" else ["--memory", memory]
    code, _, err = says(capsys, ["meetings", command, *given, "--output", place])
    assert code == 2
    assert str(tmp_path / "file") in err


def test_neither_the_history_nor_the_memory_is_written_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    history = tmp_path / "history.jsonl"
    history.write_bytes(HISTORY.read_bytes())
    given = ["meetings", "remember", "--history", history, "--output"]
    code, _, err = says(capsys, [*given, history])
    assert code == 2
    assert "--output is the same file as --history" in err
    code, _, err = says(capsys, [*given, tmp_path / "m.json", "--provenance", tmp_path / "." / "m.json"])
    assert code == 2
    assert "--provenance is the same file as --output" in err
    assert history.read_bytes() == HISTORY.read_bytes()
    assert list(tmp_path.iterdir()) == [history]


def test_a_memory_without_notes_is_made_with_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    history = tmp_path / "history.jsonl"
    history.write_text('{"meeting_id": "m", "turns": [{"speaker": "A", "text": "Yeah ."}]}\n')
    arguments = ["--history", history, "--output", tmp_path / "m.json"]
    code, _, err = says(capsys, ["meetings", "remember", *arguments])
    assert code == 0
    assert "Nothing can be recalled from it" in err


def test_each_command_says_what_it_did_as_json(
    memory: Path, index: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def found(*arguments: object) -> dict[str, Any]:
        return says_in_json(capsys, ["meetings", *arguments])

    made = found("remember", "--history", HISTORY, "--max-bytes", 3_000, "--output", tmp_path / "m.json")
    text = (tmp_path / "m.json").read_text(encoding="utf-8")
    assert made == {
        "notes": len(Memory.from_json(text).notes),
        "meetings": 6,
        "bytes": len(text.encode("utf-8")),
        "output": str(tmp_path / "m.json"),
    }
    app = tmp_path / "app"
    assert found("assemble", "--memory", memory, "--output", app) == {"output": str(app)}
    built = found("build", "--memory", memory, "--output", tmp_path / "index")
    assert built == {"memory": str(memory), "output": str(tmp_path / "index")}
    recalled = found("recall", "--index", index, "--question", QUESTION, "--output", tmp_path / "notes.json")
    assert recalled["question"] == QUESTION
    assert recalled["notes"] == json.loads((tmp_path / "notes.json").read_text(encoding="utf-8")) != []
    answered = found("answer", "--question", QUESTION, "--memories", tmp_path / "notes.json")
    assert says(
        capsys, ["meetings", "answer", "--question", QUESTION, "--memories", tmp_path / "notes.json"]
    ) == (
        0,
        f"{answered['answer']}\n",
        "",
    )


def test_notes_go_down_a_pipe(
    index: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, notes, err = says(
        capsys, ["meetings", "recall", "--index", index, "--question", QUESTION, "--output", "-"]
    )
    assert (code, err) == (0, "")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(notes.encode())))
    code, out, err = says(
        capsys, ["meetings", "answer", "--question", QUESTION, "--memories", "-", "--output", "-"]
    )
    assert (code, bool(out.strip()), err) == (0, True, "")
