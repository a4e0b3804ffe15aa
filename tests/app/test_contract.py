"""The contract, tried for real: the assembled scripts, run by nobody, with nothing installed."""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from hybridrank.tasks.finance import FinanceIndex
from hybridrank.tasks.finance.run import row
from tests.app.stage import Stage, rows, tree

PROBE = """
import importlib.util, json, os, sys
print(json.dumps({
    "variables": sorted(os.environ),
    "packages": [name for name in sys.argv[1].split() if importlib.util.find_spec(name)],
    "writable": [name for name in sys.argv[2:] if os.access(name, os.W_OK)],
    "readable": [name for name in sys.argv[2:] if os.access(name, os.R_OK)],
}))
"""


@pytest.fixture
def nobody(stage: Stage) -> None:
    if not stage.unprivileged:
        pytest.skip("run by root, who may write everywhere: there is no Python here that another can run")


def many(sample_questions: Sequence[bytes], times: int) -> list[dict[str, Any]]:
    """The sample's questions several times, each with an id of its own."""
    return [
        json.loads(line) | {"query_id": f"{turn}-{number}"}
        for turn in range(times)
        for number, line in enumerate(sample_questions)
    ]


def wait_for_rows(process: subprocess.Popen[str], output: Path, n_rows: int) -> None:
    while process.poll() is None:
        if output.exists() and output.read_bytes().count(b"\n") >= n_rows:
            return
        time.sleep(0.005)
    raise AssertionError(f"it ended before row {n_rows}: {process.communicate()}")


# --- the machine


def test_the_stage_is_set_as_the_contract_says(stage: Stage, sample: Path, index: Path, nobody: None) -> None:
    places = [
        stage.code,
        *stage.code.rglob("*"),
        sample,
        sample / "reports.jsonl",
        index.parent,
        stage.closed,
    ]
    writable = [index, stage.root / "tmp", stage.root / "cache", stage.output().parent]
    ran = subprocess.run(
        [stage.python, "-c", PROBE, "numpy scipy Stemmer hybridrank pip", *places, *writable],
        env=stage.environment(),
        capture_output=True,
        text=True,
        check=True,
        **stage.identity,
    )
    found = json.loads(ran.stdout)
    assert found["packages"] == []
    assert found["writable"] == [str(place) for place in writable]
    assert found["readable"] == [str(place) for place in (*places, *writable)]
    assert set(found["variables"]) - {"LC_CTYPE"} == set(stage.environment())
    assert "HOME" not in found["variables"]


def test_the_scripts_answer_as_the_library_does(
    stage: Stage, index: Path, sample_questions: list[bytes], sample: Path
) -> None:
    library = FinanceIndex.open(index)
    questions = [json.loads(line) for line in sample_questions]
    wanted = [row(one["query_id"], library.spans(one["question"])) for one in questions]
    assert stage.answers(index, sample_questions) == wanted
    texts = {
        report["document_id"]: report["text"]
        for report in map(json.loads, (sample / "reports.jsonl").read_bytes().splitlines())
    }
    spans = [span for answer in wanted for span in answer["spans"]]
    assert len(spans) == 5 * len(questions)
    assert all(span["end"] <= len(texts[span["document_id"]]) for span in spans)


def test_processes_that_share_the_work_change_nothing(
    stage: Stage, sample: Path, index: Path, sample_questions: list[bytes]
) -> None:
    shared, output, queries = stage.index(), stage.output(), stage.questions(sample_questions)
    code, err = stage.call("build.sh", "--corpus", sample, "--index-dir", shared, "--workers", 2)
    assert (code, err.count("\n")) == (0, 1), err
    assert tree(shared) == tree(index)
    code, err = stage.call(*stage.run_arguments(index, queries, output), "--workers", 2)
    assert (code, err) == (0, f"{len(sample_questions)} rows written to {output}\n")
    assert rows(output) == stage.answers(index, sample_questions)


def test_paths_may_be_relative(stage: Stage, sample: Path, sample_questions: list[bytes]) -> None:
    index, output, queries = stage.index(), stage.output(), stage.questions(sample_questions)

    def relative(path: Path) -> Path:
        return Path(os.path.relpath(path, stage.root))

    assert stage.build(relative(sample), relative(index), cwd=stage.root)[0] == 0
    arguments = stage.run_arguments(relative(index), relative(queries), relative(output))
    assert stage.call(*arguments, cwd=stage.root)[0] == 0
    assert len(rows(output)) == len(sample_questions)


def test_nothing_is_left_outside_the_places_that_may_be_written(
    stage: Stage, sample: Path, sample_questions: list[bytes]
) -> None:
    def mine() -> set[str]:
        """What lies in the system's temporary directory and belongs to whoever runs the scripts."""
        found = set()
        for path in Path(tempfile.gettempdir()).iterdir():
            if not path.is_symlink() and path.exists() and path.stat().st_uid == stage.identity.get("user"):
                found.add(path.name)
        return found

    before, code = mine(), tree(stage.code)
    index, output = stage.index(), stage.output()
    assert stage.build(sample, index)[0] == 0
    assert stage.run(index, stage.questions(sample_questions), output)[0] == 0
    assert mine() == before
    assert tree(stage.code) == code
    assert [path.name for path in index.parent.iterdir()] == [index.name]
    assert [path.name for path in output.parent.iterdir()] == [output.name]
    assert list((stage.root / "tmp").iterdir()) == []
    assert list((stage.root / "cache").iterdir()) == []


def test_the_same_corpus_gives_the_same_index(stage: Stage, sample: Path, index: Path) -> None:
    again = stage.index()
    assert stage.build(sample, again)[0] == 0
    assert tree(again) == tree(index)


# --- several at once


def as_lines(questions: Sequence[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(one).encode("ascii") + b"\n" for one in questions)


def test_two_runs_at_once_on_one_index_give_the_same(
    stage: Stage, index: Path, sample_questions: list[bytes]
) -> None:
    questions = many(sample_questions, 4)
    outputs = [stage.output(), stage.output()]
    with stage.pipe("1.jsonl") as (one, to_one), stage.pipe("2.jsonl") as (two, to_two):
        processes = [
            stage.start(*stage.run_arguments(index, queries, output))
            for queries, output in zip((one, two), outputs, strict=True)
        ]
        for half in (questions[:10], questions[10:]):
            for pipe in (to_one, to_two):
                pipe.write(as_lines(half))
            for process, output in zip(processes, outputs, strict=True):
                wait_for_rows(process, output, 10)
    for process in processes:
        _, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
    assert outputs[0].read_bytes() == outputs[1].read_bytes()
    once = stage.answers(index, sample_questions)
    assert [one["spans"] for one in rows(outputs[0])] == [one["spans"] for one in once] * 4


def test_a_run_keeps_the_index_that_it_opened_while_another_is_built(
    stage: Stage, sample: Path, sample_questions: list[bytes]
) -> None:
    index, output, questions = stage.index(), stage.output(), many(sample_questions, 2)
    assert stage.build(sample, index)[0] == 0
    before = stage.answers(index, sample_questions)
    with stage.pipe("q.jsonl") as (queries, to_run):
        process = stage.start(*stage.run_arguments(index, queries, output))
        to_run.write(as_lines(questions[:2]))
        wait_for_rows(process, output, 2)
        new = stage.corpus([{"document_id": "new", "text": "Net sales of 2022."}])
        assert stage.build(new, index)[0] == 0
        to_run.write(as_lines(questions[2:]))
    process.communicate(timeout=300)
    assert process.returncode == 0
    assert [one["spans"] for one in rows(output)] == [one["spans"] for one in before] * 2
    after = stage.answers(index, sample_questions)
    assert {span["document_id"] for one in after for span in one["spans"]} == {"new"}


def test_of_two_builds_at_once_the_second_is_refused(stage: Stage, sample: Path) -> None:
    index = stage.index()
    with stage.pipe("reports.jsonl") as (reports, to_build):
        process = stage.start("build.sh", "--corpus", reports.parent, "--index-dir", index)
        to_build.write(b'{"document_id": "first", "text": "Net sales of 2022."}\n')
        while process.poll() is None and not list(index.glob("*.npy")):
            time.sleep(0.005)
        code, err = stage.build(sample, index)
        assert code == 2
        assert err.startswith(f"error: {index}: another ")
        assert err.endswith("Wait until it has finished.\n")
    _, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    (answer,) = stage.answers(index, [{"query_id": "q", "question": "sales"}])
    assert [span["document_id"] for span in answer["spans"]] == ["first"]


# --- a time limit strikes


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_run_that_is_told_to_stop_leaves_whole_rows(
    stage: Stage, index: Path, sample_questions: list[bytes], number: signal.Signals, code: int
) -> None:
    questions = many(sample_questions, 125)
    output = stage.output()
    process = stage.start(*stage.run_arguments(index, stage.questions(questions), output))
    wait_for_rows(process, output, 3)
    process.send_signal(number)
    _, err = process.communicate(timeout=300)
    done = rows(output)
    assert process.returncode == code
    assert err == f"{len(done)} rows written to {output}, stopped early by {number.name}\n"
    assert 3 <= len(done) < len(questions)
    assert [one["query_id"] for one in done] == [one["query_id"] for one in questions[: len(done)]]


@pytest.mark.parametrize("seed", range(4))
def test_a_run_that_is_killed_leaves_whole_rows(
    stage: Stage, index: Path, sample_questions: list[bytes], seed: int
) -> None:
    questions = many(sample_questions, 125)
    output = stage.output()
    process = stage.start(*stage.run_arguments(index, stage.questions(questions), output))
    wait_for_rows(process, output, random.Random(seed).randrange(1, 300))
    process.kill()
    process.communicate()
    done = rows(output)
    assert process.returncode == -signal.SIGKILL
    assert [one["query_id"] for one in done] == [one["query_id"] for one in questions[: len(done)]]
    assert 0 < len(done) < len(questions)


# --- what cannot be written or used


def test_an_output_that_may_not_be_written_is_named(
    stage: Stage, index: Path, sample_questions: list[bytes], nobody: None
) -> None:
    queries = stage.questions(sample_questions)
    code, err = stage.run(index, queries, stage.closed / "results.jsonl")
    assert (code, err) == (
        2,
        f"error: {stage.closed / 'results.jsonl'}: cannot be written (Permission denied). "
        "Choose a file that you may write, on a disk with room.\n",
    )


def test_a_full_disk_leaves_whole_rows(stage: Stage, index: Path, sample_questions: list[bytes]) -> None:
    output = stage.output()
    whole = stage.answers(index, sample_questions)
    code, err = stage.run(
        index,
        stage.questions(sample_questions),
        output,
        limit=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000)),
    )
    assert code == 2
    assert err.startswith(f"error: {output}: cannot be written (File too large). Choose ")
    done = rows(output)
    assert 0 < len(done) < len(whole)
    assert done == whole[: len(done)]


def test_a_build_on_a_full_disk_leaves_the_old_index(stage: Stage, sample: Path) -> None:
    index = stage.index()
    assert stage.build(sample, index)[0] == 0
    before = tree(index)
    code, err = stage.build(
        sample, index, limit=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
    )
    assert code == 2
    assert err.startswith(f"error: {index}: the index could not be written (File too large). Make room")
    assert tree(index) == before


def test_an_index_directory_that_may_not_be_written_is_named(
    stage: Stage, sample: Path, nobody: None
) -> None:
    code, err = stage.build(sample, stage.closed / "no index")
    assert (code, err) == (
        2,
        f"error: {stage.closed / 'no index'}: an index cannot be written here (Permission denied). "
        "Choose a directory that you may write to.\n",
    )


def test_a_read_only_index_can_be_asked(
    stage: Stage, sample: Path, index: Path, sample_questions: list[bytes]
) -> None:
    other = stage.index()
    assert stage.build(sample, other)[0] == 0
    for path in [*other.iterdir(), other]:
        path.chmod(path.stat().st_mode & 0o555)
    assert stage.answers(other, sample_questions) == stage.answers(index, sample_questions)


def test_what_is_no_index_is_refused(stage: Stage, sample: Path, sample_questions: list[bytes]) -> None:
    queries, output = stage.questions(sample_questions), stage.output()
    empty = stage.index()
    code, err = stage.run(empty, queries, output)
    assert (code, err) == (
        2,
        f"error: {empty}: there is no index here. Build an index there first, or correct the path.\n",
    )
    assert stage.build(sample, empty)[0] == 0
    largest = max(empty.iterdir(), key=lambda path: path.stat().st_size)
    os.truncate(largest, 1000)
    code, err = stage.run(empty, queries, output)
    assert code == 2
    assert f"{largest.name} is truncated" in err
    assert err.endswith("Build the index again.\n")
    assert not output.exists()
