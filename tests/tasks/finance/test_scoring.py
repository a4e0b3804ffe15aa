from __future__ import annotations

import importlib.util
import json
import math
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from hybridrank.errors import InputError
from hybridrank.tasks.finance import scoring
from hybridrank.tasks.finance.scoring import (
    REFERENCE_QUALITY,
    Label,
    Place,
    covers,
    evidence_recall,
    find_problem,
    page_hit,
    read_labels,
    reward,
    score,
)

REFERENCE = Path(__file__).resolve().parents[4] / "shared" / "tools" / "score_finance.py"
LENGTHS = {"a": 2000, "b": 600, "empty": 0}


def span(document_id: object, start: object, end: object) -> dict[str, object]:
    return {"document_id": document_id, "start": start, "end": end}


def row(*spans: object, query_id: str = "q") -> dict[str, object]:
    return {"query_id": query_id, "spans": list(spans)}


places = st.builds(
    lambda document_id, start, length: Place(document_id, start, start + length),
    st.sampled_from("ab"),
    st.integers(0, 60),
    st.integers(1, 30),
)


@given(st.lists(places, max_size=6), places)
def test_a_place_is_covered_when_each_of_its_characters_is(spans: list[Place], place: Place) -> None:
    held = {(one.document_id, character) for one in spans for character in range(one.start, one.end)}
    wanted = {(place.document_id, character) for character in range(place.start, place.end)}
    assert covers(spans, place) == (wanted <= held)


@given(
    st.lists(st.lists(places, min_size=1, max_size=3), min_size=1, max_size=4), st.lists(places, max_size=5)
)
def test_recall_is_the_share_of_units_with_a_covered_place(
    units: list[list[Place]], spans: list[Place]
) -> None:
    covered = [unit for unit in units if any(covers(spans, place) for place in unit)]
    assert evidence_recall(units, spans) == len(covered) / len(units)
    assert evidence_recall(units, [unit[-1] for unit in units]) == 1.0


@given(places, places)
def test_a_page_is_hit_by_a_span_with_half_of_its_characters_on_it(page: Place, one: Place) -> None:
    shared = set(range(page.start, page.end)) & set(range(one.start, one.end))
    on_page = page.document_id == one.document_id and 2 * len(shared) >= one.end - one.start
    assert page_hit([page], [one]) == float(on_page)


def test_a_span_may_touch_the_text_s_ends_and_be_512_long() -> None:
    assert find_problem(row(span("b", 0, 512), span("b", 88, 600), span("b", 599, 600)), LENGTHS) is None
    assert find_problem(row(), LENGTHS) is None


@pytest.mark.parametrize(
    ("broken", "rule"),
    [
        ({"query_id": "q"}, "keys"),
        ({"query_id": "q", "spans": [], "score": 1}, "keys"),
        ({"query_id": "q", "spans": None}, "span count"),
        (row(*[span("a", 0, 1)] * 6), "span count"),
        (row("a"), "span keys"),
        (row({"document_id": "a", "start": 0}), "span keys"),
        (row(span("a", 0, 1) | {"score": 1}), "span keys"),
        (row(span("c", 0, 1)), "unknown document"),
        (row(span(["a"], 0, 1)), "unknown document"),
        (row(span("a", 0, 0)), "offsets"),
        (row(span("a", -1, 1)), "offsets"),
        (row(span("a", 0.0, 1)), "offsets"),
        (row(span("a", False, True)), "offsets"),
        (row(span("b", 500, 601)), "offsets"),
        (row(span("empty", 0, 1)), "offsets"),
        (row(span("a", 0, 513)), "span too long"),
        (row(span("a", 0, 5), span("a", 0, 513)), "span too long"),
    ],
)
def test_the_first_broken_rule_is_named(broken: dict[str, Any], rule: str) -> None:
    assert find_problem(broken, LENGTHS) == rule


def test_a_bad_row_costs_only_itself() -> None:
    label = {
        query: Label(query_id=query, units=((Place("a", 3, 9),),))
        for query in ("good", "twice", "long", "none")
    }
    rows = [
        row(span("a", 0, 10), query_id="good"),
        row(span("a", 0, 10), query_id="twice"),
        row(span("a", 0, 10), query_id="twice"),
        row(span("a", 0, 10), span("a", 0, 600), query_id="long"),
        row(span("a", 0, 10), query_id="never asked"),
    ]
    scores = score(list(label), label, rows, LENGTHS)
    assert [(one.query_id, one.quality, one.document, one.invalid) for one in scores] == [
        ("good", 1.0, 1.0, None),
        ("twice", 0.0, 0.0, "duplicate"),
        ("long", 0.0, 0.0, "span too long"),
        ("none", 0.0, 0.0, "missing"),
    ]


def test_the_right_report_counts_even_where_the_evidence_is_missed() -> None:
    label = Label(query_id="q", units=((Place("a", 3, 9), Place("b", 3, 9)), (Place("a", 50, 60),)))
    (found,) = score(["q"], {"q": label}, [row(span("b", 100, 200))], LENGTHS)
    assert (found.quality, found.document) == (0.0, 1.0)
    (found,) = score(["q"], {"q": label}, [row(span("b", 0, 20))], LENGTHS)
    assert (found.quality, found.document) == (0.5, 1.0)


def test_pages_score_all_or_nothing() -> None:
    label = Label(query_id="q", pages=(Place("a", 0, 100), Place("a", 300, 400)))
    (found,) = score(["q"], {"q": label}, [row(span("b", 0, 10), span("a", 250, 350))], LENGTHS)
    assert (found.quality, found.document) == (1.0, 1.0)
    (found,) = score(["q"], {"q": label}, [row(span("a", 249, 349))], LENGTHS)
    assert (found.quality, found.document) == (0.0, 1.0)


@example(REFERENCE_QUALITY, 1.0)
@given(st.floats(0, 1), st.floats(0, 1))
def test_the_reward_rises_with_quality_within_its_bounds(first: float, second: float) -> None:
    low, high = sorted((first, second))
    assert 0.0 <= reward(low) <= reward(high) <= 1.0


def test_the_reward_bends_at_the_reference() -> None:
    assert math.isclose(reward(REFERENCE_QUALITY / 2), 0.1)
    assert math.isclose(reward((1 + REFERENCE_QUALITY) / 2), 0.6)
    assert math.isclose(reward(0.5, reference=0.5, anchor=40), 0.4)


# Offsets crowd around places where rules change: the ends of texts, of windows, and of each other.
offsets = st.sampled_from(
    [-1, 0, 1, 40, 80, 88, 512, 513, 599, 600, 601, 1999, 2000, 2001, True, 2.0, None, "3"]
)
good_spans = st.builds(
    lambda document_id, start, length: span(document_id, start, start + length),
    st.sampled_from("ab"),
    st.sampled_from([0, 20, 40, 60, 80]),
    st.sampled_from([1, 20, 40, 41, 512]),
)
any_spans = st.one_of(
    good_spans,
    good_spans,
    st.builds(span, st.sampled_from(["a", "b", "empty", "unknown"]), offsets, offsets),
    st.just({"document_id": "a", "start": 0}),
)
any_rows = st.builds(
    lambda query, spans, extra: {"query_id": query, "spans": spans} | extra,
    st.sampled_from(["q0", "q1", "q2", "q3", "stranger"]),
    st.one_of(st.lists(good_spans, max_size=5), st.lists(any_spans, max_size=6), st.none()),
    st.sampled_from([{}, {}, {}, {"score": 1}]),
)
unit_labels = st.lists(st.lists(good_spans, min_size=1, max_size=2), min_size=1, max_size=3).map(
    lambda u: {"units": u}
)
page_labels = st.lists(good_spans, min_size=1, max_size=2).map(lambda pages: {"pages": pages})


@pytest.mark.skipif(not REFERENCE.exists(), reason="the reference scorer is not beside this repository")
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    labels=st.one_of(*(st.lists(kind, min_size=4, max_size=4) for kind in (unit_labels, page_labels))),
    rows=st.lists(any_rows, max_size=8),
)
def test_scores_equal_those_of_the_reference_scorer(
    labels: list[dict[str, Any]],
    rows: list[dict[str, Any]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    queries = [f"q{number}" for number in range(4)]
    files = {
        "reports": [{"document_id": key, "text": "x" * length} for key, length in LENGTHS.items()],
        "queries": [{"query_id": query, "question": "?"} for query in queries],
        "labels": [{"query_id": query} | label for query, label in zip(queries, labels, strict=True)],
        "results": rows,
    }
    for name, content in files.items():
        (tmp_path / f"{name}.jsonl").write_text(
            "".join(json.dumps(line) + "\n" for line in content), encoding="utf-8"
        )
    theirs, summary = run_reference(tmp_path, monkeypatch, capsys)

    ours = score(queries, read_labels(tmp_path / "labels.jsonl"), rows, LENGTHS)

    assert [
        {"query_id": one.query_id, "quality": one.quality, "document": one.document, "invalid": one.invalid}
        for one in ours
    ] == theirs
    metric = "PageHit@5" if "pages" in labels[0] else "EvidenceRecall@5"
    assert summary[metric] == round(sum(one.quality for one in ours) / 4, 4)


def run_reference(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    spec = importlib.util.spec_from_file_location("reference_scorer", REFERENCE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    arguments = ["--corpus", str(folder), "--per-query", str(folder / "scores.jsonl")]
    for name in ("queries", "labels", "results"):
        arguments += [f"--{name}", str(folder / f"{name}.jsonl")]
    monkeypatch.setattr(sys, "argv", ["score", *arguments])
    capsys.readouterr()
    assert module.main() == 0
    lines = (folder / "scores.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines], json.loads(capsys.readouterr().out)


def write_labels(path: Path, *labels: Any) -> Path:
    path.write_text("".join(json.dumps(label) + "\n" for label in labels), encoding="ascii")
    return path


def test_labels_are_read_by_query(tmp_path: Path) -> None:
    one, two = span("a", 0, 9), span("b", 3, 4)
    path = write_labels(
        tmp_path / "labels.jsonl",
        {"query_id": "units", "units": [[one, two], [two]], "note": "ignored"},
        {"query_id": "pages", "pages": [one | {"page": 7}]},
    )
    assert scoring.read_labels(path) == {
        "units": Label(query_id="units", units=((Place("a", 0, 9), Place("b", 3, 4)), (Place("b", 3, 4),))),
        "pages": Label(query_id="pages", pages=(Place("a", 0, 9),)),
    }


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ({"units": [[span("a", 0, 9)]]}, "malformed label None"),
        ({"query_id": ["r"], "units": [[span("a", 0, 9)]]}, r"malformed label \['r'\]"),
        ({"query_id": "r", "units": 3}, "malformed label 'r'"),
        ({"query_id": "r", "units": [["a"]]}, "malformed label 'r'"),
        ({"query_id": "r", "units": [[{"document_id": "a", "start": 0}]]}, r"malformed .*KeyError\('end'\)"),
        ({"query_id": "r", "units": [[span("a", "0", 9)]]}, "'0' is not of type int"),
        ({"query_id": "r", "pages": [span("a", True, 9)]}, "True is not of type int"),
        ({"query_id": "r", "pages": [span(3, 0, 9)]}, "3 is not of type str"),
        ({"query_id": "r"}, "the label 'r' has no evidence"),
        ({"query_id": "r", "units": [[span("a", 0, 9)], []]}, "the label 'r' has no evidence"),
        ({"query_id": "q", "units": [[span("a", 0, 9)]]}, "'q' has a label already"),
    ],
)
def test_a_label_that_says_nothing_clear_is_refused_by_line(tmp_path: Path, label: Any, message: str) -> None:
    path = write_labels(tmp_path / "labels.jsonl", {"query_id": "q", "units": [[span("a", 0, 9)]]}, label)
    with pytest.raises(InputError, match=rf"labels\.jsonl, line 2: .*{message}"):
        scoring.read_labels(path)


@pytest.mark.parametrize(
    ("evidence", "words"),
    [
        ({"units": [[{"document_id": "a", "start": 10, "end": 5}]]}, "empty or starts before 0"),
        ({"units": [[{"document_id": "a", "start": 5, "end": 5}]]}, "empty or starts before 0"),
        ({"pages": [{"document_id": "a", "start": -1, "end": 5}]}, "empty or starts before 0"),
        (
            {
                "units": [[{"document_id": "a", "start": 0, "end": 5}]],
                "pages": [{"document_id": "a", "start": 0, "end": 5}],
            },
            "has units and pages",
        ),
        ({"evidence": []}, "no evidence among its 'query_id', 'evidence'"),
    ],
)
def test_a_label_that_could_not_be_scored_is_refused(
    evidence: dict[str, object], words: str, tmp_path: Path
) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_text(json.dumps({"query_id": "q"} | evidence), encoding="utf-8")
    with pytest.raises(InputError, match=words):
        read_labels(path)
