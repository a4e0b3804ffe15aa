"""Whatever is in the files of reports and questions: the contract, tried with the assembled scripts."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.app.stage import Stage, rows, tree

# Each report holds a word of its own, to be asked for, and what might shift or break an offset before it.
ODD: dict[str, str] = {
    "line ends": "Brindlewick Corp\r\n\r\nANNUAL REPORT\r\n\r\nNet sales   12   13\r\n" * 40
    + "The Brindlewick tannery earned $ 4.5 million.\r\nMore\r\r\n",
    "astral": "😀𝒜𝒩𝒩𝒰𝒜ℒ 𠀀漢字 " * 500 + "\nQuillfeather paid dividends of $ 12.5 million 😀.\n" + "𝒜" * 700,
    "nul": "\0\0\0" * 300 + "Zephyrine\0 Inc. holds \0 a kiln.\0\n" + "\0" * 900,
    "surrogates": "\ud800 \udfff " * 300 + "Marbleton\udfff leases \ud800 nine barges.\n\udc00\ud800",
    "one long line": "Costs of operations were incurred as described in Note 4. " * 45_000
    + "Thistledown mills sold 77 looms in 2019. "
    + "Costs of operations were incurred as described in Note 4. " * 45_000,
    "empty": "",
    "blank": " \n\t \u3000\n\n",
    "no words": "!!! ??? ... --- \n" * 100,
    "separators": "\u2028\u2029\x85\x0b\x0c\x1c\x1d\x1e\xa0\ufeff " * 60
    + "Ormskerry bought\u2028a quarry\x85for\x0c$ 3 million\u2029in 2016.\x1c",
    "one long word": "x" * 600_000 + " Pellowmere " + "9" * 600_000,
    "table": "Year | 2019 | 2018\n" * 30 + f"Wexcombe revenue | {'1,234 | ' * 300}\n" + "a\tb\tc\n" * 200,
    "accents": "e\u0301" * 400 + " Straße ﬁn İstanbul ŉ ǰ " * 90 + "Vexholme’s naïve coöperation paid £ 9m.",
    "": "Nomenclature Partners has no id, but a windmill.",
    "id \ud800 \0 \"'\n😀": "Hawsermoor dredges canals.",
}
WORDS = {
    "line ends": "Brindlewick tannery earned",
    "astral": "Quillfeather dividends",
    "nul": "Zephyrine kiln",
    "surrogates": "Marbleton barges",
    "one long line": "Thistledown looms",
    "separators": "Ormskerry quarry",
    "one long word": "Pellowmere",
    "table": "Wexcombe revenue",
    "accents": "Vexholme coöperation",
    "": "windmill",
    "id \ud800 \0 \"'\n😀": "Hawsermoor dredges",
}
FILLER = [{"document_id": f"filler {n}", "text": f"Report {n} of nothing in particular."} for n in range(5)]


def report(name: str, text: str, **more: Any) -> dict[str, Any]:
    return {"document_id": name, "text": text, **more}


def ask(words: dict[str, str]) -> list[dict[str, str]]:
    return [{"query_id": name, "question": question} for name, question in words.items()]


@pytest.fixture(scope="module")
def odd_index(stage: Stage) -> Path:
    index = stage.index()
    reports: list[object] = [report(name, text) for name, text in ODD.items()]
    code, err = stage.build(stage.corpus([*reports, *FILLER]), index)
    assert code == 0, err
    return index


def test_every_offset_is_a_position_in_the_text_as_python_reads_it(stage: Stage, odd_index: Path) -> None:
    # As it comes back out of JSON, where two escapes may have become one character.
    texts = {name: json.loads(json.dumps(text)) for name, text in json.loads(json.dumps(ODD)).items()}
    texts |= {one["document_id"]: one["text"] for one in FILLER}
    found = stage.answers(odd_index, ask(WORDS))
    assert [answer["query_id"] for answer in found] == list(WORDS)
    for answer in found:
        name = answer["query_id"]
        first = answer["spans"][0]
        assert first["document_id"] == name
        stretch = texts[name][first["start"] : first["end"]]
        for word in WORDS[name].split():
            assert word in stretch, name
        for span in answer["spans"]:
            assert span["end"] <= len(texts[span["document_id"]])
            assert span["end"] - span["start"] <= 512


def test_reports_without_words_are_no_hits(stage: Stage, odd_index: Path) -> None:
    spans = [span for answer in stage.answers(odd_index, ask(WORDS)) for span in answer["spans"]]
    assert not {"empty", "blank", "no words"} & {span["document_id"] for span in spans}


def test_of_two_reports_with_one_id_the_first_counts(stage: Stage) -> None:
    corpus = stage.corpus([report("a", "First: turnips."), report("b", "x"), report("a", "Second: swedes.")])
    index = stage.index()
    code, err = stage.build(corpus, index)
    assert code == 0
    warning, summary = err.splitlines()
    assert warning == (
        "warning: the report on line 3 has the document_id 'a' of the one on line 1, and is passed over"
    )
    assert summary.startswith("2 reports ")
    (turnips, swedes) = stage.answers(index, ask({"1": "turnips", "2": "swedes"}))
    assert turnips["spans"] == [{"document_id": "a", "start": 0, "end": 15}]
    assert swedes["spans"] == []


def test_marks_blank_lines_and_line_ends_of_the_file_are_no_content(stage: Stage) -> None:
    lines = [
        b'\xef\xbb\xbf{"document_id": "a", "text": "Turnips."}',
        b"",
        b" \t",
        report("b", "Swedes.", x=1),
    ]
    index = stage.index()
    code, err = stage.build(
        stage.corpus([*lines, b'{"text": "Beets.", "document_id": "c"}'], ending=b"\r\n"), index
    )
    assert code == 0, err
    queries = stage.questions(
        [
            b'\xef\xbb\xbf{"query_id": "1", "question": "turnips"}',
            b"",
            b" ",
            {"question": "beets", "query_id": "2"},
        ],
        ending=b"\r\n",
    )
    output = stage.output()
    assert stage.run(index, queries, output) == (0, f"2 rows written to {output}\n")
    assert [one["spans"] for one in rows(output)] == [
        [{"document_id": "a", "start": 0, "end": 8}],
        [{"document_id": "c", "start": 0, "end": 6}],
    ]


def test_raw_characters_count_as_escaped_ones_do(stage: Stage) -> None:
    texts = {"a": "😀 Turnips\u2028\x85 of Kent 漢字"}
    raw = json.dumps(report("a", texts["a"]), ensure_ascii=False).encode("utf-8")
    answers = []
    for line in (raw, report("a", texts["a"])):
        index = stage.index()
        assert stage.build(stage.corpus([line]), index)[0] == 0
        answers.append(stage.answers(index, ask({"q": "turnips"})))
    assert answers[0] == answers[1]
    ((span,),) = (answer["spans"] for answer in answers[0])
    assert texts["a"][span["start"] : span["end"]].strip() == texts["a"]


def test_a_corpus_without_reports_gives_an_index_without_answers(stage: Stage) -> None:
    index = stage.index()
    assert stage.build(stage.corpus([]), index)[0] == 0
    assert stage.answers(index, ask({"q": "turnips"})) == [{"query_id": "q", "spans": []}]


# --- reports that cannot be read


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"document_id": "x", "text": "cut of', "not valid JSON"),
        (b'["x", "y"]', "a JSON list, not an object"),
        (b'{"document_id": "x"}', "no 'text' among ['document_id'], not a string"),
        (b'{"text": "y"}', "no 'document_id' among ['text'], not a string"),
        (b'{"document_id": 7, "text": "y"}', "'document_id' is int, not a string"),
        (b'{"document_id": "x", "text": null}', "'text' is NoneType, not a string"),
        (b'{"document_id": "x", "text": "caf\xe9"}', "byte 34 of the line is not UTF-8"),
        (b'{"document_id": "x", "text": ' + b"[" * 200_000, "JSON that is nested too deeply"),
        (b'{"document_id": "x", "text": ' + b"9" * 9999 + b"}", "not valid JSON"),
    ],
)
def test_a_report_that_cannot_be_read_stops_the_build_and_the_old_index_stays(
    stage: Stage, index: Path, line: bytes, reason: str
) -> None:
    before = tree(index)
    corpus = stage.corpus([report("a", "Turnips."), b"", line, report("b", "Swedes.")])
    code, err = stage.build(corpus, index)
    assert code == 2
    assert re.fullmatch(r"error: .*\n", err)
    assert err.startswith(f"error: {corpus / 'reports.jsonl'}, line 3: {reason}")
    assert tree(index) == before


def test_the_old_index_answers_after_a_build_that_failed(
    stage: Stage, sample: Path, sample_questions: list[bytes], index: Path
) -> None:
    other = stage.index()
    assert stage.build(sample, other)[0] == 0
    assert stage.build(stage.corpus([b"nonsense"]), other)[0] == 2
    assert stage.build(other, other)[0] == 2  # no reports.jsonl there
    assert stage.answers(other, sample_questions) == stage.answers(index, sample_questions)


# --- questions

GOOD = {"query_id": "good", "question": "What was Corrimont's LIFO reserve at the end of 2021?"}
LONG = "What was Corrimont's LIFO reserve at the end of 2021? "
QUESTIONS: dict[str, str] = {
    "empty": "",
    "blank": " \t\n\u3000",
    "punctuation": "?!?! ... --- () [] {} \\ / ' \" ` $ %",
    "stop words": "what is the of and a an",
    "unknown": "xylophone zyzzyva",
    "syntax": 'company:Corrimont AND "LIFO reserve"~3 OR (NOT) [2021 TO 2022] ^2 * ?',
    "100 KB of words": LONG * 1900,
    "100 KB of one word": "a" * 100_000,
    "100 KB of digits": "1" * 100_000,
    "100 KB of emoji": "😀" * 25_000,
    "100 KB of years": "2021 " * 20_000,
    "100 KB of brackets": "(" * 100_000,
    "100 KB of Chinese": "漢" * 33_000,
    "emoji": "😀 Corrimont 😀 LIFO reserve 👩‍👩‍👧‍👦 2021 🇫🇷?",
    "nul": "Corrimont\0 LIFO\0 reserve",
    "lone surrogates": "\ud800 Corrimont \udfff LIFO reserve \udc00\ud800",
    "controls": "\x1b[31mCorrimont\x07 LIFO\r\nreserve\x85\u2028\ufeff\u202e",
    "accents": "CORRIMONT’S LI\u0301FO réserve ﬁn İ ŉ",
    "query_id 😀": LONG,
    "query_id \ud800": LONG,
    "query_id \0\n\"'": LONG,
    "": LONG,
    "x" * 10_000: LONG,
}
FINDS = {name for name, text in QUESTIONS.items() if "orrimont" in text.lower()}


def test_any_question_gets_its_row_and_costs_no_other_its_own(
    stage: Stage, index: Path, sample_questions: list[bytes]
) -> None:
    alone = stage.answers(index, sample_questions)
    odd = ask(QUESTIONS)
    lines: list[object] = []
    for number, line in enumerate(sample_questions):
        lines += [line, *odd[number : number + 1]]
    assert len(odd) <= len(sample_questions)
    found = stage.answers(index, lines)
    assert [one["query_id"] for one in found if one["query_id"] in QUESTIONS] == list(QUESTIONS)
    assert [one for one in found if one["query_id"] not in QUESTIONS] == alone
    assert len(found) == len(lines)
    for one in found:
        if one["query_id"] in FINDS:
            assert one["spans"][0]["document_id"].startswith("CORRIMONT"), one["query_id"]
    silent = {one["query_id"] for one in found if not one["spans"]}
    assert {"empty", "blank", "punctuation", "stop words", "unknown", "100 KB of emoji"} <= silent


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"query_id": "bad", "question": "cut of', "not valid JSON"),
        (b"nonsense", "not valid JSON"),
        (b"[]", "a JSON list, not an object"),
        (b"null", "a JSON NoneType, not an object"),
        (b"{}", "no 'query_id' among [], not a string"),
        (b'{"query_id": 7, "question": "y"}', "'query_id' is int, not a string"),
        (b'{"query_id": "bad", "question": ["y"]}', "'question' is list, not a string"),
        (b'{"query_id": "bad"}', "no 'question' among ['query_id'], not a string"),
        (b'{"query_id": "good", "question": "again"}', "the query_id 'good' stood on line 1 already"),
        (b'{"query_id": "bad", "question": "caf\xe9"}', "byte 37 of the line is not UTF-8"),
        (b'{"query_id": "bad", "question": "\xed\xa0\x80"}', "byte 34 of the line is not UTF-8"),
        (b"\0\0\0", "not valid JSON"),
        (b"[" * 200_000, "JSON that is nested too deeply"),
        (b'{"query_id": ' + b"9" * 9999 + b"}", "not valid JSON"),
    ],
)
def test_a_line_that_gives_no_question_is_named_and_costs_no_other_its_row(
    stage: Stage, index: Path, line: bytes, reason: str
) -> None:
    output = stage.output()
    queries = stage.questions([GOOD, line, GOOD | {"query_id": "last"}])
    code, err = stage.run(index, queries, output)
    assert code == 0
    skipped, summary = err.splitlines()
    assert skipped.startswith(f"skipped: {queries}, line 2: {reason}")
    assert summary == f"2 rows written to {output}, 1 line gave no question"
    good, last = rows(output)
    assert (good["query_id"], last["query_id"]) == ("good", "last")
    assert good["spans"] == last["spans"] != []


def test_no_question_gives_no_row(stage: Stage, index: Path) -> None:
    output = stage.output()
    assert stage.run(index, stage.questions([]), output) == (0, f"0 rows written to {output}\n")
    assert output.read_bytes() == b""


def test_questions_that_are_missing_are_named(stage: Stage, index: Path) -> None:
    output = stage.output()
    code, err = stage.run(index, stage.root / "none.jsonl", output)
    assert (code, err) == (
        2,
        f"error: {stage.root / 'none.jsonl'}: cannot be read (No such file or directory). "
        "Give a file of questions, one JSON object a line.\n",
    )
