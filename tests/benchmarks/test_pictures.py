import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.pictures import main, rows_of

PLAIN, UNLEARNED = {"EvidenceRecall@5": 0.4, "DocHit@5": 0.9}, {"EvidenceRecall@5": 0.6, "DocHit@5": 0.9}


def measured(**systems: Any) -> dict[str, Any]:
    return {"sets": [{"set": "one", "corpus": "small", "systems": systems}]}


STUDY = {"sets": {"small/one": {"learned": 0.8}, "small/two": {"learned": 0.1}}}


def test_a_row_holds_the_plain_the_unlearned_and_the_learned_quality() -> None:
    assert rows_of(measured(plain=PLAIN, unlearned=UNLEARNED), STUDY) == {"small/one": (0.4, 0.6, 0.8)}
    pages = {"PageHit@5": 0.1, "DocHit@5": 0.9}
    assert rows_of(measured(plain=pages, unlearned=pages), STUDY) == {"small/one": (0.1, 0.1, 0.8)}


def test_the_picture_is_written(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    for name, content in (("f.json", measured(plain=PLAIN, unlearned=UNLEARNED)), ("s.json", STUDY)):
        (tmp_path / name).write_text(json.dumps(content), encoding="utf-8")
    paths = [str(tmp_path / name) for name in ("f.json", "s.json", "p.png")]
    assert main(["--finance", paths[0], "--study", paths[1], "--output", paths[2]]) == 0
    assert Path(paths[2]).read_bytes().startswith(b"\x89PNG")


def test_files_without_a_common_set_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, content in (("f.json", measured(plain=PLAIN, hybridrank=PLAIN)), ("s.json", STUDY)):
        (tmp_path / name).write_text(json.dumps(content), encoding="utf-8")
    paths = [str(tmp_path / name) for name in ("f.json", "s.json", "p.png")]
    assert main(["--finance", paths[0], "--study", paths[1], "--output", paths[2]]) == 1
    assert "no set in common" in capsys.readouterr().err
