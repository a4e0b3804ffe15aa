"""Ordering documents of others by any reranker of ours, and making passages of them."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping, Sequence
from itertools import chain, count
from typing import Any, NamedTuple

from hybridrank.errors import BudgetExhausted, InputError, ServiceError
from hybridrank.integrations.scorers import Bm25Scorer, Scorer
from hybridrank.protocols import Reranker
from hybridrank.records import Hit, Passage, Ranking

__all__ = ["Reordered", "check_reranker", "make_passages", "passage_of", "reorder"]


class Reordered(NamedTuple):
    """Documents in a better order: ``order`` has the place and the score of each, best first; ``degraded``
    says, when it is not ``None``, why the order is less good than it could be."""

    order: list[tuple[int, float]]
    degraded: str | None = None


def check_reranker(reranker: Reranker | Scorer | None) -> Reranker | Scorer:
    """The reranker itself, or BM25 in place of none.

    Raises :class:`~hybridrank.errors.InputError` for what has no method ``rerank``, or an asynchronous one.
    """
    if reranker is None:
        return Bm25Scorer()
    if not isinstance(reranker, Scorer):  # it asks for the method alone
        raise InputError(
            f"a {type(reranker).__name__} cannot rerank",
            remedy="Give a Reranker, or an object with a method rerank(query, documents).",
        )
    if inspect.iscoroutinefunction(reranker.rerank):
        raise InputError(
            f"{type(reranker).__name__}.rerank is asynchronous",
            remedy="Give the synchronous one, such as JinaClient; it is called in a thread of its own.",
        )
    return reranker


def reorder(
    reranker: Reranker | Scorer,
    query: str,
    texts: Sequence[str],
    *,
    ids: Sequence[str | None] = (),
    scores: Sequence[float | None] = (),
) -> Reordered:
    """Order texts for a query; equal scores keep the order given.

    ``ids`` name them to a reranker that knows passages by id; ``scores`` are those that they have already,
    which stay when the service behind a reranker is lost. A text whose score is no number, or infinite, comes
    last.

    >>> reorder(Bm25Scorer(), "sales?", ["Costs fell.", "Sales rose."]).order[0][0]
    1
    """
    before = [0.0 if score is None else score for score in scores] or [0.0] * len(texts)
    if not texts:
        return Reordered([])
    if _takes_a_ranking(reranker):
        return _by_ranking(reranker, query, texts, ids, before)
    try:
        answer: Any = reranker.rerank(query, texts)  # type: ignore[call-arg, arg-type]
    except (BudgetExhausted, ServiceError) as error:
        return Reordered(list(enumerate(before)), f"not reranked: {error}")
    given = [float(score) for score in getattr(answer, "scores", answer)]
    if len(given) != len(texts):
        raise InputError(
            f"{type(reranker).__name__} gave {len(given)} scores for {len(texts)} documents",
            remedy="Give a scorer that returns one score a document.",
        )
    lowest = min(filter(math.isfinite, given), default=1.0) - 1
    places = sorted(range(len(given)), key=lambda at: (not math.isfinite(given[at]), -given[at], at))
    return Reordered([(at, given[at] if math.isfinite(given[at]) else lowest) for at in places])


def _takes_a_ranking(reranker: Any) -> bool:
    needed = [
        parameter
        for parameter in inspect.signature(reranker.rerank).parameters.values()
        if parameter.default is parameter.empty
        and parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]
    return len(needed) == 1


def _by_ranking(
    reranker: Any, query: str, texts: Sequence[str], ids: Sequence[str | None], scores: Sequence[float]
) -> Reordered:
    unique = len(ids) == len(texts) == len(set(ids))
    passages = make_passages(texts, ids=ids if unique else ())
    hits = tuple(
        Hit(passage_id=passage.id, position=place, rank=place + 1, score=score, passage=passage)
        for place, (passage, score) in enumerate(zip(passages, scores, strict=True))
    )
    ranking: Ranking = reranker.rerank(Ranking(query=query, hits=hits))
    place_of = {passage.id: place for place, passage in enumerate(passages)}
    return Reordered([(place_of[hit.passage_id], hit.score) for hit in ranking], ranking.degraded)


def make_passages(
    texts: Sequence[str],
    *,
    ids: Sequence[str | None] = (),
    metadatas: Sequence[Mapping[str, object] | None] = (),
) -> list[Passage]:
    """Passages of texts; one without an id is named by its place, from 0.

    Raises :class:`~hybridrank.errors.InputError` when there are not as many ids or metadatas as texts.

    >>> [passage.id for passage in make_passages(["a", "b", "c"], ids=["2", None, None])]
    ['2', '1', '2-1']
    """
    for what, given in (("ids", ids), ("metadatas", metadatas)):
        if len(given) not in (0, len(texts)):
            raise InputError(f"there are {len(given)} {what} for {len(texts)} texts", remedy="Give one each.")
    names = list(ids) or [None] * len(texts)
    taken = set(names)
    passages = []
    for place, (text, name, about) in enumerate(
        zip(texts, names, metadatas or [None] * len(texts), strict=True)
    ):
        if name is None:
            free = chain([str(place)], (f"{place}-{again}" for again in count(1)))
            name = next(one for one in free if one not in taken)
            taken.add(name)
        passages.append(Passage(id=name, text=text, metadata=about or {}))
    return passages


def passage_of(hit: Hit) -> Passage:
    """The passage of a hit; raises :class:`~hybridrank.errors.InputError` when its retriever keeps ids alone.

    >>> passage = Passage(id="a", text="Net sales rose.")
    >>> passage_of(Hit(passage_id="a", position=0, rank=1, score=1.0, passage=passage)) is passage
    True
    """
    if hit.passage is None:
        raise InputError(
            f"the hit {hit.passage_id!r} has no passage, so that there is no text to return",
            remedy="Give a retriever that keeps its passages.",
        )
    return hit.passage
