from __future__ import annotations

import io
import json
import multiprocessing
import os
import signal
import threading
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, cast
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybridrank.errors import InputError
from hybridrank.records import Span
from hybridrank.tasks.finance import FinanceIndex, build
from hybridrank.tasks.finance.neural import NeuralSignals
from hybridrank.tasks.finance.ranker import SHIPPED
from hybridrank.tasks.finance.run import RunReport, _Rows, row, run


class Stub:
    """Stands for an index: fails on "fail", and asks its own process to end on "end" and "interrupt"."""

    def spans(self, question: str) -> list[Span]:
        if question == "fail":
            raise ZeroDivisionError("on purpose")
        if question in ("end", "interrupt"):
            os.kill(os.getpid(), signal.SIGTERM if question == "end" else signal.SIGINT)
        return [Span(document_id=question or "nothing", start=0, end=9)]


STUB = cast(FinanceIndex, Stub())


def write_questions(path: Path, questions: Sequence[str]) -> Path:
    lines = [json.dumps({"query_id": f"q{n}", "question": text}) for n, text in enumerate(questions, start=1)]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="ascii")
    return path


def rows(path: Path) -> list[dict[str, Any]]:
    content = path.read_bytes()
    assert content.endswith(b"\n") or not content
    return [json.loads(line) for line in content.splitlines()]


def test_each_question_gets_the_spans_that_the_index_gives(
    sample_index: FinanceIndex, sample_folder: Path, tmp_path: Path
) -> None:
    done = run(sample_index, sample_folder / "questions.jsonl", tmp_path / "out.jsonl")
    questions = [json.loads(line) for line in (sample_folder / "questions.jsonl").read_bytes().splitlines()]
    assert rows(tmp_path / "out.jsonl") == [
        row(question["query_id"], sample_index.spans(question["question"])) for question in questions
    ]
    assert done == RunReport(rows=len(questions), problems=0, failed=0, stopped=0)


def test_a_row_has_exactly_the_contract_s_keys(tmp_path: Path) -> None:
    run(STUB, write_questions(tmp_path / "q.jsonl", ["abc"]), tmp_path / "out.jsonl")
    assert (tmp_path / "out.jsonl").read_text(encoding="ascii") == (
        '{"query_id": "q1", "spans": [{"document_id": "abc", "start": 0, "end": 9}]}\n'
    )


def test_a_question_on_which_the_search_fails_costs_its_own_spans_only(tmp_path: Path) -> None:
    told: list[str] = []
    queries = write_questions(tmp_path / "q.jsonl", ["a", "fail", "b"])
    done = run(STUB, queries, tmp_path / "out.jsonl", complain=told.append)
    assert [(one["query_id"], len(one["spans"])) for one in rows(tmp_path / "out.jsonl")] == [
        ("q1", 1),
        ("q2", 0),
        ("q3", 1),
    ]
    assert done == RunReport(rows=3, problems=0, failed=1, stopped=0)
    assert told == ["no spans for 'q2': ZeroDivisionError('on purpose')"]


def test_a_line_that_gives_no_question_is_named_and_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    queries = write_questions(tmp_path / "q.jsonl", ["a"])
    with queries.open("ab") as file:
        file.write(
            b'{"query_id": "q1", "question": "again"}\n\nnonsense\n{"query_id": "q2", "question": "b"}'
        )
    done = run(STUB, queries, tmp_path / "out.jsonl")
    assert [(one["query_id"], one["spans"][0]["document_id"]) for one in rows(tmp_path / "out.jsonl")] == [
        ("q1", "a"),
        ("q2", "b"),
    ]
    assert done == RunReport(rows=2, problems=2, failed=0, stopped=0)
    complaints = capsys.readouterr().err.splitlines()
    assert [line.split(": ")[:2] for line in complaints] == [
        ["skipped", f"{queries}, line 2"],
        ["skipped", f"{queries}, line 4"],
    ]


def test_progress_counts_lines(tmp_path: Path) -> None:
    seen: list[int] = []
    queries = write_questions(tmp_path / "q.jsonl", ["a", "fail", "b"])
    queries.write_bytes(b"nonsense\n" + queries.read_bytes())
    run(STUB, queries, tmp_path / "out.jsonl", progress=seen.append, complain=lambda message: None)
    assert seen == [1, 2, 3, 4]


def test_rows_are_on_the_disk_as_soon_as_they_are_done(tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    on_disk: list[int] = []
    run(
        STUB,
        write_questions(tmp_path / "q.jsonl", ["a", "b", "c"]),
        output,
        progress=lambda done: on_disk.append(len(rows(output))),
    )
    assert on_disk == [1, 2, 3]


@pytest.mark.parametrize(("question", "number"), [("end", signal.SIGTERM), ("interrupt", signal.SIGINT)])
def test_a_signal_ends_the_run_after_the_row_at_hand(tmp_path: Path, question: str, number: int) -> None:
    before = [signal.getsignal(one) for one in (signal.SIGTERM, signal.SIGINT)]
    queries = write_questions(tmp_path / "q.jsonl", ["a", question, "b", "c"])
    done = run(STUB, queries, tmp_path / "out.jsonl")
    assert [one["query_id"] for one in rows(tmp_path / "out.jsonl")] == ["q1", "q2"]
    assert done == RunReport(rows=2, problems=0, failed=0, stopped=number)
    assert [signal.getsignal(one) for one in (signal.SIGTERM, signal.SIGINT)] == before


# -- shared among processes


@pytest.fixture
def many_questions(sample_folder: Path, tmp_path: Path) -> Path:
    """The sample's questions, and among them lines that give none."""
    lines = (sample_folder / "questions.jsonl").read_bytes().splitlines(keepends=True)
    path = tmp_path / "many.jsonl"
    path.write_bytes(b"".join([*lines[:7], b"nonsense\n", *lines[7:12], lines[3], *lines[12:]]))
    return path


def answers(index: FinanceIndex, queries: Path, output: Path, **options: Any) -> tuple[bytes, list[str]]:
    told: list[str] = []
    done = run(index, queries, output, complain=told.append, **options)
    assert (done.problems, done.failed) == (2, 0)
    return output.read_bytes(), told


@pytest.mark.parametrize("model", [SHIPPED, None])
def test_processes_answer_as_one_does_in_the_same_order(
    sample_directory: Path, many_questions: Path, tmp_path: Path, model: str | None
) -> None:
    index = FinanceIndex.open(sample_directory, model=model)
    one = answers(index, many_questions, tmp_path / "one.jsonl")
    assert len(one[1]) == 2
    seen: list[int] = []
    several = answers(index, many_questions, tmp_path / "n.jsonl", workers=2, progress=seen.append)
    assert several == one
    assert seen == list(range(1, len(seen) + 1))
    assert multiprocessing.active_children() == []


def test_a_process_that_finds_another_index_is_done_without(
    sample_folder: Path, many_questions: Path, tmp_path: Path
) -> None:
    build(sample_folder, tmp_path / "index")
    index = FinanceIndex.open(tmp_path / "index")
    one, told = answers(index, many_questions, tmp_path / "one.jsonl")
    (tmp_path / "reports.jsonl").write_text('{"document_id": "new", "text": "Net sales."}', encoding="ascii")
    build(tmp_path, tmp_path / "index")
    several, told_now = answers(index, many_questions, tmp_path / "n.jsonl", workers=2)
    assert several == one
    assert len(told_now) == len(told) + 1
    assert "another index was built here meanwhile" in told_now[0]


def test_a_signal_ends_a_shared_run_after_the_row_at_hand(
    sample_index: FinanceIndex, sample_folder: Path, tmp_path: Path
) -> None:
    def stop(done: int) -> None:
        if done == 3:
            os.kill(os.getpid(), signal.SIGTERM)

    queries = sample_folder / "questions.jsonl"
    done = run(sample_index, queries, tmp_path / "out.jsonl", workers=2, progress=stop)
    assert len(rows(tmp_path / "out.jsonl")) == 3
    assert done == RunReport(rows=3, problems=0, failed=0, stopped=signal.SIGTERM)
    assert multiprocessing.active_children() == []


class Silent:
    """A service that would have to be paid."""

    def rerank(self, query: str, documents: Sequence[str], **_: Any) -> Any:
        raise InputError("nothing to say")


@pytest.mark.parametrize("given", ["services", "a pipe", "an index of one's own"])
def test_what_is_to_be_done_in_one_process_is(
    sample_directory: Path, sample_folder: Path, tmp_path: Path, given: str
) -> None:
    index = FinanceIndex.open(sample_directory)
    queries = sample_folder / "questions.jsonl"
    if given == "services":
        index.neural = NeuralSignals(scorer=Silent())
    elif given == "a pipe":
        os.mkfifo(tmp_path / "pipe")
        queries = tmp_path / "pipe"
        content = (sample_folder / "questions.jsonl").read_bytes()
        threading.Thread(target=queries.write_bytes, args=(content,)).start()
    else:
        index = FinanceIndex(index.reports)
    with mock.patch.object(ProcessPoolExecutor, "submit", side_effect=AssertionError):
        done = run(index, queries, tmp_path / "out.jsonl", workers=2)
    assert done.rows == len(rows(tmp_path / "out.jsonl")) > 30


def test_a_number_of_processes_that_cannot_be_leaves_the_output_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "out.jsonl").write_text("old", encoding="ascii")
    with pytest.raises(InputError, match="0 workers"):
        run(STUB, write_questions(tmp_path / "q.jsonl", ["a"]), tmp_path / "out.jsonl", workers=0)
    assert (tmp_path / "out.jsonl").read_text(encoding="ascii") == "old"


def test_a_thread_may_run_it(tmp_path: Path) -> None:
    done: list[RunReport] = []
    queries = write_questions(tmp_path / "q.jsonl", ["a", "b"])
    thread = threading.Thread(target=lambda: done.append(run(STUB, queries, tmp_path / "out.jsonl")))
    thread.start()
    thread.join()
    assert done == [RunReport(rows=2, problems=0, failed=0, stopped=0)]
    assert len(rows(tmp_path / "out.jsonl")) == 2


def test_an_old_output_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "out.jsonl").write_text("old\n" * 1000, encoding="ascii")
    run(STUB, write_questions(tmp_path / "q.jsonl", ["a"]), tmp_path / "out.jsonl")
    assert len(rows(tmp_path / "out.jsonl")) == 1


def test_questions_that_cannot_be_read_leave_the_output_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "out.jsonl").write_text("old", encoding="ascii")
    with pytest.raises(InputError, match=r"none\.jsonl: cannot be read \(No such file"):
        run(STUB, tmp_path / "none.jsonl", tmp_path / "out.jsonl")
    assert (tmp_path / "out.jsonl").read_text(encoding="ascii") == "old"


@pytest.mark.parametrize("name", ["q.jsonl", "link.jsonl"])
def test_the_questions_are_not_written_over(tmp_path: Path, name: str) -> None:
    queries = write_questions(tmp_path / "q.jsonl", ["a"])
    (tmp_path / "link.jsonl").symlink_to(queries)
    content = queries.read_bytes()
    with pytest.raises(InputError, match="is the file of questions too"):
        run(STUB, queries, tmp_path / name)
    assert queries.read_bytes() == content


def test_an_output_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    queries = write_questions(tmp_path / "q.jsonl", ["a"])
    with pytest.raises(InputError, match=r"out\.jsonl: cannot be written \(No such file or directory\)"):
        run(STUB, queries, tmp_path / "nowhere" / "out.jsonl")
    with pytest.raises(InputError, match=r"cannot be written \(Is a directory\)"):
        run(STUB, queries, tmp_path)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"/dev/full: cannot be written \(No space left on device\)"):
        run(STUB, write_questions(tmp_path / "q.jsonl", ["a"]), "/dev/full")


class NearlyFull(io.RawIOBase):
    """A file that takes ten bytes at a time, and no more than ``room`` in all."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.content = b""

    def write(self, data: Any) -> int:
        taken = bytes(data)[: min(10, self.room - len(self.content))]
        if not taken:
            raise OSError(28, "No space left on device")
        self.content += taken
        return len(taken)

    def truncate(self, size: int | None = None) -> int:
        self.content = self.content[:size]
        return len(self.content)


@given(st.integers(0, 200))
def test_a_row_that_does_not_fit_is_taken_back_whole(room: int) -> None:
    file = NearlyFull(room)
    output = _Rows(os.devnull)
    output._file.close()
    output._file = cast(Any, file)
    line = json.dumps(row("q", [])).encode() + b"\n"
    fitting = room // len(line)
    with output:
        for _ in range(fitting):
            output.add(row("q", []))
        with pytest.raises(InputError, match="No space left"):
            output.add(row("q", []))
    assert file.content == line * fitting


any_text = st.text(st.characters(exclude_categories=()))
words = [
    "net",
    "sales",
    "2022",
    "$",
    "1,234.5",
    "Corrimont",
    "LIFO",
    "10-K",
    "Q2",
    "漢字",
    "😀",
    "\0",
    "\ud800",
]
texts = any_text | st.lists(st.sampled_from(words)).map(" ".join)
names = st.text(st.sampled_from("ab😀\0\ud800"), max_size=2)
questions = st.builds(lambda name, text: {"query_id": name, "question": text}, names, texts)
no_questions = st.one_of(
    st.builds(lambda name: {"query_id": name}, names),
    st.builds(lambda name, text: {"query_id": name, "question": text}, st.integers(), texts),
    st.builds(lambda name, text: {"query_id": name, "question": text}, names, st.none()),
    st.sampled_from([[], 3, None, "x"]),
)
lines = st.one_of(
    questions.map(lambda value: (value, json.dumps(value).encode())),
    questions.map(
        lambda value: (value, json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    ).filter(lambda pair: b"?" not in pair[1]),
    no_questions.map(lambda value: (None, json.dumps(value).encode())),
    st.binary(max_size=9).map(lambda value: (None, value.replace(b"\n", b"") + b"{")),
)


@settings(max_examples=60)
@given(st.lists(lines, max_size=8), st.sampled_from([b"\n", b"\r\n", b"\n\n \n"]), st.booleans())
def test_a_bad_line_costs_no_other_its_row(
    sample_index: FinanceIndex,
    tmp_path_factory: pytest.TempPathFactory,
    given_lines: list[tuple[dict[str, Any] | None, bytes]],
    ending: bytes,
    ended: bool,
) -> None:
    place = tmp_path_factory.mktemp("run")
    (place / "q.jsonl").write_bytes(ending.join(line for _, line in given_lines) + (ending if ended else b""))
    wanted: dict[str, str] = {}
    for question, _ in given_lines:
        if question is not None:
            wanted.setdefault(question["query_id"], question["question"])
    told: list[str] = []
    done = run(sample_index, place / "q.jsonl", place / "out.jsonl", complain=told.append)
    assert rows(place / "out.jsonl") == [row(name, sample_index.spans(text)) for name, text in wanted.items()]
    assert (done.rows, done.problems, done.failed) == (len(wanted), len(given_lines) - len(wanted), 0)
    assert len(told) == done.problems
