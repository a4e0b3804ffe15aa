from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.finance import main


def test_the_sample_is_measured_from_end_to_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--smoke", "--json", str(tmp_path / "found.json"), "--work", str(tmp_path / "work")]) == 0
    found = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    (sample,) = found["sets"]
    ours, plain = sample["systems"]["hybridrank"], sample["systems"]["plain"]
    assert sample["queries"] >= 30
    assert ours["invalid"] == plain["invalid"] == 0
    assert ours["EvidenceRecall@5"] >= plain["EvidenceRecall@5"] > 0.2
    assert [build["system"] for build in found["builds"]] == ["plain", "hybridrank"]
    printed = capsys.readouterr().out
    assert f"{ours['EvidenceRecall@5']:.3f}" in printed
    assert "…" not in printed, "a cell was cut"
    assert (tmp_path / "work" / "sample" / "sample.hybridrank.jsonl").exists()


def test_what_cannot_be_run_is_said_on_standard_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--data", str(tmp_path)]) == 1
    captured = capsys.readouterr()
    assert captured.err.startswith(f"error: {tmp_path}: no corpus-NAME/reports.jsonl below it")
    assert captured.out == ""


def test_a_set_that_fits_no_chosen_corpus_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def write(name: str, **row: object) -> None:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(row) + "\n", encoding="utf-8")

    write("corpus-one/reports.jsonl", document_id="a", text="revenue 12")
    for name, document in (("fits", "a"), ("strange", "b")):
        write(f"validation/{name}.queries.jsonl", query_id="q", question="revenue?")
        place = {"document_id": document, "start": 0, "end": 10}
        write(f"validation/{name}.labels.jsonl", query_id="q", units=[[place]])
    assert main(["--data", str(tmp_path)]) == 0
    captured = capsys.readouterr()
    assert "skipped strange: no chosen corpus holds all its labelled reports" in captured.err
    assert "fits" in captured.out


@pytest.mark.parametrize("arguments", [[], ["--smoke", "--data", "somewhere"]])
def test_data_is_either_given_or_the_sample(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert "--data" in capsys.readouterr().err
