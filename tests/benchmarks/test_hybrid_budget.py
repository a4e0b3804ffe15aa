import json
from pathlib import Path

import pytest

from benchmarks.budget_pools import Pool, add_noisy_labels, read_pools
from benchmarks.hybrid_budget import SHARES, WAYS, main, spend
from hybridrank.planner import Planner
from hybridrank.tasks.finance.datasets import sample_sets

PLANNER = Planner(depth=40)


@pytest.fixture(scope="module")
def pools(tmp_path_factory: pytest.TempPathFactory) -> list[Pool]:
    found = read_pools(sample_sets()[0], tmp_path_factory.mktemp("work"), lambda message: None)
    add_noisy_labels(found)
    return found


@pytest.mark.parametrize("way", WAYS)
def test_no_way_spends_more_than_its_share(pools: list[Pool], way: str) -> None:
    full = sum(PLANNER.prospect(pool.ranking).tokens[-1] for pool in pools)
    before = [pool.quality(pool.ranking) for pool in pools]
    assert spend(way, pools, "labels±0.5", 0.0, PLANNER) == (before, 0)
    for share in SHARES:
        quality, tokens = spend(way, pools, "labels±0.5", share, PLANNER)
        assert 0 < tokens <= share * full
        assert sum(quality) >= sum(before)
        assert spend(way, pools, "labels±0.5", share, PLANNER) == (quality, tokens)


def test_with_the_full_budget_each_way_gives_the_same(pools: list[Pool]) -> None:
    found = {way: spend(way, pools, "labels±0.5", 1.0, PLANNER)[0] for way in WAYS}
    assert found["first come"] == found["uniform"]
    assert sum(found["planned"]) == pytest.approx(sum(found["uniform"]))


def test_what_was_measured_is_shown_written_and_drawn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    rows, plot = tmp_path / "rows.json", tmp_path / "curves.png"
    assert main(["--smoke", "--json", str(rows), "--plot", str(plot)]) == 0
    printed = capsys.readouterr().out
    assert all(way in printed for way in WAYS)
    measured = json.loads(rows.read_text())
    assert len(measured) == 3 * len(WAYS) * (len(SHARES) + 2)
    assert all(row["spent"] <= row["share"] and 0 <= row["quality"] <= 1 for row in measured)
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_data_that_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--data", str(tmp_path)]) == 1
    assert "error: " in capsys.readouterr().err
