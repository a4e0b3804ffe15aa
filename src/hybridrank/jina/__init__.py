"""Jina's embedding and reranking services, and servers of their shape, under a budget.

Names are imported when they are first used: what is on the wire (:mod:`~hybridrank.jina.wire`,
:mod:`~hybridrank.jina.answers`) needs the standard library alone, the clients need the extra ``jina``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybridrank.lazy import lazy_names

if TYPE_CHECKING:
    from hybridrank.jina.aio import AsyncJinaClient, Embeddings, Scores
    from hybridrank.jina.cache import ResponseCache
    from hybridrank.jina.client import JinaClient
    from hybridrank.jina.embedder import JinaEmbedder
    from hybridrank.jina.jobs import Limits

_HOME_OF = {
    "AsyncJinaClient": "aio",
    "Embeddings": "aio",
    "JinaClient": "client",
    "JinaEmbedder": "embedder",
    "Limits": "jobs",
    "ResponseCache": "cache",
    "Scores": "aio",
}

__all__ = [
    "AsyncJinaClient",
    "Embeddings",
    "JinaClient",
    "JinaEmbedder",
    "Limits",
    "ResponseCache",
    "Scores",
]

__getattr__, __dir__ = lazy_names(__name__, _HOME_OF)
