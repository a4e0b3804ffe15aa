"""The records that everything here is made of: passages, spans, hits and rankings. All are immutable."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import overload

from hybridrank.errors import InputError

__all__ = ["Hit", "Passage", "Ranking", "Reason", "Span", "Usage", "counted"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Passage:
    """A piece of text that is found or not found as one.

    ``start`` is where it stands in its document, as a ``str`` position: for a passage cut from a document's
    text, ``text == document[start : start + len(text)]``. ``metadata`` is yours and must not be changed
    afterwards. Raises :class:`~hybridrank.errors.InputError` when ``id`` or ``text`` is no string, or
    ``start`` lies below 0.

    >>> Passage(id="r1:0", text="Net sales rose.", document_id="r1", start=120).end
    135
    """

    id: str
    text: str
    document_id: str | None = None
    start: int = 0
    metadata: Mapping[str, object] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if not (isinstance(self.id, str) and isinstance(self.text, str)):
            raise InputError(
                f"passage {self.id!r} has an id of type {type(self.id).__name__} and a text of type "
                f"{type(self.text).__name__}",
                remedy="Give strings.",
            )
        if self.start < 0:
            raise InputError(
                f"passage {self.id!r} starts at {self.start}",
                remedy="Offsets count from 0 at the document's start.",
            )

    @property
    def end(self) -> int:
        """Where the passage ends in its document, exclusive."""
        return self.start + len(self.text)


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """A stretch of a document's text, ``text[start:end]``, never empty: ``0 <= start < end``.

    Raises :class:`~hybridrank.errors.InputError` otherwise.

    >>> text, span = "In 2021 net sales rose.", Span(document_id="r1", start=8, end=17)
    >>> text[span.start : span.end]
    'net sales'
    """

    document_id: str
    start: int
    end: int

    def __post_init__(self) -> None:
        if not 0 <= self.start < self.end:
            raise InputError(
                f"the span [{self.start}, {self.end}) of {self.document_id!r} is empty or starts before 0",
                remedy="Give 0 <= start < end.",
            )


@dataclass(frozen=True, kw_only=True, slots=True)
class Reason:
    """The place of a hit in one list: its rank from 1, its score, and what each matched term gave to that
    score.

    ``terms`` is in the order of contribution, largest first, then by term.

    >>> Reason(source="bm25", rank=1, score=0.7, terms={"boat": 0.5, "paint": 0.2}).terms["boat"]
    0.5
    """

    source: str
    rank: int
    score: float
    terms: Mapping[str, float] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Hit:
    """A passage in a ranking.

    ``position`` is its place in the corpus, from 0, which settles ties; ``rank`` counts from 1. ``passage``
    is absent where the retriever keeps ids alone. ``reasons`` has one entry for each list that the passage
    was found in.

    >>> Hit(passage_id="a", position=0, rank=1, score=0.5).rank
    1
    """

    passage_id: str
    position: int
    rank: int
    score: float
    passage: Passage | None = None
    reasons: tuple[Reason, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    """What outside services were used for: requests, tokens, seconds of waiting, and answers from the cache.

    >>> Usage(requests=1, tokens=10) + Usage(requests=2, cache_hits=1)
    Usage(requests=3, tokens=10, seconds=0.0, cache_hits=1)
    >>> print(Usage(requests=1, tokens=1200, seconds=0.75))
    1 request, 1,200 tokens, 0.75 s
    """

    requests: int = 0
    tokens: int = 0
    seconds: float = 0.0
    cache_hits: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            requests=self.requests + other.requests,
            tokens=self.tokens + other.tokens,
            seconds=self.seconds + other.seconds,
            cache_hits=self.cache_hits + other.cache_hits,
        )

    def __str__(self) -> str:
        numbers = ((self.requests, "request"), (self.tokens, "token"))
        parts = [counted(number, what) for number, what in numbers if number]
        parts += [f"{self.seconds:.3g} s"] if self.seconds else []
        parts += [f"{self.cache_hits:,} from the cache"] if self.cache_hits else []
        return ", ".join(parts) or "nothing"


@dataclass(frozen=True, kw_only=True, slots=True)
class Ranking(Sequence[Hit]):
    """The hits of a query, best first; a sequence of them.

    ``degraded`` says, when it is not ``None``, which step was left out or cut short and why; ``usage`` is
    what the ranking cost.

    >>> reason = Reason(source="bm25", rank=1, score=0.5, terms={"boat": 0.5})
    >>> hit = Hit(passage_id="a", position=0, rank=1, score=0.5, reasons=(reason,))
    >>> print(Ranking(query="boats", hits=(hit,)).explain())
    1 hit for 'boats'
    1. a  score 0.5
       bm25: rank 1, score 0.5 = boat 0.5
    """

    query: str
    hits: tuple[Hit, ...] = ()
    degraded: str | None = None
    usage: Usage = Usage()

    def __len__(self) -> int:
        return len(self.hits)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    @overload
    def __getitem__(self, at: int) -> Hit: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Hit, ...]: ...
    def __getitem__(self, at: int | slice) -> Hit | tuple[Hit, ...]:
        return self.hits[at]

    def top(self, k: int) -> Ranking:
        """The same ranking cut to its best ``k`` hits."""
        return replace(self, hits=self.hits[:k])

    def explain(self, *, width: int = 80) -> str:
        """Why each hit is there, as text: its place in each list, and what each query term gave, or which
        features pulled most; what was left out, and what outside services were used for.

        Shares that make up a score stand behind ``=``; where they are only the largest, as of a learned
        ranker, behind ``most from``. ``width`` is the number of characters of a passage that are shown; line
        breaks in it become spaces.
        """
        lines = [f"{counted(len(self.hits), 'hit')} for {self.query!r}"]
        if self.degraded is not None:
            lines.append(f"degraded: {self.degraded}")
        if self.usage != Usage():
            lines.append(f"used: {self.usage}")
        for hit in self.hits:
            lines.append(f"{hit.rank}. {hit.passage_id}  score {hit.score:.4g}")
            lines.extend(f"   {_explain(reason)}" for reason in hit.reasons)
            if hit.passage is not None:
                lines.append(f"   {_shorten(hit.passage.text, width)}")
        return "\n".join(lines)


def counted(number: int, what: str) -> str:
    """A number with what it counts, which is given in the singular.

    >>> counted(1, "query"), counted(1200, "query"), counted(0, "hit")
    ('1 query', '1,200 queries', '0 hits')
    """
    many = f"{what[:-1]}ies" if what.endswith("y") else f"{what}s"
    return f"{number:,} {what if number == 1 else many}"


def _explain(reason: Reason) -> str:
    line = f"{reason.source}: rank {reason.rank}, score {reason.score:.4g}"
    shares = reason.terms.items()
    if not shares:
        return line
    # Scores may be of single precision, and a model's largest pulls are not all of its score.
    if math.isclose(math.fsum(share for _, share in shares), reason.score, rel_tol=1e-4, abs_tol=1e-6):
        return f"{line} = {' + '.join(f'{term} {share:.4g}' for term, share in shares)}"
    return f"{line}, most from {', '.join(f'{term} {share:+.4g}' for term, share in shares)}"


def _shorten(text: str, width: int) -> str:
    # Only the beginning is looked at: a passage may be megabytes long.
    words = " ".join(text[: 4 * width].split())
    return words if len(words) <= width and len(text) <= 4 * width else f"{words[:width]}…"
