"""What is known about a report as a whole: whose it is, for which period, and of which form."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from hybridrank.tasks.finance.lexicon import NAME_NOISE
from hybridrank.text.tokens import Tokenizer

__all__ = ["Profile", "name_grams", "profile_report", "years_in"]

_COVER = 8000  # characters from which the profile is read
_NAMES_WITHIN = 3000  # characters in which a line that looks like a name is taken for one
_TOP_LINES = 4  # lines at the very top that may be a name without a suffix to show it
_LONG_LINE = 120  # a line so long below the top is prose: the cover is over
_NAME_LINE, _NAME_WORDS, _JOINED = 60, 8, 40

_REGISTRANT = re.compile(r"\(\s*exact\s+name\s+of\s+registrant", re.IGNORECASE)
_SUFFIX = re.compile(
    r"(?:,?\s+(?:inc|corp|co|company|corporation|incorporated|plc|ltd|limited|group|holdings?|l\.?l\.?c"
    r"|n\.?v|s\.?a|ag)\b\.?)+[\s.]*$",
    re.IGNORECASE,
)
_WORD = re.compile(r"[a-z0-9]+")
_POSSESSIVE = re.compile(r"['’]s?\b")
_LETTERS = re.compile(r"[A-Za-z]{2}")
_NUMERIC = re.compile(r"[\d.]+")
_YEAR = re.compile(r"(?<![\d.,])(?:19[89]\d|20[0-4]\d)(?!\d|[,.]\d)")
_PERIOD_END = re.compile(
    r"(?:fiscal\s+year|years?|period|quarter)\s*(?:ended|ending|end)?:?\s*"
    r"(?:(?P<month>[a-z]+)\.?\s+(?P<day>\d{1,2})\s*,\s*)?(?P<year>(?:19|20)\d\d)(?!\d)"
)
_FORMS = tuple(
    (form, re.compile(rf"form\s*{number}\s*-?\s*{letter}\b"))
    for form, number, letter in (("10-K", "10", "k"), ("10-Q", "10", "q"), ("8-K", "8", "k"))
)
_ID_PART = re.compile(r"[^A-Za-z0-9]+")
_ID_NOISE = re.compile(
    r"10k|10q|8k|(?:19|20)\d\d(?:q\d)?|q\d|fy\d*|earnings|annual|report|annualreport|dated|\d+"
)
_ID_QUARTER = re.compile(r"(?:19|20)\d\dQ([1-4])|(?<![a-z0-9])Q([1-4])(?![a-z0-9])", re.IGNORECASE)
_SMALL_WORDS = frozenset(("of", "and", "the"))


@dataclass(frozen=True, kw_only=True, slots=True)
class Profile:
    """A report's identity, as read from its cover and its id.

    ``name`` is the first line of the cover that names someone. ``aliases`` are names as tuples of terms;
    ``joined`` are names written in one (``bestbuy``), ``initials`` their first letters. ``fiscal_year`` and
    ``quarter`` are 0, ``name`` and ``form`` empty when they are not found.
    """

    name: str
    aliases: tuple[tuple[str, ...], ...]
    joined: tuple[str, ...]
    initials: tuple[str, ...]
    fiscal_year: int
    form: str
    quarter: int

    def to_json(self) -> dict[str, Any]:
        """The profile as JSON values; see :meth:`from_json`."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Profile:
        """The profile that gave the value."""
        return cls(
            **{
                **value,
                "aliases": tuple(map(tuple, value["aliases"])),
                "joined": tuple(value["joined"]),
                "initials": tuple(value["initials"]),
            }
        )


def profile_report(document_id: str, text: str, tokenizer: Tokenizer) -> Profile:
    """Read a report's profile from its first pages and from its id.

    >>> profile = profile_report("BESTBUY_2019_10K", "FORM 10-K\\nFor the fiscal year ended February 2, 2019"
    ...     "\\nBest Buy Co., Inc.\\n(Exact name of registrant as specified in its charter)", Tokenizer())
    >>> profile.name, profile.aliases, profile.joined, profile.fiscal_year, profile.form
    ('Best Buy Co., Inc.', (('best', 'buy'),), ('bestbuy',), 2019, '10-K')
    """
    cover = text[:_COVER]
    noise = _noise(tokenizer)
    names = list(dict.fromkeys(_cover_names(cover)))
    aliases: dict[tuple[str, ...], None] = {}
    joined: dict[str, None] = {}
    initials: dict[str, None] = {}
    called = ""
    for name in names:
        terms = tokenizer.terms(_POSSESSIVE.sub("", name))
        alias = tuple(dict.fromkeys(t for t in terms if t not in noise and len(t) > 1 and not _is_number(t)))
        if 0 < len(alias) <= _NAME_WORDS:
            aliases[alias] = None
            called = called or name
        words = [
            word
            for word in _words(name)
            if word != "the"
            and not word.isdigit()
            and (word in _SMALL_WORDS or tokenizer.term(word) not in noise)
        ]
        if len(words) > 1 and len("".join(words)) <= _JOINED:
            joined["".join(words)] = None
            for used in (words, [word for word in words if word not in _SMALL_WORDS]):
                if 2 <= len(used) <= 5:
                    initials["".join(word[0] for word in used)] = None
    id_words = [word.lower() for word in _ID_PART.split(document_id) if word]
    id_names = [word for word in id_words if not _ID_NOISE.fullmatch(word)]
    if id_names:
        joined["".join(id_names)] = None
        if len(id_names) > 1:
            aliases[tuple(dict.fromkeys(tokenizer.term(word) or word for word in id_names))] = None
    quarter = _ID_QUARTER.search(document_id)
    lower = " ".join(cover.lower().split())  # so that no run of white space costs its square
    return Profile(
        name=called,
        aliases=tuple(aliases),
        joined=tuple(joined),
        initials=tuple(initials),
        fiscal_year=_fiscal_year(lower),
        form=_form(lower),
        quarter=int(quarter.group(1) or quarter.group(2)) if quarter else 0,
    )


def name_grams(text: str, longest: int = 5) -> Iterator[str]:
    """The runs of up to ``longest`` words of a text, each written in one, as :class:`Profile` joins names.

    >>> sorted(name_grams("Best Buy's AT&T", 2))
    ['and', 'andt', 'at', 'atand', 'best', 'bestbuy', 'buy', 'buyat', 't']
    """
    words = _words(text)
    for length in range(1, longest + 1):
        for at in range(len(words) - length + 1):
            yield "".join(words[at : at + length])


def years_in(text: str) -> list[int]:
    """The years from 1980 to 2049 that a text names, in order; not parts of other numbers.

    >>> years_in("from 2015 to 2016, $ 2,017 and 20181")
    [2015, 2016]
    """
    return [int(year) for year in _YEAR.findall(text)]


def _cover_names(cover: str) -> Iterator[str]:
    """Lines that name the company: above the registrant mark, and such as look like a company's name."""
    for mark in _REGISTRANT.finditer(cover):
        above = [line.strip() for line in cover[: mark.start()].splitlines() if _LETTERS.search(line)]
        if above:
            yield above[-1]
    number = 0
    for line in cover[:_NAMES_WITHIN].splitlines():
        name = line.strip()
        if not name:
            continue
        number += 1
        if len(name) > _LONG_LINE and number > 2:
            return
        if len(name) <= _NAME_LINE and (
            number <= _TOP_LINES or (_SUFFIX.search(name) and len(name.split()) <= _NAME_WORDS)
        ):
            yield name


def _fiscal_year(cover: str) -> int:
    """The year of the period that a cover names; a 52-week year that ends in the first days of January counts
    as the year before. Failing that, the year that the cover names most often."""
    found = _PERIOD_END.search(cover)
    if found:
        early = found["month"] in ("january", "jan") and int(found["day"]) <= 7
        return int(found["year"]) - early
    years = years_in(cover)
    return max(set(years), key=lambda year: (years.count(year), year)) if years else 0


def _form(cover: str) -> str:
    places = [(found.start(), form) for form, pattern in _FORMS if (found := pattern.search(cover))]
    return min(places)[1] if places else ""


def _words(text: str) -> list[str]:
    return _WORD.findall(_POSSESSIVE.sub("", text.lower()).replace("&", " and "))


def _is_number(term: str) -> bool:
    return _NUMERIC.fullmatch(term) is not None


def _noise(tokenizer: Tokenizer) -> frozenset[str | None]:
    # None stands for the stop words.
    return frozenset({None, *tokenizer.terms(NAME_NOISE)})
