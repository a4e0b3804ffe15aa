"""The words of spoken English: which carry content, their stems, and what a question asks about.

The standard library and ``snowballstemmer`` alone: search carries this module into a script.
"""

from __future__ import annotations

import re
from functools import lru_cache

from snowballstemmer.english_stemmer import EnglishStemmer

from hybridrank.text.stopwords import ENGLISH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "FRAME_WORDS",
    "SPOKEN_WORDS",
    "normal",
    "question_terms",
    "spoken_labels",
    "stem",
    "terms",
    "words",
]

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")

_SPOKEN = """
    actually ah alright anyhow anyway aren't aside away b back basically beyond bit c came can't cause come
    comes coming couldn't course cuz d didn't doesn't don't e eight enough er err everywhere exactly f fact
    fairly far find fine first five found four friday g get gets getting give given gives giving go goes going
    gone gonna good got gotta great guess guy guys h hadn't happen happened happens hardly hasn't haven't he'd
    he'll he's hello here's hey hi hm hmm huh hundred i'd i'll i'm i've indeed instead isn't it'd it'll it's j
    k keep kind kinda know known l last least less let like likely little look looked looking looks lot lots m
    made mainly make makes making may maybe mean means meant mhm mine mm mmm monday mostly n near need needed
    needs new next nice nine none nope nowhere o oh ok okay one ones oops others p particular particularly
    place please pretty probably put q r really reason reasonable right s said saturday saw say saying says
    second see seem seemed seems seen self seven several she's shouldn't six somehow sometimes somewhat
    somewhere soon sorry sort sorta stuff sunday suppose supposed sure t take taken takes taking tell ten
    thank thanks that'd that'll that's there'd there's they'd they'll they're they've thing things think
    thinking thinks thought thousand three thursday together told took tried tries try trying tuesday turn two
    u uh uhm um unlike us use used uses using usually v w wanna want wanted wants wasn't way ways we'd we'll
    we're we've wednesday well went weren't what's who's whole wouldn't wow x y yeah yep yes you'd you'll
    you're you've yup z zero
"""
# The frame that people set around what they ask about. No topic of any one meeting is among it.
_FRAME = """
    according agree agreed agreement answer ask asked concerning conclude concluded conclusion consider
    considered decide decided decision decisions describe description detail details disagree discuss
    discussed discussion discussions explain explained explains feel felt future general group issue issues
    main meeting meetings mention mentioned opinion opinions overall participant participants point points
    problem problems propose proposed question reasons recommend recommendation recommended regarding segment
    speaker state stated status suggest suggested summarise summarize summary talk talked talking team topic
    topics view views
"""
SPOKEN_WORDS = ENGLISH | frozenset(_SPOKEN.split())
"""Words without content of their own in talk: function words, fillers, verbs that serve any topic."""

FRAME_WORDS = frozenset(_FRAME.split())
"""Words by which a question says that it is one, of a discussion; content only if it has no other."""

_stemmer = EnglishStemmer()


def words(text: str) -> list[str]:
    """The words of a text in order, lower-cased, with a straight apostrophe.

    >>> words("The PhD’s wizard, isn't it?")
    ['the', "phd's", 'wizard', "isn't", 'it']
    """
    return _WORD.findall(text.lower().replace("\u2019", "'"))


def normal(word: str) -> str:
    """A lower-cased word without the possessive.

    >>> normal("wizard's")
    'wizard'
    """
    return word[:-2] if word.endswith("'s") else word


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """The Snowball stem of a lower-cased English word.

    >>> stem("transcriptions")
    'transcript'
    """
    return str(_stemmer.stemWord(word))


def terms(text: str) -> list[str]:
    """The stems of the words that carry content, in order.

    >>> terms("So the wizard's voice is, uh, the system's voice.")
    ['wizard', 'voic', 'system', 'voic']
    """
    return [stem(word) for word in _content(words(text))]


def question_terms(question: str, labels: Iterable[str] = ()) -> list[str]:
    """What a question asks about: its terms, each once, without its frame and the speakers that it names.

    ``labels`` are speakers' labels, lower-cased. A question that has nothing but a frame is asked about that.

    >>> question_terms("What did PhD C think about the budget?", ["phd c"])
    ['budget']
    >>> question_terms("What was discussed?"), question_terms("?!")
    (['discuss'], [])
    """
    text = " ".join(words(question))
    for label in sorted((label for label in labels if label and label in text), key=len, reverse=True):
        text = re.sub(rf"(?<!\S){re.escape(label)}(?!\S)", " ", text)
    content = _content(text.split())
    asked = [word for word in content if word not in FRAME_WORDS]
    return list(dict.fromkeys(stem(word) for word in asked or content))


def spoken_labels(question: str, labels: Iterable[str]) -> list[str]:
    """Those of the speakers' labels (lower-cased) that a question names, in whole or as "speaker C".

    >>> spoken_labels("What did grad b and Speaker C say?", ["grad b", "phd c", "phd b"])
    ['grad b', 'phd c']
    """
    asked = f" {' '.join(words(question))} "
    return [
        label
        for label in labels
        if f" {label} " in asked
        or (len(label) > 2 and label[-2] == " " and f" speaker {label[-1]} " in asked)
    ]


def _content(found: Iterable[str]) -> list[str]:
    kept = []
    for word in found:
        bare = normal(word)
        is_empty = word in SPOKEN_WORDS or bare in SPOKEN_WORDS or (len(bare) == 1 and bare.isascii())
        if not is_empty or bare.isdigit():
            kept.append(bare)
    return kept
