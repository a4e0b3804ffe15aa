import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from numpy.typing import NDArray

from hybridrank.errors import IndexCorrupt, IndexForeign, IndexNotFound, InputError, MissingLibrary
from hybridrank.ranking_model import RankingModel
from hybridrank.storage import IndexWriter

NAMES = ("exact", "rough", "noise", "flag")
N_QUERIES, PER_QUERY = 30, 10
SIZES = [PER_QUERY] * N_QUERIES


def examples(seed: int = 0) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Rows of which the first feature tells the grade, the second nearly, the others nothing."""
    random = np.random.default_rng(seed)
    exact = random.random(N_QUERIES * PER_QUERY)
    rough = exact + 0.2 * random.random(len(exact))
    features = np.stack([exact, rough, random.random(len(exact)), random.random(len(exact)) < 0.5], axis=1)
    return features.astype(np.float32), (exact > 0.8).astype(np.int64)


FEATURES, GRADES = examples()
MODEL = RankingModel.train(FEATURES, GRADES, SIZES, NAMES, rounds=20)
ROWS = npst.arrays(
    np.float32,
    st.tuples(st.integers(1, 6), st.just(len(NAMES))),
    elements=st.floats(-1, 2, width=32) | st.just(np.float32(np.nan)),
)


def share_in_order(model: RankingModel, features: NDArray[np.float32], grades: NDArray[np.int64]) -> float:
    """Of the pairs of a good and a bad row in a query, those that the model puts right."""
    scores = model.predict(features).reshape(-1, PER_QUERY)
    good = grades.reshape(-1, PER_QUERY)
    right = [
        float(one > other)
        for row, grade in zip(scores, good, strict=True)
        for one in row[grade == 1]
        for other in row[grade == 0]
    ]
    return float(np.mean(right))


def bytes_of(model: RankingModel, directory: Path) -> dict[str, bytes]:
    model.save(directory)
    return {path.name: path.read_bytes() for path in directory.iterdir() if path.name != "build.lock"}


# -- predicting


def test_what_was_learned_holds_for_new_rows() -> None:
    assert share_in_order(MODEL, *examples(seed=1)) > 0.95
    assert set(list(MODEL.importances())[:2]) == {"exact", "rough"}


@given(ROWS, st.data())
def test_a_row_is_scored_by_itself(rows: NDArray[np.float32], data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(rows))))
    scores = MODEL.predict(rows)
    assert scores.dtype == np.float64
    assert scores.shape == (len(rows),)
    assert np.isfinite(scores).all()
    np.testing.assert_array_equal(MODEL.predict(rows[order]), scores[order])
    np.testing.assert_array_equal(MODEL.predict(rows.astype(np.float64)), scores)
    np.testing.assert_array_equal(MODEL.predict(np.asfortranarray(rows)), scores)


@given(ROWS)
def test_contributions_sum_to_the_score(rows: NDArray[np.float32]) -> None:
    shares = MODEL.contributions(rows)
    assert shares.shape == (len(rows), len(NAMES) + 1)
    np.testing.assert_allclose(shares.sum(axis=1), MODEL.predict(rows), rtol=0, atol=1e-9)


def test_no_rows_have_no_scores() -> None:
    assert MODEL.predict(FEATURES[:0]).shape == (0,)
    assert MODEL.contributions(FEATURES[:0]).shape == (0, len(NAMES) + 1)


@pytest.mark.parametrize("rows", [FEATURES[:, :3], FEATURES[0], FEATURES[None]])
def test_rows_of_another_shape_are_refused(rows: NDArray[np.float32]) -> None:
    for apply in (MODEL.predict, MODEL.contributions):
        with pytest.raises(InputError, match=r"for a model of 4 features. Give one row for each hit"):
            apply(rows)


def test_importances_are_those_of_lightgbm_largest_first() -> None:
    found = MODEL.importances()
    assert list(found.values()) == sorted(found.values(), reverse=True)
    booster = lightgbm.Booster(model_str=MODEL._text)
    assert booster.feature_name() == list(NAMES)
    assert [found[name] for name in NAMES] == booster.feature_importance("gain").tolist()


# -- training


def test_the_same_input_gives_the_same_bytes(tmp_path: Path) -> None:
    def train(name: str, seed: int) -> dict[str, bytes]:
        missing = {"exact": 0.5}
        model = RankingModel.train(FEATURES, GRADES, SIZES, NAMES, rounds=5, missing=missing, seed=seed)
        return bytes_of(model, tmp_path / name)

    one = train("one", 1)
    assert train("again", 1) == one
    assert train("other", 2) != one


def test_a_direction_is_never_gone_against() -> None:
    # In these rows more is worse as often as better: without directions, scores would go up and down.
    random = np.random.default_rng(3)
    features = random.random((300, 2)).astype(np.float32)
    grades = (np.sin(20 * features[:, 0]) > 0.5).astype(np.int64)
    grid = np.stack([np.linspace(0, 1, 200), np.full(200, 0.5)], axis=1)

    def steps(directions: Mapping[str, int] | None) -> NDArray[np.float64]:
        model = RankingModel.train(features, grades, [10] * 30, ["up", "free"], directions=directions)
        return np.diff(model.predict(grid))

    assert steps(None).min() < 0 < steps(None).max()
    assert steps({"up": 1}).min() >= 0
    assert steps({"up": -1}).max() <= 0


def test_a_model_learns_to_do_without_what_was_withheld() -> None:
    features, grades = examples(seed=1)
    lost = features.copy()
    lost[:, 0] = np.nan
    all_at_once = {"feature_fraction": 1.0}  # else trees that lack it make up for it by chance
    trained = {
        share: RankingModel.train(
            FEATURES, GRADES, SIZES, NAMES, parameters=all_at_once, missing={"exact": share}
        )
        for share in (0, 0.5)
    }
    assert share_in_order(trained[0.5], lost, grades) > 0.9
    assert share_in_order(trained[0.5], lost, grades) > share_in_order(trained[0], lost, grades)
    assert share_in_order(trained[0.5], features, grades) > 0.95
    never = RankingModel.train(FEATURES, GRADES, SIZES, NAMES, missing={"exact": 1.0})
    assert never.importances()["exact"] == 0


def test_what_goes_together_is_withheld_together(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[NDArray[np.float32]] = []

    class Dataset(lightgbm.Dataset):
        def __init__(self, data: NDArray[np.float32], **others: Any) -> None:
            seen.append(data.copy())
            super().__init__(data, **others)

    monkeypatch.setattr(lightgbm, "Dataset", Dataset)
    before = FEATURES.copy()
    pairs: dict[tuple[str, ...], float] = {("rough", "noise"): 0.5, ("flag",): 0.5}
    RankingModel.train(FEATURES, GRADES, SIZES, NAMES, rounds=1, missing=pairs)
    np.testing.assert_array_equal(FEATURES, before)
    gone = np.isnan(seen[0]).reshape(N_QUERIES, PER_QUERY, len(NAMES))
    np.testing.assert_array_equal(gone, np.repeat(gone[:, :1], PER_QUERY, axis=1))  # a query is of a piece
    of_query = gone[:, 0]
    assert not of_query[:, 0].any()
    np.testing.assert_array_equal(of_query[:, 1], of_query[:, 2])
    assert 0 < of_query[:, 1].sum() < N_QUERIES
    assert (of_query[:, 1] != of_query[:, 3]).any()


def test_the_first_trees_are_randomized_and_the_others_are_not() -> None:
    def scores(rounds: int, **how: Any) -> NDArray[np.float64]:
        return RankingModel.train(FEATURES, GRADES, SIZES, NAMES, rounds=rounds, **how).predict(FEATURES)

    random = {"parameters": {"extra_trees": True}}
    np.testing.assert_array_equal(scores(6, randomized=6), scores(6, **random))
    np.testing.assert_array_equal(scores(9, randomized=6, **random), scores(9, **random))
    assert (scores(7, randomized=6) != scores(7, randomized=7)).any()
    assert (scores(6, randomized=6) != scores(6)).any()


def train(**changed: Any) -> RankingModel:
    given = {"features": FEATURES, "grades": GRADES, "group_sizes": SIZES, "names": NAMES, "rounds": 1}
    return RankingModel.train(**{**given, **changed})


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"features": FEATURES[1:]},
            r"features of shape \(299, 4\) and grades of shape \(300,\) for 4 names",
        ),
        ({"features": FEATURES[:, 1:]}, r"features of shape \(300, 3\)"),
        ({"grades": GRADES[1:]}, r"grades of shape \(299,\)"),
        ({"group_sizes": SIZES[1:]}, "queries of 290 rows"),
        ({"group_sizes": [300, 0]}, "Give each query one row or more"),
        ({"group_sizes": [], "features": FEATURES[:0], "grades": GRADES[:0]}, "one row or more"),
        ({"features": np.where(FEATURES < 0.1, np.inf, FEATURES)}, "a feature is infinite"),
        ({"grades": GRADES * 0.5}, "grades of type float64 from 0.0 to 0.5. Give whole numbers from 0 to 30"),
        ({"grades": GRADES - 1}, "from -1 to 0"),
        ({"grades": GRADES * 31}, "from 0 to 31"),
        ({"rounds": 0}, "rounds is 0. Give a whole number of 1 or more"),
        ({"rounds": 2.5}, "rounds is 2.5"),
        ({"seed": None}, "seed is None. Give a whole number of 0 or more"),
        ({"seed": -1}, "seed is -1"),
        ({"names": ()}, "cannot name features"),
        ({"names": ("a", "a", "b", "c")}, "cannot name features"),
        ({"names": ("a:b", "d", "b", "c")}, "of letters, digits"),
        ({"parameters": {"eta": 0.1, "num_leafs": 3}}, r"LightGBM has no parameters \['eta', 'num_leafs'\]"),
        ({"parameters": {"seed": 3}}, "'seed' is among the parameters. Give it as the argument `seed`"),
        ({"randomized": -1}, "randomized is -1"),
        ({"randomized": 2}, "2 of 1 rounds are randomized. Give `rounds` at most"),
        ({"parameters": {"num_iterations": 3}}, "as the argument `rounds`"),
        ({"parameters": {"monotone_constraints": [0] * 4}}, "as the argument `directions`"),
        ({"parameters": {"objective": "zebra"}}, "LightGBM refuses to train: Unknown objective.*zebra"),
        ({"directions": {"zebra": 1}}, "the direction of 'zebra' is 1"),
        ({"directions": {"flag": 0}}, "the direction of 'flag' is 0"),
        ({"missing": {"zebra": 0.5}}, r"there are no features \['zebra'\] to withhold"),
        ({"missing": {("flag", "zebra"): 0.5}}, r"there are no features \['zebra'\]"),
        ({"missing": {"flag": 1.5}}, "'flag' is withheld with probability 1.5. Give 0 to 1"),
        ({"grades": np.zeros_like(GRADES)}, "no feature tells the 300 rows of 30 queries apart"),
        ({"features": np.ones_like(FEATURES)}, "or a smaller parameter 'min_data_in_leaf'"),
    ],
)
def test_input_that_does_not_fit_is_refused(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        train(**changed)


def test_parameters_are_taken_over_the_defaults() -> None:
    model = train(parameters={"num_leaves": 2, "learning_rate": 0.5})
    assert model.training["parameters"]["num_leaves"] == 2
    assert "\n[num_leaves: 2]\n" in model._text
    assert "\n[min_data_in_leaf: 5]\n" in model._text


# -- on the disk


def test_a_model_comes_back_as_it_was(tmp_path: Path) -> None:
    files = bytes_of(MODEL, tmp_path / "one")
    again = RankingModel.open(tmp_path / "one", names=NAMES)
    assert (again.names, again.training) == (MODEL.names, MODEL.training)
    np.testing.assert_array_equal(again.predict(FEATURES), MODEL.predict(FEATURES))
    np.testing.assert_array_equal(again.contributions(FEATURES), MODEL.contributions(FEATURES))
    assert bytes_of(again, tmp_path / "other") == files
    assert again.training["rows"] == 300
    assert again.training["lightgbm"] == lightgbm.__version__


def test_the_text_is_lightgbm_s_own(tmp_path: Path) -> None:
    MODEL.save(tmp_path)
    booster = lightgbm.Booster(model_file=tmp_path / "model.g000001.txt")
    np.testing.assert_array_equal(booster.predict(FEATURES), MODEL.predict(FEATURES))


@pytest.mark.parametrize(
    ("names", "difference"),
    [
        (
            ["exact", "rough", "zebra", "apple"],
            r"it lacks \['apple', 'zebra'\] and has \['flag', 'noise'\] besides",
        ),
        (["exact", "rough", "noise"], r"it lacks \[\] and has \['flag'\] besides"),
        (["rough", "exact", "noise", "flag"], "the same features in another order"),
    ],
)
def test_a_model_of_other_features_is_refused(tmp_path: Path, names: list[str], difference: str) -> None:
    MODEL.save(tmp_path)
    assert RankingModel.open(tmp_path).names == NAMES
    with pytest.raises(IndexForeign, match=f"{difference}. Train a model with these features"):
        RankingModel.open(tmp_path, names=names)


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(IndexNotFound):
        RankingModel.open(tmp_path)
    with IndexWriter(tmp_path, kind="ranking-model", settings=MODEL.settings()) as writer:
        writer.text("model", "zebra")
    with pytest.raises(IndexCorrupt, match=rf"cannot read the model.*or use LightGBM {lightgbm.__version__}"):
        RankingModel.open(tmp_path)


# -- without LightGBM


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "lightgbm"]:
        monkeypatch.delitem(sys.modules, name)


def not_installed(monkeypatch: pytest.MonkeyPatch, directory: Path) -> None:
    forget(monkeypatch)
    monkeypatch.setitem(sys.modules, "lightgbm", None)


def without_openmp(monkeypatch: pytest.MonkeyPatch, directory: Path) -> None:
    forget(monkeypatch)
    (directory / "lightgbm.py").write_text("raise OSError('libgomp.so.1: cannot open shared object file')")
    monkeypatch.syspath_prepend(directory)


@pytest.mark.parametrize(
    ("break_it", "message"),
    [
        (not_installed, r"lightgbm cannot be loaded: .*Install it with: pip install lightgbm"),
        (without_openmp, r"lightgbm cannot be loaded: libgomp.so.1: .*libgomp1 on Debian and Ubuntu"),
    ],
)
def test_a_missing_library_is_named_with_the_remedy(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    break_it: Callable[[pytest.MonkeyPatch, Path], None],
    message: str,
) -> None:
    MODEL.save(tmp_path / "model")
    break_it(monkeypatch, tmp_path)
    with pytest.raises(MissingLibrary, match=message):
        train()
    with pytest.raises(MissingLibrary, match=message):
        RankingModel.open(tmp_path / "model")
