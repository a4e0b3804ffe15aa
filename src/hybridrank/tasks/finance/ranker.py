"""The learned order of windows: features, and the model that the package ships."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cached_property
from importlib.resources import as_file, files
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from hybridrank.errors import HybridrankWarning, MissingLibrary
from hybridrank.ranking_model import RankingModel
from hybridrank.tasks.finance.candidates import CandidateFinder
from hybridrank.tasks.finance.features import GROUPS, NAMES, EvidenceFeatures

__all__ = ["DEPTH", "SHIPPED", "WINDOWS", "EvidenceRanker", "open_model"]

SHIPPED = "shipped"
DEPTH = 300  # blocks opened for the ranker
WINDOWS = 600  # windows that it sees, best first by the unlearned score


class EvidenceRanker:
    """Scores the candidate windows of a question with a learned model, by what ``features`` computes."""

    def __init__(self, finder: CandidateFinder, model: RankingModel) -> None:
        self.features = EvidenceFeatures(finder)
        self.model = model

    @cached_property
    def has_learned_neural(self) -> bool:
        """Whether the model has learned from neural scores, so that they change its order."""
        gains = self.model.importances()
        return any(gains[name] > 0 for name in GROUPS["neural"])

    def score(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        """The score of each window from its features, higher for better."""
        return self.model.predict(features)

    def pulls(self, features: NDArray[np.float32], places: Sequence[int]) -> list[dict[str, float]]:
        """What each feature gives to the score of some windows, the strongest first."""
        given = self.model.contributions(features[list(places)])[:, :-1].tolist()
        return [
            dict(sorted(zip(NAMES, row, strict=True), key=lambda pair: (-abs(pair[1]), pair[0])))
            for row in given
        ]


def open_model(model: str | PathLike[str] | None) -> RankingModel | None:
    """The model in a directory, the shipped one for ``"shipped"``, or ``None`` for ``None``.

    The shipped one is ``None`` too, with a warning, where LightGBM cannot be loaded.
    :meth:`hybridrank.ranking_model.RankingModel.open` says what is checked and raised.
    """
    if model is None:
        return None
    if model != SHIPPED:
        return RankingModel.open(model, names=NAMES)
    try:
        with as_file(files("hybridrank") / "data" / "finance" / "ranker") as directory:
            return RankingModel.open(directory, names=NAMES)
    except MissingLibrary as error:
        warnings.warn(f"spans are ranked without the learned model: {error}", HybridrankWarning, stacklevel=2)
        return None
