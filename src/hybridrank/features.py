"""What can be said in numbers of a passage that was found, and of the query that found it: what a learned
ranker ranks by.

===============================  =====================================================================
``bm25``                         the passage's BM25 score, whichever list it came from
``bm25_relative``                the same, relative to the best of the hits
``bm25_rank``                    log of its rank among the hits by that score, ranks from 1
``matched``                      share of the query's terms that it holds, weighted by idf
``heaviest_missing``             idf of the rarest term that it lacks, relative to the query's rarest
``bigrams``                      share of the query's pairs of neighbours that stand side by side in it,
                                 weighted by idf
``window``                       number of terms matched over the length of the shortest stretch of terms
                                 that holds all of them: 1 when they stand together
``years``, ``numbers``           share of the years, and of the other numbers, asked for that it holds
``digits``                       share of digits among its characters
``length``                       log of 1 + its number of terms
``start``                        log of 1 + the number of characters before it in its document
``query_terms``, ``query_idf``   the number of the query's terms, and the sum of their idf
``query_ratio`` ... ``_lookup``  1 for the kinds of question that the query is, else 0: see :data:`KINDS`
``<source>``                     its score in a further list, such as ``dense`` or ``cross_encoder``
``<source>_rank``                log of its rank there
===============================  =====================================================================

Terms are distinct, and those that the corpus does not know are left out, except that a year or number which
it does not know counts as asked for. What cannot be said is NaN: a score in a list that the passage is not
in, the years where none were asked for. The features of a hit do not depend on the order of the hits.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hybridrank.errors import InputError
from hybridrank.found_texts import Corpus, FoundTexts, Text, texts_of
from hybridrank.lexical import LexicalIndex
from hybridrank.records import Hit

__all__ = ["KINDS", "SCHEME", "PassageFeatures", "query_kinds", "ranks", "tightest_windows"]

SCHEME = 1  # raised whenever a feature of the same name would have other values

KINDS = ("ratio", "change", "total", "average", "count", "lookup")

_WORDS = {
    "ratio": r"\b(?:ratio|proportion|portion|fraction|share of\b|per ?cent(?:age)? of\b|what per ?cent)",
    "change": r"\b(?:chang|increas|decreas|gr[eo]w(?:s|n|th|ing)?\b|declin|ris(?:e|es|en|ing)\b|rose\b|fell\b"
    r"|fall(?:s|en|ing)?\b(?! due)|drop|higher|lower|differ)",
    "total": r"\b(?:total|sum\b|combined\b|altogether\b|together\b|aggregate|in all\b)",
    "average": r"\b(?:average|mean\b|median\b)",
    "count": r"\b(?:how many|number of)\b",
}
_KIND_PATTERNS = {kind: re.compile(pattern, re.IGNORECASE) for kind, pattern in _WORDS.items()}

_OF_TEXT = (
    "bm25", "bm25_relative", "bm25_rank", "matched", "heaviest_missing", "bigrams", "window",
    "years", "numbers", "digits", "length", "start", "query_terms", "query_idf",
)  # fmt: skip
# Which way a passage is better, where that is plain.
_BETTER = {
    "bm25": 1, "bm25_relative": 1, "bm25_rank": -1, "matched": 1, "heaviest_missing": -1, "bigrams": 1,
    "window": 1, "years": 1, "numbers": 1,
}  # fmt: skip
_NAME = re.compile(r"[A-Za-z0-9_.-]+")
_YEAR = re.compile(r"(?:19|20)[0-9]{2}")
_OTHER_NUMBER = re.compile(r"(?!(?:19|20)[0-9]{2}\Z)[0-9]+(?:\.[0-9]+)*")


def ranks(scores: ArrayLike) -> NDArray[np.int64]:
    """Dense ranks from 0: the highest score has rank 0, equal scores share one, and the next lower has the
    next. NaN comes last.

    >>> ranks([0.5, 2.0, 0.5, 1.0]).tolist()
    [2, 0, 2, 1]
    """
    return np.unique(-np.asarray(scores, dtype=np.float64), return_inverse=True)[1].astype(np.int64)


def query_kinds(text: str) -> frozenset[str]:
    """Which of :data:`KINDS` a question is, by its words, in English: one or more, ``lookup`` if no other.

    >>> sorted(query_kinds("What was the average change?")), sorted(query_kinds("Who founded the firm?"))
    (['average', 'change'], ['lookup'])
    """
    found = frozenset(kind for kind, pattern in _KIND_PATTERNS.items() if pattern.search(text))
    return found or frozenset({"lookup"})


def tightest_windows(
    slots: NDArray[np.integer], ends: NDArray[np.integer], n_terms: int
) -> NDArray[np.int64]:
    """For each text the length of the shortest stretch that holds every term which it holds at all.

    ``slots`` are the texts' tokens one after another, each the number of a term in ``[0, n_terms)`` or -1;
    ``ends`` is where each text ends. A text that holds no term gets 0.

    >>> tightest_windows(np.array([0, -1, 1, 0, -1, -1, 1]), np.array([5, 7]), n_terms=2).tolist()
    [2, 1]
    """
    at = np.flatnonzero(slots >= 0)  # most tokens are none of the query's, so only its own are looked at
    text_of = np.searchsorted(ends, at, side="right")
    starts = np.concatenate(([0], ends[:-1]))[text_of]
    held = np.zeros((n_terms, len(ends)), dtype=bool)
    held[slots[at], text_of] = True
    earliest = at.copy()  # the latest place at which a stretch ending here must begin
    for term in range(n_terms):
        last = np.maximum.accumulate(np.where(slots[at] == term, at, -1))
        earliest = np.where(held[term, text_of], np.minimum(earliest, last), earliest)
    shortest = np.full(len(ends), np.iinfo(np.int64).max)
    whole = earliest >= starts
    np.minimum.at(shortest, text_of[whole], (at - earliest + 1)[whole])
    shortest[~held.any(axis=0)] = 0
    return shortest


@dataclass(frozen=True, slots=True)
class _Query:
    """A query in the numbers of an index.

    ``tokens`` are its known terms in order, with repeats; ``terms`` the same, distinct and ascending, and
    ``idf`` goes with these. ``pairs`` are neighbours, as places in ``terms``: ``first * len(terms) +
    second``, ascending. ``years`` and ``numbers`` are places in ``terms``, and how many were asked for,
    unknown ones included.
    """

    tokens: NDArray[np.int32]
    terms: NDArray[np.int32]
    idf: NDArray[np.float64]
    pairs: NDArray[np.int64]
    years: tuple[list[int], int]
    numbers: tuple[list[int], int]


class PassageFeatures:
    """Computes the features of hits; made for an index, and like it free to be shared by threads.

    ``names`` has one name for each column, in the order of the module's table; ``directions`` has 1 for those
    of which more can only speak for a passage, -1 for those of which less can. ``sources`` are the lists
    whose scores and ranks are features, by the name that their reasons carry. Passages that another retriever
    found must be in the index, too. The index may be one of ours, or an engine's that is a
    :class:`~hybridrank.found_texts.Corpus`.

    >>> from hybridrank.records import Passage
    >>> texts = {"a": "Net sales rose.", "b": "Net loss"}
    >>> index = LexicalIndex.build(Passage(id=id, text=text) for id, text in texts.items())
    >>> features = PassageFeatures(index, sources=())
    >>> rows = features.compute("net sales", index.search("net sales"))
    >>> rows[:, features.names.index("bigrams")].tolist()
    [1.0, 0.0]
    """

    def __init__(
        self, index: LexicalIndex | Corpus, *, sources: Sequence[str] = ("dense", "cross_encoder")
    ) -> None:
        self.index = index
        self._texts = texts_of(index)
        self.sources = tuple(sources)
        self.names: tuple[str, ...] = (
            *_OF_TEXT,
            *(f"query_{kind}" for kind in KINDS),
            *chain.from_iterable((source, f"{source}_rank") for source in self.sources),
        )
        self.directions = dict(_BETTER)
        for source in self.sources:
            self.directions |= {source: 1, f"{source}_rank": -1}
        if len(set(self.names)) < len(self.names) or not all(map(_NAME.fullmatch, self.sources)):
            raise InputError(
                f"{list(self.sources)} cannot name the lists whose scores are features",
                remedy="Give each a name of its own, of letters, digits, '_', '-' and '.'.",
            )

    def compute(self, query: str, hits: Sequence[Hit]) -> NDArray[np.float32]:
        """One row for each hit and one column for each name, NaN for what cannot be said.

        Raises :class:`~hybridrank.errors.InputError` for a hit that is not in the index.
        """
        if len(hits) == 0:
            return np.empty((0, len(self.names)), dtype=np.float32)
        found = self._texts.of(hits)
        texts = found.texts
        asked = self._ask(query, found)
        with np.errstate(invalid="ignore"):  # 0 / 0 is NaN on purpose
            columns = [
                *_of_scores(found.scores(asked.tokens)),
                *_of_matches(asked, texts),
                np.array([text.digits for text in texts]),
                np.log1p([len(text.tokens) for text in texts]),
                np.log1p([text.start for text in texts]),
            ]
        kinds = query_kinds(query)
        of_query = [len(asked.terms), asked.idf.sum(), *(kind in kinds for kind in KINDS)]
        columns.extend(np.full(len(hits), float(value)) for value in of_query)
        columns.extend(chain.from_iterable(_of_source(source, hits) for source in self.sources))
        return np.stack(columns, axis=1, dtype=np.float32)

    def _ask(self, query: str, found: FoundTexts) -> _Query:
        words = self._texts.tokenizer.terms(query)
        numbers = found.numbers(words)
        tokens = np.array([number for number in numbers if number is not None], dtype=np.int32)
        terms = np.unique(tokens)
        slot_of = {number: slot for slot, number in enumerate(terms.tolist())}
        slots = [None if number is None else slot_of[number] for number in numbers]
        pairs = {
            one * len(terms) + other
            for one, other in pairwise(slots)
            if one is not None and other is not None
        }
        of_word = dict(zip(words, slots, strict=True))
        years = [slot for word, slot in of_word.items() if _YEAR.fullmatch(word)]
        others = [slot for word, slot in of_word.items() if _OTHER_NUMBER.fullmatch(word)]
        return _Query(
            tokens=tokens,
            terms=terms,
            idf=found.idf(terms),
            pairs=np.array(sorted(pairs), dtype=np.int64),
            years=([slot for slot in years if slot is not None], len(years)),
            numbers=([slot for slot in others if slot is not None], len(others)),
        )


def _of_scores(scores: NDArray[np.float64]) -> Iterable[NDArray[np.float64]]:
    """The columns from ``bm25`` to ``bm25_rank``."""
    return scores, scores / scores.max(), np.log1p(ranks(scores))


def _of_matches(asked: _Query, texts: Sequence[Text]) -> Iterable[NDArray[np.float64]]:
    """The columns from ``matched`` to ``numbers``."""
    n_terms, idf = len(asked.terms), asked.idf
    lengths = np.array([len(text.tokens) for text in texts])
    slots = _find(asked.terms, np.concatenate([text.tokens for text in texts]))
    text_of = np.repeat(np.arange(len(texts)), lengths)
    held = _incidence(slots, text_of, n_terms, len(texts))
    missing: NDArray[np.float64] = np.max(idf[:, None] * ~held, axis=0, initial=0)
    together = np.flatnonzero((slots[:-1] >= 0) & (slots[1:] >= 0) & (text_of[:-1] == text_of[1:]))
    found = _find(asked.pairs, slots[together] * n_terms + slots[together + 1])
    pairs = _incidence(found, text_of[together], len(asked.pairs), len(texts))
    pair_idf = idf[asked.pairs // n_terms] + idf[asked.pairs % n_terms] if n_terms else idf
    return (
        _weigh(held, idf) / idf.sum(),
        missing / idf.max(initial=0),
        _weigh(pairs, pair_idf) / pair_idf.sum(),
        held.sum(axis=0) / tightest_windows(slots, np.cumsum(lengths), n_terms),
        *(held[places].sum(axis=0) / np.float64(n) for places, n in (asked.years, asked.numbers)),
    )


def _weigh(table: NDArray[np.bool_], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    # Row by row rather than as a matrix product, whose last bits may hang on the number of columns.
    sums: NDArray[np.float64] = (weights[:, None] * table).sum(axis=0)
    return sums


def _of_source(source: str, hits: Sequence[Hit]) -> Iterable[NDArray[np.float64]]:
    """The scores in a list, and the logs of the ranks there."""
    found = [
        min((one for one in hit.reasons if one.source == source), key=lambda one: one.rank, default=None)
        for hit in hits
    ]
    scores = np.array([math.nan if reason is None else reason.score for reason in found])
    return scores, np.log([math.nan if reason is None else reason.rank for reason in found])


def _find(known: NDArray[np.integer], values: NDArray[np.integer]) -> NDArray[np.int64]:
    """The place of each value in a sorted array, or -1."""
    if len(known) == 0:
        return np.full(len(values), -1)
    places = np.minimum(np.searchsorted(known, values), len(known) - 1)
    return np.where(known[places] == values, places, -1)


def _incidence(
    rows: NDArray[np.int64], columns: NDArray[np.int64], n_rows: int, n_columns: int
) -> NDArray[np.bool_]:
    """Which pairs occur, where a row is not -1: an array of shape ``(n_rows, n_columns)``."""
    table = np.zeros((n_rows, n_columns), dtype=bool)
    kept = rows >= 0
    table[rows[kept], columns[kept]] = True
    return table
