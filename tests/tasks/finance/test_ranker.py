from __future__ import annotations

import ctypes
import sys
from pathlib import Path

import numpy as np
import pytest

from hybridrank import ranking_model
from hybridrank.errors import HybridrankWarning, IndexForeign, IndexNotFound, MissingLibrary
from hybridrank.ranking_model import RankingModel
from hybridrank.tasks.finance import FinanceIndex
from hybridrank.tasks.finance.candidates import CandidateFinder, Weights
from hybridrank.tasks.finance.features import NAMES
from hybridrank.tasks.finance.ranker import DEPTH, SHIPPED, WINDOWS, EvidenceRanker, open_model

QUESTION = "What was the net income of Skerrivane Air in 2019, and what were its total assets?"


def toy_model(names: tuple[str, ...] = NAMES) -> RankingModel:
    """A model that goes by the first feature alone."""
    random = np.random.default_rng(0)
    features = random.random((400, len(names)))
    return RankingModel.train(features, (features[:, 0] > 0.5).astype(int), [40] * 10, names, rounds=5)


@pytest.fixture(scope="module")
def ranker(sample_index: FinanceIndex) -> EvidenceRanker:
    model = open_model(SHIPPED)
    assert model is not None
    return EvidenceRanker(CandidateFinder(sample_index.reports, Weights(depth=DEPTH)), model)


def test_the_shipped_model_knows_the_features() -> None:
    model = open_model(SHIPPED)
    assert model is not None
    assert model.names == NAMES
    assert model.training["queries"] > 0


def test_the_shipped_model_is_small(sample_folder: Path) -> None:
    files = sorted((sample_folder / "ranker").iterdir())
    assert [path.name.partition(".")[0] for path in files] == ["manifest", "model"]
    assert sum(path.stat().st_size for path in files) <= 1_000_000


def test_none_is_no_model() -> None:
    assert open_model(None) is None


def test_a_model_of_one_s_own_can_be_opened(tmp_path: Path) -> None:
    model = toy_model()
    model.save(tmp_path)
    features = np.random.default_rng(1).random((9, len(NAMES)))
    for place in (tmp_path, str(tmp_path)):
        opened = open_model(place)
        assert opened is not None
        assert opened.predict(features).tolist() == model.predict(features).tolist()


@pytest.mark.parametrize("names", [NAMES[:-1], (*NAMES, "more"), NAMES[::-1]])
def test_a_model_of_other_features_is_refused(tmp_path: Path, names: tuple[str, ...]) -> None:
    toy_model(names).save(tmp_path)
    with pytest.raises(IndexForeign, match="features"):
        open_model(tmp_path)


def test_where_there_is_no_model_that_is_said(tmp_path: Path) -> None:
    with pytest.raises(IndexNotFound):
        open_model(tmp_path)


# -- without LightGBM


def no_lightgbm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lightgbm", None)


def no_openmp(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where LightGBM is installed, and the library that it stands on is not."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "lightgbm"]:
        monkeypatch.delitem(sys.modules, name)

    def fail(name: str, *rest: object, **more: object) -> None:
        raise OSError("libgomp.so.1: cannot open shared object file: No such file or directory")

    monkeypatch.setattr(ctypes.cdll, "LoadLibrary", fail)


@pytest.mark.parametrize(
    ("without", "reason"), [(no_lightgbm, "pip install lightgbm"), (no_openmp, "libgomp1 on Debian")]
)
def test_without_lightgbm_the_shipped_model_is_done_without(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    sample_directory: Path,
    without: object,
    reason: str,
) -> None:
    toy_model().save(tmp_path)
    assert callable(without)
    without(monkeypatch)
    with pytest.warns(HybridrankWarning, match=f"^spans are ranked without the learned model: .*{reason}"):
        assert open_model(SHIPPED) is None
    with pytest.warns(HybridrankWarning, match="without the learned model"):
        index = FinanceIndex.open(sample_directory)
    assert index.spans(QUESTION) == FinanceIndex.open(sample_directory, model=None).spans(QUESTION) != []
    with pytest.raises(MissingLibrary, match=reason):  # one that was asked for by name is no extra
        open_model(tmp_path)


def test_lightgbm_is_there_again() -> None:
    """So that the tests above leave no trace."""
    assert ranking_model._lightgbm() is sys.modules["lightgbm"]


# -- scores


def test_scores_are_the_model_s_of_the_features(ranker: EvidenceRanker) -> None:
    found = ranker.features.finder.find(QUESTION)
    assert found is not None
    found = found.best(WINDOWS)
    features = ranker.features.compute(found)
    scores = ranker.score(features)
    assert scores.shape == (len(found),)
    assert scores.tolist() == ranker.model.predict(features).tolist()


def test_pulls_sum_to_the_score_less_what_all_have_alike(ranker: EvidenceRanker) -> None:
    found = ranker.features.finder.find(QUESTION)
    assert found is not None
    places = [0, 7, len(found) - 1, 7]
    features = ranker.features.compute(found)
    scores = ranker.score(features)
    alike = ranker.model.contributions(features[:1])[0, -1]
    pulls = ranker.pulls(features, places)
    assert len(pulls) == len(places)
    assert pulls[1] == pulls[3]
    for place, pull in zip(places, pulls, strict=True):
        assert set(pull) == set(NAMES)
        assert sum(pull.values()) == pytest.approx(scores[place] - alike, abs=1e-6)
        sizes = [abs(given) for given in pull.values()]
        assert sizes == sorted(sizes, reverse=True)
    assert ranker.pulls(features, []) == []


def test_a_feature_pulls_where_the_model_goes_by_it(sample_index: FinanceIndex) -> None:
    ranker = EvidenceRanker(sample_index.finder, toy_model())
    found = sample_index.finder.find(QUESTION)
    assert found is not None
    (pull,) = ranker.pulls(ranker.features.compute(found), [int(np.argmax(found.score))])
    assert next(iter(pull)) == NAMES[0]
    assert pull[NAMES[0]] > 0
