from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from hybridrank.evaluation.compare import Run, compare
from hybridrank.evaluation.results import Evaluation, Latency
from hybridrank.evaluation.show import plot, sheets, to_markdown, to_text

HOSTILE = "[bold]a|b[/bold] <script> `x` \x1b[31m\n$y$"
QUERIES = {f"q{number}": f"query {number} {HOSTILE}" for number in range(8)}


def result(*names: str) -> Evaluation:
    runs = {
        name: Run(ranked={query_id: ["x"] * place + ["good"] for query_id in QUERIES})
        for place, name in enumerate(names)
    }
    runs[names[-1]] = Run(ranked={**runs[names[-1]].ranked, "q3": ["good"], "q5": ["none"]})
    return compare(
        runs, {query_id: {"good": 1} for query_id in QUERIES}, queries=QUERIES, measures=["RR", "P@1"]
    )


def test_systems_stand_side_by_side_with_their_differences() -> None:
    found = result("[red]one", "two")
    means, differences, queries = sheets(found)
    assert means.headings == ("system", "RR", "P@1")
    assert means.rows[0] == ("[red]one", "1.0000", "1.0000")
    assert means.title == "8 judged queries"
    assert differences.title == "Against [red]one"
    assert differences.rows[0][:3] == ("two", "RR", f"{found.differences[0].difference:+.4f}")
    assert differences.rows[0][-2:] == ("yes", "0/7")
    assert [row[0] for row in queries.rows] == ["q5", "q0", "q1"]  # none gains


def test_losses_come_first_and_gains_last() -> None:
    found = replace(result("one", "two"), baseline="two")
    (_, _, queries) = sheets(found)
    assert [row[0] for row in queries.rows] == ["q6", "q7", "q5"]
    assert queries.rows[-1][-1] == "+1.000"


def test_one_system_shows_where_it_is_lowest() -> None:
    means, lowest = sheets(result("one"), queries=2)
    assert lowest.title == "Queries with the lowest RR"
    assert [row[0] for row in lowest.rows] == ["q5", "q0"]
    assert means.title == "8 judged queries"


def test_the_time_stands_where_it_was_taken() -> None:
    found = result("one", "two")
    timed = replace(
        found, systems=(replace(found.systems[0], latency=Latency(0.0012, 0.5)), found.systems[1])
    )
    assert sheets(timed)[0].rows[0][-2:] == ("1.2", "500.0")
    assert sheets(timed)[0].rows[1][-2:] == ("", "")


def test_a_single_query_shows_no_interval() -> None:
    one = {"q": ["a"]}
    found = compare({"x": Run(ranked=one), "y": Run(ranked=one)}, {"q": {"a": 1}}, measures=["RR"])
    assert sheets(found)[0].title == "1 judged query"
    assert sheets(found)[1].rows[0][3:7] == ("", "", "", "no")
    assert sheets(found)[2].rows == ()


def test_text_keeps_its_width_and_what_names_hold() -> None:
    text = to_text(result("[red]one", "two"), width=100)
    assert max(map(len, text.splitlines())) <= 100
    assert "[red]one" in text
    assert "[bold]a|b" in text


def test_nothing_in_markdown_is_markup() -> None:
    text = to_markdown(result("o|ne", "two"))
    rows = [line for line in text.splitlines() if line.startswith("|")]
    widths = {len(re.findall(r"(?<!\\)\|", row)) for row in rows}
    assert widths == {4, 6, 9}  # columns of each table and one: no name adds any
    assert r"\<script\>" in text
    assert "<script" not in text.replace(r"\<script", "")
    assert "\x1b" not in text
    assert text.startswith("## 8 judged queries\n\n| system | RR | P@1 |\n| --- | ---: | ---: |\n| o\\|ne |")


@pytest.mark.parametrize("names", [("one",), ("$one$", "two", "three")])
def test_the_plot_is_drawn(tmp_path: Path, names: tuple[str, ...]) -> None:
    pytest.importorskip("matplotlib")
    plot(result(*names), tmp_path / "plot.svg")
    drawn = (tmp_path / "plot.svg").read_text(encoding="utf-8")
    assert drawn.count("<!-- P@1 -->") == 1
    assert all(f"<!-- {name} -->" in drawn for name in names)
