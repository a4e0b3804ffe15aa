"""Fold text to the one form in which words are looked for, and find the way back to where each word stood.

Two spellings that a reader takes for the same fold to the same string: upper and lower case, composed and
decomposed accents, full-width and half-width forms, ligatures, digits of any script, curly and straight
apostrophes, every kind of hyphen; soft hyphens and joiners vanish. Whatever is no letter, mark or number
becomes a space, so that in folded text *a character outside ASCII is always part of a word*. The rules are
Unicode's NFKC (UAX #15) and full case folding (Unicode Standard, 3.13), with three exceptions: superscript
numbers and fractions stand apart from the word or number that they follow (``1,234²`` has a footnote, it is
not 12342), a superscript trade mark sign vanishes, and the dot above that folding leaves in a Turkish ``İ``
is dropped.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from functools import lru_cache
from itertools import pairwise

__all__ = ["FoldedText", "fold", "replace_frequent"]

# Folding goes run by run: the characters outside ASCII, with the ASCII character that combining marks may sit
# on.
_RUN = re.compile(r"[\x00-\x7f]?[^\x00-\x7f]+")

# What most texts outside ASCII hold, one character for one: replacing these first leaves many texts pure
# ASCII.
_FREQUENT = (
    *((char, "'") for char in "’‘"),
    *((char, "-") for char in "–—‑"),
    *((char, " ") for char in "“”•®\xa0"),
)
_APOSTROPHES = "‘’‛ʼ＇"
_HYPHENS = "‐‑‒–—―−﹘﹣－"
_DIGIT_SEPARATORS = {0x066B: ".", 0x066C: ","}  # Arabic decimal and thousands separators
_ZERO_WIDTH_SPACE = {0x200B: " "}  # a format character like the joiners, but it parts words
_LONG = 64  # runs up to this length are words that come back; longer ones are not worth remembering


class _BeforeNormalising(dict[int, str]):
    """What compatibility normalisation would glue to its neighbour is set apart first."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        replacement = char
        if unicodedata.decomposition(char).startswith(("<super>", "<fraction>")):
            category = unicodedata.category(char)
            if category == "No":
                replacement = f" {char}"
            elif category == "So":
                replacement = " "
        self[code] = replacement
        return replacement


class _AfterNormalising(dict[int, str]):
    """Letters, marks and numbers stay; what joins vanishes; all else separates."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        replacement = " "
        category = unicodedata.category(char)
        if code < 0x80:
            replacement = char
        elif category == "Nd":
            replacement = str(unicodedata.decimal(char))
        elif category in ("Cf", "Me") or 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF:
            replacement = ""  # soft hyphens, joiners, direction marks, keycaps, variation selectors
        elif category[0] in "LMN":
            replacement = char
        self[code] = replacement
        return replacement


_BEFORE = _BeforeNormalising()
_AFTER = _AfterNormalising(
    {ord(char): "'" for char in _APOSTROPHES}
    | {ord(char): "-" for char in _HYPHENS}
    | _DIGIT_SEPARATORS
    | _ZERO_WIDTH_SPACE
)


def _fold_run(run: str) -> str:
    normal = unicodedata.normalize("NFKC", run.translate(_BEFORE))
    folded = unicodedata.normalize("NFKC", normal.casefold()).replace("i̇", "i")
    return folded.translate(_AFTER)


_fold_short_run = lru_cache(maxsize=1 << 16)(_fold_run)


def _fold_match(match: re.Match[str]) -> str:
    run = match.group()
    return _fold_short_run(run) if len(run) <= _LONG else _fold_run(run)


def fold(text: str) -> str:
    """The folded form of a text; its length may differ.

    >>> fold("Ｑ２ Straße, ﬁnance’s 10‑K")
    "q2 strasse, finance's 10-k"
    """
    plain = replace_frequent(text)
    if not plain.isascii():
        plain = _RUN.sub(_fold_match, plain)
    # Lower-casing touches what stood outside the runs; inside them letters are folded and keep their length.
    return plain.lower()


def replace_frequent(text: str) -> str:
    """A text with the most frequent characters outside ASCII replaced, each by one that folds the same.

    >>> replace_frequent("The company’s “Plan”")
    "The company's  Plan "
    """
    if not text.isascii():
        for char, replacement in _FREQUENT:
            text = text.replace(char, replacement)
    return text


class FoldedText:
    """A folded text that knows where each of its characters came from; ``folded`` equals ``fold(text)``.

    The text is divided into stretches of ASCII, which keep their length, and pieces that fold on their own:
    in most scripts a letter with its marks. A position inside a piece maps to the piece's edge.
    """

    __slots__ = ("_folded_at", "_original_at", "_stretch", "folded")

    def __init__(self, text: str) -> None:
        self.folded = fold(text)
        # Parallel lists: part i starts at _folded_at[i] in the folded text and at _original_at[i] in the
        # text.
        self._folded_at = [0]
        self._original_at = [0]
        self._stretch = [True]
        plain = replace_frequent(text)
        if not plain.isascii():
            self._divide(plain)

    def original_span(self, start: int, end: int) -> tuple[int, int]:
        """Where ``folded[start:end]``, which must not be empty, stood: whole pieces that cover it."""
        first = bisect_right(self._folded_at, start) - 1
        last = bisect_right(self._folded_at, end - 1) - 1
        begin = self._original_at[first]
        if self._stretch[first]:
            begin += start - self._folded_at[first]
        if self._stretch[last]:
            return begin, self._original_at[last] + end - self._folded_at[last]
        return begin, self._original_at[last + 1]

    def _divide(self, plain: str) -> None:
        shift = 0  # folded position minus original position, after the runs so far
        for match in _RUN.finditer(plain):
            folded_at = match.start() + shift
            for start, length in _pieces(match.group(), _fold_match(match)):
                self._add(folded_at, match.start() + start, stretch=False)
                folded_at += length
            self._add(folded_at, match.end(), stretch=True)
            shift = folded_at - match.end()

    def _add(self, folded_at: int, original_at: int, *, stretch: bool) -> None:
        self._folded_at.append(folded_at)
        self._original_at.append(original_at)
        self._stretch.append(stretch)


def _pieces(run: str, folded_run: str) -> list[tuple[int, int]]:
    """The start and the folded length of each piece of a run: one piece where its parts do not fold alone."""
    starts = [0, *(at for at in range(1, len(run)) if not _extends(run[at])), len(run)]
    parts = [_fold_short_run(run[begin:end]) for begin, end in pairwise(starts)]
    if "".join(parts) != folded_run:
        return [(0, len(folded_run))]
    return [(start, len(part)) for start, part in zip(starts, parts, strict=False)]


def _extends(char: str) -> bool:
    """Whether a character may compose with the one before: marks, joiners, Hangul and half-width parts."""
    return (
        unicodedata.category(char) in ("Mn", "Mc", "Me", "Cf")
        or "ᅠ" <= char <= "ᇿ"
        or "ㄱ" <= char <= "ㆎ"
        or "ힰ" <= char <= "ퟻ"
        or "ﾞ" <= char <= "ￜ"
    )
