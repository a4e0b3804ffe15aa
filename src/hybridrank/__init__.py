"""Find the passages that answer a question: BM25, rank fusion, and rerankers under a budget.

Names are imported when they are first used, so that ``import hybridrank`` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hybridrank.errors import (
        HybridrankError,
        HybridrankWarning,
        IndexCorrupt,
        IndexDirectoryError,
        IndexForeign,
        IndexIncomplete,
        IndexLocked,
        IndexNotFound,
        IndexTooNew,
        InputError,
        MissingExtra,
        MissingLibrary,
    )
    from hybridrank.features import PassageFeatures
    from hybridrank.fusion import (
        ConvexCombination,
        Fusion,
        ReciprocalRankFusion,
        convex_combination,
        reciprocal_rank_fusion,
    )
    from hybridrank.learned import LearnedReranker
    from hybridrank.lexical import LexicalIndex
    from hybridrank.pipeline import Pipeline, rank
    from hybridrank.protocols import Embedder, Reranker, Retriever
    from hybridrank.ranking_model import RankingModel
    from hybridrank.records import Hit, Passage, Ranking, Reason, Span, Usage
    from hybridrank.text.corpus import read_corpus
    from hybridrank.text.passages import split_document, split_documents
    from hybridrank.text.tokens import Tokenizer

_HOME_OF = {
    "ConvexCombination": "fusion",
    "Embedder": "protocols",
    "Fusion": "fusion",
    "Hit": "records",
    "HybridrankError": "errors",
    "HybridrankWarning": "errors",
    "IndexCorrupt": "errors",
    "IndexDirectoryError": "errors",
    "IndexForeign": "errors",
    "IndexIncomplete": "errors",
    "IndexLocked": "errors",
    "IndexNotFound": "errors",
    "IndexTooNew": "errors",
    "InputError": "errors",
    "LearnedReranker": "learned",
    "LexicalIndex": "lexical",
    "MissingExtra": "errors",
    "MissingLibrary": "errors",
    "Passage": "records",
    "PassageFeatures": "features",
    "Pipeline": "pipeline",
    "Ranking": "records",
    "RankingModel": "ranking_model",
    "Reason": "records",
    "ReciprocalRankFusion": "fusion",
    "Reranker": "protocols",
    "Retriever": "protocols",
    "Span": "records",
    "Tokenizer": "text.tokens",
    "Usage": "records",
    "convex_combination": "fusion",
    "rank": "pipeline",
    "read_corpus": "text.corpus",
    "reciprocal_rank_fusion": "fusion",
    "split_document": "text.passages",
    "split_documents": "text.passages",
}

__all__ = [
    "ConvexCombination",
    "Embedder",
    "Fusion",
    "Hit",
    "HybridrankError",
    "HybridrankWarning",
    "IndexCorrupt",
    "IndexDirectoryError",
    "IndexForeign",
    "IndexIncomplete",
    "IndexLocked",
    "IndexNotFound",
    "IndexTooNew",
    "InputError",
    "LearnedReranker",
    "LexicalIndex",
    "MissingExtra",
    "MissingLibrary",
    "Passage",
    "PassageFeatures",
    "Pipeline",
    "Ranking",
    "RankingModel",
    "Reason",
    "ReciprocalRankFusion",
    "Reranker",
    "Retriever",
    "Span",
    "Tokenizer",
    "Usage",
    "convex_combination",
    "rank",
    "read_corpus",
    "reciprocal_rank_fusion",
    "split_document",
    "split_documents",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
