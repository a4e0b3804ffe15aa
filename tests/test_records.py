import copy
import dataclasses
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridrank.errors import InputError
from hybridrank.records import Hit, Passage, Ranking, Reason, Span, Usage

PASSAGE = Passage(id="a", text="Net  sales\nrose.", document_id="d", start=7, metadata={"year": 2018})
HITS = tuple(
    Hit(
        passage_id=id,
        position=position,
        rank=rank,
        score=score,
        passage=passage,
        reasons=(Reason(source="bm25", rank=rank, score=score, terms={"sale": 1.0, "net": 0.25}),),
    )
    for rank, (id, position, score, passage) in enumerate(
        [("a", 3, 1.25, PASSAGE), ("b", 0, 0.5, None)], start=1
    )
)
RANKING = Ranking(query="net sales?", hits=HITS)


@pytest.mark.parametrize(
    "record", [PASSAGE, Span(document_id="d", start=0, end=1), HITS[0], Usage(), RANKING]
)
def test_records_are_values(record: object) -> None:
    kind: Any = type(record)
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(record, dataclasses.fields(kind)[0].name, None)
    with pytest.raises((AttributeError, TypeError)):
        setattr(record, "surprise", 1)  # noqa: B010  (the type checker knows better)
    with pytest.raises(TypeError, match="positional"):
        kind("a")
    for again in (copy.deepcopy(record), pickle.loads(pickle.dumps(record))):
        assert again == record
        assert hash(again) == hash(record)


def test_a_passage_lies_in_its_document() -> None:
    assert (PASSAGE.start, PASSAGE.end) == (7, 23)
    with pytest.raises(InputError, match=r"passage 'a' starts at -1. Offsets count from 0"):
        Passage(id="a", text="", start=-1)


@given(st.integers(-3, 10), st.integers(-3, 10))
def test_a_span_is_never_empty(start: int, end: int) -> None:
    if 0 <= start < end:
        span = Span(document_id="d", start=start, end=end)
        assert (span.start, span.end) == (start, end)
    else:
        with pytest.raises(InputError, match=r"of 'd' is empty or starts before 0. Give 0 <= start < end"):
            Span(document_id="d", start=start, end=end)


def test_usage_adds_up() -> None:
    one, other = Usage(requests=1, tokens=20, seconds=0.5), Usage(tokens=5, seconds=1.0, cache_hits=2)
    assert one + other == other + one == Usage(requests=1, tokens=25, seconds=1.5, cache_hits=2)
    assert one + Usage() == one


def test_usage_says_what_was_used() -> None:
    assert str(Usage()) == "nothing"
    assert str(Usage(requests=2, tokens=1200, seconds=0.5, cache_hits=3)) == (
        "2 requests, 1,200 tokens, 0.5 s, 3 from the cache"
    )


def test_a_ranking_is_a_sequence_of_hits() -> None:
    assert len(RANKING) == 2
    assert list(RANKING) == [RANKING[0], RANKING[-1]] == list(HITS)
    assert RANKING[1:] == HITS[1:]
    assert HITS[1] in RANKING
    assert not Ranking(query="nothing")
    assert RANKING.top(1) == Ranking(query="net sales?", hits=HITS[:1])
    assert RANKING.top(5) == RANKING


def test_a_ranking_explains_itself() -> None:
    ranking = dataclasses.replace(
        RANKING, degraded="no budget left for reranking", usage=Usage(requests=1, tokens=900)
    )
    assert ranking.explain(width=9).splitlines() == [
        "2 hits for 'net sales?'",
        "degraded: no budget left for reranking",
        "used: 1 request, 900 tokens",
        "1. a  score 1.25",
        "   bm25: rank 1, score 1.25 = sale 1 + net 0.25",
        "   Net sales…",
        "2. b  score 0.5",
        "   bm25: rank 2, score 0.5, most from sale +1, net +0.25",
    ]
    assert "   Net sales rose.\n" in RANKING.explain()


def test_shares_that_do_not_make_up_the_score_are_not_summed() -> None:
    reason = Reason(source="learned", rank=1, score=2.5, terms={"bm25": 1.5, "length": -0.25})
    hit = dataclasses.replace(HITS[1], reasons=(reason,))
    assert Ranking(query="q", hits=(hit,)).explain().splitlines()[-1] == (
        "   learned: rank 1, score 2.5, most from bm25 +1.5, length -0.25"
    )


def test_an_explanation_shows_the_beginning_of_a_long_passage_alone() -> None:
    passage = Passage(id="a", text=" " * 1000 + "late words")
    hit = Hit(
        passage_id="a",
        position=0,
        rank=1,
        score=1.0,
        passage=passage,
        reasons=(Reason(source="x", rank=1, score=2.0),),
    )
    assert Ranking(query="q", hits=(hit,)).explain().splitlines()[1:] == [
        "1. a  score 1",
        "   x: rank 1, score 2",
        "   …",
    ]


@pytest.mark.parametrize(("id", "text"), [(7, "net"), ("7", None), (None, b"net")])
def test_a_passage_is_made_of_strings(id: Any, text: Any) -> None:
    with pytest.raises(InputError, match=f"passage {id!r} has an id of type {type(id).__name__}"):
        Passage(id=id, text=text)
