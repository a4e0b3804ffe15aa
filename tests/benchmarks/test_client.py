import json

import pytest

from benchmarks.client import main


def test_every_way_of_asking_is_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["client", "--calls", "10"])
    main()
    found = json.loads(capsys.readouterr().out)
    assert set(found["milliseconds"]) == {
        "httpx.Client",
        "JinaClient",
        "httpx.AsyncClient",
        "AsyncJinaClient",
    }
    assert set(found["overhead_milliseconds"]) == {"JinaClient", "AsyncJinaClient"}
    assert all(value > 0 for found in found["milliseconds"].values() for value in found.values())
