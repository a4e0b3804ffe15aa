"""What judgments are about: passages as indexed, or whole documents. And do the ids match at all?"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from hybridrank.errors import HybridrankWarning, InputError
from hybridrank.passage_store import documents_of, ids_of
from hybridrank.protocols import Retriever
from hybridrank.records import Hit, Passage, Ranking

__all__ = ["Unit", "by_unit", "check_overlap", "search_units", "tell_unit"]

Unit = Literal["passage", "document"]
_NAMED = 3


def tell_unit(
    passages: Sequence[Passage], judgments: Mapping[str, Iterable[str]], *, what: str = "judged"
) -> Unit:
    """Whether ids, by query, are those of an index's passages or of their documents: what more of them are.

    ``what`` is what messages call them. Warns of ids that are neither. Raises
    :class:`~hybridrank.errors.InputError` when all are, with examples of both: such a comparison would score
    0 and say nothing.
    """
    judged = dict.fromkeys(one for of_query in judgments.values() for one in of_query)
    as_passages = judged.keys() & set(ids_of(passages))
    as_documents = judged.keys() & {one for one in documents_of(passages) if one is not None}
    unit: Unit = "document" if len(as_documents) > len(as_passages) else "passage"
    known = as_documents if unit == "document" else as_passages
    if not known:
        there = [f"{one.id!r} of document {one.document_id!r}" for one in passages[:_NAMED]]
        raise InputError(
            f"none of the {len(judged)} {what} ids ({_some(judged)}) is in the index, which has the passages "
            f"{', '.join(there) or '(none at all)'}",
            remedy="Give ids of what is indexed: of passages, or of documents.",
        )
    _warn(f"{what} {unit}s are not in the index, so that nothing can find them", judged, known)
    return unit


def check_overlap(
    queries: Iterable[str],
    judgments: Iterable[str],
    *,
    what: str = "queries",
    known: str = "judged queries",
) -> list[str]:
    """The ids of ``queries`` that are judged, in their order; warns of those that are not.

    ``what`` and ``known`` are what messages call the two. Raises :class:`~hybridrank.errors.InputError` when
    no id is in both.
    """
    given, judged = dict.fromkeys(queries), dict.fromkeys(judgments)
    both = [query_id for query_id in given if query_id in judged]
    if not both:
        raise InputError(
            f"none of the {len(judged)} {known} ({_some(judged)}) is among the {len(given)} {what} "
            f"({_some(given)})",
            remedy="Give both with the same query ids.",
        )
    _warn(f"{what} are not among the {known}", given, judged)
    _warn(f"{known} are not among the {what}", judged, given)
    return both


def _warn(what: str, all_ids: Iterable[str], known: Iterable[str]) -> None:
    ids, there = list(all_ids), set(known)
    strange = [one for one in ids if one not in there]
    if strange:
        warnings.warn(
            f"{len(strange)} of {len(ids)} {what}: {_some(strange)}", HybridrankWarning, stacklevel=3
        )


def _some(ids: Iterable[str]) -> str:
    listed = list(ids)
    return ", ".join(map(repr, listed[:_NAMED])) + (", …" if len(listed) > _NAMED else "")


def by_unit(ranking: Ranking, unit: Unit) -> Ranking:
    """The same ranking for passages; else each document once, at its best passage, under its own id, with
    ranks from 1 again (*MaxP*: Dai and Callan, *Deeper Text Understanding for IR with Contextual Neural
    Language Modeling*, SIGIR 2019)."""
    if unit == "passage":
        return ranking
    best: dict[str, Hit] = {}
    for hit in ranking:
        document = None if hit.passage is None else hit.passage.document_id
        best.setdefault(hit.passage_id if document is None else document, hit)
    hits = (replace(hit, passage_id=name, rank=rank) for rank, (name, hit) in enumerate(best.items(), 1))
    return replace(ranking, hits=tuple(hits))


def search_units(
    retriever: Retriever, query: str, k: int, unit: Unit, found: Ranking | None = None
) -> Ranking:
    """The best ``k`` passages or documents; for these, more passages are looked for until that many are
    there. ``found`` is the ranking of the best ``k`` passages, where it is known."""
    ranking, looked = retriever.search(query, k) if found is None else found, k
    units = by_unit(ranking, unit)
    while len(units) < k and len(ranking) >= looked:
        looked *= 4
        ranking = retriever.search(query, looked)
        units = by_unit(ranking, unit)
    return units.top(k)
