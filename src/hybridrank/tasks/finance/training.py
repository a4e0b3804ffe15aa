"""Training the learned order of windows, and showing what it is worth on companies that it has not seen."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybridrank.errors import InputError
from hybridrank.evaluation.plotting import pyplot_for_files
from hybridrank.evaluation.significance import paired_interval
from hybridrank.ranking_model import RankingModel
from hybridrank.tasks.finance.candidates import Weights
from hybridrank.tasks.finance.corpus import Problem, read_questions
from hybridrank.tasks.finance.datasets import EvaluationSet, find_sets
from hybridrank.tasks.finance.features import GROUPS, NAMES, EvidenceFeatures
from hybridrank.tasks.finance.index import IndexedReports, build
from hybridrank.tasks.finance.neural import NeuralSignals
from hybridrank.tasks.finance.ranker import DEPTH, WINDOWS
from hybridrank.tasks.finance.scoring import Label, Place, evidence_recall, page_hit
from hybridrank.tasks.finance.search import FinanceIndex
from hybridrank.tasks.finance.spans import MOST_SPANS, choose, cover

__all__ = [
    "TRAINING_SETS",
    "Example",
    "ceilings",
    "cross_validate",
    "examples_of",
    "held_out_scores",
    "plot",
    "pyplot_for_files",
    "read_examples",
    "study",
    "train",
]

TRAINING_SETS = ("finqa-raw", "finqa-named")
"""Whose labels the shipped model learns from: FinQA's, MIT licence."""

ROUNDS, RANDOMIZED = 230, 150
PARAMETERS: Mapping[str, Any] = {"num_leaves": 31, "min_data_in_leaf": 100}
_NEURAL = [NAMES.index(name) for name in GROUPS["neural"]]
_NEURAL_MISSING = {GROUPS["neural"]: 0.5}
_NEURAL_BETTER = dict.fromkeys(GROUPS["neural"], 1)
_ALWAYS_SEEN = 60  # best windows of a question that are always trained on
_SEEN_BEYOND = 0.12  # share of the others
_RECALL_AT = 150
_FOLDS = 5
_RESAMPLES = 2000  # of the intervals; few, for the published ones were
_SEED = 0

Tell = Callable[[str], None]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Example:
    """A question with label, and its candidate windows; arrays have one entry a window.

    ``grade`` is 2 for a window that holds all the evidence, 1 for one that holds some, else 0. ``document``
    numbers the reports of the windows, named in ``documents``.
    """

    set_name: str
    query_id: str
    company: str
    label: Label
    features: NDArray[np.float32]
    grade: NDArray[np.int64]
    score: NDArray[np.float64]
    document: NDArray[np.int64]
    documents: tuple[str, ...]
    start: NDArray[np.int64]
    end: NDArray[np.int64]

    @property
    def may_be_learned_from(self) -> bool:
        """Whether it belongs to one of :data:`TRAINING_SETS`, on whatever corpus."""
        return self.is_of(TRAINING_SETS)

    def is_of(self, sets: Sequence[str]) -> bool:
        """Whether it belongs to one of some sets, on whatever corpus."""
        return self.set_name.partition("/")[2] in sets

    def quality(self, places: Sequence[int]) -> float:
        """The contract's score of the windows chosen."""
        spans = [self._place(place) for place in places]
        label = self.label
        return page_hit(label.pages, spans) if label.pages else evidence_recall(label.units, spans)

    def holds(self) -> NDArray[np.bool_]:
        """Which window holds which unit whole, of shape ``(windows, units)``; or which lies on a page."""
        if self.label.pages:
            windows = range(len(self.start))
            return np.array([[self.quality([place]) > 0] for place in windows], dtype=bool).reshape(-1, 1)
        holds = np.zeros((len(self.start), len(self.label.units)), dtype=bool)
        for column, unit in enumerate(self.label.units):
            for place in unit:
                if place.document_id in self.documents:
                    number = self.documents.index(place.document_id)
                    around = (self.start <= place.start) & (self.end >= place.end)
                    holds[:, column] |= around & (self.document == number)
        return holds

    def ceiling(self, depth: int) -> float:
        """Share of the units that any of the best ``depth`` windows holds; for pages, whether one is hit."""
        best = np.argsort(-self.score, kind="stable")[:depth]
        return float(self.holds()[best].any(axis=0).mean())

    def best_choice(self, n_spans: int = MOST_SPANS) -> float:
        """The same of ``n_spans`` windows chosen with the label in hand, greedily."""
        left = self.holds()
        n_units = left.shape[1]
        for _ in range(n_spans):
            if left.size and left.any():
                left = left[:, ~left[np.argmax(left.sum(axis=1))]]
        return float((n_units - left.shape[1]) / n_units)

    def _place(self, place: int) -> Place:
        return Place(self.documents[int(self.document[place])], int(self.start[place]), int(self.end[place]))


def read_examples(
    data: Path,
    *,
    sets: Sequence[str] | None = None,
    neural: NeuralSignals | None = None,
    tell: Tell = lambda message: None,
) -> list[Example]:
    """Index each corpus below ``data`` and find the candidates of each labelled question.

    ``hybridrank.tasks.finance.datasets`` describes the layout; ``sets`` names the sets to read, or all.
    Questions of which the corpus knows no word are left out. ``neural`` are services to ask about the best
    windows by the unlearned score, for the features that they give. Raises
    :class:`~hybridrank.errors.InputError` for a question without label.
    """
    found, homeless = find_sets(data, sets)
    for name in homeless:
        tell(f"no corpus holds the labelled reports of {name}")
    examples: list[Example] = []
    corpora = {one.corpus.name: one.corpus for one in found}
    for name, corpus in corpora.items():
        with tempfile.TemporaryDirectory() as index_dir:
            tell(f"indexing corpus {name}")
            build(corpus.path, index_dir)
            reports = IndexedReports.open(index_dir)
            index = FinanceIndex(reports, Weights(depth=DEPTH), neural=neural)
            for one in found:
                if one.corpus.name == name:
                    tell(f"finding candidates of {one.name} in {name}")
                    examples.extend(examples_of(one, index))
    return examples


def examples_of(one: EvaluationSet, index: FinanceIndex) -> Iterator[Example]:
    """The same for the questions of one set, with an index of its corpus that opens blocks to the ranker's
    depth (``Weights(depth=DEPTH)``)."""
    reports = index.reports
    features = EvidenceFeatures(index.finder)
    ids = [reports.ids[place] for place in range(len(reports.profiles))]
    companies = {
        document: profile.name.lower() or document
        for document, profile in zip(ids, reports.profiles, strict=True)
    }
    for question in read_questions(one.queries):
        if isinstance(question, Problem):
            raise question.error
        label = one.labels.get(question.query_id)
        if label is None:
            raise InputError(
                f"there is no label for {question.query_id!r}",
                file=one.queries,
                remedy="Give a label for each question.",
            )
        found = features.finder.find(question.text)
        if found is None:
            continue
        found = found.best(WINDOWS)
        said = index.ask(question.text, found, found.score)
        numbers, document = np.unique(found.report, return_inverse=True)
        example = Example(
            set_name=f"{one.corpus.name}/{one.name}",
            query_id=question.query_id,
            company=companies[min(label.documents)],
            label=label,
            features=features.compute(found, dense=said.dense, cross_encoder=said.cross_encoder),
            grade=np.zeros(len(found), dtype=np.int64),
            score=found.score,
            document=document,
            documents=tuple(ids[number] for number in numbers.tolist()),
            start=found.start,
            end=found.end,
        )
        yield replace(example, grade=_grades(example))


def _grades(example: Example) -> NDArray[np.int64]:
    n_units = len(example.label.units)
    if n_units == 0:  # pages are no grades: the evidence may stand anywhere on them
        return np.zeros(len(example.start), dtype=np.int64)
    n_held = example.holds().sum(axis=1)
    return np.where(n_held == n_units, 2, np.minimum(n_held, 1)).astype(np.int64)


def train(
    examples: Iterable[Example],
    *,
    rounds: int = ROUNDS,
    randomized: int = RANDOMIZED,
    without: Sequence[str] = (),
    seed: int = _SEED,
) -> RankingModel:
    """Learn from examples; those of which no window holds evidence teach nothing. ``without`` names features
    that are withheld. Where there are neural scores, a higher one never lowers a window's score.

    Raises :class:`~hybridrank.errors.InputError` when nothing can be learned, and for labels by page: the
    evidence may stand anywhere on a page.
    """
    random = np.random.default_rng(seed)
    rows: list[NDArray[np.float32]] = []
    grades: list[NDArray[np.int64]] = []
    for example in examples:
        if example.label.pages:
            raise InputError(
                f"the label of {example.query_id!r} names pages", remedy="Train on labels that name units."
            )
        seen = _sample(example, random)
        if example.grade[seen].any():
            rows.append(example.features[seen])
            grades.append(example.grade[seen])
    if not rows:
        raise InputError("no candidate holds labelled evidence", remedy="Give questions with evidence.")
    features = np.concatenate(rows)
    features[:, [NAMES.index(name) for name in without]] = np.nan
    return RankingModel.train(
        features,
        np.concatenate(grades),
        [len(some) for some in grades],
        NAMES,
        rounds=rounds,
        randomized=min(randomized, rounds),
        parameters=PARAMETERS,
        directions=_NEURAL_BETTER if np.isfinite(features[:, _NEURAL]).any() else {},
        missing=_NEURAL_MISSING,
        seed=seed,
    )


def _sample(example: Example, random: np.random.Generator) -> NDArray[np.int64]:
    """The windows to train on: the best, and some of the others, whatever their grade."""
    order = np.argsort(-example.score, kind="stable")
    beyond = order[_ALWAYS_SEEN:]
    kept = beyond[random.random(len(beyond)) < _SEEN_BEYOND]
    return np.sort(np.concatenate((order[:_ALWAYS_SEEN], kept)))


def cross_validate(
    examples: Sequence[Example],
    *,
    folds: int = _FOLDS,
    without: Sequence[str] = (),
    share: float = 1.0,
    learn: Sequence[str] = TRAINING_SETS,
    tell: Tell = lambda message: None,
) -> NDArray[np.float64]:
    """The quality of each example under a model that has seen no question on its company and learned from the
    sets ``learn`` alone; see :func:`held_out_scores`."""
    scores = held_out_scores(
        examples,
        folds=folds,
        without=without,
        share=share,
        learn_from=lambda example: example.is_of(learn),
        tell=tell,
    )
    return np.array(
        [example.quality(_cover(example, some)) for example, some in zip(examples, scores, strict=True)]
    )


def held_out_scores(
    examples: Sequence[Example],
    *,
    folds: int = _FOLDS,
    without: Sequence[str] = (),
    share: float = 1.0,
    learn_from: Callable[[Example], bool] = lambda example: example.may_be_learned_from,
    tell: Tell = lambda message: None,
) -> list[NDArray[np.float64]]:
    """The scores of each example's windows by a model that has seen no question on its company.

    ``share`` is the part of the other companies that is learned from, one at least; of these companies the
    examples that ``learn_from`` says yes to.
    """
    companies = sorted({example.company for example in examples})
    order = np.random.default_rng(_SEED).permutation(len(companies))
    fold_of = {companies[place]: number % folds for number, place in enumerate(order.tolist())}
    rank_of = {companies[place]: number for number, place in enumerate(order.tolist())}
    scores = [np.zeros(0)] * len(examples)
    for fold in range(folds):
        tell(f"fold {fold + 1} of {folds}")
        others = [example for example in examples if fold_of[example.company] != fold and learn_from(example)]
        ranked = sorted({rank_of[one.company] for one in others})
        learned = set(ranked[: math.ceil(share * len(ranked))])
        model = train((one for one in others if rank_of[one.company] in learned), without=without)
        for number, example in enumerate(examples):
            if fold_of[example.company] == fold:
                features = example.features.copy()
                features[:, [NAMES.index(name) for name in without]] = np.nan
                scores[number] = model.predict(features)
    return scores


def study(
    examples: Sequence[Example],
    *,
    learn: Sequence[str] = TRAINING_SETS,
    tell: Tell = lambda message: None,
) -> dict[str, Any]:
    """Everything that the model card shows, as JSON values: per set the unlearned quality and the learned one
    (from the sets ``learn``), held out by company, with a bootstrap interval of the difference, and the
    candidates' ceilings; the quality with each group of features left out; and the quality by share of
    companies trained on."""

    def by_set(quality: NDArray[np.float64]) -> dict[str, float]:
        return {name: float(quality[places].mean()) for name, places in sets.items()}

    names = sorted({example.set_name for example in examples})
    sets = {
        name: [place for place, example in enumerate(examples) if example.set_name == name] for name in names
    }
    before = np.array([one.quality(choose(one.document, one.start, one.end, one.score)) for one in examples])
    tell("cross-validation")
    after = cross_validate(examples, learn=learn, tell=tell)
    report: dict[str, Any] = {
        "sets": {
            name: {
                "questions": len(places),
                "unlearned": float(before[places].mean()),
                "learned": float(after[places].mean()),
                "difference_95": list(
                    paired_interval(after[places], before[places], resamples=_RESAMPLES)[1:]
                ),
                **ceilings([examples[place] for place in places]),
            }
            for name, places in sets.items()
        },
        "without": {},
        "share": {},
    }
    for group, members in GROUPS.items():
        if group != "neural":
            tell(f"without {group}")
            report["without"][group] = by_set(cross_validate(examples, learn=learn, without=members))
    for share in (0.125, 0.25, 0.5):
        tell(f"learning from {share:.1%} of the companies")
        report["share"][str(share)] = by_set(cross_validate(examples, learn=learn, share=share))
    report["share"]["1.0"] = by_set(after)
    return report


def ceilings(examples: Sequence[Example]) -> dict[str, float]:
    """What the candidates of some questions would allow: the mean share of the evidence that the best 150
    windows hold, that all of them hold, and that the best five of them hold."""
    return {
        f"candidates_{_RECALL_AT}": float(np.mean([one.ceiling(_RECALL_AT) for one in examples])),
        f"candidates_{WINDOWS}": float(np.mean([one.ceiling(WINDOWS) for one in examples])),
        f"best_{MOST_SPANS}": float(np.mean([one.best_choice() for one in examples])),
    }


def plot(model: RankingModel, path: str | PathLike[str]) -> None:
    """Draw the features' importances.

    Raises :class:`~hybridrank.errors.MissingExtra` without matplotlib.
    """
    pyplot = pyplot_for_files()
    gains = {name: gain for name, gain in model.importances().items() if gain > 0}
    total = sum(gains.values())
    figure, axes = pyplot.subplots(figsize=(7, 0.22 * len(gains) + 1))
    axes.barh(list(gains)[::-1], [100 * gain / total for gain in gains.values()][::-1])
    axes.set_xlabel("share of the total gain, percent")
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def _cover(example: Example, score: NDArray[np.float64]) -> list[int]:
    return cover(example.document, example.start, example.end, score)
