"""Where folded text is cut: the grammar of words and numbers.

A *surface* is a stretch of folded text (see :mod:`hybridrank.text.folding`) that is looked at as one:

==============================  ==================================================================
``company's``, ``don't``        letters and digits, with an English contraction that is cut off
``3M``, ``2.5bn``, ``1.2.3``    a number with its decimals and what is stuck to it
``1,234.5``                     with commas between thousands, which are taken out
``10-K``, ``S-1``, ``F-12``     a number and one letter around a hyphen: one term, as in ``10K``
``U.S.``                        dotted single letters: one term, as in ``US``
``東京都``, ``ภาษาไทย``           a run of a script written without spaces: each letter and each pair
==============================  ==================================================================

Anything else separates: hyphens between words, underscores, slashes, all other punctuation and symbols.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

__all__ = ["find_surfaces", "is_unspaced", "iter_surfaces", "unspaced_spans"]

# Scripts written without spaces between words, and Hangul, whose words carry their particles: Thai, Lao,
# Myanmar, Hangul, Khmer, kana, bopomofo, Han.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u302f\u3031-\u3035"
    "\u3038-\u303b\u3041-\u309f\u30a1-\u30ff\u3105-\u312f\u3131-\u318e\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\ua960-\ua97f\ua9e0-\ua9fe\uaa60-\uaa7f\uac00-\ud7ff\uf900-\ufaff\U0001b000-\U0001b16f"
    "\U00020000-\U0003ffff"
)
# Every character that folding leaves outside ASCII is part of a word, so the rest are the letters of words.
_LETTERS = (
    "a-z\x80-\u0dff\u0f00-\u0fff\u10a0-\u10ff\u1200-\u177f\u1800-\u2e7f\u2fe0-\u3004\u3008-\u3020\u3030"
    "\u3036-\u3037\u303c-\u3040\u30a0\u3100-\u3104\u3130\u318f-\u319f\u31c0-\u31ef\u3200-\u33ff\u4dc0-\u4dff"
    "\ua000-\ua95f\ua980-\ua9df\ua9ff-\uaa5f\uaa80-\uabff\ud800-\uf8ff\ufb00-\U0001afff\U0001b170-\U0001ffff"
    "\U00040000-\U0010ffff"
)


def _surface_pattern(letters: str) -> str:
    """The pattern of a surface: letters and digits, then the one mark that may tie something to them.

    It starts with a plain class, by which the engine skips to the next word, and looks back from the mark,
    which is rare: this is twice as fast as an alternative for each kind of word.
    """
    letter = f"[{letters}]"
    alnum, ends = f"[{letters}0-9]", f"(?![{letters}0-9])"
    fresh = f"(?<![{letters}0-9.,])"  # what is looked back at is no tail of a longer number or word
    one_to_three_digits = "|".join(f"(?<={fresh}[0-9]{{{n}}}[-,])" for n in (1, 2, 3))
    return rf"""
        {alnum}+
        (?:
            ' (?:s|t|d|m|ll|re|ve) {ends}                                    # company's, don't
          | - (?: (?<={fresh}{letter}-) [0-9]{{1,3}}                         # S-1
                | (?:{one_to_three_digits}) {letter} ) {ends} (?:'s{ends})?  # 10-K
          | \. (?: (?<={fresh}{letter}\.) {letter} (?:\.{letter})* {ends}    # U.S
                 | (?<=[0-9]\.) [0-9]+ (?:\.[0-9]+)* {alnum}* )              # 2.5bn
          | , (?:{one_to_three_digits}) [0-9]{{3}}(?![0-9]) (?:,[0-9]{{3}}(?![0-9]))*
              (?:\.[0-9]+)* {alnum}*                                         # 1,234.5
        )?
    """


_FIND_ASCII = re.compile(_surface_pattern("a-z"), re.VERBOSE)
_FIND = re.compile(f"[{_UNSPACED}]+|{_surface_pattern(_LETTERS)}", re.VERBOSE)
_IS_UNSPACED = re.compile(f"[{_UNSPACED}]")


def find_surfaces(folded: str) -> list[str]:
    """The surfaces of a folded text, in order.

    >>> find_surfaces("don't panic: 10-k of u.s. firms, 1,234.5 (short-term)")
    ["don't", 'panic', '10-k', 'of', 'u.s', 'firms', '1,234.5', 'short', 'term']
    """
    return (_FIND_ASCII if folded.isascii() else _FIND).findall(folded)


def iter_surfaces(folded: str) -> Iterator[tuple[int, str]]:
    """The same surfaces, each after the place where it starts.

    >>> list(iter_surfaces("plan c"))
    [(0, 'plan'), (5, 'c')]
    """
    for match in (_FIND_ASCII if folded.isascii() else _FIND).finditer(folded):
        yield match.start(), match.group()


def is_unspaced(surface: str) -> bool:
    """Whether a surface is a run of a script written without spaces."""
    return surface > "\u0dff" and _IS_UNSPACED.match(surface) is not None


def unspaced_spans(run: str) -> Iterator[tuple[int, int]]:
    """Each letter with its marks, and each pair of neighbours, of a run of a script without spaces.

    >>> run = "東京都"
    >>> [run[start:end] for start, end in unspaced_spans(run)]
    ['東', '東京', '京', '京都', '都']
    """
    starts = [at for at, char in enumerate(run) if at == 0 or unicodedata.category(char)[0] != "M"]
    ends = [*starts[1:], len(run)]
    for unit, (start, end) in enumerate(zip(starts, ends, strict=True)):
        yield start, end
        if unit + 1 < len(ends):
            yield start, ends[unit + 1]
