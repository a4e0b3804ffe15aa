import sys

import pytest

import hybridrank.jina
from hybridrank.lazy import lazy_names


def test_a_name_is_imported_once_and_then_stands_in_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    namespace = vars(sys.modules["hybridrank.jina"])
    monkeypatch.delitem(namespace, "Limits", raising=False)
    get, names = lazy_names("hybridrank.jina", {"Limits": "jobs"})
    assert "Limits" not in namespace
    assert "Limits" in names()
    assert get("Limits") is namespace["Limits"] is hybridrank.jina.Limits


def test_an_unknown_name_is_no_attribute() -> None:
    get, _ = lazy_names("hybridrank.jina", {"Limits": "jobs"})
    with pytest.raises(AttributeError, match=r"module 'hybridrank\.jina' has no attribute 'jobs'"):
        get("jobs")
