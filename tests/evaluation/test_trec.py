from __future__ import annotations

from pathlib import Path
from typing import Any

import ir_measures
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridrank.errors import InputError
from hybridrank.evaluation.trec import read_qrels, read_run, write_run

# The oracle: these functions have no types.
READ_QRELS: Any = ir_measures.read_trec_qrels
READ_RUN: Any = ir_measures.read_trec_run

WORDS = st.text(st.characters(categories=("L", "N", "P")), min_size=1, max_size=6)


def written(path: Path, content: str) -> Path:
    path.write_bytes(content.encode())
    return path


@given(st.dictionaries(WORDS, st.dictionaries(WORDS, st.integers(-2, 3), min_size=1), min_size=1))
def test_judgments_are_read_as_ir_measures_reads_them(
    tmp_path_factory: pytest.TempPathFactory, grades: dict[str, dict[str, int]]
) -> None:
    lines = [f"{query} 0 {one} {grade}\n" for query, of in grades.items() for one, grade in of.items()]
    file = written(tmp_path_factory.mktemp("trec") / "qrels", "".join(lines))
    assert read_qrels(file) == grades
    found = {(one.query_id, one.doc_id): one.relevance for one in READ_QRELS(str(file))}
    assert found == {(query, one): grade for query, of in grades.items() for one, grade in of.items()}


@pytest.mark.parametrize(
    "content",
    [
        "q1 0 a 1\nq1 0 b 0\n",
        "\ufeffq1\t0\ta\t1\r\nq1\t0\tb\t0\r\n",
        "q1 0\ta 1\n\nq1   0 b\t 0",
        "q1 0 a 1\nq1 0 b 0\nq1 0 a 1\n",
    ],
)
def test_tabs_spaces_marks_and_line_ends_make_no_difference(tmp_path: Path, content: str) -> None:
    assert read_qrels(written(tmp_path / "q", content)) == {"q1": {"a": 1, "b": 0}}


def test_tabs_allow_spaces_in_ids(tmp_path: Path) -> None:
    assert read_qrels(written(tmp_path / "q", "q 1\t0\ta note\t2\n")) == {"q 1": {"a note": 2}}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("q1 0 a 1\nq1 a 1\n", r"q, line 2: a line of judgments has 4 columns, this one has 3\. Give"),
        ("q1 0 a 1 x\n", r"line 1: .* has 5\."),
        ("q1 0 a yes\n", r"line 1: the grade 'yes' is not a whole number"),
        (
            "q1 0 a 1\n\nq1 0 a 2\n",
            r"line 3: query 'q1' and document 'a' are judged 2 here and 1 on line 1\. Keep one",
        ),
        ("q1\t0\t\t1\n", r"line 1: an id is empty"),
        ("\n", r"q: the file holds no judgment"),
    ],
)
def test_what_is_no_judgment_is_refused_by_line(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_qrels(written(tmp_path / "q", content))


def test_a_run_is_ordered_by_score_and_then_as_it_stands(tmp_path: Path) -> None:
    content = "q1 Q0 c 1 0.5 s\nq1 Q0 b 2 2e1 s\nq2 Q0 a 1 1 s\nq1 Q0 a 3 0.5 s\n"
    assert read_run(written(tmp_path / "r", content)) == {"q1": ("b", "c", "a"), "q2": ("a",)}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("q1 Q0 a 1 0.5\n", r"r, line 1: a line of a run has 6 columns, this one has 5\. Give six"),
        ("q1 Q0 a 1 nan s\n", r"line 1: the score 'nan' is not a finite number"),
        ("q1 Q0 a 1 3 s\nq1 Q0 a 2 1 s\n", r"line 2: query 'q1' has document 'a' on line 1 already"),
        ("", r"r: the file holds no ranking"),
    ],
)
def test_what_is_no_run_is_refused_by_line(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_run(written(tmp_path / "r", content))


@given(st.dictionaries(WORDS, st.lists(WORDS, unique=True, min_size=1, max_size=30), min_size=1))
def test_a_run_comes_back_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, ranked: dict[str, list[str]]
) -> None:
    file = tmp_path_factory.mktemp("trec") / "run"
    write_run(ranked, file, system="ours")
    assert read_run(file) == {query_id: tuple(found) for query_id, found in ranked.items()}
    # So does trec_eval's order, which looks at scores alone.
    scores: dict[str, list[tuple[float, str]]] = {}
    for one in READ_RUN(str(file)):
        scores.setdefault(one.query_id, []).append((-one.score, one.doc_id))
    assert {query_id: [one for _, one in sorted(rows)] for query_id, rows in scores.items()} == ranked


@pytest.mark.parametrize("name", ["", "a b", "a\n"])
def test_ids_that_a_run_cannot_hold_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="is empty or holds white space"):
        write_run({"q": ["a", name]}, tmp_path / "run", system="s")
    with pytest.raises(InputError, match="is empty or holds white space"):
        write_run({"q": ["a"]}, tmp_path / "run", system=name)
    assert not (tmp_path / "run").exists()
