from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.app import killed_builds

SAMPLE_REPORTS = 12
KILLS = 50


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_killed_build_leaves_the_old_index_or_none(sample_folder: Path, tmp_path: Path) -> None:
    lines = (sample_folder / "reports.jsonl").read_bytes().splitlines(keepends=True)
    for name, reports in (("all", lines), ("half", lines[: SAMPLE_REPORTS // 2])):
        (tmp_path / name).mkdir()
        (tmp_path / name / "reports.jsonl").write_bytes(b"".join(reports))
    ran = subprocess.run(
        [
            *(
                sys.executable,
                killed_builds.__file__,
                tmp_path / "all",
                tmp_path / "half",
                tmp_path / "index",
            ),
            *("--kills", str(KILLS), "--seed", "20"),
        ],
        # Threads that are not there cannot hold a lock when the process forks.
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        check=True,
    )
    said = json.loads(ran.stdout)
    assert sum(one["killed"] for one in said["found"]) == KILLS
    for one in said["found"]:
        # The new one only where the kill came after all was in place.
        old = {"IndexNotFound", "IndexIncomplete"} if one["before"] is None else {one["before"]}
        assert one["after"] in old | {one["new"]}, one
        assert one["killed"] or one["after"] == one["new"], one
    seen = Counter(
        "none" if one["before"] is None else "old"
        for one in said["found"]
        if one["killed"] and one["after"] != one["new"]
    )
    assert min(seen["none"], seen["old"]) > KILLS // 10, seen
    assert said["last"] == 0
    assert len(said["generations"]) == 1  # nothing is left of those that were killed
