import json
from pathlib import Path

import pytest

from benchmarks import scaling


def test_growth_is_measured_size_by_size(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["--passages", "150", "300", "--output", str(tmp_path), "--work", str(tmp_path)]
    assert scaling.main(command) == 0
    printed = capsys.readouterr().out
    measured = json.loads((tmp_path / "scaling.json").read_text())
    assert [row["passages"] for row in measured["sizes"]] == [150, 300]
    for row in measured["sizes"]:
        assert row["index_mebibytes"] > 0
        assert row["numpy_milliseconds"] > 0
        assert row["add_share"] > 0
    assert f"query time, numpy: passages ** {measured['exponents']['numpy']:.2f}" in printed
    assert [path.name for path in tmp_path.iterdir()] == ["scaling.json"]  # nothing is left of the work


def test_a_step_that_fails_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scaling, "STEPS", {"nothing": scaling.build})
    assert scaling.main(["--passages", "1", "--work", str(tmp_path)]) == 1
    assert "the step 'nothing' failed at 1 passages" in capsys.readouterr().err
