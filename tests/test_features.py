import itertools
import math
import re
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridrank import features as module
from hybridrank.errors import HybridrankWarning, InputError
from hybridrank.features import KINDS, PassageFeatures, query_kinds, ranks, tightest_windows
from hybridrank.lexical import LexicalIndex
from hybridrank.records import Hit, Passage, Reason

WORDS = ["net", "sales", "rose", "2018", "1999", "3.5", "C", "the", "東京", "7"]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)


def build(texts: list[str]) -> LexicalIndex:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HybridrankWarning)
        return LexicalIndex.build(
            Passage(id=f"p{place}", text=text, document_id="d" if place % 2 else None, start=100 * place)
            for place, text in enumerate(texts)
        )


def hits_of(index: LexicalIndex) -> list[Hit]:
    """Every passage of an index as a hit, whether it matches or not."""
    return [
        Hit(passage_id=passage.id, position=place, rank=place + 1, score=0.0)
        for place, passage in enumerate(index.passages)
    ]


def column(features: PassageFeatures, query: str, name: str, hits: list[Hit] | None = None) -> list[float]:
    assert isinstance(features.index, LexicalIndex)
    rows = features.compute(query, hits_of(features.index) if hits is None else hits)
    return [float(value) for value in rows[:, features.names.index(name)]]


# -- helpers on arrays


@given(st.lists(st.integers(-3, 3) | st.just(math.nan)))
def test_ranks_are_dense_from_0_and_nan_comes_last(scores: list[float]) -> None:
    better = sorted({score for score in scores if not math.isnan(score)}, reverse=True)
    expected = [len(better) if math.isnan(score) else better.index(score) for score in scores]
    assert ranks(scores).tolist() == expected


@given(st.lists(st.lists(st.integers(-1, 3), max_size=7), min_size=1, max_size=4))
def test_the_tightest_window_is_the_shortest_of_all(texts: list[list[int]]) -> None:
    def shortest(text: list[int]) -> int:
        held = {slot for slot in text if slot >= 0}
        stretches = (text[i:j] for i, j in itertools.combinations(range(len(text) + 1), 2))
        return min((len(some) for some in stretches if held <= set(some)), default=0) if held else 0

    slots = np.array([slot for text in texts for slot in text], dtype=np.int64)
    found = tightest_windows(slots, np.cumsum([len(text) for text in texts]), n_terms=4)
    assert found.tolist() == [shortest(text) for text in texts]


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("What portion of debt falls due in 2026?", {"ratio"}),
        ("What PERCENT of sales came from boxes?", {"ratio"}),
        ("By what percentage of 2017 revenue did costs grow?", {"ratio", "change"}),
        ("How much higher was income?", {"change"}),
        ("What was the total of both, and the average?", {"total", "average"}),
        ("How many pilots were lost altogether?", {"count", "total"}),
        ("Who is the auditor?", {"lookup"}),
        ("Does the fellow growl?", {"lookup"}),
        ("", {"lookup"}),
    ],
)
def test_kinds_of_questions(text: str, kinds: set[str]) -> None:
    assert query_kinds(text) == kinds
    assert kinds <= set(KINDS)


# -- features


def test_every_feature_is_documented_and_has_a_name_of_its_own() -> None:
    names = PassageFeatures(build(["net"])).names
    assert len(set(names)) == len(names)
    assert module.__doc__ is not None
    documented = set(re.findall(r"``([\w<>]+)``", module.__doc__))
    for name in names:
        general = re.sub(r"^(dense|cross_encoder)", "<source>", name)
        assert {name, general} & documented or name in {f"query_{kind}" for kind in KINDS}


@given(st.lists(TEXTS, min_size=1, max_size=6), TEXTS)
def test_features_are_what_the_table_says(texts: list[str], query: str) -> None:
    index = build(texts)
    features = PassageFeatures(index, sources=())
    found = dict(zip(features.names, features.compute(query, hits_of(index)).T.tolist(), strict=True))
    cut = index.vocabulary.tokenizer.terms
    passages, asked = [cut(text) for text in texts], cut(query)
    known = {term for terms in passages for term in terms}
    idf = {
        term: math.log(1 + (len(texts) - df + 0.5) / (df + 0.5))
        for term in known & set(asked)
        if (df := sum(term in terms for terms in passages))
    }
    score_of = {hit.passage_id: hit.score for hit in index.search(query, len(texts))} if texts else {}
    scores = [score_of.get(passage.id, 0.0) for passage in index.passages]
    pairs = {pair for pair in itertools.pairwise(asked) if set(pair) <= known}
    pair_idf = {pair: idf[pair[0]] + idf[pair[1]] for pair in pairs}
    years = {term for term in asked if re.fullmatch(r"(19|20)\d\d", term)}
    numbers = {term for term in asked if re.fullmatch(r"[\d.]+", term)} - years

    def share(part: float, whole: float) -> float:
        return part / whole if whole else math.nan

    for place, terms in enumerate(passages):
        held, side_by_side = idf.keys() & set(terms), pairs & set(itertools.pairwise(terms))
        expected = {
            "bm25": scores[place],
            "bm25_relative": share(scores[place], max(scores)),
            "matched": share(sum(idf[term] for term in held), sum(idf.values())),
            "heaviest_missing": share(
                max((idf[term] for term in idf.keys() - held), default=0), max(idf.values(), default=0)
            ),
            "bigrams": share(sum(pair_idf[pair] for pair in side_by_side), sum(pair_idf.values())),
            "years": share(len(years & set(terms)), len(years)),
            "numbers": share(len(numbers & set(terms)), len(numbers)),
            "digits": share(sum(map(str.isdigit, texts[place])), len(texts[place])) if texts[place] else 0,
            "length": math.log1p(len(terms)),
            "start": math.log1p(100 * place) if place % 2 else math.nan,
            "query_terms": len(idf),
            "query_idf": sum(idf.values()),
        }
        for name, value in expected.items():
            assert found[name][place] == pytest.approx(value, rel=1e-5, abs=1e-6, nan_ok=True), name
        if held:
            assert 0 < found["window"][place] <= 1
        else:
            assert math.isnan(found["window"][place])


def test_matched_words_together_make_a_tight_window() -> None:
    features = PassageFeatures(build(["net sales rose", "sales of plan c rose net", "net", "costs"]))
    assert column(features, "net sales", "window") == pytest.approx([1, 2 / 5, 1, math.nan], nan_ok=True)
    assert column(features, "net sales", "bigrams") == [1, 0, 0, 0]


def test_years_and_numbers_that_the_corpus_lacks_count_as_asked_for() -> None:
    features = PassageFeatures(build(["in 2018 and 1,234", "in 2017 and 1,234.5"]))
    query = "from 2018 to 2031, of 1234.5 and 99"
    assert column(features, query, "years") == [0.5, 0]
    assert column(features, query, "numbers") == [0, 0.5]
    assert column(features, "sales", "years") == pytest.approx([math.nan] * 2, nan_ok=True)


def test_bm25_ranks_are_shared_by_equals() -> None:
    features = PassageFeatures(build(["net", "net sales", "net", "costs"]))
    assert column(features, "net", "bm25_rank") == pytest.approx([0, math.log(2), 0, math.log(3)])


def test_kinds_are_flags() -> None:
    features = PassageFeatures(build(["net"]))
    on = {kind for kind in KINDS if column(features, "how many in total?", f"query_{kind}") == [1.0]}
    assert on == {"count", "total"}


@given(st.lists(TEXTS, min_size=2, max_size=6), TEXTS, st.randoms())
def test_the_order_of_the_hits_changes_no_bit(texts: list[str], query: str, random: Random) -> None:
    index = build(texts)
    features, hits = PassageFeatures(index), hits_of(index)
    order = list(range(len(hits)))
    random.shuffle(order)
    rows = features.compute(query, hits)
    np.testing.assert_array_equal(features.compute(query, [hits[at] for at in order]), rows[order])
    assert rows.dtype == np.float32
    assert rows.flags.c_contiguous


def test_an_opened_index_gives_the_same_bits(tmp_path: Path) -> None:
    texts = ["Net sales rose to 1,234.5 in 2018.", "東京都の売上高", "Plan C", "net net"]
    index = build(texts)
    index.save(tmp_path)
    for query in ("net sales in 2018", "東京", ""):
        rows = PassageFeatures(index).compute(query, hits_of(index))
        again = PassageFeatures(LexicalIndex.open(tmp_path)).compute(query, hits_of(index))
        np.testing.assert_array_equal(again, rows)


@pytest.mark.parametrize("query", ["", "the of", "zebra", "?!\ud800"])
def test_a_query_that_says_nothing_has_features_all_the_same(query: str) -> None:
    features = PassageFeatures(build(["net sales", ""]))
    assert column(features, query, "bm25") == [0, 0]
    assert column(features, query, "matched") == pytest.approx([math.nan] * 2, nan_ok=True)
    assert column(features, query, "query_terms") == [0, 0]


def test_no_hits_give_no_rows() -> None:
    features = PassageFeatures(build([]))
    assert features.compute("net", []).shape == (0, len(features.names))


# -- scores of other lists


def test_scores_and_ranks_of_other_lists_are_taken_from_the_reasons() -> None:
    index = build(["net", "sales"])
    features = PassageFeatures(index, sources=["dense", "my-list"])
    first, second = hits_of(index)
    reasons = (
        Reason(source="dense", rank=7, score=0.25),
        Reason(source="dense", rank=3, score=0.75),  # of a list that has it twice, the better place
        Reason(source="other", rank=1, score=9.0),
    )
    hits = [replace(first, reasons=reasons), second]
    assert features.names[-4:] == ("dense", "dense_rank", "my-list", "my-list_rank")
    for name, values in {
        "dense": [0.75, math.nan],
        "dense_rank": [math.log(3), math.nan],
        "my-list": [math.nan] * 2,
        "my-list_rank": [math.nan] * 2,
    }.items():
        assert column(features, "net", name, hits) == pytest.approx(values, nan_ok=True)


def test_directions_name_features() -> None:
    features = PassageFeatures(build([]), sources=["dense"])
    assert features.directions.keys() < set(features.names)
    assert (features.directions["dense"], features.directions["dense_rank"]) == (1, -1)


@pytest.mark.parametrize("sources", [["bm25"], ["dense", "dense"], [""], ["a b"], ["a", "a_rank"]])
def test_lists_need_names_of_their_own(sources: list[str]) -> None:
    with pytest.raises(InputError, match="cannot name the lists"):
        PassageFeatures(build([]), sources=sources)


# -- hits of other retrievers


@pytest.mark.parametrize("move", [lambda at: 1 - at, lambda at: -1, lambda at: 99])
def test_a_hit_is_known_by_its_id(move: Callable[[int], int]) -> None:
    index = build(["net", "sales"])
    features, hits = PassageFeatures(index), hits_of(index)
    moved = [replace(hit, position=move(hit.position)) for hit in hits]
    np.testing.assert_array_equal(features.compute("net", moved), features.compute("net", hits))


def test_a_hit_that_is_not_in_the_index_is_named() -> None:
    features = PassageFeatures(build(["net"]))
    with pytest.raises(InputError, match="there is no passage 'elsewhere'"):
        features.compute("net", [Hit(passage_id="elsewhere", position=0, rank=1, score=1.0)])
