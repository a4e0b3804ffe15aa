import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridrank.errors import HybridrankWarning, InputError
from hybridrank.records import Passage
from hybridrank.text.corpus import Format, read_corpus, read_folder, read_jsonl, read_table


def write(path: Path, *lines: object) -> Path:
    raw = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    path.write_bytes(b"\n".join(raw))
    return path


@given(texts=st.lists(st.text(st.characters(exclude_categories=())), max_size=5), escaped=st.booleans())
def test_texts_come_back_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], escaped: bool
) -> None:
    path = tmp_path_factory.mktemp("corpus") / "corpus.jsonl"
    lines = [json.dumps({"id": str(place), "text": text}) for place, text in enumerate(texts)]
    if not escaped:  # unescaped JSON may hold U+2028 and other line separators, though no lone surrogates
        texts = [text.encode("utf-8", "replace").decode() for text in texts]
        lines = [
            json.dumps({"id": str(place), "text": text}, ensure_ascii=False)
            for place, text in enumerate(texts)
        ]
    path.write_bytes("\n".join(lines).encode())
    assert [document.text for document in read_corpus(path)] == texts


def test_ids_and_metadata(tmp_path: Path) -> None:
    path = write(
        tmp_path / "corpus.jsonl",
        b"\xef\xbb\xbf" + json.dumps({"document_id": "a", "id": 7, "text": "A"}).encode(),
        b"",
        b"  \r",
        {"_id": "b", "text": "B\r\n\u0000\U0001f600", "title": "T"},
    )
    assert list(read_jsonl(path)) == [
        Passage(id="a", text="A", document_id="a", metadata={"id": 7}),
        Passage(id="b", text="B\r\n\u0000\U0001f600", document_id="b", metadata={"title": "T"}),
    ]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"id": "a", "text": "x"', r"not valid JSON \(Expecting ',' delimiter, column 24\)"),
        (b'{"id": "a", "text": "\xff"}', r"byte 22 of the line is not UTF-8. Save it as UTF-8"),
        (b"[" * 100_000, "not readable JSON"),
        (b"[1, 2]", "not a JSON object"),
        (b'{"text": "x"}', "no document_id"),
        (b'{"id": 3, "text": "x"}', "its id is not a string"),
        (b'{"id": "", "text": "x"}', "its id is not a string with at least one character"),
        (b'{"id": "a"}', "its text is missing"),
        (b'{"id": "a", "text": null}', "its text is missing or not a string"),
        (b'{"id": "first", "text": "x"}', "the id 'first' stands on line 1 already"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: bytes, reason: str) -> None:
    path = write(tmp_path / "corpus.jsonl", {"id": "first", "text": "fine"}, line)
    with pytest.raises(InputError, match=reason) as caught:
        list(read_jsonl(path))
    assert (caught.value.file, caught.value.line) == (str(path), 2)
    assert str(caught.value).startswith(f"{path}, line 2: ")


def test_a_folder_is_read_by_name(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / ".git").mkdir()
    for name in ("b/one.md", "a.TXT", "c.pdf", ".hidden.txt", ".git/x.txt"):
        (tmp_path / name).write_bytes(f"\ufeff{name}\r\n".encode())
    with pytest.warns(
        HybridrankWarning, match=r"1 PDF passed over, 'c.pdf' first. Make text of it first: pdftot"
    ):
        documents = list(read_corpus(tmp_path))
    assert [(document.id, document.text) for document in documents] == [
        ("a.TXT", "a.TXT\r\n"),
        ("b/one.md", "b/one.md\r\n"),
    ]
    assert documents[1].metadata == {"file": str(tmp_path / "b" / "one.md")}


def test_a_file_can_be_a_corpus(tmp_path: Path) -> None:
    path = tmp_path / "note.md"
    path.write_text("A note.")
    assert [(document.id, document.text) for document in read_corpus(path)] == [("note.md", "A note.")]


@pytest.mark.parametrize(
    ("content", "format", "text"),
    [
        (b'\xef\xbb\xbf \n{"id": "a", "text": "x"}', None, "x"),
        (b"{braces} of no JSON", "txt", "{braces} of no JSON"),
        (b"a text\n", None, "a text\n"),
        (b"id,text\na,x", "csv", "x"),
        (b"id\ttext\na\tx, y", "tsv", "x, y"),
    ],
)
def test_a_file_without_suffix_is_told_by_its_beginning_or_the_format(
    tmp_path: Path, content: bytes, format: Format | None, text: str
) -> None:
    (tmp_path / "nameless").write_bytes(content)
    read: list[int] = []
    (document,) = read_corpus(tmp_path / "nameless", format=format, seen=read.append)
    assert (document.text, sum(read)) == (text, len(content))


def test_a_table_has_ids_texts_and_metadata(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(
        '\ufeffid,text,year\na,"One, two.",2020\n\nb,Three.,2021\n', encoding="utf-8"
    )
    assert list(read_corpus(tmp_path / "t.csv")) == [
        Passage(id="a", text="One, two.", document_id="a", metadata={"year": "2020"}),
        Passage(id="b", text="Three.", document_id="b", metadata={"year": "2021"}),
    ]
    (tmp_path / "t.tsv").write_text("_id\ttext\na\tOne\n", encoding="utf-8")
    assert [document.id for document in read_table(tmp_path / "t.tsv", "tsv")] == ["a"]


@pytest.mark.parametrize(
    ("content", "line", "reason"),
    [
        (b"id,text\na,x\na,y\n", 3, "the id 'a' stands on line 2 already"),
        (
            b"id,texts\na,x\n",
            2,
            "its text is missing or not a string. Name the columns in the first row: id, text",
        ),
        (b"name,text\na,x\n", 2, "it has no document_id or id. Name the columns"),
        (b"id,text\n,x\n", 2, "its id is not a string with at least one character"),
    ],
)
def test_a_bad_row_is_named(tmp_path: Path, content: bytes, line: int, reason: str) -> None:
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(InputError, match=rf"t.csv, line {line}: {reason}"):
        list(read_corpus(tmp_path / "t.csv"))


def test_a_text_that_is_not_utf8_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "latin.txt").write_bytes(b"one\ntwo\ncaf\xe9\n")
    with pytest.raises(
        InputError, match=r"latin.txt, line 3: byte 4 of the line is not UTF-8. Save it as UTF-8."
    ):
        list(read_folder(tmp_path))


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("missing", "no such file or folder"),
        (
            "picture.png",
            r"cannot be read from a .png file. Give a file of .jsonl, .ndjson, .csv, .tsv, .txt, .md, a f",
        ),
        ("report.PDF", r"report.PDF: this is a PDF, not text. Make text of it first: pdftotext -layout"),
        ("really.txt", r"really.txt: this is a PDF, not text. Make text of it first: pdftotext -layout"),
        ("nameless", r"nameless: this is a PDF, not text"),
        ("empty", "no .txt or .md file here. Give a folder of texts"),
        ("pdfs", "no .txt or .md file here. Make text of it first: pdftotext"),
    ],
)
def test_what_is_no_corpus_is_refused(tmp_path: Path, name: str, reason: str) -> None:
    (tmp_path / "picture.png").touch()
    for pdf in ("report.PDF", "really.txt", "nameless"):
        (tmp_path / pdf).write_bytes(b"%PDF-1.7\n\xff")
    (tmp_path / "empty").mkdir()
    (tmp_path / "pdfs").mkdir()
    (tmp_path / "pdfs" / "a.pdf").touch()
    with pytest.raises(InputError, match=reason):
        list(read_corpus(tmp_path / name))


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity"])
def test_constants_that_are_not_json_are_refused(tmp_path: Path, constant: str) -> None:
    path = write(tmp_path / "c.jsonl", b'{"id": "a", "text": "", "x": ' + constant.encode() + b"}")
    with pytest.raises(InputError, match=f"line 1: it is not readable JSON.*{constant} is no JSON value"):
        list(read_jsonl(path))


def test_a_folder_that_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "locked").mkdir()
    (tmp_path / "a.txt").touch()
    scan = os.scandir

    def refuse(path: str) -> Any:  # as for another user, for the superuser may read everything
        if Path(path).name == "locked":
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(InputError, match=r"cannot be read \(Permission denied\)") as caught:
        list(read_folder(tmp_path))
    assert caught.value.file == str(tmp_path / "locked")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "gone.txt").symlink_to(tmp_path / "nothing")
    with pytest.raises(
        InputError, match=r"gone.txt: it cannot be read \(.*Make it readable, or leave it out"
    ):
        list(read_folder(tmp_path))
    with pytest.raises(InputError, match=r"none.jsonl: it cannot be read"):
        list(read_jsonl(tmp_path / "none.jsonl"))
