from __future__ import annotations

import pytest

from hybridrank import LexicalIndex, Passage
from hybridrank.errors import HybridrankWarning, InputError
from hybridrank.evaluation.units import by_unit, check_overlap, search_units, tell_unit
from hybridrank.records import Hit, Ranking

PASSAGES = [
    Passage(id=f"{document}:{start}", text=f"boat {'paint ' * start}", document_id=document, start=start)
    for document in ("d1", "d2")
    for start in range(6)
]
PASSAGES.append(Passage(id="alone", text="boat"))


def test_judged_are_passages_or_documents_by_what_more_ids_are() -> None:
    assert tell_unit(PASSAGES, {"q": ["d1:0", "alone"]}) == "passage"
    assert tell_unit(PASSAGES, {"q": {"d1": 1}, "p": {"d2": 0}}) == "document"
    with pytest.warns(HybridrankWarning, match=r"2 of 3 judged passages are not in the index.*: 'd1', 'x'"):
        assert tell_unit(PASSAGES, {"q": ["d1:1", "d1", "x"]}) == "passage"


def test_ids_that_do_not_match_at_all_are_an_error_with_examples() -> None:
    with pytest.raises(
        InputError, match=r"none of the 4 judged ids \('1', '2', '3', …\) is in the index, which"
    ) as error:
        tell_unit(PASSAGES, {"q": ["1", "2", "3", "4"]})
    assert "'d1:0' of document 'd1'" in error.value.reason
    with pytest.raises(InputError, match=r"has the passages \(none at all\)"):
        tell_unit([], {"q": ["1"]})


def test_queries_that_do_not_match_are_said() -> None:
    assert check_overlap(["b", "a"], ["a", "b"]) == ["b", "a"]
    with pytest.warns(HybridrankWarning) as said:
        assert check_overlap(["a", "b", "c"], ["c", "d"]) == ["c"]
    assert [str(one.message) for one in said] == [
        "2 of 3 queries are not among the judged queries: 'a', 'b'",
        "1 of 2 judged queries are not among the queries: 'd'",
    ]
    with pytest.raises(
        InputError, match=r"none of the 1 judged queries \('01'\) is among the 1 queries \('1'\)"
    ):
        check_overlap(["1"], ["01"])


def test_a_document_stands_at_its_best_passage() -> None:
    hits = [
        Hit(passage_id=one.id, position=place, rank=rank, score=9.0 - rank, passage=one)
        for rank, (place, one) in enumerate(
            [(7, PASSAGES[7]), (1, PASSAGES[1]), (8, PASSAGES[8]), (12, PASSAGES[12])], 1
        )
    ]
    hits.append(Hit(passage_id="bare", position=13, rank=5, score=1.0))
    found = by_unit(Ranking(query="q", hits=tuple(hits)), "document")
    assert [(hit.passage_id, hit.rank, hit.score) for hit in found] == [
        ("d2", 1, 8.0), ("d1", 2, 7.0), ("alone", 3, 5.0), ("bare", 4, 1.0),
    ]  # fmt: skip
    assert found[0].passage == PASSAGES[7]
    ranking = Ranking(query="q", hits=tuple(hits))
    assert by_unit(ranking, "passage") is ranking


def test_enough_documents_are_looked_for() -> None:
    index = LexicalIndex.build(PASSAGES)
    assert [hit.passage_id for hit in search_units(index, "boat", 3, "passage")] == [
        hit.passage_id for hit in index.search("boat", 3)
    ]
    assert {hit.passage_id for hit in search_units(index, "paint", 2, "document")} == {"d1", "d2"}
    assert len(search_units(index, "boat", 50, "document")) == 3
    assert len(search_units(index, "boat", 1, "document")) == 1
    known = index.search("boat", 2)
    assert search_units(index, "boat", 2, "document", known) == search_units(index, "boat", 2, "document")
