"""English function words, which say little about what a text is about.

Some are kept out on purpose, for they are also what people search for: ``us`` (the country), ``may`` (the
month), ``mine`` (the pit), ``won`` (the currency), ``per`` (as in *per share*), and every single letter but
``a`` and ``i``.

There are no lists for other languages: there, frequent words are left to their low inverse document
frequency.
"""

from __future__ import annotations

__all__ = ["ENGLISH", "stop_words_for"]

_ARTICLES_AND_POINTERS = (
    "a an the this that these those such same other another each every either neither both"
)
_PRONOUNS = """
    i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she her
    hers herself it its itself they them their theirs themselves who whom whose which what whatever
    whichever whoever somebody someone something anybody anyone anything everybody everyone everything nobody
    nothing
"""
_VERBS = """
    am is are was were be been being have has had having do does did doing done can could shall should will
    would might must ought cannot let's
"""
_PREPOSITIONS = """
    of at by for with about against between into through during before after above below to from up down in
    out on off over under upon within without among amongst toward towards via onto across along around behind
    beside besides despite except since until till throughout
"""
_CONJUNCTIONS = "and but or nor so yet if because as while although though unless whereas whether than lest"
_ADVERBS = """
    again further then once here there when where why how all any few more most some no not only own too very
    just also now ever never else even still hence thus therefore thereby thereof therein thereto herein
    hereby hereof hereto whereby wherein whereof whenever wherever however moreover nevertheless otherwise
    perhaps quite rather almost already always often elsewhere meanwhile namely much many
"""
# What is left of a contraction where the apostrophe was lost or is a space: `didn t`, `they ll`.
_PIECES_OF_CONTRACTIONS = """
    don didn doesn isn aren wasn weren hasn haven hadn couldn wouldn shouldn mustn mightn needn shan ain ll ve
    re won't
"""

ENGLISH: frozenset[str] = frozenset(
    " ".join(
        (
            _ARTICLES_AND_POINTERS,
            _PRONOUNS,
            _VERBS,
            _PREPOSITIONS,
            _CONJUNCTIONS,
            _ADVERBS,
            _PIECES_OF_CONTRACTIONS,
        )
    ).split()
)


def stop_words_for(language: str) -> frozenset[str]:
    """The stop words of a language, lower-cased: ours for English, none for any other.

    >>> "the" in stop_words_for("english"), len(stop_words_for("german"))
    (True, 0)
    """
    return ENGLISH if language == "english" else frozenset()
