import json
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridrank.errors import HybridrankWarning, IndexForeign, IndexNotFound, IndexTooNew, InputError
from hybridrank.lexical import LexicalIndex
from hybridrank.records import Passage, Ranking
from hybridrank.storage import IndexWriter
from hybridrank.text.tokens import Tokenizer

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # bm25s touches optional accelerators on import
    import bm25s

TEXTS = [
    "Net sales of the company rose to $ 1,234.5 million in 2018.",
    "Plan C: the form 10-K is due.",
    "Net sales fell.",
    "हिन्दी में बिक्री बढ़ी",
    "東京都の売上高",
    "Net sales fell.",
]
# Of a passage that yields no token a warning is given; these tests are about the others.
WORDS = st.lists(
    st.sampled_from(["net", "sales", "rose", "fell", "C", "3", "10-K", "東京", "बिक्री", "the"]), max_size=6
).map(" ".join)


def passages(texts: list[str]) -> list[Passage]:
    return [Passage(id=f"p{place}", text=text) for place, text in enumerate(texts)]


def build(texts: list[str]) -> LexicalIndex:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HybridrankWarning)
        return LexicalIndex.build(passages(texts))


def ids(ranking: Ranking) -> list[str]:
    return [hit.passage_id for hit in ranking]


@pytest.fixture(params=["built", "opened"])
def made(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[list[str]], LexicalIndex]:
    """Makes an index that is in memory, or one that was saved and opened: both keep the same promises."""

    def make(texts: list[str]) -> LexicalIndex:
        index = build(texts)
        if request.param == "built":
            return index
        index.save(tmp_path / "index")
        return LexicalIndex.open(tmp_path / "index")

    return make


Made = Callable[[list[str]], LexicalIndex]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("net sales", ["p2", "p5", "p0"]),
        ("Which company's SALES?", ["p0", "p2", "p5"]),
        ("1234.5", ["p0"]),
        ("$1,234.5", ["p0"]),
        ("10k", ["p1"]),
        ("10‑K", ["p1"]),
        ("C", ["p1"]),
        ("बिक्री", ["p3"]),
        ("東京", ["p4"]),
        ("京都", ["p4"]),
        ("net AND (sales OR \"fell\")^2 -rose field:x*", ["p2", "p5", "p0"]),
        ("", []),
        ("the of which", []),
        ("zebra", []),
        ("?! … \x00\ud800🎉", []),
        (" \n\t", []),
        ("zebra " * 20_000, []),
    ],
)  # fmt: skip
def test_finds(made: Made, query: str, found: list[str]) -> None:
    ranking = made(TEXTS).search(query)
    assert ids(ranking) == found
    assert ranking.query == query
    assert ranking.degraded is None


def test_hits_are_whole(made: Made) -> None:
    hits = made(TEXTS).search("net sales", k=2)
    assert [(hit.rank, hit.position, hit.passage) for hit in hits] == [
        (1, 2, Passage(id="p2", text="Net sales fell.")),
        (2, 5, Passage(id="p5", text="Net sales fell.")),
    ]
    assert hits[0].score == hits[1].score > 0


def test_a_k_beyond_the_corpus_is_clamped_and_one_below_one_refused(made: Made) -> None:
    index = made(TEXTS)
    assert len(index) == 6
    assert ids(index.search("net", k=10**9)) == ["p2", "p5", "p0"]
    for k in (0, -1):
        with pytest.raises(InputError, match=f"k is {k}"):
            index.search("net", k=k)


@pytest.mark.parametrize("texts", [[], [""], ["the of", "..."]])
def test_an_empty_corpus_is_a_usable_index(made: Made, texts: list[str]) -> None:
    index = made(texts)
    assert len(index) == len(texts)
    assert index.search("anything").hits == ()
    assert index.search("").hits == ()
    assert index.search_many(["a", "b"]) == [Ranking(query="a"), Ranking(query="b")]


def test_many_queries_are_searched_as_one(made: Made) -> None:
    index = made(TEXTS)
    queries = ["net sales", "", "10-K", "net sales"]
    assert index.search_many(iter(queries), k=2) == [index.search(query, k=2) for query in queries]


# -- determinism


@given(st.lists(WORDS, max_size=12), WORDS, st.integers(1, 15))
def test_order_is_by_score_and_then_position(texts: list[str], query: str, k: int) -> None:
    hits = build(texts).search(query, k)
    assert list(hits) == sorted(hits, key=lambda hit: (-hit.score, hit.position))
    assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))
    assert len(hits) <= k
    known = set(Tokenizer().terms(query))
    shared = {place for place, text in enumerate(texts) if known & set(Tokenizer().terms(text))}
    assert len(hits) == min(k, len(shared))
    assert {hit.position for hit in hits} <= shared


@given(st.lists(WORDS, max_size=8), WORDS)
def test_a_saved_index_ranks_bit_for_bit_the_same(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], query: str
) -> None:
    directory = tmp_path_factory.mktemp("index")
    index = build(texts)
    index.save(directory)
    assert LexicalIndex.open(directory).search(query) == index.search(query)


def test_the_order_of_words_and_the_number_of_threads_do_not_matter(made: Made) -> None:
    rng = np.random.default_rng(5)
    words = [f"w{number}" for number in range(50)]
    index = made([" ".join(rng.choice(words, size=30)) for _ in range(200)])
    query = words[:12]
    expected = index.search(" ".join(query))
    shuffled = [" ".join(rng.permutation(query)) for _ in range(20)]
    with ThreadPoolExecutor(8) as pool:
        for ranking in pool.map(index.search, shuffled):
            assert ranking.hits == expected.hits


def test_a_saved_index_is_the_same_bytes_each_time_and_again_when_opened(tmp_path: Path) -> None:
    build(TEXTS).save(tmp_path / "a")
    build(TEXTS).save(tmp_path / "b")
    LexicalIndex.open(tmp_path / "a").save(tmp_path / "c")
    contents = [
        {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("a", "b", "c")
    ]
    assert contents[0] == contents[1] == contents[2]


# -- bm25s is the oracle


@pytest.mark.parametrize("seed", range(3))
def test_ranks_as_bm25s_does_on_the_same_tokens(seed: int) -> None:
    rng = np.random.default_rng(seed)
    words = [f"word{number}" for number in range(200)]
    texts = [" ".join(words[at % 200] for at in rng.zipf(1.4, size=rng.integers(3, 80))) for _ in range(300)]
    index = LexicalIndex.build(passages(texts), k1=0.9, b=0.4)
    tokenizer = Tokenizer()
    model = bm25s.BM25(method="lucene", k1=0.9, b=0.4)
    model.index([tokenizer.terms(text) for text in texts], show_progress=False)
    for _ in range(20):
        query = " ".join(rng.choice(words, size=rng.integers(1, 8)))
        known = [term for term in tokenizer.terms(query) if term in model.vocab_dict]
        scores = model.get_scores(known) if known else np.zeros(len(texts))
        hits = index.search(query)
        np.testing.assert_allclose(
            [hit.score for hit in hits], np.sort(scores)[::-1][: len(hits)], rtol=1e-5, atol=1e-5
        )
        np.testing.assert_allclose(
            [scores[hit.position] for hit in hits], [hit.score for hit in hits], rtol=1e-5
        )
        assert len(hits) == min(10, np.count_nonzero(scores))


# -- why a hit is there


@given(st.lists(WORDS, min_size=1, max_size=8), WORDS)
def test_reasons_account_for_the_score(texts: list[str], query: str) -> None:
    for hit in build(texts).search(query):
        (reason,) = hit.reasons
        assert (reason.source, reason.rank, reason.score) == ("bm25", hit.rank, hit.score)
        assert sum(reason.terms.values()) == pytest.approx(hit.score, rel=1e-5)
        tokenizer = Tokenizer()
        assert set(reason.terms) == set(tokenizer.terms(query)) & set(tokenizer.terms(texts[hit.position]))
        assert list(reason.terms.items()) == sorted(
            reason.terms.items(), key=lambda pair: (-pair[1], pair[0])
        )


@given(st.lists(WORDS, min_size=1, max_size=8), WORDS)
def test_any_passage_can_be_explained_whatever_its_rank(texts: list[str], query: str) -> None:
    index = build(texts)
    full = index.search(query, k=len(texts))
    reasons = {hit.passage_id: hit.reasons[0] for hit in full}
    for place in range(len(texts)):
        assert index.explain(query, f"p{place}") == reasons.get(f"p{place}")


def test_the_list_of_an_index_can_be_named() -> None:
    index = build(TEXTS)
    index.name = "titles"
    reasons = [hit.reasons[0].source for hit in index.search("net")]
    assert reasons == ["titles"] * 3


def test_only_passages_of_the_index_can_be_explained(made: Made) -> None:
    index = made(TEXTS)
    assert index.position_of("p5") == 5
    with pytest.raises(InputError, match=r"no passage 'zebra' in the index"):
        index.explain("net", "zebra")


def test_a_ranking_reads_well() -> None:
    assert build(TEXTS).search("net sales of 2018", k=1).explain().splitlines() == [
        "1 hit for 'net sales of 2018'",
        "1. p0  score 1.074",
        "   bm25: rank 1, score 1.074 = 2018 0.5653 + net 0.2544 + sale 0.2544",
        "   Net sales of the company rose to $ 1,234.5 million in 2018.",
    ]


# -- building


def test_passages_without_terms_are_warned_about_once_with_their_ids() -> None:
    texts = ["the of", "", "net sales", "...", "🎉", "a", "I", "the"]
    with pytest.warns(HybridrankWarning) as caught:
        LexicalIndex.build(passages(texts))
    (warning,) = caught
    assert str(warning.message) == (
        "7 of 8 passages hold no term and can never be found: 'p0', 'p1', 'p3', 'p4', 'p5' and 2 more"
    )
    assert warning.filename == __file__
    with pytest.warns(HybridrankWarning, match=r"1 of 2 .* found: 'p1'$"):
        LexicalIndex.build(passages(["net", ""]))


def test_an_id_given_twice_is_refused() -> None:
    twice = [Passage(id="a", text="one"), Passage(id="b", text="two"), Passage(id="a", text="three")]
    with pytest.raises(InputError, match=r"passages 0 and 2 .* have the same id 'a'"):
        LexicalIndex.build(twice)


def test_the_tokenizer_is_kept_with_the_index(tmp_path: Path) -> None:
    tokenizer = Tokenizer("german", stopwords=["der"])
    LexicalIndex.build(passages(["Der Häuser", "die Firma"]), tokenizer=tokenizer, k1=0.9, b=0.4).save(
        tmp_path
    )
    index = LexicalIndex.open(tmp_path)
    assert index.vocabulary.tokenizer.settings() == tokenizer.settings()
    assert (index.postings.k1, index.postings.b) == (0.9, 0.4)
    assert ids(index.search("Haus der")) == ["p0"]


def test_parameters_out_of_range_are_refused() -> None:
    with pytest.raises(InputError, match="BM25 with k1=-1"):
        LexicalIndex.build(passages(TEXTS), k1=-1)


# -- opening


def test_saving_over_the_index_that_is_open(tmp_path: Path) -> None:
    build(TEXTS).save(tmp_path)
    index = LexicalIndex.open(tmp_path)
    index.save(tmp_path)
    build(["a zebra"]).save(tmp_path)
    assert ids(index.search("net sales")) == ["p2", "p5", "p0"]
    assert ids(LexicalIndex.open(tmp_path).search("zebra")) == ["p0"]


def test_what_is_no_lexical_index_is_refused(tmp_path: Path) -> None:
    with pytest.raises(IndexNotFound):
        LexicalIndex.open(tmp_path)
    with IndexWriter(tmp_path, kind="dense"):
        pass
    with pytest.raises(IndexForeign, match="kind 'dense'"):
        LexicalIndex.open(tmp_path)


def test_an_index_whose_words_are_cut_another_way_is_refused(tmp_path: Path) -> None:
    settings = {"tokenizer": Tokenizer().settings() | {"scheme": 99}}
    with IndexWriter(tmp_path, kind="lexical", settings=settings):
        pass
    with pytest.raises(IndexTooNew, match=r"scheme 99, where this version has 1. Build the index again"):
        LexicalIndex.open(tmp_path)


def test_nothing_about_the_machine_is_stored(tmp_path: Path) -> None:
    build(TEXTS).save(tmp_path)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["settings"] == {"tokenizer": Tokenizer().settings()}


def test_what_is_no_passage_or_no_query_is_refused() -> None:
    with pytest.raises(InputError, match=r"passage 1 is a str, not a Passage.*rank\(query, texts\)"):
        LexicalIndex.build([Passage(id="a", text="net"), "net sales"])  # type: ignore[list-item]
    index = build(["net"])
    with pytest.raises(InputError, match="the query is of type NoneType"):
        index.search(None)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="the query is of type int"):
        index.explain(3, "p0")  # type: ignore[arg-type]
