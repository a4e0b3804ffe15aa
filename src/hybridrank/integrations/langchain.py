"""LangChain: a retriever over any retriever of ours, and a document compressor over any reranker.

The scores are in the metadata, as ``relevance_score``, where LangChain's own rerankers put them. When a
service behind one was lost, ``degraded`` says there what was left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os import PathLike
from typing import Any

from hybridrank.errors import MissingExtra
from hybridrank.integrations.reordering import check_reranker, make_passages, passage_of, reorder
from hybridrank.lexical import LexicalIndex
from hybridrank.protocols import Retriever
from hybridrank.records import Hit, Passage, Ranking
from hybridrank.text.tokens import Tokenizer

try:
    from langchain_core.callbacks import (
        AsyncCallbackManagerForRetrieverRun,
        CallbackManagerForRetrieverRun,
        Callbacks,
    )
    from langchain_core.documents import BaseDocumentCompressor, Document
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.runnables import run_in_executor
    from pydantic import ConfigDict, Field, field_validator
except ModuleNotFoundError as error:
    raise MissingExtra("langchain-core", extra="langchain") from error

__all__ = ["HybridrankReranker", "HybridrankRetriever"]


class HybridrankRetriever(BaseRetriever):
    """A LangChain retriever over an index, a pipeline, or any other :class:`~hybridrank.protocols.Retriever`.

    ``k`` is how many documents come back at most, 4 unless told otherwise, and can be given for a call:
    ``invoke(query, k=2)``. Fewer come back when fewer share a word with the query. Ids and metadata are those
    of the passages; a passage cut from a document brings ``document_id`` and ``start_index``, unless its
    metadata have these. Searching runs in a thread when it is awaited.

    >>> retriever = HybridrankRetriever.from_texts(["Net sales rose.", "Costs fell."], k=1)
    >>> [document.page_content for document in retriever.invoke("Which sales?")]
    ['Net sales rose.']
    """

    retriever: Retriever
    k: int = Field(default=4, ge=1)

    @classmethod
    def from_texts(
        cls,
        texts: Iterable[str],
        metadatas: Iterable[dict[str, Any]] | None = None,
        ids: Iterable[str] | None = None,
        *,
        tokenizer: Tokenizer | None = None,
        **options: Any,
    ) -> HybridrankRetriever:
        """Index texts with BM25; ``options`` are the class's own, such as ``k``.

        Texts without ids are named by their places, from 0. Raises :class:`~hybridrank.errors.InputError`
        when two have the same id, or when ids or metadata are not as many as the texts.
        """
        passages = make_passages(list(texts), ids=list(ids or ()), metadatas=list(metadatas or ()))
        return cls(retriever=LexicalIndex.build(passages, tokenizer=tokenizer), **options)

    @classmethod
    def from_documents(
        cls, documents: Iterable[Document], *, tokenizer: Tokenizer | None = None, **options: Any
    ) -> HybridrankRetriever:
        """The same of documents, with their ids and metadata."""
        given = list(documents)
        passages = make_passages(
            [document.page_content for document in given],
            ids=[document.id for document in given],
            metadatas=[document.metadata for document in given],
        )
        return cls(retriever=LexicalIndex.build(passages, tokenizer=tokenizer), **options)

    @classmethod
    def from_index(cls, directory: str | PathLike[str], **options: Any) -> HybridrankRetriever:
        """Open an index that :meth:`hybridrank.lexical.LexicalIndex.save` or ``hybridrank index`` wrote."""
        return cls(retriever=LexicalIndex.open(directory), **options)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        ranking = self.retriever.search(query, self.k if k is None else k)
        return [_document(hit, ranking) for hit in ranking]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        manager = run_manager.get_sync()
        found: list[Document] = await run_in_executor(
            None, self._get_relevant_documents, query, run_manager=manager, k=k
        )
        return found


class HybridrankReranker(BaseDocumentCompressor):
    """A LangChain document compressor that keeps the best ``top_n`` documents, or all when it is ``None``.

    ``reranker`` is a :class:`~hybridrank.protocols.Reranker`, to which documents are passages by their ids;
    or anything with ``rerank(query, documents)`` that returns scores, such as a
    :class:`~hybridrank.jina.JinaClient`; by default BM25 over the documents given.

    >>> documents = [Document("Costs fell.", id="a"), Document("Net sales rose.", id="b")]
    >>> reranker = HybridrankReranker(top_n=1)
    >>> [document.id for document in reranker.compress_documents(documents, "Which sales?")]
    ['b']
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    reranker: Any = Field(default=None, validate_default=True)
    top_n: int | None = Field(default=3, ge=1)

    @field_validator("reranker")
    @classmethod
    def _check_reranker(cls, reranker: Any) -> Any:
        return check_reranker(reranker)

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> Sequence[Document]:
        """Copies of the best documents, best first, with ``relevance_score`` in their metadata."""
        reordered = reorder(
            self.reranker,
            query,
            [document.page_content for document in documents],
            ids=[document.id for document in documents],
            scores=[document.metadata.get("relevance_score") for document in documents],
        )
        return [
            documents[place].model_copy(
                update={"metadata": {**documents[place].metadata, **_notes(score, reordered.degraded)}}
            )
            for place, score in reordered.order[: self.top_n]
        ]


def _document(hit: Hit, ranking: Ranking) -> Document:
    passage = passage_of(hit)
    metadata = {**_origin(passage), **passage.metadata, **_notes(hit.score, ranking.degraded)}
    return Document(page_content=passage.text, id=passage.id, metadata=metadata)


def _origin(passage: Passage) -> dict[str, object]:
    if passage.document_id is None:
        return {}
    return {"document_id": passage.document_id, "start_index": passage.start}


def _notes(score: float, degraded: str | None) -> dict[str, object]:
    return {"relevance_score": score, **({} if degraded is None else {"degraded": degraded})}
