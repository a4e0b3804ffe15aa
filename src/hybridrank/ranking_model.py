"""LambdaMART by LightGBM: boosted trees whose gradients come from what a swap of two rows does to nDCG.

Burges, *From RankNet to LambdaRank to LambdaMART: An Overview*, MSR-TR-2010-82, 2010; Ke et al., *LightGBM: A
Highly Efficient Gradient Boosting Decision Tree*, NeurIPS 2017. Trees of random thresholds: Geurts, Ernst and
Wehenkel, *Extremely randomized trees*, Machine Learning 63, 2006.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping, Sequence
from os import PathLike
from types import ModuleType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hybridrank.errors import IndexCorrupt, IndexForeign, InputError, MissingLibrary
from hybridrank.storage import IndexReader, IndexWriter

__all__ = ["HIGHEST_GRADE", "PARAMETERS", "RankingModel", "difference"]

HIGHEST_GRADE = 30  # a grade g gains 2^g - 1, which LightGBM knows up to here

# What :meth:`RankingModel.train` gives LightGBM unless told otherwise: small trees, held back, for labels are
# few; and all that makes training repeatable.
PARAMETERS: Mapping[str, Any] = {
    "objective": "lambdarank",
    "learning_rate": 0.05,
    "num_leaves": 15,
    "min_data_in_leaf": 5,
    "feature_fraction": 0.5,
    "bagging_fraction": 0.7,
    "bagging_freq": 1,
    "lambda_l2": 5.0,
    "lambdarank_truncation_level": 10,
    "metric": "none",
    "num_threads": 1,
    "deterministic": True,
    "force_row_wise": True,
    "verbosity": -1,
}

_KIND = "ranking-model"
_NAME = re.compile(r"[A-Za-z0-9_.-]+")
_PARAMETER = re.compile(r"^\[(\w+): ", re.MULTILINE)  # as LightGBM writes them into a model
_ARGUMENTS = {"num_iterations": "rounds", "seed": "seed", "monotone_constraints": "directions"}


class RankingModel:
    """Scores rows of features, so that the rows of a query can be sorted by their scores.

    Made by :meth:`train` or :meth:`open`; never changed afterwards. ``names`` are those of its features, in
    the order of the columns; ``training`` says in plain JSON values how it was made.

    >>> features, grades = np.array([[0.0], [1.0]] * 50), np.array([0, 1] * 50)
    >>> model = RankingModel.train(features, grades, [2] * 50, ["x"], rounds=2)
    >>> low, high = model.predict(np.array([[0.0], [1.0]]))
    >>> bool(low < high)
    True
    """

    def __init__(self, text: str, names: Sequence[str], training: Mapping[str, Any]) -> None:
        self.names = tuple(names)
        self.training = training
        self._text = text
        self._booster = _lightgbm().Booster(model_str=text)

    @classmethod
    def train(
        cls,
        features: NDArray[np.floating],
        grades: NDArray[np.integer],
        group_sizes: Sequence[int],
        names: Sequence[str],
        *,
        rounds: int = 100,
        randomized: int = 0,
        parameters: Mapping[str, Any] | None = None,
        directions: Mapping[str, int] | None = None,
        missing: Mapping[str, float] | Mapping[tuple[str, ...], float] | None = None,
        seed: int = 0,
    ) -> RankingModel:
        """Learn from rows whose right order is known.

        ``features`` has shape ``(rows, n_features)``, NaN where a value is missing; ``grades``, from 0 to 30,
        say how good each row is; the rows of a query stand together, and ``group_sizes`` says how many each
        query has. ``rounds`` is the number of trees. The first ``randomized`` of them choose between
        thresholds drawn at random, one a feature, and so follow few labels less closely; the others refine
        what these leave. ``parameters`` are LightGBM's, by their main names, over :data:`PARAMETERS`.
        ``directions`` maps features to 1 or -1: all else equal, a higher or a lower value then never lowers
        the score, which keeps few labels from teaching nonsense. ``missing`` maps a feature, or several that
        come and go together, to the probability with which it is withheld from a query, so that the model
        also learns to do without.

        The same input, seed and number of threads give the same model, byte for byte. Raises
        :class:`~hybridrank.errors.InputError` for input that does not fit together, and when nothing can be
        learned from it; :class:`~hybridrank.errors.MissingLibrary` when LightGBM cannot be loaded.
        """
        columns = _check_names(names)
        rows, grades, sizes = _as_rows(features), np.asarray(grades), np.asarray(group_sizes)
        _check_training(rows, grades, sizes, len(columns))
        rounds, seed = _whole("rounds", rounds, 1), _whole("seed", seed, 0)
        if _whole("randomized", randomized, 0) > rounds:
            raise InputError(
                f"{randomized} of {rounds} rounds are randomized", remedy="Give `rounds` at most."
            )
        given = _parameters(parameters or {}, directions or {}, columns, seed)
        rows = _withhold(rows, sizes, columns, missing or {}, seed)
        booster = _boost(rows, grades, sizes, columns, rounds, randomized, given)
        training = {
            "rows": len(grades),
            "queries": len(sizes),
            "rounds": rounds,
            "randomized": randomized,
            "parameters": given,
            "missing": [[*_together(key), float(share)] for key, share in (missing or {}).items()],
            "lightgbm": _lightgbm().__version__,
        }
        return cls(booster.model_to_string(num_iteration=-1), columns, training)

    def predict(self, features: NDArray[np.floating]) -> NDArray[np.float64]:
        """The score of each row, higher for better, of no scale that means anything across models.

        Raises :class:`~hybridrank.errors.InputError` unless there is one column for each name.
        """
        return self._apply(features, ())

    def contributions(self, features: NDArray[np.floating]) -> NDArray[np.float64]:
        """What each feature gives to the score of each row, and in the last column what all rows have alike:
        shape ``(rows, n_features + 1)``, each row summing to its score.

        These are Shapley values (Lundberg et al., *Consistent Individualized Feature Attribution for Tree
        Ensembles*, 2018), and take some fifty times as long as the scores.
        """
        return self._apply(features, (len(self.names) + 1,), pred_contrib=True)

    def importances(self) -> dict[str, float]:
        """How much each feature lessened the loss in training, largest first: the sum over its splits."""
        gains = self._booster.feature_importance("gain").tolist()
        return dict(sorted(zip(self.names, gains, strict=True), key=lambda pair: (-pair[1], pair[0])))

    def settings(self) -> dict[str, Any]:
        """What the manifest of an index says that holds the model: ``names`` and ``training``."""
        return {"names": list(self.names), "training": dict(self.training)}

    def write(self, writer: IndexWriter) -> None:
        """Store the model as a part of an index, whose settings must include :meth:`settings`."""
        writer.text("model", self._text)

    def save(self, directory: str | PathLike[str]) -> None:
        """Write the model into a directory, in place of one that is there; see :mod:`hybridrank.storage`."""
        with IndexWriter(directory, kind=_KIND, settings=self.settings()) as writer:
            self.write(writer)

    @classmethod
    def open(
        cls,
        directory: str | PathLike[str],
        *,
        names: Sequence[str] | None = None,
        verify: Literal["auto", "full"] = "auto",
    ) -> RankingModel:
        """Open a model; ``names``, if given, are the features that it is to be used with.

        :meth:`hybridrank.storage.IndexReader.open` says what is checked and raised; moreover
        :class:`~hybridrank.errors.IndexForeign` is, when the model knows other features.
        """
        return cls.read(IndexReader.open(directory, kind=_KIND, verify=verify), names=names)

    @classmethod
    def read(cls, reader: IndexReader, *, names: Sequence[str] | None = None) -> RankingModel:
        """The model that is part of an index; ``names`` as in :meth:`open`."""
        settings = reader.settings
        if names is not None and list(names) != settings["names"]:
            raise IndexForeign(
                reader.directory, difference(settings["names"], names), "Train a model with these features."
            )
        lightgbm = _lightgbm()
        try:
            return cls(reader.text("model"), settings["names"], settings["training"])
        except lightgbm.basic.LightGBMError as error:
            raise IndexCorrupt(
                reader.directory,
                f"LightGBM {lightgbm.__version__} cannot read the model ({error})",
                f"Train it again, or use LightGBM {settings['training'].get('lightgbm')}.",
            ) from error

    def _apply(
        self, features: NDArray[np.floating], shape: tuple[int, ...], **how: bool
    ) -> NDArray[np.float64]:
        rows = _as_rows(features)
        if rows.ndim != 2 or rows.shape[1] != len(self.names):
            raise InputError(
                f"features of shape {rows.shape} for a model of {len(self.names)} features",
                remedy="Give one row for each hit and one column for each of the model's names.",
            )
        if len(rows) == 0:
            return np.empty((0, *shape))
        scores: NDArray[np.float64] = self._booster.predict(rows, num_threads=1, **how)
        return scores


def _lightgbm() -> ModuleType:
    try:
        import lightgbm
    except ImportError as error:
        raise MissingLibrary("lightgbm", str(error), "Install it with: pip install lightgbm") from error
    except OSError as error:  # its own library is there, and one that it stands on is not
        raise MissingLibrary(
            "lightgbm",
            str(error),
            "Install the OpenMP runtime of the system: libgomp1 on Debian and Ubuntu, libgomp on Fedora, "
            "libomp with Homebrew.",
        ) from error
    return lightgbm


def _boost(
    rows: NDArray[np.floating],
    grades: NDArray[np.integer],
    sizes: NDArray[np.integer],
    names: tuple[str, ...],
    rounds: int,
    randomized: int,
    parameters: Mapping[str, Any],
) -> Any:
    """A trained booster."""
    lightgbm = _lightgbm()
    try:
        data = lightgbm.Dataset(
            rows, label=grades, group=sizes, feature_name=list(names), params=dict(parameters)
        )
        always = bool(parameters.get("extra_trees", False))
        booster = lightgbm.Booster({**parameters, "extra_trees": randomized > 0 or always}, data)
        _check_parameters(parameters, booster.model_to_string())
        for number in range(rounds):
            if number == randomized > 0 and not always:
                booster.reset_parameter({"extra_trees": False})
            booster.update()
    except lightgbm.basic.LightGBMError as error:
        reason = str(error).rstrip(" .\n")
        raise InputError(f"LightGBM refuses to train: {reason}", remedy="Correct what it names.") from error
    if not booster.feature_importance("gain").any():
        raise InputError(
            f"no feature tells the {len(grades)} rows of {len(sizes)} queries apart",
            remedy="Give more rows with grades, or a smaller parameter 'min_data_in_leaf'.",
        )
    return booster


def _as_rows(features: NDArray[np.floating]) -> NDArray[np.floating]:
    """The features as LightGBM takes them without copying again."""
    return np.ascontiguousarray(features, dtype=np.result_type(features, np.float32))


def _check_names(names: Sequence[str]) -> tuple[str, ...]:
    if not names or len(set(names)) < len(names) or not all(map(_NAME.fullmatch, names)):
        raise InputError(
            f"{list(names)} cannot name features",
            remedy="Give each a name of its own, of letters, digits, '_', '-' and '.'.",
        )
    return tuple(names)


def _check_training(
    features: NDArray[np.floating],
    grades: NDArray[np.integer],
    sizes: NDArray[np.integer],
    n_features: int,
) -> None:
    if (
        sizes.dtype.kind not in "iu"  # as it is for none at all
        or not np.all(sizes > 0)
        or features.shape != (sizes.sum(), n_features)
        or grades.shape != features.shape[:1]
    ):
        raise InputError(
            f"features of shape {features.shape} and grades of shape {grades.shape} for {n_features} names "
            f"and queries of {sizes.sum()} rows",
            remedy="Give each query one row or more, and each row a grade and a value for each name.",
        )
    if np.isinf(features).any():
        raise InputError("a feature is infinite", remedy="Give a number, or NaN for what is missing.")
    if grades.dtype.kind not in "iu" or grades.min() < 0 or grades.max() > HIGHEST_GRADE:
        raise InputError(
            f"grades of type {grades.dtype} from {grades.min()} to {grades.max()}",
            remedy=f"Give whole numbers from 0 to {HIGHEST_GRADE}.",
        )


def _whole(name: str, value: int, least: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if number < least:
        raise InputError(f"{name} is {value!r}", remedy=f"Give a whole number of {least} or more.")
    return number


def _check_parameters(given: Mapping[str, Any], model: str) -> None:
    """LightGBM passes over what it does not know, so names are compared with those that it reports."""
    if unknown := sorted(
        given.keys() - PARAMETERS.keys() - _ARGUMENTS.keys() - set(_PARAMETER.findall(model))
    ):
        raise InputError(
            f"LightGBM has no parameters {unknown}",
            remedy="Use the main names, as its documentation has them.",
        )


def _parameters(
    own: Mapping[str, Any], directions: Mapping[str, int], names: tuple[str, ...], seed: int
) -> dict[str, Any]:
    """All that LightGBM is given besides the data."""
    for name in own.keys() & _ARGUMENTS.keys():
        raise InputError(
            f"{name!r} is among the parameters", remedy=f"Give it as the argument `{_ARGUMENTS[name]}`."
        )
    for name, direction in directions.items():
        if name not in names or direction not in (1, -1):
            raise InputError(
                f"the direction of {name!r} is {direction!r}",
                remedy=f"Give 1 or -1 for some of {list(names)}.",
            )
    given = {**PARAMETERS, **own, "seed": seed}
    if directions:
        given["monotone_constraints"] = [directions.get(name, 0) for name in names]
    return given


def _together(key: str | tuple[str, ...]) -> tuple[str, ...]:
    return (key,) if isinstance(key, str) else key


def _withhold(
    features: NDArray[np.floating],
    sizes: NDArray[np.integer],
    names: tuple[str, ...],
    missing: Mapping[str, float] | Mapping[tuple[str, ...], float],
    seed: int,
) -> NDArray[np.floating]:
    """The features with NaN in place of what is withheld, query by query."""
    rows = features.copy() if missing else features
    random = np.random.default_rng(seed)
    for key, share in missing.items():
        if unknown := sorted(set(_together(key)) - set(names)):
            raise InputError(f"there are no features {unknown} to withhold", remedy="Give names of features.")
        if not 0 <= share <= 1:
            raise InputError(f"{key!r} is withheld with probability {share}", remedy="Give 0 to 1.")
        gone = np.flatnonzero(np.repeat(random.random(len(sizes)) < share, sizes))
        for name in _together(key):
            rows[gone, names.index(name)] = np.nan
    return rows


def difference(known: Sequence[str], wanted: Sequence[str]) -> str:
    """How the features of a model differ from those it is to be used with."""
    lacks = sorted(set(wanted) - set(known))
    surplus = sorted(set(known) - set(wanted))
    if not lacks and not surplus:
        return "the model has the same features in another order"
    return f"the model knows other features: it lacks {lacks} and has {surplus} besides"
