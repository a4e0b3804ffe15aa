"""Which report a question is about, as far as it names a company.

A report's aliases come from its cover and id (see :mod:`hybridrank.tasks.finance.profile`). A word of an
alias counts by its inverse frequency among the reports' aliases, and by its *specificity*: of the blocks that
hold the word, the share that lies in reports named by it. *Boeing* is specific, *paper* is not, though a
company may be called so.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hybridrank.postings import Postings, lucene_idf
from hybridrank.tasks.finance.profile import Profile
from hybridrank.tasks.finance.question import ParsedQuestion
from hybridrank.text.tokens import TermLookup

__all__ = ["Names"]

_JOINED, _INITIALS = "=", "^"  # marks of the parts of an alias that are no terms
_INITIALS_SPECIFICITY = 0.8


class Names:
    """The names of all reports, ready to be matched with questions."""

    def __init__(
        self,
        profiles: Sequence[Profile],
        lookup: TermLookup,
        blocks: Postings,
        report_of_block: NDArray[np.int32],
    ) -> None:
        self.n_reports = len(profiles)
        aliases: list[tuple[str, ...]] = []
        reports: list[int] = []
        for report, profile in enumerate(profiles):
            found = [
                *profile.aliases,
                *((_JOINED + name,) for name in profile.joined),
                *((_INITIALS + name,) for name in profile.initials),
            ]
            aliases.extend(found)
            reports.extend([report] * len(found))
        self._report_of_alias = np.array(reports, dtype=np.int32)
        self._aliases_with: dict[str, NDArray[np.int32]] = {}
        self._weight: dict[str, tuple[float, float]] = {}  # inverse frequency, in [0, 1]; specificity
        self._named_by: dict[int, NDArray[np.bool_]] = {}
        places: dict[str, list[int]] = {}
        for place, alias in enumerate(aliases):
            for part in alias:
                places.setdefault(part, []).append(place)
        scale = float(lucene_idf(1, self.n_reports)) if self.n_reports else 1.0
        for part, listed in places.items():
            self._aliases_with[part] = np.array(listed, dtype=np.int32)
            named = np.unique(self._report_of_alias[listed])
            rarity = float(lucene_idf(len(named), self.n_reports)) / scale
            specificity = 1.0
            if part[0] == _INITIALS:
                specificity = _INITIALS_SPECIFICITY
            elif part[0] != _JOINED and (number := lookup.id_of(part)) is not None:
                mask = np.zeros(self.n_reports, dtype=bool)
                mask[named] = True
                self._named_by[number] = mask
                holding = blocks.docs[blocks.indptr[number] : blocks.indptr[number + 1]]
                specificity = float(mask[report_of_block[holding]].mean()) if len(holding) else 1.0
            self._weight[part] = (rarity, specificity)
        self._total = np.array([sum(self._weight[part][0] for part in alias) for alias in aliases])

    def match(self, question: ParsedQuestion) -> NDArray[np.float64]:
        """How well each report's name is named in a question: 0 for not at all, about 1 for each word of a
        name given in full.

        The best of a report's aliases counts, by what is found of it times the square of the share found.
        """
        found = np.zeros(len(self._total))
        value = np.zeros(len(self._total))
        parts = {
            *question.name_terms,
            *(_JOINED + gram for gram in question.grams),
            *(_INITIALS + name for name in question.capitals),
        }
        for part in sorted(parts & self._aliases_with.keys()):  # sorted, so that sums never vary
            rarity, specificity = self._weight[part]
            aliases = self._aliases_with[part]
            found[aliases] += rarity
            value[aliases] += rarity * specificity
        share = found / np.maximum(self._total, 1e-9)
        best = np.zeros(self.n_reports)
        np.maximum.at(best, self._report_of_alias, value * share**2)
        return best

    def named_by(self, term: int) -> NDArray[np.bool_] | None:
        """The reports in whose names a term stands (bool, one a report), or ``None`` for no name's term."""
        return self._named_by.get(term)
