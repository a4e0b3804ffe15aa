"""The ways of answering that the hybrid benchmark compares, and what each of them asks of the service."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from benchmarks.hybrid_questions import N_CANDIDATES, Question, Tell
from hybridrank.cross_encoder import CrossEncoderReranker
from hybridrank.errors import InputError
from hybridrank.fusion import ReciprocalRankFusion
from hybridrank.fusion_choice import choose_fusion
from hybridrank.jina import JinaClient, JinaEmbedder
from hybridrank.pipeline import hybrid
from hybridrank.records import Ranking, Usage
from hybridrank.tasks.finance.features import EvidenceFeatures
from hybridrank.tasks.finance.neural import NeuralScores, NeuralSignals
from hybridrank.tasks.finance.spans import MOST_SPANS, cover
from hybridrank.tasks.finance.training import Example

__all__ = [
    "LEARNED",
    "LEXICAL",
    "Asked",
    "Framework",
    "Listed",
    "Lists",
    "Method",
    "ask",
    "compare",
    "covered",
    "framework",
    "less",
    "with_neural",
]

LEXICAL, LEARNED = "lexical", "learned"

_FOLDS = 5
_SEED = 0
Item = TypeVar("Item")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Method:
    """What one way of answering gave: the quality of each question, and what each asked of the service."""

    name: str
    quality: NDArray[np.float64]
    usage: Sequence[Usage]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Lists:
    """What the two retrievers found for a question, and what the dense one has cost."""

    lexical: Ranking
    dense: Ranking
    usage: Usage

    @property
    def by_name(self) -> Mapping[str, Ranking]:
        """The lists by the names that they have in a pipeline."""
        return {"bm25": self.lexical, "dense": self.dense}


class Listed:
    """A retriever that knows the answer to one query."""

    def __init__(self, name: str, ranking: Ranking) -> None:
        self.name = name
        self.ranking = ranking

    def __len__(self) -> int:
        return len(self.ranking)

    def search(self, query: str, k: int = 10) -> Ranking:
        """The list, whatever the query."""
        return self.ranking.top(k)

    def search_many(self, queries: Iterable[str], k: int = 10) -> list[Ranking]:
        """The same for each query."""
        return [self.search(query, k) for query in queries]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Asked:
    """What the service said about the questions of one set, and what that has cost, by question.

    ``mixed`` are the learned scores with a fixed weight of what it ``said``.
    """

    lists: Sequence[Lists]
    reranked: Sequence[Ranking]
    said: Sequence[NeuralScores]
    mixed: Sequence[NDArray[np.float64]]
    said_usage: Sequence[Usage]

    @property
    def requests(self) -> int:
        """All requests."""
        usage = [some.usage for some in self.lists] + [one.usage for one in self.reranked]
        return sum(one.requests for one in (*usage, *self.said_usage))


def ask(
    questions: Sequence[Question],
    alone: Sequence[NDArray[np.float64]],
    open_client: Callable[[str], JinaClient],
    tell: Tell,
) -> Asked:
    """Ask all that the methods need; ``alone`` are the learned scores of the questions' windows.

    ``open_client`` gives a client for a name. Each has its own cache, so that what one method asks makes no
    other look cheap.
    """
    with open_client("dense") as client:
        lists = [_search(question, client) for question in _told(questions, "embedding candidates", tell)]
    with open_client("cross-encoder") as client:
        reranker = CrossEncoderReranker(client, depth=N_CANDIDATES)
        combined = [_hybrid(some) for some in _told(lists, "reranking", tell)]
        reranked = [reranker.rerank(replace(ranking, usage=Usage())) for ranking in combined]
        for ranking in reranked:
            _check(ranking.degraded)
    with open_client("neural") as client:
        signals = NeuralSignals(
            scorer=client, embedder=JinaEmbedder(client), depth=N_CANDIDATES, ledger=client.ledger
        )
        said, mixed, spent = [], [], []
        for question, scores in zip(_told(questions, "asking about windows", tell), alone, strict=True):
            before = client.ledger.usage
            best = signals.places(scores)
            answer = signals.ask(question.text, question.texts(best.tolist()))
            _check(answer.degraded)
            said.append(answer.among(best, len(scores)))
            mixed.append(signals.mixed(scores, said[-1]))
            spent.append(less(client.ledger.usage, before))
    return Asked(lists=lists, reranked=reranked, said=said, mixed=mixed, said_usage=spent)


def _check(degraded: str | None) -> None:
    """A figure of a method that lost its service on the way would be one of another method."""
    if degraded is not None:
        raise InputError(
            f"the service was lost ({degraded})",
            remedy="Begin again: what it answered is in the cache.",
        )


def _told(items: Sequence[Item], what: str, tell: Tell) -> Iterator[Item]:
    for number, item in enumerate(items, start=1):
        if number % 25 == 1:
            tell(f"{what}, {number} of {len(items)}")
        yield item


def _search(question: Question, client: JinaClient) -> Lists:
    """The candidates by the unlearned score, and by their cosine with the question."""
    before = client.ledger.usage
    embedder = JinaEmbedder(client)
    (query,) = embedder.embed([question.text], task="query").astype(np.float64)
    vectors = embedder.embed(question.texts(question.candidates), task="passage").astype(np.float64)
    lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(query)
    cosines = np.divide(vectors @ query, lengths, out=np.zeros(len(vectors)), where=lengths > 0)
    return Lists(
        lexical=question.ranking(question.example.score[list(question.candidates)].tolist()),
        dense=question.ranking(cosines.tolist()),
        usage=less(client.ledger.usage, before),
    )


def compare(
    questions: Sequence[Question],
    asked: Asked,
    alone: Sequence[NDArray[np.float64]],
    together: Sequence[NDArray[np.float64]],
    tell: Tell,
) -> list[Method]:
    """Our ways of answering the questions of one set.

    ``alone`` and ``together`` are the learned scores of the windows without and with neural features, by
    models that saw no question on the same company.
    """
    free = [Usage()] * len(questions)
    embedding = [some.usage for some in asked.lists]
    reranking = [one.usage + other.usage for one, other in zip(asked.lists, asked.reranked, strict=True)]
    equal = ReciprocalRankFusion()

    def judged(rankings: Iterable[Ranking]) -> list[float]:
        return [question.quality(one) for question, one in zip(questions, rankings, strict=True)]

    tell("choosing a fusion")
    chosen = _chosen(questions, asked.lists)
    examples = [question.example for question in questions]
    halfway = [(one + other) / 2 for one, other in zip(alone, together, strict=True)]
    return [
        _method(LEXICAL, judged(some.lexical for some in asked.lists), free),
        _method("dense", judged(some.dense for some in asked.lists), embedding),
        _method("equal RRF", judged(equal(some.by_name) for some in asked.lists), embedding),
        _method("hybrid()", judged(map(_hybrid, asked.lists)), embedding),
        _method("chosen fusion", judged(chosen), embedding),
        _method("hybrid(), reranked", judged(asked.reranked), reranking),
        _method(LEARNED, covered(examples, alone), free),
        _method("learned + fixed weight", covered(examples, asked.mixed), asked.said_usage),
        _method("learned with features", covered(examples, together), asked.said_usage),
        _method("mean of both learned", covered(examples, halfway), asked.said_usage),
    ]


def _method(name: str, quality: Sequence[float], usage: Sequence[Usage]) -> Method:
    return Method(name=name, quality=np.asarray(quality, dtype=np.float64), usage=usage)


def _hybrid(lists: Lists) -> Ranking:
    lexical, dense = (Listed(name, ranking) for name, ranking in lists.by_name.items())
    return hybrid(lexical, dense).search(lists.lexical.query, N_CANDIDATES)


def _chosen(questions: Sequence[Question], lists: Sequence[Lists]) -> list[Ranking]:
    """Each question's lists, fused as is best for questions of the same set about other companies."""
    companies = sorted({question.example.company for question in questions})
    order = np.random.default_rng(_SEED).permutation(len(companies)).tolist()
    fold_of = {companies[place]: number % _FOLDS for number, place in enumerate(order)}
    rankings = {str(number): some.by_name for number, some in enumerate(lists)}
    masks = {str(number): question.masks() for number, question in enumerate(questions)}
    groups = {str(number): question.example.company for number, question in enumerate(questions)}
    found = [some.lexical for some in lists]
    for fold in range(_FOLDS):
        others = {id: some for id, some in rankings.items() if fold_of[groups[id]] != fold}
        if len({groups[id] for id in others}) < 2:
            continue  # a sample of a company or two gives nothing to choose by
        choice = choose_fusion(others, masks, groups=groups, lowest={"bm25": 0.0}, measure=_share_held)
        for number in range(len(questions)):
            if fold_of[groups[str(number)]] == fold:
                found[number] = choice.fusion(lists[number].by_name)
    return found


def _share_held(ids: Sequence[str], masks: Mapping[str, int]) -> float:
    """The share of the units that the first five windows hold.

    >>> _share_held(["7", "9"], {"7": 0b01, "9": 0b01, "all": 0b11})
    0.5
    """
    held = reduce(or_, (masks.get(id, 0) for id in ids[:MOST_SPANS]), 0)
    return held.bit_count() / masks["all"].bit_count()


def with_neural(example: Example, said: NeuralScores) -> Example:
    """The same example with neural scores among its features."""
    return replace(example, features=EvidenceFeatures.with_neural(example.features, said))


def covered(examples: Sequence[Example], scores: Sequence[NDArray[np.float64]]) -> list[float]:
    """The quality of the spans that are chosen by some scores."""
    return [
        example.quality(cover(example.document, example.start, example.end, given))
        for example, given in zip(examples, scores, strict=True)
    ]


class Framework(Protocol):
    """A framework's own retrieval from two lists, with its own client of a reranking service."""

    @property
    def name(self) -> str:
        """What it is called in a table."""
        ...

    @property
    def usage(self) -> Usage:
        """What its client has asked for so far."""
        ...

    def answer(self, lists: Lists) -> Sequence[str]:
        """The ids of the best five hits."""
        ...


def framework(one: Framework, questions: Sequence[Question], lists: Sequence[Lists], tell: Tell) -> Method:
    """What a framework makes of the same lists; the vectors cost it what they cost us."""
    quality, usage = [], []
    for question, some in zip(_told(questions, one.name, tell), lists, strict=True):
        before = one.usage
        quality.append(question.example.quality([int(id) for id in one.answer(some)]))
        usage.append(some.usage + less(one.usage, before))
    return _method(one.name, quality, usage)


def less(after: Usage, before: Usage) -> Usage:
    """What was spent in between."""
    return Usage(
        requests=after.requests - before.requests,
        tokens=after.tokens - before.tokens,
        seconds=after.seconds - before.seconds,
        cache_hits=after.cache_hits - before.cache_hits,
    )
