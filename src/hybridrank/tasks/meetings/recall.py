"""Recall: which notes of a memory bear on a question.

A note's terms are the key words of its topic, the first ones weighing more, and, at a third of the weight,
the words that were said. Notes are scored by BM25 over these (Robertson and Zaragoza, The Probabilistic
Relevance Framework, 2009), plus half of the same for their meeting as a whole; words that begin as a word of
the question does count half. Notes of the speaker that a question names are lifted. The slots are then filled
one by one, and each further note of a meeting counts for less than the one before: a question is about one
meeting, and whatever speaks for a wrong one speaks for all its notes alike.

The standard library and ``snowballstemmer`` alone.
"""

from __future__ import annotations

import json
import os
import re

from hybridrank.errors import IndexCorrupt, IndexForeign, IndexNotFound, IndexTooNew, InputError
from hybridrank.tasks.meetings.memory import split_topic
from hybridrank.tasks.meetings.vocabulary import question_terms, spoken_labels, terms, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from hybridrank.tasks.meetings.memory import Memory

__all__ = ["Index"]

_FILE = "recall.json"
_KIND, _VERSION = "hybridrank meeting recall", 1

_TOPIC_FALL = 0.3  # by which the weight of a topic's last key word is below that of its first
_SAID_WEIGHT = 0.35  # of a word that was said, where the topic's first key word counts 1
_NOTE_K1, _NOTE_B = 1.2, 0.3
_MEETING_K1, _MEETING_B = 3.0, 0.5
_MEETING_SHARE = 0.5  # of a meeting's score in that of its notes
_SPEAKER_LIFT = 0.5  # of a note of the speaker that is asked about
_KIN_WEIGHT = 0.5  # of a word that begins like the one asked for
_KIN_LETTERS, _KIN_SHARE = 5, 0.75  # which they have in common at least, and of the longer one
_NEXT_OF_MEETING = 0.9  # what a meeting's next note counts of its own score
_LONGEST_QUESTION = 10_000  # characters that are read; a search has about a second
_POOL = 60  # notes that compete for the slots, and at least six for each
_NEAR = 5  # notes up and down that fill slots which are left

_LABEL = re.compile(r"^([^:\n]{1,60}): ", re.MULTILINE)

Postings = dict[str, str]
"""Where a term stands and what it gives there, as "place score place score ...": as one text it is read in a
fifth of the time, and only what is asked for is taken apart."""


class Index:
    """Notes and where their terms stand; made by :meth:`build` or :meth:`open`. ``notes`` are those of the
    memory, each once; ``meeting_of`` has the meeting of each, by its place.

    >>> from hybridrank.tasks.meetings.memory import Memory
    >>> index = Index.build(Memory([["[pump seal] PhD A: It leaks."], ["[budget] Grad B: We have none."]]))
    >>> index.search("What did PhD A say about the pumps?")
    ['[pump seal] PhD A: It leaks.']
    >>> index.search("What did they think about it?")
    []
    """

    def __init__(self, content: dict[str, Any]) -> None:
        self._content = content
        self.notes: list[str] = content["notes"]
        self.meeting_of: list[int] = content["meeting_of"]
        self._labels: dict[str, list[int]] = content["labels"]
        self._postings: Postings = content["postings"]
        self._of_meetings: Postings = content["of_meetings"]

    @classmethod
    def build(cls, memory: Memory) -> Index:
        """The index of a memory."""
        notes: list[str] = []
        meeting_of: list[int] = []
        for meeting, of_meeting in enumerate(memory.meetings):
            for note in of_meeting:
                notes.append(note)
                meeting_of.append(meeting)
        first = {note: at for at, note in reversed(list(enumerate(notes)))}
        kept = sorted(first.values())
        notes, meeting_of = [notes[at] for at in kept], [meeting_of[at] for at in kept]
        labels: dict[str, list[int]] = {}
        weights = []
        of_meetings: list[dict[str, float]] = [{} for _ in memory.meetings]
        for at, note in enumerate(notes):
            for label in _labels(note):
                labels.setdefault(label, []).append(at)
            weights.append(_weights(note))
            of_meeting_weights = of_meetings[meeting_of[at]]
            for term, weight in weights[-1].items():
                of_meeting_weights[term] = of_meeting_weights.get(term, 0.0) + weight
        return cls(
            {
                "kind": _KIND,
                "version": _VERSION,
                "notes": notes,
                "meeting_of": meeting_of,
                "labels": labels,
                "postings": _bm25(weights, _NOTE_K1, _NOTE_B),
                "of_meetings": _bm25(of_meetings, _MEETING_K1, _MEETING_B),
            }
        )

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Write the index into a directory, which is made if need be.

        Raises :class:`~hybridrank.errors.InputError` when it cannot be written.
        """
        path = os.path.join(directory, _FILE)
        beside = f"{path}.{os.getpid()}.new"
        try:
            os.makedirs(directory, exist_ok=True)
            try:
                # Half a surrogate pair, which UTF-8 has not, is escaped as JSON does.
                with open(beside, "w", encoding="utf-8", errors="backslashreplace") as file:
                    json.dump(self._content, file, ensure_ascii=False, separators=(",", ":"))
                os.replace(beside, path)
            except BaseException:  # Ctrl-C too
                if os.path.exists(beside):
                    os.unlink(beside)
                raise
        except OSError as error:
            raise InputError(
                f"the index cannot be written ({error.strerror or error})",
                file=os.fspath(directory),
                remedy="Choose a directory that you may write, on a disk with room.",
            ) from error

    @classmethod
    def open(cls, directory: str | os.PathLike[str]) -> Index:
        """Open the index in a directory.

        Raises an :class:`~hybridrank.errors.IndexDirectoryError` that says what to do when there is none
        that can be read.
        """
        try:
            with open(os.path.join(directory, _FILE), encoding="utf-8") as file:
                content = json.load(file)
        except OSError as error:
            raise IndexNotFound(
                directory, f"there is no index of a memory here ({error.strerror})", "Build one first."
            ) from error
        except (ValueError, RecursionError):
            raise IndexCorrupt(directory, f"{_FILE} is damaged", "Build the index again.") from None
        if not isinstance(content, dict) or content.get("kind") != _KIND:
            raise IndexForeign(directory, "this is no index of a memory", "Build one elsewhere.")
        if content.get("version") != _VERSION:
            raise IndexTooNew(
                directory,
                f"the index is of version {content.get('version')!r}, where {_VERSION} can be read",
                "Build it again with this version.",
            )
        try:
            return cls(content)
        except KeyError as error:
            raise IndexCorrupt(directory, f"{_FILE} lacks {error}", "Build the index again.") from None

    def search(
        self,
        question: str,
        k: int = 10,
        rerank: Callable[[str, list[str]], Sequence[float]] | None = None,
    ) -> list[str]:
        """The notes that bear on a question, best first, at most ``k``.

        When some are found but fewer than ``k``, those that stand next to them in their meetings follow.
        ``rerank`` gives scores, higher for better, to the notes of a question; by them three times ``k``
        notes are then ordered. Questions without a word of content find nothing. Raises
        :class:`~hybridrank.errors.InputError` for a ``k`` below 1.
        """
        if k < 1:
            raise InputError(f"k is {k}", remedy="Ask for 1 note or more.")
        notes = self.best(self.scores(question), k if rerank is None else 3 * k)
        if rerank is not None and notes:
            scores = list(rerank(question, notes))
            if len(scores) != len(notes):
                raise InputError(
                    f"`rerank` gave {len(scores)} scores for {len(notes)} notes", remedy="Give one for each."
                )
            notes = [notes[at] for at in sorted(range(len(notes)), key=lambda at: (-scores[at], at))]
        return notes[:k]

    def scores(self, question: str) -> dict[int, float]:
        """The score of each note, by its place, that shares a term, or the start of one, with a question."""
        asked: dict[str, float] = {}
        question = question[:_LONGEST_QUESTION]
        of_question = question_terms(question, self._labels)
        alike = self._alike(of_question)
        for term in of_question:
            asked[term] = 1.0
            for kin in _kin(term, alike.get(term[:_KIN_LETTERS], ())):
                asked.setdefault(kin, _KIN_WEIGHT)
        scores: dict[int, float] = {}
        of_meeting: dict[int, float] = {}
        for term, weight in asked.items():
            for at, given in _places(self._postings.get(term, "")):
                scores[at] = scores.get(at, 0.0) + weight * given
            for meeting, given in _places(self._of_meetings.get(term, "")):
                of_meeting[meeting] = of_meeting.get(meeting, 0.0) + weight * given
        for label in spoken_labels(question, self._labels):
            for at in self._labels[label]:
                if at in scores:
                    scores[at] *= 1.0 + _SPEAKER_LIFT
        return {
            at: score + _MEETING_SHARE * of_meeting.get(self.meeting_of[at], 0.0)
            for at, score in scores.items()
        }

    def _alike(self, asked: Iterable[str]) -> dict[str, list[str]]:
        """The terms of the notes that begin as those asked for do, by that beginning."""
        starts = {term[:_KIN_LETTERS] for term in asked if len(term) >= _KIN_LETTERS}
        found: dict[str, list[str]] = {}
        for other in self._postings:
            if other[:_KIN_LETTERS] in starts:
                found.setdefault(other[:_KIN_LETTERS], []).append(other)
        return found

    def best(self, scores: Mapping[int, float], k: int) -> list[str]:
        """At most ``k`` notes by the scores of their places, and then those beside them.

        The next one is always that which is likeliest to add something to those before.
        """
        left = sorted(scores, key=lambda at: (-scores[at], at))[: max(_POOL, 6 * k)]
        discount: dict[int, float] = {}
        found: list[int] = []
        while left and len(found) < k:
            at = max(left, key=lambda at: (scores[at] * discount.get(self.meeting_of[at], 1.0), -at))
            left.remove(at)
            found.append(at)
            meeting = self.meeting_of[at]
            discount[meeting] = discount.get(meeting, 1.0) * _NEXT_OF_MEETING
        if len(found) < k:
            found += self._neighbours(found)
        return [self.notes[at] for at in found[:k]]

    def _neighbours(self, found: list[int]) -> list[int]:
        """Notes beside those found, in the same meetings, the nearest first."""
        near: dict[int, None] = {}
        for distance in range(1, _NEAR + 1):
            for at in found:
                for other in (at + distance, at - distance):
                    if 0 <= other < len(self.notes) and self.meeting_of[other] == self.meeting_of[at]:
                        near[other] = None
        return [at for at in near if at not in found]


def _weights(note: str) -> dict[str, float]:
    """The terms of a note and what they weigh."""
    topic, said = split_topic(note)
    weights: dict[str, float] = {}
    for rank, word in enumerate(topic):
        for term in terms(word):
            weights[term] = weights.get(term, 0.0) + 1.0 - _TOPIC_FALL * rank / len(topic)
    for term in terms(_LABEL.sub(" ", said)):
        weights[term] = weights.get(term, 0.0) + _SAID_WEIGHT
    return weights


def _labels(note: str) -> list[str]:
    """The speakers that a note names, lower-cased, as a question would be compared with them.

    >>> _labels("[pump] PhD A: It leaks.\\nGrad B: Where?")
    ['phd a', 'grad b']
    """
    said = split_topic(note)[1]
    return list(dict.fromkeys(" ".join(words(label)) for label in _LABEL.findall(said)))


def _kin(term: str, alike: Iterable[str]) -> list[str]:
    return [
        other
        for other in alike
        if other != term and _shared(other, term) >= _KIN_SHARE * max(len(other), len(term))
    ]


def _shared(one: str, other: str) -> int:
    """How many letters two words have in common at their beginning.

    >>> _shared("transcript", "transcrib")
    8
    """
    length = 0
    for mine, theirs in zip(one, other):  # noqa: B905 - up to the end of the shorter one
        if mine != theirs:
            break
        length += 1
    return length


def _bm25(documents: Iterable[dict[str, float]], k1: float, b: float) -> Postings:
    """Where each term stands, and what it gives to the score there."""
    from math import log1p

    given = list(documents)
    lengths = [sum(weights.values()) for weights in given]
    mean = sum(lengths) / len(lengths) if any(lengths) else 1.0
    places: dict[str, list[tuple[int, float]]] = {}
    for at, weights in enumerate(given):
        norm = k1 * (1.0 - b + b * lengths[at] / mean)
        for term, weight in weights.items():
            places.setdefault(term, []).append((at, weight * (k1 + 1.0) / (weight + norm)))
    postings: Postings = {}
    for term, found in places.items():
        idf = log1p((len(given) - len(found) + 0.5) / (len(found) + 0.5))
        postings[term] = " ".join(f"{at} {round(idf * gain, 4)}" for at, gain in found)
    return postings


def _places(posting: str) -> Iterable[tuple[int, float]]:
    """Places and scores.

    >>> list(_places("3 0.25 17 1.5"))
    [(3, 0.25), (17, 1.5)]
    """
    numbers = posting.split()
    return zip(map(int, numbers[::2]), map(float, numbers[1::2]), strict=True)
