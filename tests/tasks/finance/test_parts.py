from __future__ import annotations

import os

import numpy as np

from hybridrank.tasks.finance.corpus import Report
from hybridrank.tasks.finance.layout import clean, lay_out
from hybridrank.tasks.finance.parts import PartsMaker, make_parts
from hybridrank.tasks.finance.profile import profile_report
from hybridrank.text.tokens import Tokenizer

TEXT = "FORM 10-K\nZorvan Inc.\nFiscal year ended December 31, 2019\nNet sales | 5 | 4\nSales rose.\n"


def report(name: str, text: str) -> Report:
    return Report(document_id=name, text=text, line=1)


def test_parts_are_what_layout_profile_and_tokenizer_say() -> None:
    tokenizer, layout = Tokenizer(), lay_out(clean(TEXT))
    parts = PartsMaker()(report("ZORVAN_2019", TEXT))
    words = [tokenizer.terms(TEXT[start:end]) for start, end in zip(layout.starts, layout.ends, strict=True)]
    assert [parts.new_terms[number] for number in parts.tokens] == [term for some in words for term in some]
    assert parts.counts.tolist() == list(map(len, words))
    assert parts.window_tokens == sum(
        sum(map(len, words[first:last])) for first, last in enumerate(layout.window_ends.tolist())
    )
    assert parts.layout.starts.tolist() == layout.starts.tolist()
    assert parts.profile == profile_report("ZORVAN_2019", TEXT, tokenizer)
    assert parts.maker == os.getpid()


def test_terms_are_new_once_to_each_maker() -> None:
    maker = PartsMaker()
    first, second = maker(report("a", "sales rose")), maker(report("b", "rose sales fell"))
    assert (first.new_terms, second.new_terms) == (["sale", "rose"], ["fell"])
    assert second.tokens.tolist() == [1, 0, 2]
    assert PartsMaker()(report("b", "rose sales fell")).new_terms == ["rose", "sale", "fell"]


def test_the_maker_of_a_process_goes_on_from_report_to_report() -> None:
    make_parts(report("a", "sales quillwort rose"))
    again = make_parts(report("b", "quillwort rose"))
    assert again.new_terms == []
    assert np.diff(again.tokens).tolist() == [1]


def test_an_empty_report_has_no_parts() -> None:
    parts = PartsMaker()(report("a", " \n"))
    assert (len(parts.tokens), len(parts.counts), parts.window_tokens, parts.new_terms) == (0, 0, 0, [])
