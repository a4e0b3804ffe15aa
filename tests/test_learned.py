import json
import math
import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from random import Random
from typing import Any

import ir_measures
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridrank.errors import IndexForeign, IndexNotFound, IndexTooNew, InputError
from hybridrank.features import PassageFeatures
from hybridrank.learned import LearnedReranker, RankingModel
from hybridrank.lexical import LexicalIndex
from hybridrank.pipeline import Pipeline
from hybridrank.protocols import Reranker
from hybridrank.records import Hit, Passage, Ranking, Reason, Usage
from hybridrank.storage import IndexWriter
from hybridrank.text.corpus import read_corpus
from hybridrank.text.passages import split_documents

# Two words a query. Where they stand side by side the passage is right; those that repeat them apart score
# higher with BM25, which knows nothing of order, and lengths vary by chance.
N_QUERIES = 30


def words_of(number: int) -> tuple[str, str]:
    letters = "abcdefghijklmnopqrstuvwxyz"[number % 26] + "xyz"[number // 26]
    return f"{letters}one", f"{letters}two"


def texts_of(number: int, random: Random) -> Iterator[str]:
    one, two = words_of(number)
    for matched in (
        [two, "-", one, "-", two, "-", one],
        [one, "-", two, "-", two],
        [f"{one} {two}"],
        [one],
        [two],
    ):
        filled = [
            "filler",
            *(random.choice(("corn", "rice", "oats")) if word == "-" else word for word in matched),
        ]
        yield " ".join(filled + random.choices(("corn", "rice", "oats"), k=random.randrange(9)))


RANDOM = Random(1)
QUERIES = {f"q{number}": " ".join(words_of(number)) for number in range(N_QUERIES)}
PASSAGES = [
    Passage(id=f"{number}:{place}", text=text)
    for number in range(N_QUERIES)
    for place, text in enumerate(texts_of(number, RANDOM))
]
JUDGMENTS = {f"q{number}": {f"{number}:2": 1} for number in range(N_QUERIES)}
INDEX = LexicalIndex.build(PASSAGES)


def subset(numbers: Iterable[int]) -> dict[str, dict[str, int]]:
    return {f"q{number}": JUDGMENTS[f"q{number}"] for number in numbers}


RERANKER = LearnedReranker.fit(INDEX, QUERIES, subset(range(N_QUERIES // 2)))


def ids(ranking: Ranking) -> list[str]:
    return [hit.passage_id for hit in ranking]


def gain(rankings: Mapping[str, Ranking], judgments: Mapping[str, Mapping[str, int]]) -> float:
    """Mean nDCG@10."""
    run = {query_id: {hit.passage_id: -hit.rank for hit in found} for query_id, found in rankings.items()}
    return float(ir_measures.calc_aggregate([ir_measures.nDCG @ 10], judgments, run)[ir_measures.nDCG @ 10])


class Dense:
    """A retriever that prefers the passages of one word; it says nothing of queries in ``lost``."""

    name = "dense"
    lost: frozenset[str] = frozenset()

    def __len__(self) -> int:
        return len(PASSAGES)

    def search(self, query: str, k: int = 10) -> Ranking:
        if query in self.lost:
            return Ranking(query=query, degraded="dense: gone")
        number = list(QUERIES.values()).index(query)
        hits = [
            Hit(
                passage_id=(passage := PASSAGES[position]).id,
                position=position,
                rank=rank,
                score=1 / rank,
                passage=passage,
                reasons=(Reason(source="dense", rank=rank, score=1 / rank),),
            )
            for rank, position in enumerate((5 * number + 3, 5 * number + 4, 5 * number), start=1)
        ]
        return Ranking(query=query, hits=tuple(hits[:k]))

    def search_many(self, queries: Iterable[str], k: int = 10) -> Sequence[Ranking]:
        return [self.search(query, k) for query in queries]


# -- what it is for


def test_it_puts_right_what_a_feature_tells() -> None:
    held_out = {f"q{number}": QUERIES[f"q{number}"] for number in range(N_QUERIES // 2, N_QUERIES)}
    before = {query_id: INDEX.search(query) for query_id, query in held_out.items()}
    after = {query_id: RERANKER.rerank(ranking) for query_id, ranking in before.items()}
    truth = {query_id: JUDGMENTS[query_id] for query_id in held_out}
    assert gain(before, truth) < 0.7
    assert gain(after, truth) == 1


def test_on_the_sample_it_ranks_no_worse_with_each_company_held_out() -> None:
    sample = files("hybridrank") / "data" / "finance"
    passages = list(split_documents(read_corpus(str(sample / "reports.jsonl"))))
    rows = [
        [json.loads(line) for line in (sample / name).read_text(encoding="utf-8").splitlines()]
        for name in ("questions.jsonl", "labels.jsonl")
    ]
    queries = {row["query_id"]: row["question"] for row in rows[0]}
    places = {row["query_id"]: [place for unit in row["units"] for place in unit] for row in rows[1]}
    judgments = {
        query_id: {
            passage.id: 1
            for passage in passages
            for place in of_query
            if passage.document_id == place["document_id"]
            and passage.start < place["end"]
            and place["start"] < passage.end
        }
        for query_id, of_query in places.items()
    }
    company = {query_id: of_query[0]["document_id"].split("_")[0] for query_id, of_query in places.items()}
    index = LexicalIndex.build(passages)
    before = {query_id: index.search(query, 100) for query_id, query in queries.items()}
    after: dict[str, Ranking] = {}
    for held_out in set(company.values()):
        others = {query_id: judged for query_id, judged in judgments.items() if company[query_id] != held_out}
        reranker = LearnedReranker.fit(index, queries, others)
        after |= {
            query_id: reranker.rerank(ranking)
            for query_id, ranking in before.items()
            if company[query_id] == held_out
        }
    assert after.keys() == queries.keys()
    assert gain(after, judgments) >= gain(before, judgments)


# -- promises of a reranker


def test_it_is_a_reranker_of_a_pipeline() -> None:
    assert isinstance(RERANKER, Reranker)
    query = QUERIES["q20"]
    pipeline = Pipeline(retrievers=[INDEX], rerankers=[RERANKER])
    assert pipeline.search(query) == RERANKER.rerank(INDEX.search(query, 100)).top(10)
    assert ids(pipeline.search(query, 1)) == ["20:2"]


@given(st.permutations(range(len(PASSAGES))), st.integers(0, 12), st.integers(1, 12))
def test_no_hit_is_dropped_or_invented_and_the_rest_stay_behind(
    order: list[int], n_hits: int, depth: int
) -> None:
    hits = tuple(
        Hit(passage_id=PASSAGES[position].id, position=position, rank=rank, score=1 / rank)
        for rank, position in enumerate(order[:n_hits], start=1)
    )
    given_ranking = Ranking(query=QUERIES["q0"], hits=hits, degraded="dense: gone", usage=Usage(requests=3))
    reranker = LearnedReranker(INDEX, RERANKER.model, depth=depth)
    found = reranker.rerank(given_ranking)
    assert replace(found, hits=hits) == given_ranking
    assert sorted(ids(found)[:depth]) == sorted(ids(given_ranking)[:depth])
    assert ids(found)[depth:] == ids(given_ranking)[depth:]
    assert [hit.rank for hit in found] == list(range(1, n_hits + 1))
    assert sorted(found, key=lambda hit: (-hit.score, hit.position)) == list(found)
    for hit in found:
        (reason,) = hit.reasons
        assert (reason.source, reason.rank, reason.score) == ("learned", hit.rank, hit.score)
    assert not any(hit.reasons[0].terms for hit in found[depth:])


@given(st.permutations(range(5)))
def test_the_order_of_the_candidates_changes_nothing(order: list[int]) -> None:
    ranking = INDEX.search(QUERIES["q3"])
    shuffled = replace(ranking, hits=tuple(ranking.hits[at] for at in order))
    assert RERANKER.rerank(shuffled) == RERANKER.rerank(ranking)


def test_ties_go_by_place_in_the_corpus() -> None:
    twins = LexicalIndex.build(Passage(id=id, text="net sales") for id in "abc")
    ranking = twins.search("net sales")
    found = LearnedReranker(twins, RERANKER.model).rerank(
        replace(ranking, hits=tuple(reversed(ranking.hits)))
    )
    assert ids(found) == ["a", "b", "c"]
    assert len({hit.score for hit in found}) == 1


def test_reasons_are_added_to_and_renewed() -> None:
    once = RERANKER.rerank(INDEX.search(QUERIES["q3"]))
    assert [reason.source for reason in once[0].reasons] == ["bm25", "learned"]
    assert RERANKER.rerank(once) == once


def test_a_hit_that_is_not_in_the_index_is_named() -> None:
    stranger = Hit(passage_id="zebra", position=0, rank=1, score=1.0)
    with pytest.raises(InputError, match="there is no passage 'zebra'"):
        RERANKER.rerank(Ranking(query=QUERIES["q0"], hits=(stranger,)))


# -- reasons


def test_a_reason_names_the_features_that_pulled_most() -> None:
    ranking = INDEX.search(QUERIES["q3"])
    hit = RERANKER.rerank(ranking)[0]
    terms = hit.reasons[-1].terms
    rows = RERANKER.features.compute(ranking.query, ranking.hits)
    row = rows[ids(ranking).index(hit.passage_id)]
    shares = dict(zip(RERANKER.model.names, RERANKER.model.contributions(row[None])[0], strict=False))
    assert 0 < len(terms) <= 6
    assert list(terms.values()) == sorted(terms.values(), reverse=True)
    assert all(terms[name] == shares[name] for name in terms)
    least = min(map(abs, terms.values()))
    assert all(abs(share) <= least for name, share in shares.items() if name not in terms)
    assert f"bigrams {terms['bigrams']:+.4g}" in RERANKER.rerank(ranking).explain()


def test_reasons_are_a_mapping_like_any_other() -> None:
    ranking = RERANKER.rerank(INDEX.search(QUERIES["q3"]))
    terms = ranking[0].reasons[-1].terms
    assert terms == dict(terms)
    assert repr(terms) == repr(dict(terms))
    again = pickle.loads(pickle.dumps(ranking))
    assert again == ranking
    assert type(again[0].reasons[-1].terms) is dict


# -- learning


def test_the_order_of_queries_and_judgments_changes_no_byte(tmp_path: Path) -> None:
    judged = {"q1": {"1:2": 2, "1:0": 1}, "q2": {"2:2": 1}, **subset(range(3, 12))}
    other = {key: dict(reversed(of_passage.items())) for key, of_passage in reversed(judged.items())}
    LearnedReranker.fit(INDEX, QUERIES, judged).save(tmp_path / "one")
    LearnedReranker.fit(INDEX, dict(reversed(QUERIES.items())), other).save(tmp_path / "other")
    one, again = (
        {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("one", "other")
    )
    assert one == again


def test_what_is_not_judged_counts_as_0_and_queries_without_order_are_passed_over() -> None:
    judged = subset(range(12))
    spelled_out = {
        query_id: {f"{query_id[1:]}:{place}": int(place == 2) for place in range(5)} for query_id in judged
    }
    useless = {"q20": {"20:1": 0}, "q21": {"3:2": 1}, "q22": {}}  # no grade above 0 among its candidates
    fits = [LearnedReranker.fit(INDEX, QUERIES, given) for given in (judged, spelled_out, judged | useless)]
    assert [fit.model.training["queries"] for fit in fits] == [12, 12, 12]
    assert len({fit.model._text for fit in fits}) == 1


def test_only_the_best_candidates_are_learned_from() -> None:
    assert LearnedReranker.fit(INDEX, QUERIES, JUDGMENTS, depth=3).model.training["rows"] == 3 * N_QUERIES

    class Generous(Dense):
        def search(self, query: str, k: int = 10) -> Ranking:
            return INDEX.search(query, k + 2)

    generous = LearnedReranker.fit(INDEX, QUERIES, JUDGMENTS, retriever=Generous(), depth=3)
    assert generous.model.training["rows"] == 3 * N_QUERIES
    assert generous.depth == 3


def test_scores_of_other_lists_are_features_that_it_can_do_without() -> None:
    dense = Dense()
    pipeline = Pipeline(retrievers=[INDEX, dense])
    # Of the two passages with one word, only the dense list knows that the first is right.
    judged = {f"q{number}": {f"{number}:3": 1} for number in range(N_QUERIES)}
    reranker = LearnedReranker.fit(INDEX, QUERIES, judged, retriever=pipeline, missing=0.4)
    used = reranker.model.importances()
    assert used["dense"] + used["dense_rank"] > 0
    assert reranker.model.training["missing"][0] == ["dense", "dense_rank", 0.4]
    query = QUERIES["q5"]
    assert ids(reranker.rerank(pipeline.search(query)))[0] == "5:3"
    dense.lost = frozenset({query})
    degraded = reranker.rerank(pipeline.search(query))
    assert degraded.degraded == "dense: gone"
    assert set(ids(degraded)[:2]) == {"5:3", "5:4"}  # what has one word of two is told without the list


@pytest.mark.parametrize(
    ("judgments", "changed", "message"),
    [
        ({}, {}, "there are no judgments to learn from"),
        ({"q1": {}}, {}, "there are no judgments to learn from"),
        ({"q1": {"1:2": 0}}, {}, "no query of 1 has a passage of a grade above 0 among its best 100"),
        ({"q1": {"2:2": 1}, "q2": {"3:2": 1}}, {"depth": 7}, "no query of 2 .* its best 7. Judge passages"),
        ({"q1": {"1:2": 1}, "zebra": {"1:2": 1}}, {}, "judgments for queries that are not known: 'zebra'"),
        (
            {"q1": {f"x{number}": 1 for number in range(4)}, "q2": {"y1": 1, "y2": 0, "y3": 1}},
            {},
            "for passages that are not known: 'x0', 'x1', 'x2', 'x3', 'y1' and 2 more",
        ),
        ({"q1": {"1:2": -1}}, {}, "the grade of passage '1:2' for query 'q1' is -1. Give whole numbers"),
        ({"q1": {"1:2": 31}}, {}, "is 31. Give whole numbers from 0 to 30"),
        ({"q1": {"1:2": 0.5}}, {}, "is 0.5"),
        ({"q1": {"1:2": math.nan}}, {}, "is nan"),
        (JUDGMENTS, {"depth": 0}, "k is 0"),
        (JUDGMENTS, {"sources": ["a b"]}, "cannot name the lists"),
        (JUDGMENTS, {"missing": 2.0}, "is withheld with probability 2.0"),
        ({"q1": {"1:2": 1}}, {}, "no feature tells the 5 rows of 1 queries apart"),
    ],
)
def test_what_nothing_can_be_learned_from_is_refused(
    judgments: dict[str, dict[str, int]], changed: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        LearnedReranker.fit(INDEX, QUERIES, judgments, **changed)


# -- on the disk


def test_it_comes_back_as_it_was(tmp_path: Path) -> None:
    INDEX.save(tmp_path / "index")
    reranker = LearnedReranker(INDEX, RERANKER.model, depth=4)
    reranker.save(tmp_path / "ranker")
    again = LearnedReranker.open(tmp_path / "ranker", LexicalIndex.open(tmp_path / "index"))
    assert (again.depth, again.features.sources) == (4, ("dense", "cross_encoder"))
    for query in QUERIES.values():
        assert again.rerank(INDEX.search(query)) == reranker.rerank(INDEX.search(query))
    with pytest.raises(IndexNotFound):
        LearnedReranker.open(tmp_path / "elsewhere", INDEX)
    with pytest.raises(IndexForeign, match="of kind 'learned-reranker', where one of kind 'ranking-model'"):
        RankingModel.open(tmp_path / "ranker")


def save_with(directory: Path, **changed: Any) -> None:
    settings = {
        **RERANKER.model.settings(),
        "depth": 100,
        "sources": ["dense", "cross_encoder"],
        "features": 1,
        **changed,
    }
    with IndexWriter(directory, kind="learned-reranker", settings=settings) as writer:
        RERANKER.model.write(writer)


def test_features_of_another_version_are_refused(tmp_path: Path) -> None:
    save_with(tmp_path)
    LearnedReranker.open(tmp_path, INDEX)
    save_with(tmp_path, features=0)
    with pytest.raises(IndexTooNew, match=r"features of scheme 0, where this version has 1. Train it again"):
        LearnedReranker.open(tmp_path, INDEX)
    save_with(tmp_path, sources=["dense"])
    with pytest.raises(
        IndexForeign, match=r"it lacks \[\] and has \['cross_encoder', 'cross_encoder_rank'\]"
    ):
        LearnedReranker.open(tmp_path, INDEX)


def test_a_model_of_other_features_is_refused() -> None:
    with pytest.raises(InputError, match=r"it lacks \['zebra', 'zebra_rank'\]"):
        LearnedReranker(INDEX, RERANKER.model, sources=["zebra"])
    random = np.random.default_rng(0)
    names = PassageFeatures(INDEX, sources=["a"]).names
    rows, grades = random.random((100, len(names))), np.arange(100) % 2
    rows[:, 0] += grades
    model = RankingModel.train(rows, grades, [10] * 10, names, rounds=1)
    assert LearnedReranker(INDEX, model, sources=["a"]).rerank(INDEX.search(QUERIES["q0"]))
