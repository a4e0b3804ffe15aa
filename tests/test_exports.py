import subprocess
import sys

import pytest

import hybridrank

# The public interface: a name is added here on purpose, and taken away with a note in the changelog.
EXPORTED = {
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
}


def test_all_is_what_is_promised() -> None:
    assert set(hybridrank.__all__) == EXPORTED
    assert hybridrank.__all__ == sorted(hybridrank.__all__)


@pytest.mark.parametrize("name", sorted(EXPORTED))
def test_each_name_is_there_and_documented(name: str) -> None:
    value = getattr(hybridrank, name)
    assert value.__name__ == name
    assert value.__doc__
    assert value.__module__.startswith("hybridrank.")
    assert name in dir(hybridrank)


def test_other_names_are_not() -> None:
    with pytest.raises(AttributeError, match="module 'hybridrank' has no attribute 'zebra'"):
        _ = hybridrank.zebra


def test_a_star_import_brings_them_all() -> None:
    code = "from hybridrank import *; print(*sorted(name for name in dir() if not name.startswith('_')))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(found.stdout.split()) == EXPORTED
