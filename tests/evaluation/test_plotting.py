import sys

import pytest

from hybridrank.errors import MissingExtra
from hybridrank.evaluation.plotting import pyplot_for_files


def test_plots_are_drawn_into_files() -> None:
    matplotlib = pytest.importorskip("matplotlib")
    pyplot = pyplot_for_files(extra="evaluate")
    assert pyplot is sys.modules["matplotlib.pyplot"]
    assert matplotlib.get_backend().lower() == "agg"


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match=r"hybridrank\[evaluate\]"):
        pyplot_for_files(extra="evaluate")
