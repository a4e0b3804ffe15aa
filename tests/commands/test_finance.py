from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hybridrank.tasks.finance import FinanceIndex
from tests.command_line import DATA, QUESTIONS, says, says_in_json


def test_each_command_says_what_it_did_as_json(
    reports: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def found(*arguments: object) -> dict[str, Any]:
        return says_in_json(capsys, ["finance", *arguments])

    built = found("build", "--corpus", DATA / "finance", "--index-dir", tmp_path / "index")
    assert (built["reports"], built["repeated"], built["index_dir"]) == (12, 0, str(tmp_path / "index"))
    assert built["blocks"] > 10
    monkeypatch.setattr(FinanceIndex, "spans", lambda self, question: [])
    run = ("run", "--index-dir", reports, "--queries", QUESTIONS, "--output", tmp_path / "spans.jsonl")
    assert found(*run) == {
        "rows": 32,
        "problems": 0,
        "failed": 0,
        "stopped": 0,
        "output": str(tmp_path / "spans.jsonl"),
    }
    monkeypatch.setattr("hybridrank.tasks.finance.assemble._NEEDED", ())
    monkeypatch.setattr("hybridrank.tasks.finance.assemble._SERVICES", ())
    assert found("assemble", "--output", tmp_path / "app") == {"output": str(tmp_path / "app")}


def test_a_corpus_that_is_not_there_is_told_by_whoever_reads_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = says(
        capsys, ["finance", "build", "--corpus", tmp_path / "none", "--index-dir", tmp_path / "i"]
    )
    assert (code, "cannot be read (No such file or directory)" in err) == (2, True)
