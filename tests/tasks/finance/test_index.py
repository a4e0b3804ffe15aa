from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybridrank.errors import HybridrankWarning, IndexForeign, IndexTooNew, InputError
from hybridrank.storage import IndexWriter
from hybridrank.tasks.finance import BuildReport, FinanceIndex, build
from hybridrank.tasks.finance.index import IndexedReports
from hybridrank.tasks.finance.layout import Layout, clean, lay_out
from hybridrank.text.tokens import Tokenizer

Make = Callable[[Sequence[tuple[str, str]]], FinanceIndex]

PIECES = st.sampled_from(
    [
        "Net sales | 5 | 4\n",
        "sales rose. ",
        "\n",
        "\r\n",
        "2019s ",
        "東京",
        "\ud800",
        "\x00",
        "\U0001f600 ",
        "x" * 700,
    ]
)
TEXTS = st.lists(PIECES, max_size=60).map("".join)


def write(folder: Path, *reports: tuple[str, str]) -> Path:
    lines = [json.dumps({"document_id": name, "text": text}) for name, text in reports]
    (folder / "reports.jsonl").write_text("\n".join(lines), encoding="ascii")
    return folder


def files(index: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in index.iterdir()}


def check_against_the_texts(reports: IndexedReports, texts: Sequence[str]) -> None:
    """Each report's part of every array is what its own layout and its own words give."""
    tokenizer = Tokenizer()
    n_segments, n_blocks = 0, 0
    for place, text in enumerate(texts):
        cleaned = clean(text)
        layout = lay_out(cleaned)
        first, last = reports.segment_ptr[place : place + 2].tolist()
        assert (first, last - first) == (n_segments, len(layout.starts))
        for name in ("starts", "ends", "statements", "rows"):
            assert getattr(reports, name)[first:last].tolist() == getattr(layout, name).tolist()
        assert (reports.window_ends[first:last] - first).tolist() == layout.window_ends.tolist()
        headers = reports.headers[first:last]
        assert np.where(headers < 0, -1, headers - first).tolist() == layout.headers.tolist()
        block, next_block = reports.block_ptr[place : place + 2].tolist()
        assert (block, next_block - block) == (n_blocks, len(layout.blocks))
        assert (reports.block_starts[block:next_block] - first).tolist() == layout.blocks.tolist()
        assert reports.report_of_block[block:next_block].tolist() == [place] * len(layout.blocks)
        for segment, (start, end) in enumerate(zip(layout.starts, layout.ends, strict=True), start=first):
            ids = reports.tokens[reports.token_ptr[segment] : reports.token_ptr[segment + 1]]
            assert [reports.lexicon.terms[number] for number in ids] == tokenizer.terms(cleaned[start:end])
        n_segments, n_blocks = n_segments + len(layout.starts), n_blocks + len(layout.blocks)
    assert reports.segment_ptr.tolist()[-1] == reports.block_starts.tolist()[-1] == len(reports.token_ptr) - 1
    assert len(reports.block_starts) - 1 == reports.blocks.n_documents == n_blocks
    assert reports.token_ptr.tolist()[-1] == len(reports.tokens)


def test_the_sample_is_indexed_as_it_stands(sample_index: FinanceIndex, sample_texts: dict[str, str]) -> None:
    reports = sample_index.reports
    assert list(reports.ids) == list(sample_texts)
    assert list(reports.texts) == list(sample_texts.values())
    check_against_the_texts(reports, list(sample_texts.values()))


@settings(max_examples=15)
@given(st.lists(TEXTS, max_size=4))
def test_any_texts_are_indexed_as_they_stand(make_index: Make, texts: list[str]) -> None:
    reports = make_index([(f"r{place}", text) for place, text in enumerate(texts)]).reports
    assert list(reports.ids) == [f"r{place}" for place in range(len(texts))]
    assert list(reports.texts) == texts
    check_against_the_texts(reports, texts)


def test_blocks_are_indexed_by_their_words(sample_index: FinanceIndex) -> None:
    reports = sample_index.reports
    ptr = reports.token_ptr[reports.block_starts]
    for number in range(0, len(reports.lexicon), 50):
        holding = [at for at in range(len(ptr) - 1) if number in reports.tokens[ptr[at] : ptr[at + 1]]]
        start, end = reports.blocks.indptr[number : number + 2]
        assert reports.blocks.docs[start:end].tolist() == holding


def test_the_length_of_a_window_is_a_mean(sample_index: FinanceIndex) -> None:
    reports = sample_index.reports
    lengths = reports.token_ptr[reports.window_ends] - reports.token_ptr[:-1]
    assert reports.window_length == pytest.approx(lengths.mean())


def test_the_report_of_a_build_counts_what_is_there(tmp_path: Path, sample_folder: Path) -> None:
    calls: list[tuple[int, int]] = []
    found = build(sample_folder, tmp_path, progress=lambda done, characters: calls.append((done, characters)))
    reports = IndexedReports.open(tmp_path, verify="full")
    lengths = [len(text) for text in reports.texts]
    assert found == BuildReport(
        reports=len(lengths),
        characters=sum(lengths),
        segments=len(reports.starts),
        blocks=len(reports.block_starts) - 1,
        terms=len(reports.lexicon),
        repeated=0,
    )
    assert calls == list(zip(range(1, len(lengths) + 1), np.cumsum(lengths).tolist(), strict=True))


def test_the_same_reports_give_the_same_bytes(tmp_path: Path, sample_folder: Path) -> None:
    for name in ("one", "two"):
        build(sample_folder, tmp_path / name)
    assert files(tmp_path / "one") == files(tmp_path / "two")


# -- strange reports

STRANGE = {
    "crlf": "Net sales rose.\r\nNet income | 5\r\n\r\nZorvan fell.",
    "nul": "zorvan\x00quill \x00\x00 tarn",
    "astral": "\U0001f600\U00020000 zorvan \U0001f1e9\U0001f1ea rose",
    "surrogates": "\ud83d zorvan \udc00 rose \ud800",
    "empty": "",
    "white space": " \n\f\t\r\n ",
    "\ud800 id \x00": "zorvan of the strange id",
    "": "zorvan without an id",
}


def test_strange_reports_are_found_at_their_places(make_index: Make) -> None:
    index = make_index(list(STRANGE.items()))
    assert list(index.reports.texts) == list(STRANGE.values())
    check_against_the_texts(index.reports, list(STRANGE.values()))
    found = {span.document_id: (span.start, span.end) for span in index.spans("zorvan", n_spans=len(STRANGE))}
    assert set(found) == {name for name, text in STRANGE.items() if "orvan" in text}
    assert all("orvan" in STRANGE[name][start:end] for name, (start, end) in found.items())


def test_a_line_of_five_megabytes(tmp_path: Path) -> None:
    text = "zorvan " * 250_000 + "needle in hay " + "quill " * 550_000
    write(tmp_path, ("long", text), ("short", "tarn"))
    found = build(tmp_path, tmp_path / "index")
    assert found.characters == len(text) + 4 > 5_000_000
    (best, *_) = FinanceIndex.open(tmp_path / "index").spans("the needle in the hay")
    assert "needle in hay" in text[best.start : best.end]


@pytest.mark.parametrize("content", ["", "\n\n", "\ufeff"])
def test_a_corpus_without_reports_gives_an_index_without_answers(tmp_path: Path, content: str) -> None:
    (tmp_path / "reports.jsonl").write_text(content, encoding="utf-8")
    assert build(tmp_path, tmp_path / "index") == BuildReport(
        reports=0, characters=0, segments=0, blocks=0, terms=0, repeated=0
    )
    index = FinanceIndex.open(tmp_path / "index")
    assert len(index) == 0
    assert [index.spans(question) for question in ("", "net sales of 3M in FY2018", "\ud800")] == [[], [], []]
    assert index.evidence("net sales") == []


def test_a_corpus_of_empty_reports_gives_an_index_without_answers(make_index: Make) -> None:
    index = make_index([("a", ""), ("b", "\n"), ("c", "the of and")])
    assert len(index) == 3
    assert index.spans("the net sales") == []


def test_of_two_reports_with_one_id_the_first_is_kept(tmp_path: Path) -> None:
    write(tmp_path, ("a", "zorvan one"), ("b", "zorvan two"), ("a", "zorvan three"), ("a", "zorvan four"))
    with pytest.warns(HybridrankWarning) as caught:
        found = build(tmp_path, tmp_path / "index")
    assert [str(warning.message) for warning in caught] == [
        f"the report on line {line} has the document_id 'a' of the one on line 1, and is passed over"
        for line in (3, 4)
    ]
    assert (found.reports, found.repeated, found.characters) == (2, 2, 20)
    assert list(IndexedReports.open(tmp_path / "index").texts) == ["zorvan one", "zorvan two"]


# -- what is in the directory


@pytest.mark.parametrize(
    "bad", [b"{", b'{"document_id": "b", "text": "\xff"}', b'{"document_id": "b"}', b"[" * 99_999]
)
def test_a_line_that_cannot_be_read_stops_the_build_and_the_old_index_stays(
    tmp_path: Path, bad: bytes
) -> None:
    write(tmp_path, ("a", "zorvan quill"))
    index = tmp_path / "index"
    build(tmp_path, index)
    before = files(index)
    path = write(tmp_path, ("new", "tarn")) / "reports.jsonl"
    path.write_bytes(path.read_bytes() + b"\n" + bad)
    with pytest.raises(InputError) as caught:
        build(tmp_path, index)
    assert (caught.value.file, caught.value.line) == (str(path), 2)
    assert files(index) == before
    assert FinanceIndex.open(index).spans("zorvan")[0].document_id == "a"


def fail(done: int, characters: int) -> None:
    raise ZeroDivisionError


def test_a_failing_progress_bar_or_a_warning_that_is_an_error_keeps_the_old_index_too(tmp_path: Path) -> None:
    write(tmp_path, ("a", "zorvan"), ("a", "quill"))
    index = tmp_path / "index"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HybridrankWarning)
        build(tmp_path, index)
        before = files(index)
        with pytest.raises(ZeroDivisionError):
            build(tmp_path, index, progress=fail)
    with warnings.catch_warnings():
        warnings.simplefilter("error", HybridrankWarning)
        with pytest.raises(HybridrankWarning, match="line 2"):
            build(tmp_path, index)
    assert files(index) == before


def test_a_new_build_takes_the_place_of_the_old(tmp_path: Path) -> None:
    index = tmp_path / "index"
    for name in ("old", "new"):
        build(write(tmp_path, (name, "zorvan")), index)
    assert [span.document_id for span in FinanceIndex.open(index).spans("zorvan")] == ["new"]


def test_an_index_of_another_kind_is_refused(tmp_path: Path, sample_folder: Path) -> None:
    with IndexWriter(tmp_path, kind="other"):
        pass
    with pytest.raises(IndexForeign, match="other"):
        FinanceIndex.open(tmp_path)
    with pytest.raises(IndexForeign, match="other"):
        build(sample_folder, tmp_path)


@pytest.mark.parametrize("scheme", [None, 1, 3, "2"])
def test_an_index_laid_out_in_another_way_is_refused(
    tmp_path: Path, sample_folder: Path, scheme: object
) -> None:
    settings = {} if scheme is None else {"scheme": scheme}
    with IndexWriter(tmp_path, kind="finance", settings=settings):
        pass
    with pytest.raises(
        IndexTooNew, match=rf"its parts follow scheme {scheme!r}, where this version has 2"
    ) as caught:
        FinanceIndex.open(tmp_path)
    assert caught.value.remedy.startswith("Build the index again")
    build(sample_folder, tmp_path)  # as it says
    assert len(FinanceIndex.open(tmp_path)) == 12


def test_layout_has_no_array_that_the_index_forgets() -> None:
    assert set(Layout.__slots__) - {"blocks"} <= set(IndexedReports.__slots__)
