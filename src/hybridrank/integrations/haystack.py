"""Haystack: a retriever over a saved index or any retriever of ours, and a ranker over any reranker.

When a service behind one was lost, ``degraded`` in a document's ``meta`` says what was left out. Haystack
reads a pipeline with these components when it is told that it may import them:
``Pipeline.loads(text, allowed_modules=["hybridrank.integrations.haystack"])``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from os import PathLike, fspath
from typing import Any

from hybridrank.errors import InputError, MissingExtra
from hybridrank.integrations.reordering import check_reranker, make_passages, passage_of, reorder
from hybridrank.integrations.scorers import LearnedScorer, Scorer
from hybridrank.lexical import LexicalIndex
from hybridrank.protocols import Reranker, Retriever, check_depth
from hybridrank.records import Hit, Ranking
from hybridrank.text.tokens import Tokenizer

try:
    from haystack import Document, component, default_from_dict, default_to_dict
except ModuleNotFoundError as error:
    raise MissingExtra("haystack-ai", extra="haystack") from error

__all__ = ["HybridrankRanker", "HybridrankRetriever"]


@component
class HybridrankRetriever:
    """A Haystack component that finds documents in an index.

    ``index_path`` is a directory that :meth:`hybridrank.lexical.LexicalIndex.save` or ``hybridrank index``
    wrote; it is opened by :meth:`warm_up`, or when it is first needed. Or give any
    :class:`~hybridrank.protocols.Retriever` as ``retriever``; such a component cannot be serialized. Fewer
    than ``top_k`` documents come back when fewer share a word with the query. Ids and ``meta`` are those of
    the passages; one cut from a document brings ``source_id`` and ``split_idx_start``, unless its metadata
    have these.

    >>> documents = [Document(content="Net sales rose.", id="a"), Document(content="Costs fell.", id="b")]
    >>> retriever = HybridrankRetriever.from_documents(documents, top_k=1)
    >>> [document.id for document in retriever.run(query="Which sales?")["documents"]]
    ['a']
    """

    def __init__(
        self,
        index_path: str | PathLike[str] | None = None,
        *,
        retriever: Retriever | None = None,
        top_k: int = 10,
    ) -> None:
        if (index_path is None) == (retriever is None):
            raise InputError("a retriever needs an index", remedy="Give either index_path or retriever.")
        if retriever is not None and not isinstance(retriever, Retriever):
            raise InputError(
                f"a {type(retriever).__name__} is no Retriever",
                remedy="Give an index or a pipeline; for documents use from_documents.",
            )
        self.index_path = None if index_path is None else fspath(index_path)
        self.top_k = check_depth(top_k)
        self._retriever = retriever

    @classmethod
    def from_documents(
        cls,
        documents: Sequence[Document],
        *,
        index_path: str | PathLike[str] | None = None,
        top_k: int = 10,
        tokenizer: Tokenizer | None = None,
    ) -> HybridrankRetriever:
        """Index documents with BM25, and write the index to ``index_path`` where that is given.

        Documents without text are left out. Raises :class:`~hybridrank.errors.InputError` when two have the
        same id.
        """
        textual = [document for document in documents if document.content is not None]
        passages = make_passages(
            [document.content for document in textual],
            ids=[document.id for document in textual],
            metadatas=[document.meta for document in textual],
        )
        index = LexicalIndex.build(passages, tokenizer=tokenizer)
        if index_path is None:
            return cls(retriever=index, top_k=top_k)
        index.save(index_path)
        return cls(index_path, top_k=top_k)

    def warm_up(self) -> None:
        """Open the index; does nothing when it is open."""
        self._opened()

    def to_dict(self) -> dict[str, Any]:
        """The component as plain values, with the path of its index.

        Raises :class:`~hybridrank.errors.InputError` when it was made without one.
        """
        if self.index_path is None:
            raise InputError(
                "a retriever that was given as an object cannot be serialized",
                remedy="Save its index, and give index_path.",
            )
        values: dict[str, Any] = default_to_dict(self, index_path=self.index_path, top_k=self.top_k)
        return values

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> HybridrankRetriever:
        """The component that :meth:`to_dict` described."""
        made: HybridrankRetriever = default_from_dict(cls, data)
        return made

    @component.output_types(documents=list[Document])
    def run(self, query: str, top_k: int | None = None) -> dict[str, Any]:
        """The best documents for a query, with their scores, as ``documents``."""
        ranking = self._opened().search(query, self.top_k if top_k is None else top_k)
        return {"documents": [_document(hit, ranking) for hit in ranking]}

    @component.output_types(documents=list[Document])
    async def run_async(self, query: str, top_k: int | None = None) -> dict[str, Any]:
        """The same as :meth:`run`, in a thread."""
        return await asyncio.to_thread(self.run, query, top_k)

    def _opened(self) -> Retriever:
        if self._retriever is None:
            self._retriever = LexicalIndex.open(self.index_path or "")
        return self._retriever


@component
class HybridrankRanker:
    """A Haystack component that orders documents anew and keeps the best ``top_k``.

    ``reranker`` is a :class:`~hybridrank.protocols.Reranker`, to which documents are passages by their ids;
    or anything with ``rerank(query, documents)`` that returns scores, such as a
    :class:`~hybridrank.jina.JinaClient`; such a component cannot be serialized. ``model_path`` is where
    :meth:`hybridrank.learned.LearnedReranker.save` wrote a ranker, which then judges the documents given;
    :meth:`warm_up` opens it. With neither it ranks by BM25 over the documents given.

    >>> documents = [Document(content="Costs fell.", id="a"), Document(content="Net sales rose.", id="b")]
    >>> ranked = HybridrankRanker(top_k=1).run(query="Which sales?", documents=documents)
    >>> [document.id for document in ranked["documents"]]
    ['b']
    """

    def __init__(
        self,
        model_path: str | PathLike[str] | None = None,
        *,
        reranker: Reranker | Scorer | None = None,
        top_k: int = 10,
    ) -> None:
        if model_path is not None and reranker is not None:
            raise InputError("there are two rerankers", remedy="Give either model_path or reranker.")
        self.model_path = None if model_path is None else fspath(model_path)
        self.top_k = check_depth(top_k)
        self._given = reranker is not None
        self._reranker = check_reranker(reranker) if model_path is None else None

    def warm_up(self) -> None:
        """Open the model; does nothing when it is open, or when there is none."""
        self._opened()

    def to_dict(self) -> dict[str, Any]:
        """The component as plain values, with the path of its model.

        Raises :class:`~hybridrank.errors.InputError` when it was given a reranker as an object.
        """
        if self._given:
            raise InputError(
                "a reranker that was given as an object cannot be serialized", remedy="Give model_path."
            )
        values: dict[str, Any] = default_to_dict(self, model_path=self.model_path, top_k=self.top_k)
        return values

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> HybridrankRanker:
        """The component that :meth:`to_dict` described."""
        made: HybridrankRanker = default_from_dict(cls, data)
        return made

    @component.output_types(documents=list[Document])
    def run(self, query: str, documents: list[Document], top_k: int | None = None) -> dict[str, Any]:
        """The best of the documents, best first, with new scores, as ``documents``.

        Raises :class:`~hybridrank.errors.InputError` for a document without text.
        """
        if bare := [document.id for document in documents if document.content is None]:
            raise InputError(f"the document {bare[0]!r} has no text", remedy="Give documents with content.")
        reordered = reorder(
            self._opened(),
            query,
            [document.content or "" for document in documents],
            ids=[document.id for document in documents],
            scores=[document.score for document in documents],
        )
        best = reordered.order[: check_depth(self.top_k if top_k is None else top_k)]
        return {
            "documents": [
                replace(
                    documents[place],
                    score=score,
                    meta={**documents[place].meta, **_notes(reordered.degraded)},
                )
                for place, score in best
            ]
        }

    @component.output_types(documents=list[Document])
    async def run_async(
        self, query: str, documents: list[Document], top_k: int | None = None
    ) -> dict[str, Any]:
        """The same as :meth:`run`, in a thread."""
        return await asyncio.to_thread(self.run, query, documents, top_k)

    def _opened(self) -> Reranker | Scorer:
        if self._reranker is None:
            self._reranker = LearnedScorer.open(self.model_path or "")
        return self._reranker


def _document(hit: Hit, ranking: Ranking) -> Document:
    passage = passage_of(hit)
    origin: dict[str, object] = {}
    if passage.document_id is not None:
        origin = {"source_id": passage.document_id, "split_idx_start": passage.start}
    meta = {**origin, **passage.metadata, **_notes(ranking.degraded)}
    return Document(id=passage.id, content=passage.text, meta=meta, score=hit.score)


def _notes(degraded: str | None) -> dict[str, object]:
    return {} if degraded is None else {"degraded": degraded}
