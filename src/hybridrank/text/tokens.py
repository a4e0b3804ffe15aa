"""Texts as terms, and the numbers that stand for terms in an index.

A text is folded, cut into surfaces (see :mod:`hybridrank.text.surfaces`), and each surface becomes one
*term*: stemmed, unless it holds a digit, or dropped as a stop word. Only a run of a script without spaces
becomes several terms. So a term is worked out once per distinct surface and remembered.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hybridrank.errors import InputError
from hybridrank.text.encoding import DROPPED, BatchEncoder
from hybridrank.text.folding import FoldedText, fold
from hybridrank.text.stopwords import stop_words_for
from hybridrank.text.surfaces import find_surfaces, is_unspaced, iter_surfaces, unspaced_spans

__all__ = ["TermLookup", "TokenSpan", "Tokenizer", "Vocabulary"]

SCHEME = 1  # raised whenever the same settings would give other terms, stop words included

_HAS_DIGIT = re.compile(r"[0-9]")
_INSIDE_NUMBER = re.compile(r"[-,]")
_LONGEST = 255  # characters of a term; what is longer is cut, for it is data rather than a word
_MEMO_LIMIT = 1 << 20  # surfaces remembered by a tokenizer

_SEVERAL = DROPPED - 1  # what a run of an unspaced script stands for, in place of a term's id


class TokenSpan(NamedTuple):
    """A token at ``text[start:end]`` and its term, or ``None`` for a stop word."""

    start: int
    end: int
    term: str | None


class Tokenizer:
    """Cuts a text into terms, the same way for passages and queries.

    ``language`` names a Snowball algorithm; ``stem=False`` keeps words as they are, in any language.
    ``stopwords`` is ``"auto"`` (the language's list if there is one: today for English only), ``None``, or
    words of your own, each of which is left out wherever a text is cut into just that word.

    Numbers are kept whole and never stemmed; single letters are terms, except ``a`` and ``i``, which are
    English stop words. No character of a text has a meaning beyond itself. Raises
    :class:`~hybridrank.errors.InputError` for a language without a stemmer, and for a stop word of your own
    that is not cut as one word.

    >>> Tokenizer().terms("The company's 10-K shows net sales of $ 1,234.5 (3M: 1,295) in the U.S.")
    ['compani', '10k', 'show', 'net', 'sale', '1234.5', '3m', '1295', 'us']
    >>> Tokenizer(stem=False).terms("Plan C, 東京都")
    ['plan', 'c', '東', '東京', '京', '京都', '都']
    """

    def __init__(
        self,
        language: str = "english",
        stem: bool = True,
        stopwords: Literal["auto"] | Iterable[str] | None = "auto",
    ) -> None:
        self.language = language
        self.stem = stem
        self._stem_word = _stemmer(language) if stem else None
        if isinstance(stopwords, str) and stopwords != "auto":
            raise InputError(
                f"stopwords is the string {stopwords!r}",
                remedy='Give "auto", None, or a collection of words.',
            )
        self._stopwords: list[str] | str | None = None
        if isinstance(stopwords, str):
            self._stopwords = stopwords
            self._dropped = frozenset(map(fold, stop_words_for(language)))
        else:
            surface_of = {word: _stop_surface(word) for word in stopwords or ()}
            # Sorted, so that the same words in another order are the same settings.
            self._stopwords = None if stopwords is None else sorted(surface_of)
            self._dropped = frozenset(surface_of.values())
        self._memo: dict[str, str | None] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return Tokenizer.from_settings, (self.settings(),)  # stemmers do not cross processes

    def __repr__(self) -> str:
        return f"Tokenizer(language={self.language!r}, stem={self.stem!r}, stopwords={self._stopwords!r})"

    def terms(self, text: str) -> list[str]:
        """The terms of a text, in order, with repeats and without stop words."""
        terms: list[str] = []
        for surface in find_surfaces(fold(text)):
            if is_unspaced(surface):
                terms.extend(surface[start:end] for start, end in unspaced_spans(surface))
            elif (term := self._remembered(surface)) is not None:
                terms.append(term)
        return terms

    def spans(self, text: str) -> list[TokenSpan]:
        """The tokens of a text with their places in it, stop words included.

        ``[span.term for span in spans(text) if span.term is not None] == terms(text)``. Offsets are ``str``
        positions in the text as given. Spans come in order of their start; they overlap only in scripts
        without spaces, and where one character folds to several tokens (``½``).
        """
        folded = FoldedText(text)
        spans: list[TokenSpan] = []
        for at, surface in iter_surfaces(folded.folded):
            if is_unspaced(surface):
                for start, end in unspaced_spans(surface):
                    place = folded.original_span(at + start, at + end)
                    spans.append(TokenSpan(*place, surface[start:end]))
            else:
                place = folded.original_span(at, at + len(surface))
                spans.append(TokenSpan(*place, self._remembered(surface)))
        return spans

    def term(self, surface: str) -> str | None:
        """The term of one surface that is not a run of an unspaced script; ``None`` for a stop word."""
        # `couldn't` is judged by what stands before the apostrophe, `won't` as a whole, for `won` is a word.
        if surface in self._dropped:
            return None
        if surface.isalpha():  # nearly all are, and then the rest does nothing
            return self._stemmed(surface)
        word = surface.partition("'")[0]
        if _HAS_DIGIT.search(word):
            return _INSIDE_NUMBER.sub("", word)[:_LONGEST]
        if "." in word:  # U.S is no pronoun, so it is not held against the stop words
            word = word.replace(".", "")
        elif word in self._dropped or not any(map(str.isalnum, word)):
            return None
        return self._stemmed(word)

    def _stemmed(self, word: str) -> str:
        word = word[:_LONGEST]
        return word if self._stem_word is None else self._stem_word(word)

    def _remembered(self, surface: str) -> str | None:
        try:
            return self._memo[surface]
        except KeyError:
            term = self.term(surface)
            if len(self._memo) >= _MEMO_LIMIT:
                self._memo.clear()
            if len(surface) <= _LONGEST:
                self._memo[surface] = term
            return term

    def settings(self) -> dict[str, Any]:
        """What makes this tokenizer the one it is, as plain JSON values; see :meth:`from_settings`."""
        return {
            "scheme": SCHEME,
            "language": self.language,
            "stem": self.stem,
            "stopwords": self._stopwords,
        }

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Tokenizer:
        """The tokenizer that gave these settings.

        Raises :class:`~hybridrank.errors.InputError` when they are incomplete, or come from a version that
        cuts words another way.
        """
        try:
            scheme, language, stem, stopwords = (
                settings[key] for key in ("scheme", "language", "stem", "stopwords")
            )
        except KeyError as missing:
            raise InputError(
                f"tokenizer settings without {missing}", remedy="Give what Tokenizer.settings() returned."
            ) from None
        if scheme != SCHEME:
            raise InputError(
                f"tokenizer settings of scheme {scheme!r}, where this version has {SCHEME}",
                remedy="Build the index again, or use the version of hybridrank that built it.",
            )
        return cls(language, stem, stopwords)


class TermLookup(ABC):
    """Turns a text into the ids of its terms, where a subclass knows which term has which id."""

    terms: Sequence[str]  # a term's place is its id

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self._known: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self.terms)

    @abstractmethod
    def id_of(self, term: str) -> int | None:
        """The id of a term, or ``None`` for a term that is not known."""

    def names(self, numbers: NDArray[np.integer]) -> list[str]:
        """The terms with some ids."""
        return [self.terms[number] for number in numbers.tolist()]

    def lookup(self, text: str) -> NDArray[np.int32]:
        """The ids of a text's known terms, in order and with repeats; nothing is added."""
        found: list[int] = []
        for surface in find_surfaces(fold(text)):
            number = self._known.get(surface)
            if number is None:
                found.extend(self._look_up(surface))
            else:
                found.append(number)
        return np.array(found, dtype=np.int32)

    def _look_up(self, surface: str) -> Iterator[int]:
        if is_unspaced(surface):
            terms = (surface[start:end] for start, end in unspaced_spans(surface))
            yield from (number for term in terms if (number := self.id_of(term)) is not None)
            return
        term = self.tokenizer.term(surface)
        number = None if term is None else self.id_of(term)
        if number is not None:
            # What the corpus does not know is not remembered, and nothing without bounds: many surfaces may
            # share a term, so that a stream of queries could fill the memory.
            if len(self._known) >= _MEMO_LIMIT:
                self._known.clear()
            if len(surface) <= _LONGEST:
                self._known[surface] = number
            yield number


class Vocabulary(TermLookup):
    """The terms of a corpus, numbered from 0 in order of first appearance.

    ``terms`` is the list of terms; a term's place in it is its id. :meth:`encode` adds terms, :meth:`lookup`
    never does.

    >>> vocabulary = Vocabulary(Tokenizer())
    >>> ids, indptr = vocabulary.encode(["Net sales rose.", "", "Sales fell; sales!"])
    >>> ids.tolist(), indptr.tolist(), vocabulary.terms
    ([0, 1, 2, 1, 3, 1], [0, 3, 3, 6], ['net', 'sale', 'rose', 'fell'])
    >>> vocabulary.lookup("sale of unknown sales").tolist()
    [1, 1]
    """

    terms: list[str]

    def __init__(self, tokenizer: Tokenizer, terms: Iterable[str] = ()) -> None:
        super().__init__(tokenizer)
        self.terms = list(terms)
        self._ids = {term: number for number, term in enumerate(self.terms)}
        if len(self._ids) != len(self.terms):
            raise InputError("a vocabulary with a repeated term", remedy="Give each term once.")
        self._growing = _GrowingMemo(self)
        self._encoder = BatchEncoder(self._growing.__getitem__, self._numbers)

    def __reduce__(self) -> tuple[Any, ...]:
        return Vocabulary, (self.tokenizer, self.terms)

    def id_of(self, term: str) -> int | None:
        """The id of a term, or ``None`` for a term that is not known."""
        return self._ids.get(term)

    def add(self, term: str) -> int:
        """The id of a term, which is added if it is new."""
        number = self._ids.setdefault(term, len(self.terms))
        if number == len(self.terms):
            self.terms.append(term)
        return number

    def encode(self, texts: Iterable[str]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Number the terms of texts, adding those that are new.

        Returns ``(ids, indptr)``: the ids of text ``i``, in order and with repeats, are
        ``ids[indptr[i]:indptr[i + 1]]``.
        """
        parts = [np.zeros(0, dtype=np.int32)]
        lengths = [np.zeros(1, dtype=np.int64)]
        for ids, counts in self._encoder.encode(texts):
            parts.append(ids)
            lengths.append(counts)
        return np.concatenate(parts), np.cumsum(np.concatenate(lengths))

    def _numbers(self, folded: str) -> NDArray[np.int32]:
        """What each surface of a folded text stands for: an id, or ``DROPPED``."""
        found = find_surfaces(folded)
        numbers = np.fromiter(map(self._growing.__getitem__, found), dtype=np.int32, count=len(found))
        if not np.any(numbers == _SEVERAL):
            return numbers
        expanded: list[int] = []
        for number, surface in zip(numbers.tolist(), found, strict=True):
            if number == _SEVERAL:
                expanded.extend(self.add(surface[start:end]) for start, end in unspaced_spans(surface))
            else:
                expanded.append(number)
        return np.array(expanded, dtype=np.int32)


class _GrowingMemo(dict[str, int]):
    """What each surface stands for; one seen for the first time is worked out and remembered."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._term = vocabulary.tokenizer.term
        self._add = vocabulary.add

    def __missing__(self, surface: str) -> int:
        if is_unspaced(surface):
            return _SEVERAL  # a run hardly ever comes back, so it is not kept
        term = self._term(surface)
        number = DROPPED if term is None else self._add(term)
        if len(surface) <= _LONGEST:
            self[surface] = number
        return number


def _stop_surface(word: Any) -> str:
    """The one surface of a stop word; what is cut into more or fewer could never be met in a text."""
    if not isinstance(word, str):
        reason = "is no string"
    elif len(surfaces := find_surfaces(fold(word))) != 1:
        reason = f"is cut into {len(surfaces)} words" if surfaces else "holds no letter and no digit"
    elif is_unspaced(surfaces[0]):
        reason = "is of a script written without spaces, whose texts are not cut into words"
    else:
        return surfaces[0]
    raise InputError(f"the stop word {word!r} {reason}", remedy="Give single words, or leave it out.")


@lru_cache(maxsize=32)
def _stemmer(language: str) -> Callable[[str], str]:
    """The Snowball stemmer of a language: compiled with PyStemmer, or else its pure-Python twin."""
    stem: Callable[[str], str]
    try:
        import Stemmer
    except ImportError:
        import snowballstemmer

        _check_language(language, snowballstemmer.algorithms())
        # Slower by far, so that it is worth remembering what it said.
        stem = lru_cache(maxsize=1 << 16)(snowballstemmer.stemmer(language).stemWord)
    else:
        _check_language(language, Stemmer.algorithms())
        stem = Stemmer.Stemmer(language, 0).stemWord  # 0: its cache takes longer than the stemming
    return stem


def _check_language(language: str, known: Iterable[str]) -> None:
    if language not in known:
        raise InputError(
            f"there is no stemmer for the language {language!r}",
            remedy=f"Choose one of {', '.join(sorted(known))}, or stem=False.",
        )
