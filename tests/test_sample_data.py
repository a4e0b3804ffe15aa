"""The bundled sample data: built from its sources, well formed, small."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from benchmarks import make_sample

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "tests" / "data_sources" / "finance"
DATA = ROOT / "src" / "hybridrank" / "data"
FINANCE = DATA / "finance"
BUILT = ("reports.jsonl", "questions.jsonl", "labels.jsonl")


def rows(name: str) -> list[dict[str, Any]]:
    with (FINANCE / name).open(encoding="utf-8", newline="\n") as file:
        return [json.loads(line) for line in file]


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    return {row["document_id"]: row["text"] for row in rows("reports.jsonl")}


def places() -> list[tuple[str, str, int, int]]:
    return [
        (row["query_id"], place["document_id"], place["start"], place["end"])
        for row in rows("labels.jsonl")
        for unit in row["units"]
        for place in unit
    ]


def is_whole_row(text: str, start: int, end: int) -> bool:
    """Whether the place is all of one line of cells, but for white space around it."""
    before = re.split(r"[\n\f]", text[:start])[-1]
    after = re.split(r"[\n\f]", text[end:])[0]
    cells = re.fullmatch(r"\S.*?(  | \| ).*\S", text[start:end])
    return not before.strip() and not after.strip() and cells is not None


def is_whole_sentence(text: str, start: int, end: int) -> bool:
    """Whether the place is one sentence: it may run over line breaks, not over blank lines or pages.

    A line break without a full stop before it opens a sentence only after a heading, and those are short.
    """
    begins = re.search(r"(\A|[.?!]\s|\n\s*\n|\f|^.{,40}\n)\s*\Z", text[:start], re.MULTILINE) is not None
    ends = re.match(r"\s|\Z", text[end:]) is not None and text[end - 1] in ".?!"
    inside = re.search(r"[.?!]\s+[A-Z]|\n\s*\n|\f", text[start:end]) is None
    return begins and ends and inside


def test_files_are_what_the_script_builds(tmp_path: Path) -> None:
    assert make_sample.main(["--output", str(tmp_path / "new")]) == 0
    for name in BUILT:
        assert (tmp_path / "new" / name).read_bytes() == (FINANCE / name).read_bytes(), (
            f"{name} is out of date; run benchmarks/make_sample.py"
        )


def test_sizes_and_ids() -> None:
    reports, questions, labels = (rows(name) for name in BUILT)
    assert len(reports) >= 8
    assert len(questions) >= 30
    assert len({row["document_id"] for row in reports}) == len(reports)
    assert len({row["query_id"] for row in questions}) == len(questions)
    assert [row["query_id"] for row in labels] == [row["query_id"] for row in questions]
    assert all(set(row) == {"document_id", "text"} for row in reports)
    assert all(set(row) == {"query_id", "question"} for row in questions)
    assert all(set(row) == {"query_id", "units"} for row in labels)
    assert all(row["units"] and all(row["units"]) for row in labels)


def test_every_report_opens_with_a_cover_page(texts: dict[str, str]) -> None:
    covers = {document_id: text.split("\f")[0].lower() for document_id, text in texts.items()}
    forms = [re.search(r"form 10-[kq]|news release", cover) for cover in covers.values()]
    found = [form.group() for form in forms if form is not None]
    assert len(found) == len(texts)
    assert found.count("form 10-q") == found.count("news release") == 1
    assert all("\f" in text for text in texts.values())


@pytest.mark.parametrize(("query_id", "document_id", "start", "end"), places())
def test_label_is_one_whole_row_or_sentence(
    texts: dict[str, str], query_id: str, document_id: str, start: int, end: int
) -> None:
    text = texts[document_id]
    evidence = text[start:end]
    assert 0 <= start < end <= len(text), query_id
    assert 0 < len(evidence) <= 512
    assert evidence == evidence.strip()
    assert is_whole_row(text, start, end) or is_whole_sentence(text, start, end), evidence


@pytest.mark.parametrize(
    ("evidence", "row", "sentence"),
    [
        ("Sales  5  4", True, False),
        ("Sales  5", False, False),
        ("5  4", False, False),
        ("Costs | 3", True, False),
        ("Costs", False, False),
        ("Costs | 3\nTrend", False, False),
        ("The price of a ton of paper pulp delivered to the mill rose\nby 4.5%.", False, True),
        ("The price of a ton of paper pulp delivered to the mill rose", False, False),
        ("of a ton of paper pulp delivered to the mill rose\nby 4.5%.", False, False),
        ("by 4.5%.", False, False),
        ("by 4.5%. It fell.", False, False),
        ("It fell.", False, True),
        ("It fel", False, False),
        ("It fell.\n\fLast page.", False, False),
        ("Last page.", False, True),
    ],
)
def test_the_checks_tell_whole_from_part(evidence: str, row: bool, sentence: bool) -> None:
    text = (
        "  Sales  5  4\nCosts | 3\nTrend\n"
        "The price of a ton of paper pulp delivered to the mill rose\nby 4.5%. It fell.\n\fLast page.\n"
    )
    start = text.index(evidence)
    assert is_whole_row(text, start, start + len(evidence)) is row
    assert is_whole_sentence(text, start, start + len(evidence)) is sentence


def test_every_report_answers_a_question(texts: dict[str, str]) -> None:
    assert {document_id for _, document_id, _, _ in places()} == set(texts)


def test_about_two_thirds_of_the_questions_name_no_company() -> None:
    company = re.compile(r"Corrimont|Skerrivane|Vendrosk|Ollerwick|Marrowby|Orvessa|Tolquist", re.IGNORECASE)
    questions = [row["question"] for row in rows("questions.jsonl")]
    unnamed = sum(company.search(question) is None for question in questions)
    assert 0.6 <= unnamed / len(questions) <= 0.75


def test_package_data_is_small() -> None:
    sizes = {path.relative_to(DATA): path.stat().st_size for path in DATA.rglob("*") if path.is_file()}
    model = {path for path in sizes if Path("finance", "ranker") in path.parents}
    assert sum(sizes[path] for path in model) <= 1_000_000
    assert sum(size for path, size in sizes.items() if path not in model) <= 350_000


def test_notes_are_short_plain_text() -> None:
    notes = {path.name: path.read_text(encoding="utf-8") for path in sorted((DATA / "notes").glob("*.txt"))}
    assert len(notes) == 12
    assert {name: len(text) for name, text in notes.items() if not 300 <= len(text) <= 900} == {}
    together = "".join(notes.values())
    for script in ("ß|ä|ö|ü", "[\u3040-\u30ff]", "[\u0900-\u097f]"):
        assert re.search(script, together)


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """Make a directory with two tiny reports; tests add `questions.json`."""
    directory = tmp_path / "sources"
    directory.mkdir()
    (directory / "ONE.txt").write_bytes(b"Sales  5\r\nCosts  3\r\n\fSales  5\r\n")
    (directory / "TWO.txt").write_text("Nothing to see.\n", encoding="utf-8")
    return directory


def question(*evidence: dict[str, Any], query_id: str = "q1") -> dict[str, Any]:
    return {"query_id": query_id, "question": "How much?", "units": [list(evidence)]}


def build(sources: Path, questions: object) -> Path:
    (sources / "questions.json").write_text(json.dumps(questions), encoding="utf-8")
    output = sources.parent / "output"
    make_sample.build(sources, output)
    return output


def test_occurrence_chooses_among_equal_quotes(sources: Path) -> None:
    evidence = {"document_id": "ONE", "quote": "Sales  5", "occurrence": 2}
    output = build(sources, [question(evidence)])
    row = json.loads((output / "labels.jsonl").read_text(encoding="utf-8"))
    assert row["units"] == [[{"document_id": "ONE", "start": 19, "end": 27}]]
    assert b"\\r" not in (output / "reports.jsonl").read_bytes()


@pytest.mark.parametrize(
    ("evidence", "message"),
    [
        ({"document_id": "ONE", "quote": "Sales  6"}, r"q1, unit 1: ONE: .*copy it exactly"),
        ({"document_id": "ONE", "quote": "Sales  5"}, r"q1, unit 1: ONE: .*2 times.*occurrence"),
        ({"document_id": "ONE", "quote": "Sales  5", "occurrence": 3}, r'"occurrence" is 3'),
        ({"document_id": "ONE", "quote": "Sales  5", "occurrence": 0}, r'"occurrence" is 0'),
        ({"document_id": "ONE", "quote": "Costs  3\n"}, r"trim it"),
        ({"document_id": "ONE", "quote": ""}, r"trim it"),
        ({"document_id": "SIX", "quote": "Sales  5"}, r"no report 'SIX'"),
        ({"document_id": "ONE"}, r"lacks quote"),
    ],
)
def test_bad_evidence_is_refused(sources: Path, evidence: dict[str, Any], message: str) -> None:
    with pytest.raises(make_sample.SampleError, match=message):
        build(sources, [question(evidence)])
    assert not (sources.parent / "output").exists()


GOOD = {"document_id": "ONE", "quote": "Costs  3"}


@pytest.mark.parametrize(
    ("questions", "message"),
    [
        ({}, "holds no list"),
        ([question(GOOD), question(GOOD)], "q1: this id was used before"),
        ([{"query_id": "q1", "units": [[GOOD]]}], "question 1: lacks a key"),
        (["q1"], "question 1: lacks a key"),
        ([question()], "q1: empty question or unit"),
        ([{"query_id": "q1", "question": "How much?", "units": []}], "q1: empty question or unit"),
    ],
)
def test_bad_questions_are_refused(sources: Path, questions: object, message: str) -> None:
    with pytest.raises(make_sample.SampleError, match=message):
        build(sources, questions)


def test_faults_are_told_on_stderr(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--sources", str(tmp_path), "--output", str(tmp_path / "output")]
    assert make_sample.main(arguments) == 1
    assert "no .txt file found" in capsys.readouterr().err
    (tmp_path / "ONE.txt").write_text("x", encoding="utf-8")
    (tmp_path / "questions.json").write_text("[\n{]", encoding="utf-8")
    assert make_sample.main(arguments) == 1
    assert "line 2: not JSON" in capsys.readouterr().err
