"""Questions with candidates and stand-ins for a cross-encoder, to measure what a budget for one buys.

A question's candidates are the best windows of the finance pipeline without its model, of which none shares
more than half with a better one: what a user would hand to a cross-encoder. No trained cross-encoder is at
hand without a key, so that there are stand-ins, each said by name what it is:

``learned``      the learned ranker of evidence, trained on other companies' questions: a real signal with
                 real mistakes, and no more than what the words and the layout tell
``labels±0.5``,  1 for a window that holds evidence and 0 for others, plus Gaussian noise of that standard
``labels±1``     deviation: what a strong and a middling cross-encoder would do, though their mistakes are
                 of other kinds
``service``      a reranking service that is asked, such as Jina's
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hybridrank.cross_encoder import Scorer
from hybridrank.ranking_model import RankingModel
from hybridrank.records import Hit, Passage, Ranking
from hybridrank.tasks.finance.candidates import CandidateFinder, Candidates, Weights
from hybridrank.tasks.finance.corpus import Problem, read_questions
from hybridrank.tasks.finance.datasets import Corpus, EvaluationSet
from hybridrank.tasks.finance.features import NAMES, EvidenceFeatures
from hybridrank.tasks.finance.index import build
from hybridrank.tasks.finance.ranker import DEPTH, WINDOWS
from hybridrank.tasks.finance.scoring import Label, Place, evidence_recall, page_hit
from hybridrank.tasks.finance.search import FinanceIndex
from hybridrank.tasks.finance.spans import choose

N_CANDIDATES = 40
N_ANSWERS = 5
NOISES = (0.5, 1.0)
_FOLDS = 5
_ROUNDS = 200
_PARAMETERS = {"num_leaves": 31, "min_data_in_leaf": 100}


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Pool:
    """A question's candidates as a ranking, and the scores of stand-ins by name, one each for every hit."""

    set_name: str
    company: str
    label: Label
    ranking: Ranking
    places: tuple[Place, ...]
    features: NDArray[np.float32]
    scores: dict[str, NDArray[np.float64]] = field(default_factory=dict)

    def quality(self, ranking: Ranking) -> float:
        """The evidence recall, or page hit, of the first five hits of a ranking of these candidates."""
        spans = [self.places[int(hit.passage_id)] for hit in ranking[:N_ANSWERS]]
        label = self.label
        return page_hit(label.pages, spans) if label.pages else evidence_recall(label.units, spans)

    def holds(self) -> NDArray[np.int64]:
        """2 for a candidate that holds all the evidence, 1 for one that holds some, else 0."""
        alone = [self.quality(Ranking(query="", hits=(hit,))) for hit in self.ranking]
        return np.array([2 if share == 1 else int(share > 0) for share in alone], dtype=np.int64)


def read_pools(sets: Iterable[EvaluationSet], work: Path, tell: Callable[[str], None]) -> list[Pool]:
    """Index each corpus below ``work``, unless it is there, and find the candidates of every question.

    A question that a set repeats word for word is taken once.
    """
    pools: list[Pool] = []
    opened: dict[str, FinanceIndex] = {}
    for one in sets:
        name = one.corpus.name
        if name not in opened:
            opened[name] = FinanceIndex.open(index_of(one.corpus, work, tell), model=None)
        tell(f"finding candidates of {one.name} in {name}")
        pools.extend(_pools_of(one, opened[name]))
    return pools


def index_of(corpus: Corpus, work: Path, tell: Callable[[str], None]) -> Path:
    """The directory below ``work`` of a corpus's index, which is built unless it is there."""
    directory = work / corpus.name
    if not (directory / "manifest.json").exists():
        tell(f"indexing corpus {corpus.name}")
        build(corpus.path, directory)
    return directory


def _pools_of(one: EvaluationSet, index: FinanceIndex) -> Iterable[Pool]:
    features = EvidenceFeatures(CandidateFinder(index.reports, Weights(depth=DEPTH)))
    companies = dict(
        zip(index.reports.ids, (profile.name.lower() for profile in index.reports.profiles), strict=True)
    )
    asked: set[str] = set()
    for question in read_questions(one.queries):
        if isinstance(question, Problem):
            raise question.error
        if question.text in asked:
            continue
        asked.add(question.text)
        found = features.finder.find(question.text)
        if found is None:
            continue
        found = found.best(WINDOWS)
        kept = choose(found.report, found.start, found.end, found.score, N_CANDIDATES)
        label = one.labels[question.query_id]
        document = min(label.documents)
        yield Pool(
            set_name=f"{one.corpus.name}/{one.name}",
            company=companies[document] or document,
            label=label,
            ranking=Ranking(query=question.text, hits=tuple(_hits(found, kept, index))),
            places=tuple(
                Place(index.reports.ids[int(found.report[at])], int(found.start[at]), int(found.end[at]))
                for at in kept
            ),
            features=features.compute(found)[kept],
        )


def _hits(found: Candidates, kept: Sequence[int], index: FinanceIndex) -> Iterable[Hit]:
    for place, at in enumerate(kept):
        text = index.text(int(found.report[at]))[int(found.start[at]) : int(found.end[at])]
        yield Hit(
            passage_id=str(place),
            position=place,
            rank=place + 1,
            score=float(found.score[at]),
            passage=Passage(id=str(place), text=text),
        )


def add_learned(pools: Sequence[Pool], tell: Callable[[str], None]) -> None:
    """Score every pool by a ranker that has learned from other companies alone."""
    companies = sorted({pool.company for pool in pools})
    order = np.random.default_rng(0).permutation(len(companies)).tolist()
    fold_of = {companies[place]: number % _FOLDS for number, place in enumerate(order)}
    for fold in range(_FOLDS):
        tell(f"learning, fold {fold + 1} of {_FOLDS}")
        taught = [
            (pool, grades)
            for pool in pools
            if fold_of[pool.company] != fold and not pool.label.pages and (grades := pool.holds()).any()
        ]
        model = RankingModel.train(
            np.concatenate([pool.features for pool, _ in taught]),
            np.concatenate([grades for _, grades in taught]),
            [len(grades) for _, grades in taught],
            NAMES,
            rounds=_ROUNDS,
            parameters=_PARAMETERS,
        )
        for pool in pools:
            if fold_of[pool.company] == fold:
                pool.scores["learned"] = np.asarray(model.predict(pool.features), dtype=np.float64)


def add_noisy_labels(pools: Sequence[Pool], seed: int = 0) -> None:
    """Score every pool by its labels and noise."""
    random = np.random.default_rng(seed)
    for pool in pools:
        good = (pool.holds() > 0).astype(np.float64)
        for noise in NOISES:
            pool.scores[f"labels±{noise:g}"] = good + noise * random.standard_normal(len(good))


def add_service(pools: Sequence[Pool], scorer: Scorer, tell: Callable[[str], None]) -> None:
    """Score every pool by a service."""
    for number, pool in enumerate(pools):
        texts = [hit.passage.text for hit in pool.ranking if hit.passage]
        pool.scores["service"] = np.asarray(scorer.rerank(pool.ranking.query, texts).scores, dtype=np.float64)
        tell(f"asked the service for {number + 1} of {len(pools)} questions")
