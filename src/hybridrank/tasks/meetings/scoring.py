"""How well a memory and what is recalled from it keep the evidence of labelled questions.

No judge is asked: a note is taken to hold evidence when it comes from the evidence's turns and shares three
content words with them. A note counts with the turns that it came from, its *source*, which is known when the
memory is made and not delivered with it.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from hybridrank.tasks.meetings.history import Meeting
from hybridrank.tasks.meetings.questions import LabelledQuestion
from hybridrank.text.stopwords import ENGLISH

__all__ = ["DROPPED", "MEASURES", "REFERENCE_QUALITY", "QuestionScore", "Scorer", "Source", "content_words"]

REFERENCE_QUALITY = 0.06293706293706294
"""The published quality on the real held-out questions, of a judge's making; no measure here is that one."""

_SHARED = 3  # content words that make a note say what the evidence says
_MOST = 10  # notes of a recall that count
_TAG = re.compile(r"\{[^{}]*\}|<[^<>]*>")
_WORD = re.compile(r"[a-z0-9]+(?:'[a-z]+)?")
_EMPTY_WORDS = """
    uh um uhm hm hmm huh mm mmm mhm eh ah oh ooh er erm yeah yep yup yes nope nah ok okay alright right
    well hi hey hello bye thanks thank please sorry sure fine good great gonna wanna gotta cuz cause done
    tha thi th wh whi know mean think guess probably maybe just kind kinda sort thing things stuff
    something anything everything somebody someone lot bit really actually basically quite pretty little
    like say says said saying tell told see saw look looks want wants wanted need take make makes made get
    gets got getting go goes going gone went come comes came put use used using try trying way ways last
    first second next back around great ever always already anyway one two re isn aren don didn doesn
    couldn i'm i've i'll i'd you've you'll we've we'll they've they'll it's that's there's what's he's
    she's who's they're you're we're can't don't didn't doesn't isn't wasn't won't couldn't wouldn't
    shouldn't haven't hasn't hadn't aren't weren't whatever etc via me us may mine won per coming let
"""
DROPPED = ENGLISH | frozenset(_EMPTY_WORDS.split())
"""Words that carry no content in a dialogue: function words, fillers, and what is left of restarts."""


class Source(NamedTuple):
    """A note's text and where it came from: a meeting, and its turns from ``first`` to ``last``, both in."""

    text: str
    meeting_id: str
    first: int
    last: int


class QuestionScore(NamedTuple):
    """What was found for a question; all values lie between 0 and 1.

    ``evidence_hit``: a recalled note of the right meeting touches the evidence's turns and shares three
    content words with them. ``fine_hit``: the same for single sentences of evidence. ``meeting_recall``: a
    recalled note is of the right meeting. ``answer_hit``: such a note has three content words of the
    reference answer. ``word_recall``: the share of the reference's content words that the recalled notes have
    (ROUGE-1 recall), ``word_recall_right`` by the notes of the right meeting alone. ``memory_hit`` and
    ``memory_fine_hit`` are what a perfect recall from this memory would reach.
    """

    question_id: str
    evidence_hit: float
    fine_hit: float
    meeting_recall: float
    answer_hit: float
    word_recall: float
    word_recall_right: float
    memory_hit: float
    memory_fine_hit: float

    @property
    def outcome(self) -> str:
        """Where the evidence was lost, if it was."""
        if self.evidence_hit:
            return "hit"
        if not self.memory_hit:
            return "nothing in memory"
        return "wrong notes" if self.meeting_recall else "meeting missed"


MEASURES = QuestionScore._fields[1:]


class Scorer:
    """Scores what is recalled from one memory."""

    def __init__(
        self,
        meetings: Iterable[Meeting],
        sources: Iterable[Source],
        *,
        dropped: Collection[str] = DROPPED,
    ) -> None:
        self._turns = {meeting.meeting_id: meeting.turns for meeting in meetings}
        self._dropped = dropped
        self._by_text: dict[str, list[Source]] = defaultdict(list)
        self._by_meeting: dict[str, list[Source]] = defaultdict(list)
        self._words: dict[str, frozenset[str]] = {}
        for source in sources:
            self._by_text[source.text].append(source)
            self._by_meeting[source.meeting_id].append(source)
            self._words[source.text] = frozenset(self._content(source.text))

    def score(self, question: LabelledQuestion, memories: Sequence[str]) -> QuestionScore:
        """The score of the notes recalled for a question, of which the first ten count, each once."""
        texts = [text for text in dict.fromkeys(memories[:_MOST]) if text in self._by_text]
        recalled = [source for text in texts for source in self._by_text[text]]
        right = [source for source in recalled if source.meeting_id == question.meeting_id]
        held = self._by_meeting.get(question.meeting_id, [])
        reference = self._content(question.reference_answer)
        wanted = frozenset(reference)
        coarse, fine = self._evidence(question), self._fine_evidence(question)
        right_texts = dict.fromkeys(source.text for source in right)
        return QuestionScore(
            question_id=question.question_id,
            evidence_hit=float(any(self._hits(source, coarse) for source in right)),
            fine_hit=float(any(self._hits_fine(source, fine) for source in right)),
            meeting_recall=float(bool(right)),
            answer_hit=float(
                any(len(wanted & self._words[one.text]) >= min(_SHARED, len(wanted)) for one in right)
            ),
            word_recall=self.word_recall(question, texts),
            word_recall_right=self.word_recall(question, list(right_texts)),
            memory_hit=float(any(self._hits(source, coarse) for source in held)),
            memory_fine_hit=float(any(self._hits_fine(source, fine) for source in held)),
        )

    def word_recall(self, question: LabelledQuestion, texts: Iterable[str]) -> float:
        """The share of the reference answer's content words that some texts have, repeats counted (ROUGE-1
        recall; Lin, ROUGE: A Package for Automatic Evaluation of Summaries, 2004)."""
        wanted = Counter(self._content(question.reference_answer))
        found = Counter(word for text in texts for word in self._content(text))
        return (wanted & found).total() / wanted.total() if wanted else 0.0

    def _content(self, text: str) -> list[str]:
        return content_words(text, self._dropped)

    def _evidence(self, question: LabelledQuestion) -> list[tuple[int, int, frozenset[str]]]:
        turns = self._turns[question.meeting_id]
        return [
            (first, last, frozenset(self._content(" ".join(turn.text for turn in turns[first : last + 1]))))
            for first, last in question.evidence_turns
        ]

    def _fine_evidence(self, question: LabelledQuestion) -> Mapping[int, set[str]]:
        words: dict[int, set[str]] = defaultdict(set)
        for sentence in question.fine_sentences:
            words[sentence.turn].update(self._content(sentence.text))
        return words

    def _hits(self, source: Source, evidence: Iterable[tuple[int, int, frozenset[str]]]) -> bool:
        words = self._words[source.text]
        return any(
            source.first <= last and source.last >= first and len(words & said) >= _SHARED
            for first, last, said in evidence
        )

    def _hits_fine(self, source: Source, evidence: Mapping[int, set[str]]) -> bool:
        said: set[str] = set()
        for turn, words in evidence.items():
            if source.first <= turn <= source.last:
                said |= words
        return bool(said) and len(self._words[source.text] & said) >= min(_SHARED, len(said))


def content_words(text: str, dropped: Collection[str] = DROPPED) -> list[str]:
    """The content words of a text in order, without tags, ``dropped`` words and single letters.

    >>> content_words("{vocalsound} The pump's seal, uh, leaks 3 litres.")
    ['pump', 'seal', 'leaks', '3', 'litres']
    """
    found = []
    for word in _WORD.findall(_TAG.sub(" ", text).lower().replace("’", "'")):
        bare = word.removesuffix("'s")
        if word not in dropped and bare not in dropped and (len(bare) > 1 or bare.isdigit()):
            found.append(bare)
    return found
