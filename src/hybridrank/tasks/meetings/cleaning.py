"""Dialogue as a note may quote it: verbatim words in their order, without what only talking leaves behind.

Tags, fillers, phrases such as "you know", restarts and repeated words are dropped, and what leads a sentence
in or out without saying anything. Nothing is added, replaced or moved.
"""

from __future__ import annotations

import re

from hybridrank.tasks.meetings.vocabulary import SPOKEN_WORDS

__all__ = ["clean_turn"]

_BROKEN_OFF = "\u2014"  # stands for the tag that marks a restart
_RESTART = re.compile(r"\{disfmarker\}|<disfmarker>")
_TAG = re.compile(r"\{[^{}]*\}|<[^<>]*>|@|[\"\u201c\u201d\ud800-\udfff]")
_ENDING = re.compile(r"\s+('(?:s|re|ve|ll|d|m|t)\b|n't\b)", re.IGNORECASE)
_POINT = re.compile(r"\s+([,.?!;:])")
_HYPHEN = re.compile(r"(?<=\w) - (?=\w)")
_SENTENCE = re.compile(r"(?<=[.?!])\s+|\s*\u2014\s*(?=[A-Z])")
_PHRASE = re.compile(
    r"\b(?:you know|you see|i mean|i guess|i think|i believe|i suppose|i don't know|i'm sure|sort of|kind of"
    r"|or something|or whatever|and so on|and stuff|of course|let's see|at least|in fact|it seems like)\b",
    re.IGNORECASE,
)
_COMMAS = re.compile(r",(?:\s*,)+")
_POINTS = ",.?!;:"
_FILLER_WORDS = "uh um uhm eh er ah hmm hm mm mmm mhm huh erm hum mm-hmm uh-huh"
_LEAD_WORDS = """
    so and but well ok okay yeah yes no right oh now alright yep because cuz then or actually basically
    anyway like also just sure great good nope hey see wow
"""
_FILLERS = frozenset(_FILLER_WORDS.split())
_LEADS = frozenset(_LEAD_WORDS.split())
_TRAILS = _LEADS | {"the", "a", "to", "that", "you"}
_LONGEST_REPEAT = 4  # words that are said twice over
_LONGEST_FRAGMENT = 3  # letters of a word that was begun and then said in full


def clean_turn(text: str) -> list[str]:
    """The sentences of a turn that say something, cleaned; none for a back-channel.

    >>> clean_turn("So it {disfmarker} it 's the , um , the wiz {disfmarker} wizard 's voice . OK .")
    ["it's the wizard's voice."]
    >>> clean_turn("Mm - hmm .")
    []
    """
    text = _TAG.sub(" ", _RESTART.sub(f" {_BROKEN_OFF} ", text))
    text = _HYPHEN.sub("-", _POINT.sub(r"\1", _ENDING.sub(r"\1", text)))
    cleaned = (_clean(sentence) for sentence in _SENTENCE.split(text))
    return [sentence for sentence in cleaned if sentence]


def _clean(sentence: str) -> str:
    kept = [
        word
        for word in _PHRASE.sub(" ", sentence.replace(_BROKEN_OFF, " ")).split()
        if any(map(str.isalnum, word)) and _bare(word) not in _FILLERS
    ]
    kept = _without_fragments(_without_repeats(kept))
    first, last = 0, len(kept)
    while first < last and _bare(kept[first]) in _LEADS:
        first += 1
    while first < last and _bare(kept[last - 1]) in _TRAILS:
        last -= 1
    return _COMMAS.sub(",", " ".join(kept[first:last])).strip(" ,")


def _without_repeats(said: list[str]) -> list[str]:
    """Drop what is said twice in a row, up to four words.

    >>> _without_repeats("how much, how much is is it".split())
    ['how', 'much', 'is', 'it']
    """
    kept: list[str] = []
    for word in said:
        kept.append(word)
        for length in range(min(_LONGEST_REPEAT, len(kept) // 2), 0, -1):
            if [*map(_bare, kept[-length:])] == [*map(_bare, kept[-2 * length : -length])]:
                del kept[-2 * length : -length]
                break
    return kept


def _without_fragments(said: list[str]) -> list[str]:
    """Drop the beginning of a word that is then said in full.

    >>> _without_fragments("the wiz wizard is a apple".split())
    ['the', 'wizard', 'is', 'a', 'apple']
    """
    kept = []
    for word, following in zip(said, [*said, ""][1:], strict=True):
        begun, full = word.lower(), following.lower()
        is_fragment = full.startswith(f"{begun}'") or (
            begun.isalpha()
            and len(begun) <= _LONGEST_FRAGMENT
            and full.startswith(begun)
            and full != begun
            and begun not in ("a", "i")
            and (len(begun) == 1 or begun not in SPOKEN_WORDS)
        )
        if not is_fragment:
            kept.append(word)
    return kept


def _bare(word: str) -> str:
    return word.strip(_POINTS).lower()
