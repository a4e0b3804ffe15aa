from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybridrank.errors import HybridrankWarning, IndexForeign, IndexTooNew, InputError
from hybridrank.storage import IndexWriter
from hybridrank.tasks.finance import BuildReport, FinanceIndex, build
from hybridrank.tasks.finance.corpus import Report, read_reports
from hybridrank.tasks.finance.index import IndexedReports, _Collected
from hybridrank.tasks.finance.layout import Layout, clean, lay_out
from hybridrank.tasks.finance.lexicon import is_number
from hybridrank.tasks.finance.parts import Parts, PartsMaker, make_parts
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


def test_terms_that_are_numbers_are_marked(sample_index: FinanceIndex) -> None:
    reports = sample_index.reports
    assert len(reports.numeric) == len(reports.lexicon)
    marked = [term for term, numeric in zip(reports.lexicon.terms, reports.numeric, strict=True) if numeric]
    assert marked == [term for term in reports.lexicon.terms if is_number(term)]
    assert len(marked) > 100


# -- shared among processes


@pytest.fixture(scope="module")
def strange_corpus(sample_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample, reports that are strange, and one that comes twice and brings a word of its own."""
    place = tmp_path_factory.mktemp("strange")
    sample = (sample_folder / "reports.jsonl").read_bytes().splitlines()
    strange = [json.dumps({"document_id": name, "text": text}).encode() for name, text in STRANGE.items()]
    again = json.dumps({"document_id": "crlf", "text": "quillwort"}).encode()
    (place / "reports.jsonl").write_bytes(b"\n".join([*sample[:5], *strange, again, *sample[5:]]))
    return place


@pytest.fixture(scope="module")
def strange_index(strange_corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same as one process builds it."""
    directory = tmp_path_factory.mktemp("one") / "index"
    with pytest.warns(HybridrankWarning, match="is passed over"):
        build(strange_corpus, directory)
    return directory


def test_several_processes_build_the_same_bytes(
    strange_corpus: Path, strange_index: Path, tmp_path: Path
) -> None:
    calls: list[int] = []
    with pytest.warns(HybridrankWarning, match="is passed over") as caught:
        found = build(
            strange_corpus, tmp_path, workers=3, progress=lambda reports, characters: calls.append(reports)
        )
    assert len(caught) == found.repeated == 1
    assert calls == list(range(1, found.reports + 1))
    assert files(tmp_path) == files(strange_index)


@settings(max_examples=10)
@given(st.lists(st.integers(0, 2), min_size=30, max_size=30))
def test_whoever_takes_a_report_apart_makes_the_same(
    strange_corpus: Path, strange_index: Path, makers: list[int]
) -> None:
    chosen = [PartsMaker() for _ in range(3)]
    collected, tokens = _Collected(), []
    for number, report in enumerate(read_reports(strange_corpus)):
        if report.text != "quillwort":
            maker = makers[number]
            parts = replace(chosen[maker](report), maker=maker)
            tokens.append(collected.add(report, parts))
    reports = IndexedReports.open(strange_index)
    assert list(collected.numbers) == list(reports.lexicon.terms)
    assert np.concatenate(tokens).tolist() == reports.tokens.tolist()
    assert collected.token_ptr().tolist() == reports.token_ptr.tolist()
    assert collected.block_starts().tolist() == reports.block_starts.tolist()
    assert collected.window_length() == reports.window_length


def parts_or_death(report: Report) -> Parts:
    if report.document_id == "crlf":
        os._exit(9)
    return make_parts(report)


def test_a_process_that_is_lost_changes_no_byte(
    strange_corpus: Path, strange_index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hybridrank.tasks.finance.index.make_parts", parts_or_death)
    with pytest.warns(HybridrankWarning) as caught:
        build(strange_corpus, tmp_path, workers=2)
    (warning,) = [str(one.message) for one in caught if "passed over" not in str(one.message)]
    assert warning.startswith("a process that shared the work failed, the rest is done in one: ")
    assert files(tmp_path) == files(strange_index)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes and signals of POSIX")
def test_an_interrupt_leaves_the_old_index_and_no_process(strange_index: Path, tmp_path: Path) -> None:
    index = Path(shutil.copytree(strange_index, tmp_path / "index"))
    os.mkfifo(tmp_path / "reports.jsonl")
    command = [sys.executable, "-m", "hybridrank", "finance", "build", "--workers", "2"]
    with (
        (tmp_path / "reports.jsonl").open("r+b", buffering=0) as pipe,
        subprocess.Popen(
            [*command, "--corpus", tmp_path, "--index-dir", index],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as process,
    ):
        for number in range(40):
            pipe.write(json.dumps({"document_id": f"r{number}", "text": "zorvan " * 50}).encode() + b"\n")
        end = time.monotonic() + 60
        while process.poll() is None and not (index / "tokens.g000002.npy").exists():
            assert time.monotonic() < end, "the build does not begin"
            time.sleep(0.01)
        time.sleep(1)  # its processes start, or have started
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert "Traceback" not in err
    assert files(index) == files(strange_index)
    end = time.monotonic() + 60
    while is_there(process.pid):  # the last of them may take a moment
        assert time.monotonic() < end, "a process stayed behind"
        time.sleep(0.01)


def is_there(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


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


@pytest.mark.parametrize("scheme", [None, 2, 4, "3"])
def test_an_index_laid_out_in_another_way_is_refused(
    tmp_path: Path, sample_folder: Path, scheme: object
) -> None:
    settings = {} if scheme is None else {"scheme": scheme}
    with IndexWriter(tmp_path, kind="finance", settings=settings):
        pass
    with pytest.raises(
        IndexTooNew, match=rf"its parts follow scheme {scheme!r}, where this version has 3"
    ) as caught:
        FinanceIndex.open(tmp_path)
    assert caught.value.remedy.startswith("Build the index again")
    build(sample_folder, tmp_path)  # as it says
    assert len(FinanceIndex.open(tmp_path)) == 12


def test_layout_has_no_array_that_the_index_forgets() -> None:
    assert set(Layout.__slots__) - {"blocks"} <= set(IndexedReports.__slots__)
