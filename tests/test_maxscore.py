import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from hybridrank import maxscore
from hybridrank.bm25 import best
from hybridrank.maxscore import leeway, top
from hybridrank.postings import Postings

N_TERMS = 40


def corpus(seed: int, n_documents: int = 600) -> Postings:
    """Documents whose terms are as unevenly spread as words are, and stay together in stretches."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 30, size=n_documents)
    ids = rng.zipf(1.3, size=lengths.sum()) % N_TERMS
    topic = np.repeat(np.arange(n_documents) // 50, lengths)
    ids = np.where(rng.random(len(ids)) < 0.2, (7 * topic) % N_TERMS, ids)
    return Postings.build(ids, np.concatenate(([0], np.cumsum(lengths))), n_terms=N_TERMS)


CORPORA = [corpus(seed) for seed in range(3)]
WEIGHTS = st.just(0.0) | st.floats(1e-9, 9)
QUERIES = st.lists(st.integers(0, N_TERMS - 1), max_size=8).map(lambda terms: np.array(terms, dtype=np.int32))


def exhaustive(
    postings: Postings,
    query: NDArray[np.int32],
    k: int,
    weights: NDArray[np.float64] | None = None,
    allowed: NDArray[np.bool_] | None = None,
) -> tuple[list[int], bytes]:
    scores = postings.score(query, weights)
    if allowed is not None:
        scores = np.where(allowed, scores, 0).astype(np.float32)
    docs = np.flatnonzero(scores > 0)
    found, kept = best(docs, scores[docs], k)
    return found.tolist(), kept.tobytes()


@given(st.sampled_from(CORPORA), QUERIES, st.integers(1, 700), st.data())
@pytest.mark.parametrize("sparse", [0, 32, 10**9])
def test_finds_what_scoring_everything_finds(
    sparse: int, postings: Postings, query: NDArray[np.int32], k: int, data: st.DataObject
) -> None:
    weights = data.draw(st.none() | st.lists(WEIGHTS, min_size=len(query), max_size=len(query)).map(np.array))
    share = data.draw(st.sampled_from([None, 0.0, 0.02, 0.5, 1.0]))
    rng = np.random.default_rng(k)
    allowed = None if share is None else rng.random(postings.n_documents) < share
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(maxscore, "_SPARSE", sparse)  # always few documents, or as it comes, or never
        docs, scores = top(postings, postings.ask(query, weights), k, allowed)
    assert (docs.tolist(), scores.tobytes()) == exhaustive(postings, query, k, weights, allowed)


@given(st.sampled_from(CORPORA), QUERIES, st.integers(1, 30))
@pytest.mark.parametrize(("left_over", "probe"), [(0.0, 16), (0.4, 0), (0.4, 10**9), (0.9, 4)])
def test_what_is_left_over_may_be_much_or_little(
    left_over: float, probe: int, postings: Postings, query: NDArray[np.int32], k: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(maxscore, "_SPARSE", 10**9)
        patch.setattr(maxscore, "_LEFT_OVER", left_over)
        patch.setattr(maxscore, "_PROBE", probe)
        docs, scores = top(postings, postings.ask(query), k)
    assert (docs.tolist(), scores.tobytes()) == exhaustive(postings, query, k)


def test_ties_at_the_cut_go_to_the_first_documents() -> None:
    alike = Postings.build(np.zeros(300, dtype=np.int32), np.arange(301), n_terms=1)
    docs, _ = top(alike, alike.ask(np.array([0])), 5)
    assert docs.tolist() == [0, 1, 2, 3, 4]


@given(
    st.lists(st.floats(2.0**-10, 16, width=32), min_size=1, max_size=200), st.randoms(use_true_random=False)
)
def test_another_order_of_adding_stays_within_the_leeway(
    values: list[float], random: "np.random.Generator"
) -> None:
    sums = []
    for _ in range(2):
        total = np.float32(0)
        for value in values:
            total += np.float32(value)
        sums.append(float(total))
        random.shuffle(values)
    assert max(sums) <= min(sums) * leeway(len(values))


@given(st.sampled_from(CORPORA), QUERIES, st.integers(1, 30))
@pytest.mark.parametrize("few", [0, 10**9])
def test_candidates_are_looked_for_in_some_groups_or_in_all(
    few: int, postings: Postings, query: NDArray[np.int32], k: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(maxscore, "_SPARSE", 10**9)
        patch.setattr(maxscore, "_GROUP", 7)
        patch.setattr(maxscore, "_FEW", few)
        docs, scores = top(postings, postings.ask(query), k)
    assert (docs.tolist(), scores.tobytes()) == exhaustive(postings, query, k)


def test_scipy_may_come_without_what_has_no_public_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maxscore, "_SPARSE", 10**9)
    monkeypatch.setitem(sys.modules, "scipy.sparse._sparsetools", None)
    for postings in CORPORA:
        docs, scores = top(postings, postings.ask(np.array([0, 3, 5, 30])), 10)
        assert (docs.tolist(), scores.tobytes()) == exhaustive(postings, np.array([0, 3, 5, 30]), 10)


def test_threads_have_sums_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maxscore, "_SPARSE", 10**9)
    (postings, *_) = CORPORA
    queries = [np.array([at % 40, (7 * at) % 40]) for at in range(60)]
    with ThreadPoolExecutor(4) as pool:
        found = pool.map(lambda query: top(postings, postings.ask(query), 5), queries)
        for query, (docs, scores) in zip(queries, found, strict=True):
            assert (docs.tolist(), scores.tobytes()) == exhaustive(postings, query, 5)
