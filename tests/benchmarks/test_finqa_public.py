from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.finqa_public import Page, main, read_page
from benchmarks.rows import read_rows
from hybridrank.tasks.finance.datasets import find_sets
from hybridrank.tasks.finance.scoring import score

LONG = "the company paid interest of 12.5 million on its notes in that year ."


def entry(number: int, page: str, gold: list[str], **changes: Any) -> dict[str, Any]:
    """An entry as FinQA publishes it; a page holds two sentences, a table of three rows, two sentences."""
    return {
        "id": f"{page}-{number}",
        "filename": page,
        "pre_text": ["before one .", "before  two\n."],
        "table": [["", "2008", "2009"], ["total", "3", "4"], ["interest", "$ 1", "$ 2"]],
        "post_text": [f"after one of {page} .", LONG],
        "qa": {"question": f"what is number {number}?", "gold_inds": dict.fromkeys(gold, "verbalized")},
    } | changes


def convert(folder: Path, **files: Any) -> int:
    paths = []
    for name, entries in files.items():
        paths.append(folder / f"{name}.json")
        paths[-1].write_text(json.dumps(entries), encoding="utf-8")
    return main(["--finqa", *map(str, paths), "--output", str(folder / "out")])


def evidence(folder: Path, name: str) -> dict[str, list[list[str]]]:
    """The labels' places as the text that they cut from their reports."""
    texts = {row["document_id"]: row["text"] for row in read_rows(folder / "out/corpus-finqa/reports.jsonl")}
    return {
        row["query_id"]: [
            [texts[p["document_id"]][p["start"] : p["end"]] for p in unit] for unit in row["units"]
        ]
        for row in read_rows(folder / f"out/validation/finqa-{name}.labels.jsonl")
    }


def test_text_is_counted_over_both_parts_and_the_table_by_row(tmp_path: Path) -> None:
    page = "ABC/2009/page_7.pdf"
    entries = [
        entry(1, page, ["text_0", "table_2"]),
        entry(2, page, ["text_2"]),
        entry(3, page, ["table_1", "text_1"]),
    ]
    assert convert(tmp_path, train=entries) == 0
    assert evidence(tmp_path, "train") == {
        f"{page}-1": [["before one ."], ["interest | $ 1 | $ 2"]],
        f"{page}-2": [[f"after one of {page} ."]],
        f"{page}-3": [["before two ."], ["total | 3 | 4"]],
    }


def test_a_report_has_each_page_once_in_page_order(tmp_path: Path) -> None:
    pages = ["ABC/2009/page_10.pdf", "ABC/2009/page_9.pdf", "ABC/2010/page_1.pdf", "ABC/2009/page_9.pdf"]
    assert convert(tmp_path, dev=[entry(n, page, ["text_0"]) for n, page in enumerate(pages)]) == 0
    reports = {
        row["document_id"]: row["text"] for row in read_rows(tmp_path / "out/corpus-finqa/reports.jsonl")
    }
    assert list(reports) == ["ABC_2009", "ABC_2010"]
    ninth, tenth = reports["ABC_2009"].split("\f")
    assert "after one of ABC/2009/page_9.pdf ." in ninth.split("\n")
    assert "after one of ABC/2009/page_10.pdf ." in tenth.split("\n")
    assert reports["ABC_2010"] == (
        "before one .\nbefore two .\n | 2008 | 2009\ntotal | 3 | 4\ninterest | $ 1 | $ 2\n"
        f"after one of ABC/2010/page_1.pdf .\n{LONG}\n"
    )


def test_a_long_line_counts_wherever_its_report_repeats_it_a_short_one_does_not(tmp_path: Path) -> None:
    pages = ["ABC/2009/page_1.pdf", "ABC/2009/page_2.pdf", "XYZ/2009/page_1.pdf"]
    assert convert(tmp_path, dev=[entry(n, page, ["text_3", "text_0"]) for n, page in enumerate(pages)]) == 0
    found = evidence(tmp_path, "dev")
    assert found[f"{pages[0]}-0"] == [["before one ."], [LONG, LONG]]
    assert found[f"{pages[2]}-2"] == [["before one ."], [LONG]]
    for row in read_rows(tmp_path / "out/validation/finqa-dev.labels.jsonl"):
        places = [tuple(place.values()) for unit in row["units"] for place in unit]
        assert len(set(places)) == len(places)


def test_the_result_is_an_evaluation_that_the_benchmark_finds(tmp_path: Path) -> None:
    files = {
        name: [entry(n, f"{name.upper()}/2009/page_1.pdf", ["table_1"])]
        for n, name in enumerate(("dev", "test"))
    }
    assert convert(tmp_path, **files) == 0
    sets, homeless = find_sets(tmp_path / "out")
    assert [(one.name, one.corpus.name) for one in sets] == [("finqa-dev", "finqa"), ("finqa-test", "finqa")]
    assert homeless == []
    (label,) = sets[0].labels.values()
    spans = [unit[0]._asdict() for unit in label.units]
    (found,) = score(
        [label.query_id],
        sets[0].labels,
        [{"query_id": label.query_id, "spans": spans}],
        sets[0].corpus.lengths,
    )
    assert found.quality == 1.0


def test_what_is_left_out_is_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = "ABC/2009/page_1.pdf"
    entries = [
        entry(1, page, ["text_0"]),
        entry(2, page, []),
        entry(3, page, ["text_1"], pre_text=["another text .", "of the same page ."]),
        entry(4, "ABC/2009/page_2.pdf", ["text_0"], pre_text=["", "x"]),
    ]
    assert convert(tmp_path, train=entries) == 0
    assert capsys.readouterr().out.splitlines() == [
        "finqa-train: 1 questions",
        "finqa-train: 2 left out, no evidence",
        "finqa-train: 1 left out, its page differs from an earlier entry's",
        "corpus-finqa: 1 reports, 2 pages",
    ]


@pytest.mark.parametrize(
    "changes",
    [
        {"filename": "ABC-2009-7.pdf"},
        {"filename": None},
        {"qa": {"question": "?"}},
        {"qa": {"question": "?", "gold_inds": {"text_4": ""}}},
        {"qa": {"question": "?", "gold_inds": {"table_3": ""}}},
        {"qa": {"question": "?", "gold_inds": {"figure_0": ""}}},
        {"table": 3},
    ],
)
def test_a_malformed_entry_is_named_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], changes: dict[str, Any]
) -> None:
    good, bad = (
        entry(1, "ABC/2009/page_1.pdf", ["text_0"]),
        entry(2, "ABC/2009/page_2.pdf", ["text_0"], **changes),
    )
    assert convert(tmp_path, train=[good, bad]) == 1
    assert "train.json: entry 1 is not as FinQA publishes it" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_files_that_cannot_be_used_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = entry(1, "ABC/2009/page_1.pdf", ["text_0"])
    assert convert(tmp_path, train=[one], dev=[one]) == 1
    assert "two questions have one id" in capsys.readouterr().err
    assert main(["--finqa", str(tmp_path / "absent.json"), "--output", str(tmp_path / "out")]) == 1
    assert "absent.json" in capsys.readouterr().err


def test_a_page_knows_its_lines_by_published_name() -> None:
    page = read_page(entry(1, "ABC/2009/page_1.pdf", []))
    assert page == Page(
        lines=(
            "before one .",
            "before two .",
            " | 2008 | 2009",
            "total | 3 | 4",
            "interest | $ 1 | $ 2",
            "after one of ABC/2009/page_1.pdf .",
            LONG,
        ),
        before=2,
        rows=3,
    )
    assert [page.lines[page.line_of(f"text_{number}")] for number in (1, 2)] == [page.lines[1], page.lines[5]]
