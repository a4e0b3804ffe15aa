"""What a stretch of talk is about: the worth of each of its terms as a key word of the topic.

A term is worth keeping when a person would name it in asking. That is learned from the reference answers of
labelled questions: which terms of a segment stand in the answers to questions about it. Two scorers are had:
a plain one, whose five weights stand here, and a learned one, of all features.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import as_file, files
from os import PathLike
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hybridrank.ranking_model import RankingModel
from hybridrank.tasks.meetings.segments import CleanMeeting, Segment
from hybridrank.tasks.meetings.vocabulary import normal, stem, words

__all__ = [
    "NAMES",
    "PLAIN_WEIGHTS",
    "LearnedWorth",
    "PlainWorth",
    "TermTable",
    "Worth",
    "term_table",
    "worth_of",
]

NAMES = (
    "in_segment",
    "turns",
    "speakers",
    "beside",
    "in_meeting",
    "share",
    "segments",
    "meetings",
    "lift",
    "noun",
    "verb",
    "named",
    "letters",
    "in_history",
    "suffix",
    "digits",
    "adverb",
)
"""Features of a term in a segment; counts are logarithms.

``in_segment``: times it was said there; ``turns``, ``speakers``: in how many turns, by how many; ``beside``:
times in the two segments around; ``in_meeting``; ``share``: of those in the segment; ``segments``,
``meetings``: what part of all has it; ``lift``: how much more often than in all meetings together; ``noun``,
``verb``: how often it follows words that a noun or a verb follows; ``named``: how often it has a capital
inside a sentence; ``letters``: of its most common form, 12 at most; ``in_history``: its part of all that was
said; ``suffix``: ends as abstract nouns do; ``digits``; ``adverb``: ends in -ly.
"""

PLAIN_WEIGHTS: Mapping[str, float] = {
    "in_segment": 0.70,
    "beside": 0.45,
    "in_meeting": 0.40,
    "noun": 0.70,
    "letters": 0.10,
}
"""A logistic regression on labelled meetings, rounded. The other features added nothing to speak of."""

_BEFORE_NOUNS = """
    the a an of this that these those our your their his her its my some any for on in with about from no each
    every all more between at by like kind sort different new two three
"""
_BEFORE_VERBS = """
    to i you we they he she can will would could should might may must do does did don't didn't doesn't not
    i'm we're you're they're it he's gonna let's just really actually i'll we'll you'll i'd i've we've who
    please
"""
_NOUN_FOLLOWS = frozenset(_BEFORE_NOUNS.split())
_VERB_FOLLOWS = frozenset(_BEFORE_VERBS.split())
_ABSTRACT = ("tion", "ment", "ness", "ity", "ing", "er", "or", "ion", "ance", "sis")
_MOST_LETTERS = 12


class TermTable(NamedTuple):
    """The terms of segments: row ``at`` is about ``terms[at]`` in segment ``segment_of[at]``.

    ``features`` has shape ``(rows, len(NAMES))``. ``counts`` holds the terms of each segment and how often
    they were said there, ``forms`` the most common spelling of each term in each meeting.
    """

    segment_of: list[int]
    terms: list[str]
    features: NDArray[np.float64]
    counts: list[Counter[str]]
    forms: list[dict[str, str]]


class Worth(Protocol):
    """Scores terms: a logarithm of how likely a person is to name them, but for a constant."""

    def score(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """The worth of each row of features."""


class PlainWorth:
    """The sum of the features weighted by :data:`PLAIN_WEIGHTS`."""

    def score(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """The worth of each row of features.

        >>> round(float(PlainWorth().score(np.ones((1, len(NAMES))))[0]), 2)
        2.35
        """
        worth = np.zeros(len(features))
        for name, weight in PLAIN_WEIGHTS.items():  # one by one, so that no library's way of adding matters
            worth += weight * features[:, NAMES.index(name)]
        return worth


class LearnedWorth:
    """A model trained by :func:`hybridrank.tasks.meetings.training.train`."""

    def __init__(self, model: RankingModel) -> None:
        self.model = model

    @classmethod
    def open(cls, directory: str | PathLike[str] | None = None) -> LearnedWorth:
        """The model in a directory, by default the one that the package ships.

        Raises as :meth:`hybridrank.ranking_model.RankingModel.open` does.
        """
        if directory is not None:
            return cls(RankingModel.open(directory, names=NAMES))
        with as_file(files("hybridrank") / "data" / "meetings" / "worth") as shipped:
            return cls(RankingModel.open(shipped, names=NAMES))

    def score(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """The worth of each row of features."""
        return self.model.predict(features)


def worth_of(selector: str | PathLike[str]) -> Worth:
    """The scorer that is called ``"plain"`` or ``"learned"``, or the learned one of a directory."""
    if selector == "plain":
        return PlainWorth()
    return LearnedWorth.open(None if selector == "learned" else selector)


class History:
    """What does not depend on how meetings are cut: counts, spellings and the company of terms."""

    def __init__(self, meetings: Sequence[CleanMeeting]) -> None:
        self.meetings = meetings
        self.of_meeting = [
            Counter(term for turn in meeting.turns for term in turn.all_terms()) for meeting in meetings
        ]
        self.total = Counter[str]()
        self.meetings_with = Counter[str]()
        for counts in self.of_meeting:
            self.total.update(counts)
            self.meetings_with.update(counts.keys())
        self.said = max(1, sum(self.total.values()))
        self._after_noun_words, self._after_verb_words = Counter[str](), Counter[str]()
        self._named = Counter[str]()
        self.forms = [self._look_at(meeting) for meeting in meetings]

    def company(self, term: str) -> tuple[float, float, float]:
        """The features ``noun``, ``verb`` and ``named`` of a term."""
        nouns, verbs, total = self._after_noun_words[term], self._after_verb_words[term], self.total[term]
        return (nouns + 1) / (nouns + verbs + 2), verbs / total, self._named[term] / total

    def _look_at(self, meeting: CleanMeeting) -> dict[str, str]:
        spelled: dict[str, Counter[str]] = defaultdict(Counter)
        for turn in meeting.turns:
            for sentence in turn.sentences:
                for before, spelling in _pairs(sentence):
                    term = stem(normal(spelling.lower()))
                    if term not in self.total:
                        continue
                    spelled[term][spelling] += 1
                    self._after_noun_words[term] += before in _NOUN_FOLLOWS
                    self._after_verb_words[term] += before in _VERB_FOLLOWS
                    self._named[term] += bool(before) and spelling[0].isupper()
        return {
            term: max(forms.items(), key=lambda form: (form[1], form[0]))[0]
            for term, forms in spelled.items()
        }


def _pairs(sentence: str) -> Iterator[tuple[str, str]]:
    """The words of a sentence as they are spelled, without the possessive, each after the one before.

    >>> list(_pairs("The PhD's wizard"))
    [('', 'The'), ('the', 'PhD'), ("phd's", 'wizard')]
    """
    before = ""
    for piece in sentence.replace("\u2019", "'").replace("-", " ").split():
        for word in words(piece):
            at = piece.lower().find(word)
            spelling = piece[at : at + len(word)] if at >= 0 else word
            yield before, spelling[:-2] if word.endswith("'s") else spelling
            before = word


def term_table(history: History, segments: Sequence[Segment]) -> TermTable:
    """The terms of all segments with their features, segment by segment, each in order of first mention."""
    counts = [Counter[str]() for _ in segments]
    turns = [Counter[str]() for _ in segments]
    speakers: list[dict[str, set[str]]] = [defaultdict(set) for _ in segments]
    for at, segment in enumerate(segments):
        for turn in history.meetings[segment.meeting].turns[segment.first : segment.last + 1]:
            said = list(turn.all_terms())
            counts[at].update(said)
            for term in dict.fromkeys(said):
                turns[at][term] += 1
                speakers[at][term].add(turn.speaker)
    with_term = Counter[str]()
    for of_segment in counts:
        with_term.update(of_segment.keys())
    segment_of: list[int] = []
    terms: list[str] = []
    rows: list[tuple[float, ...]] = []
    of_term: dict[str, tuple[float, ...]] = {}
    for at, segment in enumerate(segments):
        in_meeting = history.of_meeting[segment.meeting]
        said_in_meeting = sum(in_meeting.values())
        forms = history.forms[segment.meeting]
        around = [
            counts[other]
            for other in (at - 1, at + 1)
            if 0 <= other < len(segments) and segments[other].meeting == segment.meeting
        ]
        for term, count in counts[at].items():
            if term not in of_term:
                of_term[term] = _of_term(history, term, with_term[term] / len(segments))
            part, of_meetings, frequency, noun, verb, named, digits = of_term[term]
            form = forms.get(term, term)
            beside = sum(other[term] for other in around)
            rows.append(
                (
                    math.log(count),
                    math.log(turns[at][term]),
                    math.log(len(speakers[at][term])),
                    math.log(1 + beside),
                    math.log(in_meeting[term]),
                    math.log(count / in_meeting[term]),
                    part,
                    of_meetings,
                    math.log(in_meeting[term] / said_in_meeting) - frequency,
                    noun,
                    verb,
                    named,
                    min(_MOST_LETTERS, len(form)),
                    frequency,
                    form.lower().endswith(_ABSTRACT),
                    digits,
                    form.lower().endswith("ly"),
                )
            )
            segment_of.append(at)
            terms.append(term)
    features = np.array(rows, dtype=np.float64).reshape(-1, len(NAMES))
    return TermTable(segment_of, terms, features, counts, history.forms)


def _of_term(history: History, term: str, part: float) -> tuple[float, ...]:
    """The features of a term that are the same in every segment."""
    return (
        math.log(part),
        math.log(history.meetings_with[term] / len(history.meetings)),
        math.log(history.total[term] / history.said),
        *history.company(term),
        float(term.isdigit()),
    )
