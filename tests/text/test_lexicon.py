from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridrank.storage import IndexReader, IndexWriter
from hybridrank.text import lexicon
from hybridrank.text.lexicon import Lexicon
from hybridrank.text.tokens import Tokenizer, Vocabulary


def stored(terms: list[str], directory: Path) -> Lexicon:
    with IndexWriter(directory, kind="test") as writer:
        Lexicon.save(terms, writer)
    return Lexicon.load(Tokenizer(), IndexReader.open(directory, kind="test"))


@given(st.lists(st.text(st.characters(exclude_categories=())), unique=True), st.text())
def test_finds_what_a_dictionary_finds(
    tmp_path_factory: pytest.TempPathFactory, terms: list[str], other: str
) -> None:
    found = stored(terms, tmp_path_factory.mktemp("lexicon"))
    ids = {term: number for number, term in enumerate(terms)}
    assert [found.id_of(term) for term in terms] == list(range(len(terms)))
    assert found.id_of(other) == ids.get(other)
    assert list(found.terms) == terms
    every = np.arange(len(terms))
    assert found.names(every) == Vocabulary(Tokenizer(), terms).names(every) == terms
    assert len(found) == len(terms)


@given(st.lists(st.text("ab", max_size=3), unique=True))
def test_terms_of_one_hash_are_told_apart(tmp_path_factory: pytest.TempPathFactory, terms: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lexicon, "_hash", len)
        found = stored(terms, tmp_path_factory.mktemp("lexicon"))
        assert [found.id_of(term) for term in terms] == list(range(len(terms)))
        assert found.id_of("zzz") is None


def test_looks_up_a_text_as_the_vocabulary_does(tmp_path: Path) -> None:
    vocabulary = Vocabulary(Tokenizer())
    vocabulary.encode(["The company’s net sales of 2018", "東京 10-K"])
    found = stored(vocabulary.terms, tmp_path)
    for query in ("Sales of COMPANIES, 10K unknown sales", "東京都", ""):
        assert found.lookup(query).tolist() == vocabulary.lookup(query).tolist()
