"""What outside services say of the best windows: a cosine, a cross-encoder's score, or both.

Both enter as standard scores: less their mean over the windows asked about, over their standard deviation.
Services differ in the range of what they give and in its spread, but not in that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hybridrank.budget import Ledger, check_ledger
from hybridrank.errors import InputError
from hybridrank.protocols import Embedder, check_depth
from hybridrank.records import Usage

if TYPE_CHECKING:
    from hybridrank.cross_encoder import Scorer  # which brings scipy.optimize, a third of a second

__all__ = ["NeuralScores", "NeuralSignals"]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class NeuralScores:
    """Standard scores of some windows, one each, NaN where there are none; ``degraded`` says which service
    was lost and why, or is ``None``."""

    dense: NDArray[np.float64]
    cross_encoder: NDArray[np.float64]
    degraded: str | None = None

    @classmethod
    def nothing(cls, count: int) -> NeuralScores:
        """No score for any of ``count`` windows."""
        dense, cross_encoder = np.full((2, count), np.nan)
        return cls(dense=dense, cross_encoder=cross_encoder)

    def among(self, places: NDArray[np.int64], count: int) -> NeuralScores:
        """The same scores at their places among ``count`` windows, the others without any."""
        all_of_them = replace(self.nothing(count), degraded=self.degraded)
        all_of_them.dense[places], all_of_them.cross_encoder[places] = self.dense, self.cross_encoder
        return all_of_them

    def together(self) -> NDArray[np.float64]:
        """The mean of the scores that there are, 0 where there are none."""
        given = [scores for scores in (self.dense, self.cross_encoder) if not np.isnan(scores).all()]
        known = [np.nan_to_num(scores) for scores in given] or [np.zeros(len(self.dense))]
        mean: NDArray[np.float64] = np.mean(known, axis=0)
        return mean


class NeuralSignals:
    """Asks an embedder, a scorer such as :class:`hybridrank.jina.JinaClient`, or both, about windows.

    The best ``depth`` windows of a question are asked about. A model that has learned what to make of the
    answers does so; for any other order, ``weight`` times the standard score, in units of the standard
    deviation of the scores of these windows, is added. (With MiniLM, and rankers that had not seen the
    company, the sets of FinQA questions came to between 0.006 less and 0.010 more by 0.2, all but the largest
    gain within chance; other weights did no better.) Requests are paid from ``ledger``, where the service
    takes one, and the seconds left are shared among the questions of which :meth:`expect` told. A service
    that fails is left out for the question; after ``patience`` failures one after the other, for good.

    Raises :class:`~hybridrank.errors.InputError` without a service, and for a depth below 2, a weight below
    0 or a patience below 1.

    >>> class Longest:
    ...     def rerank(self, query, documents, *, ledger=None, deadline=None):
    ...         class Answer: scores = [len(text) for text in documents]
    ...         return Answer
    >>> signals = NeuralSignals(scorer=Longest())
    >>> signals.ask("which?", ["long", "longer", "longest of all"]).cross_encoder.round(2)
    array([-0.93, -0.46,  1.39])
    """

    def __init__(
        self,
        *,
        scorer: Scorer | None = None,
        embedder: Embedder | None = None,
        depth: int = 40,
        weight: float = 0.2,
        ledger: Ledger | None = None,
        patience: int = 5,
    ) -> None:
        if scorer is None and embedder is None:
            raise InputError(
                "neural signals without a service", remedy="Give a scorer, an embedder, or both."
            )
        if check_depth(depth) < 2:
            raise InputError(f"a depth of {depth}", remedy="Give 2 or more: one window has no order.")
        if not 0 <= weight < math.inf:
            raise InputError(f"a weight of {weight}", remedy="Give a number of 0 or more.")
        if patience < 1:
            raise InputError(f"a patience of {patience}", remedy="Give a whole number of 1 or more.")
        self.depth = depth
        self.weight = weight
        self.ledger = check_ledger(ledger)
        self.degraded = 0
        self._scorer = scorer
        self._embedder = embedder
        self._patience = patience
        self._failures = {"dense": 0, "cross_encoder": 0}
        self.questions_left = 1

    @property
    def usage(self) -> Usage:
        """What was spent from the ledger; nothing without one."""
        return Usage() if self.ledger is None else self.ledger.usage

    def expect(self, questions: int) -> None:
        """Tell how many questions will come, so that the seconds left are shared among them."""
        self.questions_left = max(1, questions)

    def places(self, scores: NDArray[np.float64]) -> NDArray[np.int64]:
        """The places of the windows to ask about, those with the best ``scores``, best first."""
        return np.argsort(-scores, kind="stable")[: self.depth]

    def mixed(self, scores: NDArray[np.float64], said: NeuralScores) -> NDArray[np.float64]:
        """The scores of windows after the services have had their say, by the weight."""
        best = self.places(scores)
        mixed: NDArray[np.float64] = scores.copy()
        mixed[best] += self.weight * float(scores[best].std()) * said.together()[best]
        return mixed

    def ask(self, question: str, windows: Sequence[str]) -> NeuralScores:
        """The scores of windows for a question; never raises for what a service does."""
        complaints: list[str] = []
        scores = NeuralScores(
            dense=self._try("dense", self._cosines, question, windows, complaints),
            cross_encoder=self._try("cross_encoder", self._relevance, question, windows, complaints),
        )
        self.questions_left = max(1, self.questions_left - 1)
        if not complaints:
            return scores
        self.degraded += 1
        return replace(scores, degraded="; ".join(complaints))

    def _try(
        self,
        name: str,
        service: Callable[[str, Sequence[str]], NDArray[np.float64] | None],
        question: str,
        windows: Sequence[str],
        complaints: list[str],
    ) -> NDArray[np.float64]:
        nothing = np.full(len(windows), np.nan)
        if len(windows) < 2 or not question.strip():
            return nothing
        if self._failures[name] >= self._patience:
            complaints.append(f"{name} given up after {self._patience} failures")
            return nothing
        try:
            raw = service(question, windows)
        except Exception as error:  # whatever a service, or a stand-in for it, may come up with
            self._failures[name] += 1
            complaints.append(f"{name} left out: {str(error) or type(error).__name__}")
            return nothing
        self._failures[name] = 0
        return nothing if raw is None else _standard_scores(raw)

    def _cosines(self, question: str, windows: Sequence[str]) -> NDArray[np.float64] | None:
        if self._embedder is None:
            return None
        query = _unit(self._embedder.embed([question], task="query"), 1)
        vectors = _unit(self._embedder.embed(windows, task="passage"), len(windows))
        cosines: NDArray[np.float64] = vectors @ query[0]
        return cosines

    def _relevance(self, question: str, windows: Sequence[str]) -> NDArray[np.float64] | None:
        if self._scorer is None:
            return None
        deadline = None if self.ledger is None else self.ledger.share(self.questions_left).seconds
        found = self._scorer.rerank(question, windows, ledger=self.ledger, deadline=deadline)
        scores = np.asarray(found.scores, dtype=np.float64)
        if scores.shape != (len(windows),):
            raise InputError(f"{scores.shape} scores for {len(windows)} windows", remedy="Give one each.")
        return np.where(np.isneginf(scores), np.nan, scores)  # a blank window has none


def _unit(vectors: NDArray[np.float32], count: int) -> NDArray[np.float64]:
    wide = np.asarray(vectors, dtype=np.float64)
    if wide.ndim != 2 or len(wide) != count or not np.isfinite(wide).all():
        raise InputError(
            f"vectors of shape {wide.shape} for {count} texts", remedy="Give one finite row each."
        )
    lengths = np.linalg.norm(wide, axis=1, keepdims=True)
    unit: NDArray[np.float64] = wide / np.maximum(lengths, np.finfo(np.float64).tiny)
    return unit


def _standard_scores(raw: NDArray[np.float64]) -> NDArray[np.float64]:
    known = np.isfinite(raw)
    if not known.any():
        return np.full(len(raw), np.nan)
    spread = float(raw[known].std())
    scores = (raw - raw[known].mean()) / spread if spread > 1e-9 else np.zeros(len(raw))
    return np.where(known, scores, np.nan)
