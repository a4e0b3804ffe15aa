import importlib.util
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hybridrank.postings import Postings
from tests.test_maxscore import CORPORA, QUERIES, WEIGHTS, corpus, exhaustive

numba = pytest.importorskip("numba")

from hybridrank import maxscore_numba  # noqa: E402


def interpreted() -> Any:
    """The same module, not compiled: so that each of its branches is seen to be taken."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numba, "njit", lambda **_: lambda function: function)
        spec = importlib.util.spec_from_file_location("maxscore_interpreted", maxscore_numba.__file__)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return module


INTERPRETED = interpreted()
INTERPRETED._WINDOW = 64  # small windows, so that a small corpus has many
INTERPRETED._GROUP = 16
SMALL = [corpus(seed, 150) for seed in range(2)]
EITHER = pytest.mark.parametrize(("kernels", "corpora"), [(maxscore_numba, CORPORA), (INTERPRETED, SMALL)])


@EITHER
@settings(deadline=None, max_examples=60)
@given(data=st.data(), query=QUERIES, k=st.integers(1, 700))
def test_finds_what_scoring_everything_finds(
    kernels: Any, corpora: list[Postings], data: st.DataObject, query: NDArray[np.int32], k: int
) -> None:
    postings = data.draw(st.sampled_from(corpora))
    weights = data.draw(st.none() | st.lists(WEIGHTS, min_size=len(query), max_size=len(query)).map(np.array))
    share = data.draw(st.sampled_from([None, 0.0, 0.02, 0.5, 1.0]))
    allowed = None if share is None else np.random.default_rng(k).random(postings.n_documents) < share
    docs, scores = kernels.top(postings, postings.ask(query, weights), k, allowed)
    assert (docs.tolist(), scores.tobytes()) == exhaustive(postings, query, k, weights, allowed)


@EITHER
@settings(deadline=None, max_examples=30)
@given(data=st.data(), queries=st.lists(QUERIES, max_size=6), k=st.integers(1, 20))
def test_many_queries_are_each_by_itself(
    kernels: Any, corpora: list[Postings], data: st.DataObject, queries: list[NDArray[np.int32]], k: int
) -> None:
    postings = data.draw(st.sampled_from(corpora))
    found = kernels.top_many(postings, *postings.ask_many(queries), k)
    assert [(docs.tolist(), scores.tobytes()) for docs, scores in found] == [
        exhaustive(postings, query, k) for query in queries
    ]


@EITHER
@pytest.mark.parametrize("probe", [0, 10**6])
def test_other_terms_are_added_or_looked_up(
    kernels: Any, corpora: list[Postings], probe: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kernels is INTERPRETED:  # what is compiled has its numbers built in
        monkeypatch.setattr(kernels, "_PROBE", probe)
    rng = np.random.default_rng(probe)
    for postings in corpora:
        for _ in range(20):
            query = (rng.zipf(1.2, size=5) % 40).astype(np.int32)
            docs, scores = kernels.top(postings, postings.ask(query), 3)
            assert (docs.tolist(), scores.tobytes()) == exhaustive(postings, query, 3)


@EITHER
def test_ties_at_the_cut_go_to_the_first_documents(kernels: Any, corpora: list[Postings]) -> None:
    alike = Postings.build(np.zeros(300, dtype=np.int32), np.arange(301), n_terms=1)
    assert kernels.top(alike, alike.ask(np.array([0])), 5)[0].tolist() == [0, 1, 2, 3, 4]


@EITHER
def test_an_empty_corpus(kernels: Any, corpora: list[Postings]) -> None:
    empty = Postings.build(np.zeros(0, dtype=np.int32), np.zeros(1, dtype=np.int64), n_terms=1)
    assert kernels.top(empty, empty.ask(np.array([0])), 5)[0].tolist() == []
    assert kernels.top_many(empty, *empty.ask_many([]), 5) == []


def test_pairs_beyond_two_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    # One document of each length, each holding its first term as often as no other does.
    lengths = np.arange(1, 400)
    rng = np.random.default_rng(0)
    ids = np.concatenate([np.sort(rng.zipf(1.05, size=size) % 60) for size in np.tile(lengths, 4)])
    indptr = np.concatenate(([0], np.cumsum(np.tile(lengths, 4))))
    postings = Postings.build(ids, indptr, n_terms=60)
    wide = Postings.build(ids, indptr, n_terms=60)
    object.__setattr__(wide, "codes", wide.codes.astype(np.uint32))
    for query in ([3, 4], [0, 1, 2], [50]):
        asked = np.array(query)
        expected = exhaustive(postings, asked, 10)
        docs, scores = maxscore_numba.top(wide, wide.ask(asked), 10)
        assert (docs.tolist(), scores.tobytes()) == expected


def test_threads_search_at_the_same_time() -> None:
    (postings, *_) = CORPORA
    queries = [np.array([at % 40, (7 * at) % 40]) for at in range(60)]
    search: Callable[[Any], Any] = lambda query: maxscore_numba.top(postings, postings.ask(query), 5)  # noqa: E731
    with ThreadPoolExecutor(4) as pool:
        for query, (docs, scores) in zip(queries, pool.map(search, queries), strict=True):
            assert (docs.tolist(), scores.tobytes()) == exhaustive(postings, query, 5)


def test_kernels_are_compiled_for_good_where_there_is_a_place(monkeypatch: pytest.MonkeyPatch) -> None:
    def njit(cache: bool = False, **_: Any) -> Any:
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return lambda function: ("compiled", function)

    monkeypatch.setattr(maxscore_numba, "njit", njit)
    assert maxscore_numba._compiled_once(len) == ("compiled", len)


@EITHER
def test_kernels_are_prepared_for_a_type_of_codes(kernels: Any, corpora: list[Postings]) -> None:
    kernels.prepare("<u2")
    if kernels is maxscore_numba:
        before = len(kernels._search_all.signatures)
        mapped = corpora[0].docs.view()
        mapped.flags.writeable = False
        for docs in (corpora[0].docs, mapped):
            top = kernels.top(replace(corpora[0], docs=docs), corpora[0].ask(np.array([3])), 5)
            assert len(top[0]) == 5
        assert len(kernels._search_all.signatures) == before
