import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from hybridrank import postings as module
from hybridrank.errors import InputError
from hybridrank.postings import Postings, best, lucene_idf
from hybridrank.storage import IndexReader, IndexWriter

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # bm25s touches optional accelerators on import
    import bm25s

N_TERMS = 12
DOCUMENTS = st.lists(st.lists(st.integers(0, N_TERMS - 1), max_size=15), min_size=1, max_size=12)
QUERIES = st.lists(st.integers(0, N_TERMS - 1), max_size=6)
K1S = st.floats(0, 3)
BS = st.floats(0, 1)


def flat(documents: list[list[int]]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    ids = np.array([term for document in documents for term in document], dtype=np.int32)
    return ids, np.cumsum([0, *map(len, documents)], dtype=np.int64)


def built(documents: list[list[int]], k1: float = 1.5, b: float = 0.75, n_terms: int = N_TERMS) -> Postings:
    return Postings.build(*flat(documents), n_terms=n_terms, k1=k1, b=b)


def as_query(terms: list[int]) -> NDArray[np.int32]:
    return np.array(terms, dtype=np.int32)


def by_the_book(documents: list[list[int]], query: list[int], k1: float, b: float) -> list[float]:
    """The formula of the module's docstring, term by term."""
    average = sum(map(len, documents)) / len(documents) or 1
    scores = []
    for document in documents:
        score = 0.0
        for term in query:
            tf, df = document.count(term), sum(term in other for other in documents)
            if tf:
                idf = np.log(1 + (len(documents) - df + 0.5) / (df + 0.5))
                score += idf * tf / (tf + k1 * (1 - b + b * len(document) / average))
        scores.append(score)
    return scores


# -- bm25s is the oracle


def oracle(documents: list[list[int]], k1: float, b: float) -> bm25s.BM25:
    model = bm25s.BM25(method="lucene", k1=k1, b=b)
    names = {f"t{term}": term for term in range(N_TERMS)}
    model.index((documents, names), create_empty_token=False, show_progress=False)
    return model


@given(DOCUMENTS, QUERIES, K1S, BS)
def test_scores_are_those_of_bm25s(documents: list[list[int]], query: list[int], k1: float, b: float) -> None:
    if not any(documents):
        return  # bm25s divides by the average length
    expected = oracle(documents, k1, b).get_scores_from_ids(query)
    np.testing.assert_allclose(built(documents, k1, b).score(as_query(query)), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_the_top_is_that_of_bm25s_on_a_larger_corpus(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_terms = 300
    documents = [(rng.zipf(1.3, size=rng.integers(1, 60)) % n_terms).tolist() for _ in range(400)]
    model = bm25s.BM25(method="lucene", k1=1.2, b=0.6)
    model.index(
        (documents, {f"t{term}": term for term in range(n_terms)}),
        create_empty_token=False,
        show_progress=False,
    )
    postings = built(documents, 1.2, 0.6, n_terms)
    for _ in range(20):
        query = rng.choice(n_terms, size=rng.integers(1, 9)).tolist()
        docs, scores = postings.top(as_query(query), 10)
        full = model.get_scores_from_ids(query)
        ids, expected = model.retrieve([query], k=10, show_progress=False)
        np.testing.assert_allclose(scores, expected[0][: len(scores)], rtol=1e-5, atol=1e-5)
        assert not np.any(expected[0][len(scores) :])
        np.testing.assert_allclose(full[docs], scores, rtol=1e-5, atol=1e-5)
        if len(set(np.sort(full)[-11:].round(4))) == 11:  # without ties, which bm25s breaks otherwise
            assert docs.tolist() == ids[0].tolist()


# -- what bm25s (0.3) does otherwise


def test_ties_go_to_the_first_position() -> None:  # bm25s: to any
    assert built([[0], [1], [1], [1], [1]]).top(as_query([1]), 2)[0].tolist() == [1, 2]


def test_k_beyond_the_corpus_is_clamped() -> None:  # bm25s raises
    assert built([[0, 1], [1]]).top(as_query([1]), 3)[0].tolist() == [1, 0]


def test_what_scores_nothing_is_not_returned() -> None:  # bm25s fills up with it
    assert built([[0], [1], [2]]).top(as_query([1]), 3)[0].tolist() == [1]
    assert built([[0], [1], [2]]).top(as_query([]), 3)[0].tolist() == []


def test_an_empty_corpus_is_indexed() -> None:  # bm25s raises
    for postings in (built([]), built([], n_terms=0), built([[], []], n_terms=0)):
        docs, scores = postings.top(as_query([]), 10)
        assert (docs.tolist(), scores.tolist()) == ([], [])
    assert built([[], []]).top(as_query([3]), 10)[0].tolist() == []


# -- laws


@given(DOCUMENTS, QUERIES, K1S, BS)
def test_scores_follow_the_formula(documents: list[list[int]], query: list[int], k1: float, b: float) -> None:
    found = built(documents, k1, b).score(as_query(query))
    np.testing.assert_allclose(found, by_the_book(documents, query, k1, b), rtol=1e-5, atol=1e-6)
    assert found.dtype == np.float32


@given(DOCUMENTS, QUERIES, st.randoms(use_true_random=False), st.sampled_from([0, 32, 10**6]))
def test_the_order_of_words_changes_no_bit(
    documents: list[list[int]], query: list[int], random: "np.random.Generator", sparse: int
) -> None:
    postings = built(documents)
    shuffled = list(query)
    random.shuffle(shuffled)
    assert postings.score(as_query(query)).tobytes() == postings.score(as_query(shuffled)).tobytes()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_SPARSE", sparse)
        for one, other in zip(
            postings.top(as_query(query), 3), postings.top(as_query(shuffled), 3), strict=True
        ):
            assert one.tobytes() == other.tobytes()


@given(DOCUMENTS, QUERIES, st.data())
def test_matches_are_the_positive_scores_bit_for_bit_either_way(
    documents: list[list[int]], query: list[int], data: st.DataObject
) -> None:
    postings = built(documents)
    weights = data.draw(
        st.none()
        | st.lists(st.floats(0, 9, width=32), min_size=len(query), max_size=len(query)).map(np.array)
    )
    scores = postings.score(as_query(query), weights)
    for sparse in (0, 10**6):  # always by touched documents, never
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "_SPARSE", sparse)
            docs, found = postings.matches(as_query(query), weights)
        assert docs.tolist() == np.flatnonzero(scores > 0).tolist()
        assert found.tobytes() == scores[docs].tobytes()
        assert docs.dtype == np.int32
        assert found.dtype == np.float32


@given(DOCUMENTS, QUERIES, st.integers(1, 20))
def test_the_top_is_the_sorted_matches(documents: list[list[int]], query: list[int], k: int) -> None:
    postings = built(documents)
    scores = postings.score(as_query(query))
    order = sorted(np.flatnonzero(scores), key=lambda doc: (-scores[doc], doc))[:k]
    docs, found = postings.top(as_query(query), k)
    assert docs.tolist() == order
    assert found.tolist() == scores[order].tolist()


@given(DOCUMENTS, QUERIES)
def test_contributions_add_up_to_the_score(documents: list[list[int]], query: list[int]) -> None:
    postings = built(documents)
    every = np.arange(len(documents))
    terms, shares = postings.contributions(as_query(query), every)
    assert terms.tolist() == sorted(set(query))
    np.testing.assert_allclose(shares.sum(axis=0), postings.score(as_query(query)), rtol=1e-5, atol=1e-6)
    holds = [[share > 0 for share in row] for row in shares]
    assert holds == [[term in document for document in documents] for term in terms.tolist()]


@given(DOCUMENTS, QUERIES)
def test_a_weight_counts_like_repeats(documents: list[list[int]], query: list[int]) -> None:
    postings = built(documents)
    thrice = postings.score(as_query(query * 3))
    weighted = postings.score(as_query(query), np.full(len(query), 3.0))
    assert thrice.tobytes() == weighted.tobytes()
    np.testing.assert_allclose(thrice, 3 * postings.score(as_query(query)), rtol=1e-5)


@given(DOCUMENTS)
def test_postings_list_each_document_of_a_term_once_in_order(documents: list[list[int]]) -> None:
    postings = built(documents)
    listed = [
        postings.docs[start:end].tolist()
        for start, end in zip(postings.indptr, postings.indptr[1:], strict=False)
    ]
    assert listed == [
        [doc for doc, terms in enumerate(documents) if term in terms] for term in range(N_TERMS)
    ]
    assert postings.document_frequency.tolist() == [len(docs) for docs in listed]
    assert postings.n_terms == N_TERMS
    assert np.all(postings.impacts > 0)


def test_impacts_are_worked_out_part_by_part(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    documents = [rng.integers(0, N_TERMS, size=8).tolist() for _ in range(50)]
    whole = built(documents)
    for at_once in (1, 7, 50, 10**6):
        monkeypatch.setattr(module, "_AT_ONCE", at_once)
        assert built(documents).impacts.tobytes() == whole.impacts.tobytes()


@given(
    st.lists(st.sampled_from([0.5, 1.0, 2.0]) | st.floats(0, 9, width=32)),
    st.integers(1, 12),
)
def test_best_sorts_by_score_and_then_position(scores: list[float], k: int) -> None:
    positions = np.arange(0, 3 * len(scores), 3)
    found, kept = best(positions, np.array(scores, dtype=np.float32), k)
    order = sorted(range(len(scores)), key=lambda at: (-scores[at], at))[:k]
    assert found.tolist() == [3 * at for at in order]
    assert kept.tolist() == [scores[at] for at in order]


@given(st.integers(1, 10**9), st.data())
def test_idf_is_positive_and_falls(n_documents: int, data: st.DataObject) -> None:
    df = data.draw(st.integers(1, n_documents))
    rarer, common = lucene_idf([df - 1, df], n_documents)
    assert 0 < common < rarer


def test_postings_come_back_from_the_disk(tmp_path: Path) -> None:
    postings = built([[0, 1, 1], [], [1, 2]], k1=0.9, b=0.4)
    other = built([[5]])
    with IndexWriter(tmp_path, kind="test") as writer:
        postings.save(writer, "blocks")
        other.save(writer)
    reader = IndexReader.open(tmp_path, kind="test")
    again = Postings.load(reader, "blocks")
    assert (again.n_documents, again.k1, again.b) == (3, 0.9, 0.4)
    assert again.score(as_query([1, 2])).tobytes() == postings.score(as_query([1, 2])).tobytes()
    assert Postings.load(reader).top(as_query([5]), 1)[0].tolist() == [0]


# -- what cannot be used is refused


@pytest.mark.parametrize(
    ("k1", "b"), [(-0.1, 0.5), (float("nan"), 0.5), (float("inf"), 0.5), (1, -0.1), (1, 1.1)]
)
def test_parameters_out_of_range(k1: float, b: float) -> None:
    with pytest.raises(InputError, match=r"Give k1 >= 0 and 0 <= b <= 1"):
        built([[0]], k1, b)


@pytest.mark.parametrize("query", [[-1], [N_TERMS], [0, 99]])
def test_terms_of_another_vocabulary(query: list[int]) -> None:
    with pytest.raises(InputError, match=f"there are {N_TERMS} terms. Look the query up in the vocabulary"):
        built([[0]]).score(as_query(query))


@pytest.mark.parametrize("weights", [[1.0], [1.0, -1.0], [1.0, float("nan")], [[1.0, 1.0]]])
def test_weights_that_are_none(weights: list[float]) -> None:
    with pytest.raises(InputError, match="not one finite number of 0 or more for each term id"):
        built([[0, 1]]).score(as_query([0, 1]), np.array(weights))
