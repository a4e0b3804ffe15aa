"""Find the passages that answer a question: BM25, rank fusion, and rerankers under a budget.

Names are imported when they are first used, so that ``import hybridrank`` costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybridrank.lazy import lazy_names

if TYPE_CHECKING:
    from hybridrank.budget import Budget, Ledger, Remaining
    from hybridrank.cross_encoder import CrossEncoderReranker
    from hybridrank.dense import DenseIndex
    from hybridrank.errors import (
        AnswerMismatch,
        AnswerNotFinite,
        AnswerTooLarge,
        BadAnswer,
        BudgetExhausted,
        CacheUnusable,
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
        RateLimited,
        ServiceDenied,
        ServiceError,
        ServiceRejected,
        ServiceTimeout,
        ServiceUnavailable,
        ServiceUnreachable,
        WrongDimension,
    )
    from hybridrank.features import PassageFeatures
    from hybridrank.fusion import (
        ConvexCombination,
        Fusion,
        ReciprocalRankFusion,
        convex_combination,
        reciprocal_rank_fusion,
    )
    from hybridrank.fusion_choice import FusionChoice, choose_fusion
    from hybridrank.jina.aio import AsyncJinaClient
    from hybridrank.jina.cache import ResponseCache
    from hybridrank.jina.client import JinaClient
    from hybridrank.jina.embedder import JinaEmbedder
    from hybridrank.jina.jobs import Limits
    from hybridrank.learned import LearnedReranker
    from hybridrank.lexical import LexicalIndex
    from hybridrank.pipeline import Pipeline, hybrid, rank
    from hybridrank.planner import Planner
    from hybridrank.protocols import Embedder, Reranker, Retriever
    from hybridrank.ranking_model import RankingModel
    from hybridrank.records import Hit, Passage, Ranking, Reason, Span, Usage
    from hybridrank.text.corpus import read_corpus
    from hybridrank.text.passages import split_document, split_documents
    from hybridrank.text.tokens import Tokenizer

_HOME_OF = {
    "AnswerMismatch": "errors",
    "AnswerNotFinite": "errors",
    "AnswerTooLarge": "errors",
    "AsyncJinaClient": "jina.aio",
    "BadAnswer": "errors",
    "Budget": "budget",
    "BudgetExhausted": "errors",
    "CacheUnusable": "errors",
    "ConvexCombination": "fusion",
    "CrossEncoderReranker": "cross_encoder",
    "DenseIndex": "dense",
    "Embedder": "protocols",
    "Fusion": "fusion",
    "FusionChoice": "fusion_choice",
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
    "JinaClient": "jina.client",
    "JinaEmbedder": "jina.embedder",
    "LearnedReranker": "learned",
    "Ledger": "budget",
    "LexicalIndex": "lexical",
    "Limits": "jina.jobs",
    "MissingExtra": "errors",
    "MissingLibrary": "errors",
    "Passage": "records",
    "PassageFeatures": "features",
    "Pipeline": "pipeline",
    "Planner": "planner",
    "Ranking": "records",
    "RankingModel": "ranking_model",
    "RateLimited": "errors",
    "Reason": "records",
    "ReciprocalRankFusion": "fusion",
    "Remaining": "budget",
    "Reranker": "protocols",
    "ResponseCache": "jina.cache",
    "Retriever": "protocols",
    "ServiceDenied": "errors",
    "ServiceError": "errors",
    "ServiceRejected": "errors",
    "ServiceTimeout": "errors",
    "ServiceUnavailable": "errors",
    "ServiceUnreachable": "errors",
    "Span": "records",
    "Tokenizer": "text.tokens",
    "Usage": "records",
    "WrongDimension": "errors",
    "choose_fusion": "fusion_choice",
    "convex_combination": "fusion",
    "hybrid": "pipeline",
    "rank": "pipeline",
    "read_corpus": "text.corpus",
    "reciprocal_rank_fusion": "fusion",
    "split_document": "text.passages",
    "split_documents": "text.passages",
}

__all__ = [
    "AnswerMismatch",
    "AnswerNotFinite",
    "AnswerTooLarge",
    "AsyncJinaClient",
    "BadAnswer",
    "Budget",
    "BudgetExhausted",
    "CacheUnusable",
    "ConvexCombination",
    "CrossEncoderReranker",
    "DenseIndex",
    "Embedder",
    "Fusion",
    "FusionChoice",
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
    "JinaClient",
    "JinaEmbedder",
    "LearnedReranker",
    "Ledger",
    "LexicalIndex",
    "Limits",
    "MissingExtra",
    "MissingLibrary",
    "Passage",
    "PassageFeatures",
    "Pipeline",
    "Planner",
    "Ranking",
    "RankingModel",
    "RateLimited",
    "Reason",
    "ReciprocalRankFusion",
    "Remaining",
    "Reranker",
    "ResponseCache",
    "Retriever",
    "ServiceDenied",
    "ServiceError",
    "ServiceRejected",
    "ServiceTimeout",
    "ServiceUnavailable",
    "ServiceUnreachable",
    "Span",
    "Tokenizer",
    "Usage",
    "WrongDimension",
    "choose_fusion",
    "convex_combination",
    "hybrid",
    "rank",
    "read_corpus",
    "reciprocal_rank_fusion",
    "split_document",
    "split_documents",
]

__getattr__, __dir__ = lazy_names(__name__, _HOME_OF)
