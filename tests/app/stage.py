"""Where the contract is tried: someone without rights, a bare Python, and directories that are read-only."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import IO, Any

NOBODY = 65534
AS_NOBODY: Mapping[str, Any] = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
TAG = "import sysconfig; print(sysconfig.get_config_var('SOABI'))"

Lines = Iterable[object]
"""Lines of a file: bytes as they are, anything else as JSON."""


@dataclass(frozen=True, kw_only=True)
class Stage:
    """The assembled directory, and whoever runs it.

    ``identity`` is what subprocess needs to know: nothing where the tests may not become someone else.
    """

    root: Path
    code: Path
    python: Path
    identity: Mapping[str, Any]
    names: Iterable[int] = field(default_factory=count)

    @property
    def unprivileged(self) -> bool:
        return bool(self.identity) or os.geteuid() != 0

    @property
    def closed(self) -> Path:
        """A directory that may not be written, not even by the one whose it is."""
        return self.root / "closed"

    def environment(self) -> dict[str, str]:
        """All that is set: no HOME, no LANG, no PYTHONPATH."""
        return {
            "PATH": os.defpath,
            "TMPDIR": str(self.root / "tmp"),
            "XDG_CACHE_HOME": str(self.root / "cache"),
            "HYBRIDRANK_PYTHON": str(self.python),
        }

    def start(
        self, script: str, *arguments: object, limit: Callable[[], None] | None = None, cwd: str | Path = "/"
    ) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [str(self.code / script), *map(str, arguments)],
            env=self.environment(),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            preexec_fn=limit,
            **self.identity,
        )

    def call(self, script: str, *arguments: object, **options: Any) -> tuple[int, str]:
        """The exit code, and what was said on standard error; standard output stays empty."""
        process = self.start(script, *arguments, **options)
        out, err = process.communicate(timeout=300)
        assert out == ""
        assert "Traceback" not in err
        return process.returncode, err

    def build(self, corpus: Path, index: Path, **options: Any) -> tuple[int, str]:
        return self.call("build.sh", "--corpus", corpus, "--index-dir", index, **options)

    def run(self, index: Path, queries: Path, output: Path, **options: Any) -> tuple[int, str]:
        return self.call(*self.run_arguments(index, queries, output), **options)

    def run_arguments(self, index: Path, queries: Path, output: Path) -> tuple[str, ...]:
        given = ("--index-dir", index, "--queries", queries, "--output", output)
        return ("run.sh", *map(str, given))

    def answers(self, index: Path, lines: Lines) -> list[dict[str, Any]]:
        """The rows that questions get; all is well."""
        output = self.output()
        code, err = self.run(index, self.questions(lines), output)
        assert code == 0, err
        return rows(output)

    def corpus(self, lines: Lines, *, ending: bytes = b"\n") -> Path:
        """A new directory with reports, which nobody may write."""
        directory = self._new("a corpus")
        self._write(directory / "reports.jsonl", lines, ending)
        directory.chmod(0o555)
        return directory

    def questions(self, lines: Lines, *, ending: bytes = b"\n") -> Path:
        """A new file with questions, which nobody may write."""
        directory = self._new("questions")
        self._write(directory / "questions.jsonl", lines, ending)
        directory.chmod(0o555)
        return directory / "questions.jsonl"

    def index(self) -> Path:
        """A new directory that may be written, in one that may not."""
        parent = self._new("holds an index")
        self._give(parent / "the index")
        parent.chmod(0o555)
        return parent / "the index"

    def output(self) -> Path:
        """The path of a file that is not there yet, in a new directory that may be written."""
        directory = self.root / f"output {next(iter(self.names))}"
        self._give(directory)
        return directory / "results.jsonl"

    @contextmanager
    def pipe(self, name: str) -> Iterator[tuple[Path, IO[bytes]]]:
        """A new directory with a named pipe for a file, whose reader waits for more until it is closed."""
        directory = self._new("a pipe")
        os.mkfifo(directory / name)
        (directory / name).chmod(0o644)
        with (directory / name).open("r+b", buffering=0) as file:
            yield directory / name, file

    def _new(self, name: str) -> Path:
        directory = self.root / f"{name} {next(iter(self.names))}"
        directory.mkdir()
        return directory

    def _give(self, directory: Path) -> None:
        directory.mkdir()
        if self.identity:
            os.chown(directory, NOBODY, NOBODY)

    def _write(self, path: Path, lines: Lines, ending: bytes) -> None:
        path.write_bytes(
            ending.join(
                line if isinstance(line, bytes) else json.dumps(line).encode("ascii") for line in lines
            )
        )
        path.chmod(0o444)


def rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a results file, of which each must be whole and in the contract's form."""
    content = path.read_bytes()
    assert content.endswith(b"\n") or not content
    found = [json.loads(line) for line in content.splitlines()]
    for row in found:
        assert list(row) == ["query_id", "spans"]
        assert len(row["spans"]) <= 5
        for span in row["spans"]:
            assert list(span) == ["document_id", "start", "end"]
            assert type(span["start"]) is type(span["end"]) is int
            assert 0 <= span["start"] < span["end"] <= span["start"] + 512
    return found


def tree(directory: Path) -> dict[str, bytes]:
    return {
        path.relative_to(directory).as_posix(): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file()
    }


def prepare(root: Path) -> tuple[Path, Mapping[str, Any]]:
    """A Python without packages in ``root``, and who shall run it: nobody, if it can be arranged."""
    identities = [AS_NOBODY, {}] if os.geteuid() == 0 else [{}]
    names = (f"python{sys.version_info[0]}.{sys.version_info[1]}", "python3")
    found = [shutil.which(name, path=os.defpath) for name in names]
    bases = [getattr(sys, "_base_executable", sys.executable), *(path for path in found if path)]
    for identity in identities:
        for base in bases:
            python = root / "bare" / "bin" / "python"
            subprocess.run([base, "-m", "venv", "--clear", "--without-pip", root / "bare"], check=True)
            if _says([str(python), "-I", "-c", TAG], identity) == sysconfig.get_config_var("SOABI"):
                return python, identity
    raise AssertionError(f"none of {bases} runs")


def _says(command: Sequence[str], identity: Mapping[str, Any]) -> str:
    try:
        ran = subprocess.run(command, cwd="/", env={}, capture_output=True, check=True, **identity)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return os.fsdecode(ran.stdout).strip()
