"""LlamaIndex: a retriever over any retriever of ours, and a node postprocessor over any reranker.

When a service behind one was lost, ``degraded`` in a node's metadata says what was left out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

from hybridrank.errors import InputError, MissingExtra
from hybridrank.integrations.reordering import check_reranker, make_passages, passage_of, reorder
from hybridrank.lexical import LexicalIndex
from hybridrank.protocols import Retriever, check_depth
from hybridrank.records import Hit, Passage
from hybridrank.text.tokens import Tokenizer

try:
    from llama_index.core.bridge.pydantic import Field, field_validator
    from llama_index.core.callbacks import CallbackManager
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import (
        BaseNode,
        MetadataMode,
        NodeRelationship,
        NodeWithScore,
        QueryBundle,
        RelatedNodeInfo,
        TextNode,
    )
except ModuleNotFoundError as error:
    raise MissingExtra("llama-index-core", extra="llama-index") from error

__all__ = ["HybridrankReranker", "HybridrankRetriever"]


class HybridrankRetriever(BaseRetriever):
    """A LlamaIndex retriever over an index, a pipeline, or any other
    :class:`~hybridrank.protocols.Retriever`.

    At most ``similarity_top_k`` nodes come back, fewer when fewer share a word with the query. A passage that
    was made of a node comes back as that node; ``nodes`` maps ids to them. Any other becomes a ``TextNode``
    with the passage's id, text and metadata, its place in its document, and that document as its source.
    Searching runs in a thread when it is awaited.

    >>> nodes = [TextNode(text="Net sales rose.", id_="a"), TextNode(text="Costs fell.", id_="b")]
    >>> retriever = HybridrankRetriever.from_defaults(nodes=nodes, similarity_top_k=1)
    >>> [found.node_id for found in retriever.retrieve("Which sales?")]
    ['a']
    """

    def __init__(
        self,
        retriever: Retriever,
        *,
        similarity_top_k: int = 2,
        nodes: Mapping[str, BaseNode] | None = None,
        callback_manager: CallbackManager | None = None,
        object_map: dict[str, Any] | None = None,
        verbose: bool = False,
    ) -> None:
        if not isinstance(retriever, Retriever):
            raise InputError(
                f"a {type(retriever).__name__} is no Retriever",
                remedy="Give an index or a pipeline; for nodes use from_defaults(nodes=...).",
            )
        super().__init__(callback_manager=callback_manager, object_map=object_map, verbose=verbose)
        self.retriever = retriever
        self.similarity_top_k = check_depth(similarity_top_k)
        self.nodes = dict(nodes or {})

    @classmethod
    def from_defaults(
        cls,
        *,
        nodes: Sequence[BaseNode],
        similarity_top_k: int = 2,
        tokenizer: Tokenizer | None = None,
        **options: Any,
    ) -> HybridrankRetriever:
        """Index nodes with BM25, by the text that LlamaIndex would embed: metadata first, then the content.

        ``options`` are the class's own. Raises :class:`~hybridrank.errors.InputError` when two nodes have the
        same id.
        """
        passages = make_passages(list(map(_text_of, nodes)), ids=[node.node_id for node in nodes])
        index = LexicalIndex.build(passages, tokenizer=tokenizer)
        by_id = {node.node_id: node for node in nodes}
        return cls(index, similarity_top_k=similarity_top_k, nodes=by_id, **options)

    @classmethod
    def from_nodes(cls, nodes: Sequence[BaseNode], **options: Any) -> HybridrankRetriever:
        """The same as :meth:`from_defaults`."""
        return cls.from_defaults(nodes=nodes, **options)

    @classmethod
    def from_index(cls, directory: str | PathLike[str], **options: Any) -> HybridrankRetriever:
        """Open an index that :meth:`hybridrank.lexical.LexicalIndex.save` or ``hybridrank index`` wrote."""
        return cls(LexicalIndex.open(directory), **options)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        ranking = self.retriever.search(query_bundle.query_str, self.similarity_top_k)
        return [
            NodeWithScore(node=_noted(self._node(hit), ranking.degraded), score=hit.score) for hit in ranking
        ]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)

    def _node(self, hit: Hit) -> BaseNode:
        known = self.nodes.get(hit.passage_id)
        return _node_of(passage_of(hit)) if known is None else known


class HybridrankReranker(BaseNodePostprocessor):
    """A LlamaIndex node postprocessor that keeps the best ``top_n`` nodes, with new scores.

    ``reranker`` is a :class:`~hybridrank.protocols.Reranker`, to which nodes are passages by their ids; or
    anything with ``rerank(query, documents)`` that returns scores, such as a
    :class:`~hybridrank.jina.JinaClient`; by default BM25 over the nodes given. They are judged by the text
    that LlamaIndex would embed.

    >>> texts = {"a": "Costs fell.", "b": "Net sales rose."}
    >>> nodes = [NodeWithScore(node=TextNode(text=text, id_=name)) for name, text in texts.items()]
    >>> reranked = HybridrankReranker(top_n=1).postprocess_nodes(nodes, query_str="Which sales?")
    >>> [found.node_id for found in reranked]
    ['b']
    """

    reranker: Any = Field(default=None, validate_default=True, exclude=True)
    top_n: int = Field(default=2, ge=1)

    @field_validator("reranker")
    @classmethod
    def _check_reranker(cls, reranker: Any) -> Any:
        return check_reranker(reranker)

    @classmethod
    def class_name(cls) -> str:
        """The name by which LlamaIndex knows the class."""
        return "HybridrankReranker"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        if query_bundle is None:
            raise InputError("there is no query to rerank for", remedy="Give query_bundle or query_str.")
        reordered = reorder(
            self.reranker,
            query_bundle.query_str,
            [_text_of(found.node) for found in nodes],
            ids=[found.node_id for found in nodes],
            scores=[found.score for found in nodes],
        )
        return [
            NodeWithScore(node=_noted(nodes[place].node, reordered.degraded), score=score)
            for place, score in reordered.order[: self.top_n]
        ]


def _text_of(node: BaseNode) -> str:
    text: str = node.get_content(metadata_mode=MetadataMode.EMBED)
    return text


def _node_of(passage: Passage) -> TextNode:
    node = TextNode(id_=passage.id, text=passage.text, metadata=dict(passage.metadata))
    if passage.document_id is not None:
        node.start_char_idx, node.end_char_idx = passage.start, passage.end
        node.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id=passage.document_id)
    return node


def _noted(node: BaseNode, degraded: str | None) -> BaseNode:
    if degraded is None:
        return node
    # A copy, for the node may be one of the user's.
    copied: BaseNode = node.model_copy(update={"metadata": {**node.metadata, "degraded": degraded}})
    return copied
