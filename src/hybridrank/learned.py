"""A reranker that learns from labels: which features of a passage, and of the query, tell that it helps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from os import PathLike
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hybridrank.errors import IndexTooNew, InputError
from hybridrank.features import SCHEME, PassageFeatures
from hybridrank.found_texts import Corpus, unknown_ids
from hybridrank.lexical import LexicalIndex
from hybridrank.protocols import Retriever, check_depth
from hybridrank.ranking_model import HIGHEST_GRADE, RankingModel, difference
from hybridrank.records import Hit, Ranking, Reason
from hybridrank.storage import IndexReader, IndexWriter

__all__ = ["LearnedReranker", "RankingModel"]

_KIND = "learned-reranker"
_NAMED = 5  # things named in one message
_PULLS = 6  # features named in the reason of a hit


class LearnedReranker:
    """Orders hits by what was learned from labels; a :class:`~hybridrank.protocols.Reranker`.

    Made by :meth:`fit` or :meth:`open`, or of a model whose names are those of
    :class:`~hybridrank.features.PassageFeatures`. It looks at the best ``depth`` hits of a ranking; those
    after them keep their order behind. The reason that it adds to a hit names the features that pulled most,
    up or down. ``name`` is what its list is called there.
    """

    def __init__(
        self,
        index: LexicalIndex | Corpus,
        model: RankingModel,
        *,
        depth: int = 100,
        sources: Sequence[str] = ("dense", "cross_encoder"),
    ) -> None:
        self.features = PassageFeatures(index, sources=sources)
        if model.names != self.features.names:
            raise InputError(
                difference(model.names, self.features.names), remedy="Train a model with these features."
            )
        self.model = model
        self.depth = check_depth(depth)
        self.name = "learned"

    @classmethod
    def fit(
        cls,
        index: LexicalIndex | Corpus,
        queries: Mapping[str, str],
        judgments: Mapping[str, Mapping[str, int]],
        *,
        retriever: Retriever | None = None,
        depth: int = 100,
        sources: Sequence[str] = ("dense", "cross_encoder"),
        missing: float = 0.3,
        rounds: int = 100,
        parameters: Mapping[str, Any] | None = None,
        seed: int = 0,
    ) -> LearnedReranker:
        """Learn from judged passages of an index.

        ``queries`` maps the id of a query to its text, ``judgments`` to the grades of passages by their ids:
        0 for one that does not help, more for one that does. What is not judged counts as 0. Queries without
        judgments are passed over.

        Candidates are the best ``depth`` hits of ``retriever``, by default of the index itself. When it is a
        pipeline with further lists, their scores are features, by the names in ``sources``; each of these is
        withheld from a query with the probability ``missing``, so that the ranker also works when the service
        behind it does not answer. ``rounds``, ``parameters`` and ``seed`` are those of
        :meth:`RankingModel.train`.

        Raises :class:`~hybridrank.errors.InputError` when there are no judgments, for ids that are not known,
        for grades that are none, and when no candidate has a grade above 0.
        """
        _check_judgments(index, queries, judgments)
        features = PassageFeatures(index, sources=sources)
        finder: Retriever = index if retriever is None else retriever
        rows: list[NDArray[np.float32]] = []
        grades: list[list[int]] = []
        for query_id, of_passage in sorted(judgments.items()):  # so that the order given changes nothing
            query = queries[query_id]
            hits = finder.search(query, check_depth(depth)).hits[:depth]
            of_hit = [of_passage.get(hit.passage_id, 0) for hit in hits]
            if any(of_hit):  # where all are alike there is no order to learn
                rows.append(features.compute(query, hits))
                grades.append(of_hit)
        if not rows:
            raise InputError(
                f"no query of {len(judgments)} has a passage of a grade above 0 among its best {depth}",
                remedy="Judge passages that the search finds, or raise `depth`.",
            )
        withheld: dict[tuple[str, ...], float] = {
            (source, f"{source}_rank"): missing for source in features.sources
        }
        model = RankingModel.train(
            np.concatenate(rows),
            np.concatenate([np.array(of_hit) for of_hit in grades]),
            [len(of_hit) for of_hit in grades],
            features.names,
            rounds=rounds,
            parameters=parameters,
            directions=features.directions,
            missing=withheld,
            seed=seed,
        )
        return cls(index, model, depth=depth, sources=sources)

    def rerank(self, ranking: Ranking) -> Ranking:
        """The same hits, by learned score descending and then by place in the corpus.

        The hits beyond ``depth`` get scores below all others, and reasons that name no features. Raises
        :class:`~hybridrank.errors.InputError` for a hit among the best ``depth`` that is not in the index.
        """
        seen, rest = ranking.hits[: self.depth], ranking.hits[self.depth :]
        if not seen:
            return ranking
        rows = self.features.compute(ranking.query, seen)
        scores = self.model.predict(rows)
        order = np.lexsort((np.array([hit.position for hit in seen]), -scores)).tolist()
        hits = [
            self._ranked(seen[at], rank, float(scores[at]), _Pulls(self.model, rows[at]))
            for rank, at in enumerate(order, start=1)
        ]
        lowest = float(scores.min())
        hits.extend(
            self._ranked(hit, len(seen) + place, lowest - place, {})
            for place, hit in enumerate(rest, start=1)
        )
        return replace(ranking, hits=tuple(hits))

    def save(self, directory: str | PathLike[str]) -> None:
        """Write the ranker into a directory, without the index; see :mod:`hybridrank.storage`."""
        settings = {
            **self.model.settings(),
            "depth": self.depth,
            "sources": list(self.features.sources),
            "features": SCHEME,
        }
        with IndexWriter(directory, kind=_KIND, settings=settings) as writer:
            self.model.write(writer)

    @classmethod
    def open(
        cls,
        directory: str | PathLike[str],
        index: LexicalIndex | Corpus,
        *,
        verify: Literal["auto", "full"] = "auto",
    ) -> LearnedReranker:
        """Open a ranker for an index: the one that it learned from, or one with passages of the same kind.

        Raises as :meth:`RankingModel.open` does, and :class:`~hybridrank.errors.IndexTooNew` when this
        version computes the features another way.
        """
        reader = IndexReader.open(directory, kind=_KIND, verify=verify)
        settings = reader.settings
        if settings["features"] != SCHEME:
            raise IndexTooNew(
                directory,
                f"the ranker learned from features of scheme {settings['features']}, where this version has "
                f"{SCHEME}",
                "Train it again, or use the version of hybridrank that trained it.",
            )
        names = PassageFeatures(index, sources=settings["sources"]).names
        model = RankingModel.read(reader, names=names)
        return cls(index, model, depth=settings["depth"], sources=settings["sources"])

    def _ranked(self, hit: Hit, rank: int, score: float, pulls: Mapping[str, float]) -> Hit:
        reason = Reason(source=self.name, rank=rank, score=score, terms=pulls)
        others = tuple(other for other in hit.reasons if other.source != self.name)
        return replace(hit, rank=rank, score=score, reasons=(*others, reason))


class _Pulls(Mapping[str, float]):
    """The features that pulled most at a row, and how much, from up to down.

    They are worked out when they are first looked at: it takes longer than the ranking itself.
    """

    def __init__(self, model: RankingModel, row: NDArray[np.float32]) -> None:
        self._model = model
        self._row = row

    @cached_property
    def _pulls(self) -> dict[str, float]:
        shares = self._model.contributions(self._row[None, :])[0, :-1].tolist()
        pulls = sorted(zip(self._model.names, shares, strict=True), key=lambda pull: -abs(pull[1]))[:_PULLS]
        return {name: share for name, share in sorted(pulls, key=lambda pull: -pull[1]) if share}

    def __getitem__(self, name: str) -> float:
        return self._pulls[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._pulls)

    def __len__(self) -> int:
        return len(self._pulls)

    def __repr__(self) -> str:
        return repr(self._pulls)

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (self._pulls,)


def _check_judgments(
    index: LexicalIndex | Corpus, queries: Mapping[str, str], judgments: Mapping[str, Mapping[str, int]]
) -> None:
    if not any(judgments.values()):
        raise InputError("there are no judgments to learn from", remedy="Give grades of passages by query.")
    _refuse("queries", [query_id for query_id in judgments if query_id not in queries])
    judged = dict.fromkeys(passage_id for of_passage in judgments.values() for passage_id in of_passage)
    _refuse("passages", unknown_ids(index, list(judged)))
    for query_id, of_passage in judgments.items():
        for passage_id, grade in of_passage.items():
            if not (isinstance(grade, (int, np.integer)) and 0 <= grade <= HIGHEST_GRADE):
                raise InputError(
                    f"the grade of passage {passage_id!r} for query {query_id!r} is {grade!r}",
                    remedy=f"Give whole numbers from 0 to {HIGHEST_GRADE}.",
                )


def _refuse(what: str, unknown: Sequence[str]) -> None:
    if unknown:
        named = ", ".join(map(repr, unknown[:_NAMED]))
        more = f" and {len(unknown) - _NAMED} more" if len(unknown) > _NAMED else ""
        raise InputError(
            f"there are judgments for {what} that are not known: {named}{more}",
            remedy=f"Give ids of {what} that are there.",
        )
