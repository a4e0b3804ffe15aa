"""One report taken apart: all that an index keeps of it besides its text."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hybridrank.tasks.finance.corpus import Report
from hybridrank.tasks.finance.layout import Layout, clean, lay_out
from hybridrank.tasks.finance.profile import Profile, profile_report
from hybridrank.text.tokens import Tokenizer, Vocabulary

__all__ = ["Parts", "PartsMaker", "make_parts"]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Parts:
    """What was made of a report.

    ``tokens`` (int32) are its terms in reading order, by the numbers of the maker, which is the process
    ``maker``; ``new_terms`` are those that this maker meets for the first time, in that order, numbered on
    from those before. ``counts`` (int32) has the number of terms of each segment, and ``window_tokens`` is
    the sum of those of the windows.
    """

    layout: Layout
    tokens: NDArray[np.int32]
    counts: NDArray[np.int32]
    window_tokens: int
    profile: Profile
    maker: int
    new_terms: list[str]


class PartsMaker:
    """Takes reports apart, numbering terms as they come."""

    def __init__(self) -> None:
        self._vocabulary = Vocabulary(Tokenizer())

    def __call__(self, report: Report) -> Parts:
        """Take a report apart."""
        text = clean(report.text)
        layout = lay_out(text)
        known = len(self._vocabulary)
        tokens, indptr = self._vocabulary.encode(
            text[start:end] for start, end in zip(layout.starts.tolist(), layout.ends.tolist(), strict=True)
        )
        return Parts(
            layout=layout,
            tokens=tokens,
            counts=np.diff(indptr).astype(np.int32),
            window_tokens=int((indptr[layout.window_ends] - indptr[:-1]).sum()),
            profile=profile_report(report.document_id, report.text, self._vocabulary.tokenizer),
            maker=os.getpid(),
            new_terms=self._vocabulary.terms[known:],
        )


def make_parts(report: Report) -> Parts:
    """The same by the one maker of a process that does nothing else."""
    return _the_maker()(report)


@lru_cache(maxsize=1)
def _the_maker() -> PartsMaker:
    return PartsMaker()
