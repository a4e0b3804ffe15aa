from __future__ import annotations

from hybridrank import Ranking
from hybridrank.records import Hit
from hybridrank.report.rows import Side, rows_of
from tests.report.report_data import JUDGMENTS, QUERIES, searched


def ranking(*ids: str) -> Ranking:
    hits = (Hit(passage_id=one, position=0, rank=rank, score=1 / rank) for rank, one in enumerate(ids, 1))
    return Ranking(query="q", hits=tuple(hits))


def test_failures_come_first_then_late_finds_and_the_unjudged_last() -> None:
    rows = rows_of([searched()], QUERIES, JUDGMENTS)
    assert [row.query_id for row in rows] == ["q3", "q1", "<i>q2</i>", "q5", "q4"]
    assert [row.failed for row in rows] == [True, False, False, False, False]
    assert [row.judged for row in rows] == [True, True, True, True, False]
    first = [row.sides[0].first_good for row in rows]
    assert first[0] is None
    assert [rank for rank in first if rank] == sorted((rank for rank in first if rank), reverse=True)
    assert rows[0].sides[0].missed == ("nowhere",)
    assert [row.place for row in rows] == [2, 0, 1, 4, 3]


def test_a_hit_is_judged_by_its_id_or_else_by_its_document() -> None:
    row = next(row for row in rows_of([searched()], QUERIES, JUDGMENTS) if row.query_id == "q1")
    grades = {hit.hit.passage_id: hit.grade for hit in row.sides[0].hits}
    assert grades["d1:0"] == 1
    assert grades["d5:0"] == 0
    assert grades["d3:70"] is None
    assert [hit.hit.passage_id for hit in row.sides[0].hits if hit.good] == ["d1:0"]


def test_without_judgments_the_order_is_that_of_the_file() -> None:
    rows = rows_of([searched()], QUERIES)
    assert [row.query_id for row in rows] == list(QUERIES)
    assert not any(row.failed or row.judged or row.changed for row in rows)


def test_two_sides_say_what_moved_was_lost_and_gained() -> None:
    sides = [
        Side(name="a", rankings={"q": ranking("x", "y", "z")}),
        Side(name="b", rankings={"q": ranking("y", "x", "w")}),
    ]
    (row,) = rows_of(
        sides,
        {
            "q": "text",
        },
        {"q": {"z": 1}},
    )
    before, after = row.sides
    assert [(hit.hit.passage_id, hit.other_rank) for hit in before.hits] == [("x", 2), ("y", 1), ("z", None)]
    assert [(hit.hit.passage_id, hit.other_rank) for hit in after.hits] == [("y", 2), ("x", 1), ("w", None)]
    assert all(hit.changed for side in row.sides for hit in side.hits)
    assert row.changed
    assert row.failed  # one of the two shows nothing good
    assert (before.first_good, after.first_good) == (3, None)
    assert after.missed == ("z",)
    (cut,) = rows_of(sides, {"q": "text"}, k=1)
    assert [hit.other_rank for side in cut.sides for hit in side.hits] == [None, None]


def test_the_same_rankings_are_unchanged_and_a_missing_one_is_empty() -> None:
    side = Side(name="a", rankings={"q": ranking("x")})
    (row,) = rows_of([side, Side(name="b", rankings=dict(side.rankings))], {"q": "text"})
    assert not row.changed
    (row,) = rows_of([side, Side(name="b", rankings={})], {"q": "text"})
    assert row.changed
    assert row.sides[1].hits == ()


def test_more_failing_sides_are_more_trouble() -> None:
    sides = [
        Side(name="a", rankings={"p": ranking("g"), "q": ranking("x")}),
        Side(name="b", rankings={"p": ranking("x"), "q": ranking("x")}),
    ]
    rows = rows_of(sides, {"p": "", "q": ""}, {"p": {"g": 1}, "q": {"g": 1}})
    assert [row.query_id for row in rows] == ["q", "p"]
