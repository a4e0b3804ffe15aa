import json
import pickle
import random
import unicodedata
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridrank.errors import InputError
from hybridrank.text import tokens
from hybridrank.text.folding import fold
from hybridrank.text.tokens import Tokenizer, TokenSpan, Vocabulary

SCRIPTS = "aTz09-,.'’ \n$é\u0301ﬁ½²İßक\u093f\u094dष東京สวั가ㄱㅏｶﾞ\u200d🎉\ud800"
ANY_TEXT = st.text(st.characters(exclude_categories=())) | st.text(st.sampled_from(SCRIPTS), max_size=30)
WORDS = st.lists(
    st.sampled_from(["The", "sales", "sale", "company’s", "10-K", "1,295", "東京", "हिन्दी", "é", "of"]),
    max_size=12,
).map(" ".join)
PLAIN = Tokenizer(stem=False, stopwords=None)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("The companies were selling", ["compani", "sell"]),
        ("$ 1,234.5 and 1,295 or 1295", ["1234.5", "1295", "1295"]),
        ("10-K 10-k 10K 10‑K", ["10k"] * 4),
        ("S-1 s1 F-12", ["s1", "s1", "f12"]),
        ("3M Q2 FY2018 2.5bn 1990s", ["3m", "q2", "fy2018", "2.5bn", "1990s"]),
        ("Plan C, vitamin K, 3", ["plan", "c", "vitamin", "k", "3"]),
        ("3M's company's company’s companies'", ["3m", "compani", "compani", "compani"]),
        ("don't won't can't it's I'm they've couldn’t", []),
        ("won the prize", ["won", "prize"]),
        ("U.S. sales, I.T. staff; US", ["us", "sale", "it", "staff", "us"]),
        ("short-term", ["short", "term"]),
        ("２０１８ ﬁnance १२३", ["2018", "financ", "123"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("東京", ["東", "東京", "京"]),
        ("", []),
        ("the of and", []),
        ("?! … --- 🎉 \u0301", []),
        ("\x00\ud800", []),
        ("b AND c NOT (d) \"e\" f* g~2 [i TO j] +k -l field:m", [*"bcdefg2jkl", "field", "m"]),
    ],
)  # fmt: skip
def test_terms(text: str, terms: list[str]) -> None:
    assert Tokenizer().terms(text) == terms


@given(ANY_TEXT | WORDS)
def test_spans_and_terms_agree(text: str) -> None:
    for tokenizer in (Tokenizer(), PLAIN):
        spans = tokenizer.spans(text)
        assert [span.term for span in spans if span.term is not None] == tokenizer.terms(text)


@given(ANY_TEXT | WORDS)
def test_spans_lie_in_the_text_in_order(text: str) -> None:
    spans = PLAIN.spans(text)
    assert all(0 <= span.start < span.end <= len(text) for span in spans)
    assert [span.start for span in spans] == sorted(span.start for span in spans)


@given(ANY_TEXT | WORDS)
def test_a_spans_own_text_has_its_term(text: str) -> None:
    # `İ.s` and the like aside, what is highlighted is what was found.
    assert all(
        span.term in Tokenizer().terms(text[span.start : span.end])
        for span in Tokenizer().spans(text)
        if span.term is not None and "." not in text[span.start : span.end]
    )


def test_spans_point_into_the_text_as_given() -> None:
    text = "Caf\u0065\u0301’s ｎｅｔ  sales: $\xa01,234.5 of 東京"
    spans = Tokenizer().spans(text)
    assert [(text[span.start : span.end], span.term) for span in spans] == [
        ("Cafe\u0301’s", "café"),
        ("ｎｅｔ", "net"),
        ("sales", "sale"),
        ("1,234.5", "1234.5"),
        ("of", None),
        ("東", "東"),
        ("東京", "東京"),
        ("京", "京"),
    ]
    assert spans[3] == TokenSpan(22, 29, "1234.5")


@given(ANY_TEXT)
def test_forms_of_unicode_give_the_same_terms(text: str) -> None:
    composed, decomposed = (PLAIN.terms(unicodedata.normalize(form, text)) for form in ("NFC", "NFD"))
    assert composed == decomposed == PLAIN.terms(text)


@given(st.text(st.sampled_from("abcXYZ éÀжЖσΣ09.-")))
def test_case_does_not_matter(text: str) -> None:
    assert PLAIN.terms(text) == PLAIN.terms(text.upper()) == PLAIN.terms(text.lower())


@given(st.integers(0, 10**15), st.integers(0, 99))
def test_numbers_lose_their_commas_and_nothing_else(whole: int, cents: int) -> None:
    plain = f"{whole}.{cents:02}"
    assert Tokenizer().terms(f"$ {whole:,}.{cents:02}") == Tokenizer().terms(f"({plain})") == [plain]


@given(st.characters(categories=["Lu", "Ll"]))
def test_any_single_letter_but_a_and_i_is_a_term(letter: str) -> None:
    found = Tokenizer(stem=False).terms(letter)
    assert found == [] if fold(letter) in ("a", "i") else len(found) >= 1


def test_numbers_are_never_stemmed() -> None:
    assert Tokenizer().terms("1990s 3ies 10ing") == ["1990s", "3ies", "10ing"]


def test_a_term_has_a_longest_length() -> None:
    assert [len(term) for term in PLAIN.terms(f"{'x' * 1000} {'1' * 1000} {'u.' * 1000}")] == [255, 255, 255]
    long = Tokenizer()
    long.terms("x" * 1000)
    assert len(Vocabulary(long).encode(["x" * 1000, "x" * 999])[0]) == 2


def test_languages() -> None:
    assert Tokenizer("german").terms("Die Häuser der Firmen") == ["die", "haus", "der", "firm"]
    assert Tokenizer("martian", stem=False).terms("The sales") == ["the", "sales"]
    with pytest.raises(InputError, match=r"no stemmer for the language 'martian'.*english.*stem=False"):
        Tokenizer("martian")


def test_stop_words_of_ones_own_are_folded() -> None:
    assert Tokenizer(stopwords=["NET", "Straße"]).terms("The net STRASSE sales") == ["the", "sale"]
    assert Tokenizer(stopwords=None).terms("of the") == ["of", "the"]
    with pytest.raises(InputError, match="stopwords is the string 'english'"):
        Tokenizer(stopwords="english")


@pytest.mark.parametrize(
    "tokenizer",
    [Tokenizer(), Tokenizer("french", stopwords=["le", "la"]), Tokenizer(stem=False, stopwords=None)],
)
def test_settings_survive_json(tokenizer: Tokenizer) -> None:
    again = Tokenizer.from_settings(json.loads(json.dumps(tokenizer.settings())))
    assert again.settings() == tokenizer.settings()
    assert repr(again) == repr(tokenizer)
    text = "The la companies’ 10-K: les ventes de l'entreprise"
    assert again.terms(text) == tokenizer.terms(text)


def test_order_and_repeats_of_stop_words_are_no_settings() -> None:
    assert Tokenizer(stopwords=["b", "a"]).settings() == Tokenizer(stopwords=iter("abab")).settings()


def test_settings_that_cannot_be_met_are_refused() -> None:
    with pytest.raises(InputError, match="settings without 'stopwords'"):
        Tokenizer.from_settings({"scheme": 1, "language": "english", "stem": True})
    with pytest.raises(InputError, match=r"scheme 2, where this version has 1. Build the index again"):
        Tokenizer.from_settings(Tokenizer().settings() | {"scheme": 2})


def test_the_memory_of_a_tokenizer_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "_MEMO_LIMIT", 2)
    tokenizer = Tokenizer()
    assert tokenizer.terms("sales costs sales profits costs") == ["sale", "cost", "sale", "profit", "cost"]
    assert len(tokenizer._memo) <= 2


# -- the two stemmers


def pure_python_stemmer(language: str) -> Callable[[str], str]:
    module = __import__(f"snowballstemmer.{language}_stemmer", fromlist=["stemmer"])
    stem: Callable[[str], str] = getattr(module, f"{language.capitalize()}Stemmer")().stemWord
    return stem


@given(st.text(st.sampled_from("abcdeéfghilmnoprstuvyz"), min_size=1, max_size=14))
def test_both_stemmers_agree_on_letters(word: str) -> None:
    assert tokens._stemmer("english")(word) == pure_python_stemmer("english")(word)


def test_both_stemmers_agree_on_made_up_words() -> None:
    random.seed(1)
    roots = ["relat", "compan", "financ", "oper", "generali", "argu", "skie", "proceed", "universi", "hopp"]
    endings = [
        "",
        "s",
        "es",
        "ed",
        "ing",
        "ational",
        "ization",
        "fulness",
        "ies",
        "y",
        "ously",
        "ment",
        "ement",
        "ity",
    ]
    words = [random.choice(roots) + "".join(random.choices(endings, k=2)) for _ in range(500)]
    compiled, pure = tokens._stemmer("english"), pure_python_stemmer("english")
    assert [compiled(word) for word in words] == [pure(word) for word in words]


def test_without_the_compiled_stemmer_the_pure_one_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    words = "companies relational sky skies generously"
    with_compiled = Tokenizer().terms(words)
    tokens._stemmer.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, "Stemmer", None)
    try:
        assert Tokenizer().terms(words) == with_compiled
        with pytest.raises(InputError, match="no stemmer"):
            Tokenizer("martian")
    finally:
        tokens._stemmer.cache_clear()


# -- the vocabulary


def words_of(vocabulary: Vocabulary, ids: np.ndarray) -> list[str]:
    return [vocabulary.terms[number] for number in ids.tolist()]


@given(st.lists(ANY_TEXT | WORDS, max_size=6))
def test_encoding_is_terms_by_number(texts: list[str]) -> None:
    tokenizer = Tokenizer()
    vocabulary = Vocabulary(tokenizer)
    ids, indptr = vocabulary.encode(texts)
    assert ids.dtype == np.int32
    assert indptr.dtype == np.int64
    split = [words_of(vocabulary, ids[indptr[i] : indptr[i + 1]]) for i in range(len(texts))]
    assert split == [tokenizer.terms(text) for text in texts]
    assert len(set(vocabulary.terms)) == len(vocabulary)


@given(st.lists(WORDS, max_size=6), ANY_TEXT | WORDS)
def test_lookup_keeps_order_and_repeats_and_adds_nothing(texts: list[str], query: str) -> None:
    vocabulary = Vocabulary(Tokenizer())
    vocabulary.encode(texts)
    before = list(vocabulary.terms)
    for _ in range(2):  # the second time from memory
        found = vocabulary.lookup(query)
        assert found.dtype == np.int32
        assert words_of(vocabulary, found) == [term for term in Tokenizer().terms(query) if term in before]
    assert vocabulary.terms == before


@given(st.lists(WORDS, max_size=5), st.lists(WORDS, max_size=5))
def test_encoding_in_two_goes_is_encoding_in_one(first: list[str], second: list[str]) -> None:
    at_once, in_turn = Vocabulary(Tokenizer()), Vocabulary(Tokenizer())
    ids, _ = at_once.encode(first + second)
    parts = [in_turn.encode(texts)[0] for texts in (first, second)]
    assert np.concatenate(parts).tolist() == ids.tolist()
    assert in_turn.terms == at_once.terms


def test_nothing_to_encode() -> None:
    ids, indptr = Vocabulary(Tokenizer()).encode([])
    assert ids.tolist() == []
    assert indptr.tolist() == [0]


def test_a_vocabulary_can_start_with_terms() -> None:
    vocabulary = Vocabulary(Tokenizer(), ["sale", "net"])
    assert vocabulary.encode(["net sales rose"])[0].tolist() == [1, 0, 2]
    assert (vocabulary.id_of("rose"), vocabulary.id_of("fell")) == (2, None)
    with pytest.raises(InputError, match="repeated term"):
        Vocabulary(Tokenizer(), ["sale", "sale"])


def test_vocabularies_cross_processes() -> None:
    vocabulary = Vocabulary(Tokenizer("german", stopwords=["der"]))
    vocabulary.encode(["Die Häuser der Firma"])
    again = pickle.loads(pickle.dumps(vocabulary))
    assert again.terms == vocabulary.terms
    assert again.tokenizer.settings() == vocabulary.tokenizer.settings()
    assert again.encode(["das Haus"])[0].tolist() == [3, 1]


def test_queries_do_not_fill_the_memory() -> None:
    vocabulary = Vocabulary(Tokenizer())
    vocabulary.encode(["net sales"])
    for number in range(100):
        vocabulary.lookup(f"unknown{number} 東京{number} the net")
    assert vocabulary._known == {"net": 0}


def test_what_is_remembered_of_queries_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "_MEMO_LIMIT", 3)
    vocabulary = Vocabulary(PLAIN)
    vocabulary.encode(["x" * 255, "1234"])
    assert vocabulary.lookup("x" * 1000).tolist() == [0]
    assert len(vocabulary._known) == 0
    for number in ("1234", "1,234", "1234's", "1234'd", "1234't"):
        assert vocabulary.lookup(number).tolist() == [1]
        assert 1 <= len(vocabulary._known) <= 3


def test_a_stop_word_is_compared_as_it_is_cut() -> None:
    assert Tokenizer(stopwords=["U.S."]).terms("The U.S. sales; us") == ["the", "sale", "us"]


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("net sales", "'net sales' is cut into 2 words"),
        ("short-term", "'short-term' is cut into 2 words"),
        ("--", "'--' holds no letter and no digit"),
        ("", "'' holds no letter and no digit"),
        ("東京", "'東京' is of a script written without spaces"),
        (7, "7 is no string"),
    ],
)
def test_a_stop_word_that_could_never_be_met_is_refused(word: str, reason: str) -> None:
    with pytest.raises(InputError, match=f"the stop word {reason}"):
        Tokenizer(stopwords=["net", word])
