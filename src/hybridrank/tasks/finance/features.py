"""What can be said in numbers of a window that was found for a question: what the learned ranker ranks by.

===============  ====================  ================================================================
group            feature               meaning
===============  ====================  ================================================================
``order``        ``score``             the unlearned score
                 ``score_relative``    relative to the best of all windows
                 ``score_rank``        log of 1 + its rank, from 0
                 ``block_gap``         how far the window is behind the best of its block
``words``        ``words``             BM25 of its words
                 ``words_relative``    relative to the best of all windows
                 ``words_rank``        log of 1 + its rank, from 0
                 ``line_best``         idf of the terms in its best line, as a share of the question's
                 ``line_second``       the same of its second best line
                 ``row_best``          the same of its best table row
                 ``window``            terms matched over the length of the shortest stretch holding them
``block``        ``block``             the block's score, with what its report gave
                 ``block_relative``    relative to the best block
                 ``block_rank``        log of 1 + its rank, from 0
                 ``block_words``       BM25 of its words alone, relative to the best block
``match``        ``in_window``         share of the question's terms in the window, weighted by idf
                 ``in_header``         in its table's header
                 ``in_either``         in the one or the other
                 ``in_block``          in its block
                 ``own_window``        as ``in_window``, without terms that the lexicon added
                 ``own_either``        as ``in_either``, likewise
                 ``own_block``         as ``in_block``, likewise
                 ``matched``           share of the question's terms in the window, each counting 1
                 ``missing_window``    the heaviest term in neither window nor header, relative
                 ``missing_block``     the heaviest term that the block lacks, too
                 ``pairs``             share of the question's neighbouring terms side by side, by idf
                 ``pairs_count``       their number
``report``       ``report``            BM25 of the whole report, relative to the best report
                 ``report_rank``       log of 1 + its rank, from 0
                 ``name``              how well the question names the report's company
                 ``name_relative``     relative to the report that it names best
                 ``named``             how well it names any
                 ``namesakes``         log of 1 + the number of reports that it names as well as any
                 ``annual``            1 for a form 10-K
                 ``quarter``           1 for the quarter asked for
``period``       ``year_gap``          fiscal year of the report less the year asked for, -4 to 4
                 ``years_window``      share of the years asked for in the window
                 ``years_header``      in its table's header
                 ``years_either``      in the one or the other: a row under both years has 1
                 ``years_block``       in its block or the header
                 ``years_asked``       number of years asked for
                 ``numbers``           share of the other numbers asked for, and known, in the window
``table``        ``rows``              share of table rows among its lines
                 ``digits``            share of numbers, years aside, among its tokens
                 ``tabular``           1 inside a table
                 ``table_top``         1 where the window starts with the table
                 ``statement``         1 on a primary statement, 2 on one that was asked for
``rivals``       ``report_best``       the best window of the report, relative to the best of all
                 ``report_third``      its third best window, relative to the best of all
                 ``report_share``      log share of the report's windows among the candidates
                 ``report_place``      log of 1 + the report's rank by its best window, from 0
                 ``report_gap``        how far the window is behind the best of its report
``question``     ``terms_asked``       number of terms
                 ``idf_asked``         sum of their idf
                 ``idf_rarest``        idf of the rarest
                 ``asks_…``            1 for each kind of question that it is, see
                                       :data:`hybridrank.features.KINDS`
``neural``       ``dense``             cosine of question and window
                 ``cross_encoder``     relevance score of a cross-encoder
===============  ====================  ================================================================

What cannot be said is NaN: years where none are asked for, neural scores where no service gave them.
A term of a company's name counts little inside its own reports, as in the unlearned score.

No feature tells one publisher's text from another's (length of the report, position in it, capitals): the
labels that there are come from single pages, and a ranker would learn to know them by it.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hybridrank.features import KINDS, query_kinds, ranks, tightest_windows
from hybridrank.tasks.finance.candidates import CandidateFinder, Candidates
from hybridrank.tasks.finance.lexicon import is_number
from hybridrank.tasks.finance.neural import NeuralScores
from hybridrank.tasks.finance.streams import held, ranges

__all__ = ["GROUPS", "NAMES", "EvidenceFeatures"]

GROUPS: dict[str, tuple[str, ...]] = {
    "order": ("score", "score_relative", "score_rank", "block_gap"),
    "words": ("words", "words_relative", "words_rank", "line_best", "line_second", "row_best", "window"),
    "block": ("block", "block_relative", "block_rank", "block_words"),
    "match": (
        *("in_window", "in_header", "in_either", "in_block", "matched"),
        *("own_window", "own_either", "own_block"),
        *("missing_window", "missing_block", "pairs", "pairs_count"),
    ),
    "report": (
        *("report", "report_rank", "name", "name_relative", "named", "namesakes"),
        *("annual", "quarter"),
    ),
    "period": (
        *("year_gap", "years_window", "years_header", "years_either", "years_block"),
        *("years_asked", "numbers"),
    ),
    "table": ("rows", "digits", "tabular", "table_top", "statement"),
    "rivals": ("report_best", "report_third", "report_share", "report_place", "report_gap"),
    "question": ("terms_asked", "idf_asked", "idf_rarest", *(f"asks_{kind}" for kind in KINDS)),
    "neural": ("dense", "cross_encoder"),
}
NAMES = tuple(name for names in GROUPS.values() for name in names)

_GAP = 4

Columns = dict[str, NDArray[np.floating] | NDArray[np.integer] | NDArray[np.bool_] | float]


class EvidenceFeatures:
    """Computes the features of candidate windows, in arrays."""

    names = NAMES

    def __init__(self, finder: CandidateFinder) -> None:
        self.finder = finder
        self.reports = finder.reports

    def compute(
        self,
        candidates: Candidates,
        *,
        dense: NDArray[np.floating] | None = None,
        cross_encoder: NDArray[np.floating] | None = None,
    ) -> NDArray[np.float32]:
        """The features of each window, of shape ``(windows, names)``; one neural score a window, or none."""
        in_block = self._in_block(candidates)
        columns = (
            _order(candidates)
            | self._words(candidates)
            | self._match(candidates, in_block)
            | self._report(candidates)
            | self._period(candidates, in_block)
            | self._table(candidates)
            | _rivals(candidates)
            | self._question(candidates)
        )
        columns["dense"] = np.nan if dense is None else dense
        columns["cross_encoder"] = np.nan if cross_encoder is None else cross_encoder
        values = np.empty((len(candidates), len(NAMES)), dtype=np.float32)
        for column, name in enumerate(NAMES):
            values[:, column] = columns[name]
        return values

    @staticmethod
    def with_neural(features: NDArray[np.float32], said: NeuralScores) -> NDArray[np.float32]:
        """The same features as :meth:`compute` gives with neural scores, from those without."""
        values: NDArray[np.float32] = features.copy()
        values[:, NAMES.index("dense")] = said.dense
        values[:, NAMES.index("cross_encoder")] = said.cross_encoder
        return values

    def _idf(self, found: Candidates) -> NDArray[np.float64]:
        return self.finder.idf(found.terms, found.term_weights)

    def _idf_by_window(self, found: Candidates) -> NDArray[np.float64]:
        """The same for each window, of shape ``(terms, windows)``: a name counts less in its own reports."""
        idf = np.repeat(self._idf(found)[:, None], len(found), axis=1)
        for row, term in enumerate(found.terms.tolist()):
            damping = self.finder.damping(term, found.names)
            if damping is not None:
                idf[row] *= damping[found.report]
        return idf

    def _words(self, found: Candidates) -> Columns:
        reports = self.reports
        idf = self._idf(found)
        whole = max(float(idf.sum()), 1e-9)
        n_lines = found.last - found.first
        lines, line_of = np.unique(ranges(found.first, n_lines), return_inverse=True)
        begins = reports.token_ptr[lines]
        lengths = reports.token_ptr[lines + 1] - begins
        windows = reports.token_ptr[found.first]
        with self.finder.slots.of(found.terms) as slot_of:
            slots = slot_of[reports.tokens[ranges(begins, lengths)]]
            stream = slot_of[reports.tokens[ranges(windows, found.lengths)]]
        empty = np.zeros((len(found.terms), len(lines)), dtype=bool)
        in_line = held(slots, np.repeat(np.arange(len(lines)), lengths), empty)
        weight = idf @ in_line
        starts = np.cumsum(n_lines) - n_lines
        best, second = _two_largest(weight[line_of], starts)
        in_rows = np.where(reports.rows[lines], weight, 0.0)
        tightest = tightest_windows(stream, np.cumsum(found.lengths), len(found.terms))
        n_matched = (found.frequencies > 0).sum(axis=0)
        return {
            "words": found.word_score,
            "words_relative": found.word_score / max(found.word_score.max(), 1e-9),
            "words_rank": np.log1p(_places(found.word_score)),
            "line_best": best / whole,
            "line_second": second / whole,
            "row_best": np.maximum.reduceat(in_rows[line_of], starts) / whole,
            "window": n_matched / np.maximum(tightest, 1),
            "block": found.block_score,
            "block_relative": found.block_score / found.block_score.max(),
            "block_rank": np.log1p(ranks(found.block_score)),
            "block_words": found.block_words,
            **self._pairs(found, stream, idf),
        }

    def _pairs(self, found: Candidates, stream: NDArray[np.int32], idf: NDArray[np.float64]) -> Columns:
        """Neighbours in the question that are neighbours in the window."""
        place = {number: row for row, number in enumerate(found.terms.tolist())}
        numbers = [self.reports.lexicon.id_of(term) for term in found.question.sequence]
        rows = [None if number is None else place[number] for number in numbers]
        pairs = dict.fromkeys(
            (one, other) for one, other in pairwise(rows) if one is not None and other is not None
        )
        ends = np.cumsum(found.lengths)
        begins = ends - found.lengths
        weight, count, whole = np.zeros(len(found)), np.zeros(len(found)), 0.0
        side_by_side = np.zeros(len(stream) + 1, dtype=np.int32)
        for one, other in pairs:
            met = (stream[:-1] == one) & (stream[1:] == other)
            np.cumsum(met, out=side_by_side[1:-1])
            # A pair that starts with the last token of a window ends in the next one.
            holds = side_by_side[np.maximum(ends - 1, begins)] > side_by_side[begins]
            share = float(idf[one] + idf[other])
            whole += share
            weight += share * holds
            count += holds
        return {"pairs": weight / whole if whole else np.nan, "pairs_count": count}

    def _match(self, found: Candidates, in_block: NDArray[np.bool_]) -> Columns:
        idf = self._idf_by_window(found)
        whole = np.maximum(idf.sum(axis=0), 1e-9)
        heaviest = np.maximum(idf.max(axis=0), 1e-9)
        in_window = found.frequencies > 0
        in_either = in_window | found.in_header
        asked = frozenset(found.question.sequence)
        terms = self.reports.lexicon.terms
        own = idf * np.array([[terms[number] in asked] for number in found.terms.tolist()])
        own_whole = np.maximum(own.sum(axis=0), 1e-9)
        return {
            "in_window": (idf * in_window).sum(axis=0) / whole,
            "in_header": (idf * found.in_header).sum(axis=0) / whole,
            "in_either": (idf * in_either).sum(axis=0) / whole,
            "in_block": (idf * in_block).sum(axis=0) / whole,
            "own_window": (own * in_window).sum(axis=0) / own_whole,
            "own_either": (own * in_either).sum(axis=0) / own_whole,
            "own_block": (own * in_block).sum(axis=0) / own_whole,
            "matched": in_window.mean(axis=0),
            "missing_window": (idf * ~in_either).max(axis=0) / heaviest,
            "missing_block": (idf * ~(in_either | in_block)).max(axis=0) / heaviest,
        }

    def _in_block(self, found: Candidates) -> NDArray[np.bool_]:
        """Which terms stand in each window's block, of shape ``(terms, windows)``."""
        reports = self.reports
        blocks, block_of = np.unique(found.block, return_inverse=True)
        begins = reports.token_ptr[reports.block_starts[blocks]]
        lengths = reports.token_ptr[reports.block_starts[blocks + 1]] - begins
        with self.finder.slots.of(found.terms) as slot_of:
            slots = slot_of[reports.tokens[ranges(begins, lengths)]]
        empty = np.zeros((len(found.terms), len(blocks)), dtype=bool)
        in_block: NDArray[np.bool_] = held(slots, np.repeat(np.arange(len(blocks)), lengths), empty)[
            :, block_of
        ]
        return in_block

    def _report(self, found: Candidates) -> Columns:
        finder, names = self.finder, found.names
        scores = self.reports.whole.score(found.terms, found.term_weights).astype(np.float64)
        place = np.searchsorted(np.sort(-scores), -scores, side="left")
        named = float(names.max())
        quarter = found.question.quarter
        return {
            "report": scores[found.report] / max(scores.max(), 1e-9),
            "report_rank": np.log1p(place[found.report]),
            "name": names[found.report],
            "name_relative": names[found.report] / max(named, 1e-9),
            "named": named,
            "namesakes": float(np.log1p((names >= named - 1e-9).sum())) if named > 0.2 else 0.0,
            "annual": finder.annual[found.report],
            "quarter": finder.quarters[found.report] == quarter if quarter else np.nan,
        }

    def _period(self, found: Candidates, in_block: NDArray[np.bool_]) -> Columns:
        question, terms = found.question, self.reports.lexicon.terms
        fiscal = self.finder.fiscal_years[found.report]
        gap = np.clip(fiscal - question.report_year, -_GAP, _GAP).astype(np.float64)
        asked = {str(year) for year in question.years}
        words = [terms[number] for number in found.terms.tolist()]
        years = [row for row, word in enumerate(words) if word in asked]
        numbers = [row for row, word in enumerate(words) if is_number(word)]
        in_window, in_header = found.frequencies > 0, found.in_header

        def share(rows: list[int], where: NDArray[np.bool_], of: int) -> NDArray[np.float64] | float:
            return where[rows].sum(axis=0) / of if of else np.nan

        return {
            "year_gap": np.where((fiscal > 0) & (question.report_year > 0), gap, np.nan),
            "years_window": share(years, in_window, len(asked)),
            "years_header": share(years, in_header, len(asked)),
            "years_either": share(years, in_window | in_header, len(asked)),
            "years_block": share(years, in_block | in_header, len(asked)),
            "years_asked": float(len(asked)),
            "numbers": share(numbers, in_window, len(numbers)),
        }

    def _table(self, found: Candidates) -> Columns:
        reports = self.reports
        n_lines = found.last - found.first
        starts = np.cumsum(n_lines) - n_lines
        rows = np.add.reduceat(reports.rows[ranges(found.first, n_lines)].astype(np.int64), starts)
        tokens = reports.tokens[ranges(reports.token_ptr[found.first], found.lengths)]
        n_numbers = np.concatenate(([0], np.cumsum(reports.numeric[tokens])))
        ends = np.cumsum(found.lengths)
        asked = np.isin(found.statement, list(found.question.statements))
        header = reports.headers[found.first]
        return {
            "rows": rows / n_lines,
            "digits": (n_numbers[ends] - n_numbers[ends - found.lengths]) / np.maximum(found.lengths, 1),
            "tabular": header >= 0,
            "table_top": header == found.first,
            "statement": (found.statement > 0).astype(np.int64) + asked,
        }

    def _question(self, found: Candidates) -> Columns:
        idf = self._idf(found)
        kinds = query_kinds(found.question.text)
        return {
            "terms_asked": float(len(idf)),
            "idf_asked": float(idf.sum()),
            "idf_rarest": float(idf.max()),
            **{f"asks_{kind}": float(kind in kinds) for kind in KINDS},
        }


def _order(found: Candidates) -> Columns:
    _, block_of = np.unique(found.block, return_inverse=True)
    return {
        "score": found.score,
        "score_relative": found.score / found.score.max(),
        "score_rank": np.log1p(_places(found.score)),
        "block_gap": _best_of(found.score, block_of)[block_of] - found.score,
    }


def _rivals(found: Candidates) -> Columns:
    _, report_of = np.unique(found.report, return_inverse=True)
    best = _best_of(found.score, report_of)
    relative = best[report_of] / found.score.max()
    return {
        "report_best": relative,
        "report_third": _third_of(found.score, report_of)[report_of] / found.score.max(),
        "report_share": np.log1p(np.bincount(report_of))[report_of] / np.log1p(len(found)),
        "report_place": np.log1p(ranks(best))[report_of],
        "report_gap": relative - found.score / found.score.max(),
    }


def _places(scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """Each one's place from 0 in the order of scores, ties by their order here."""
    places = np.empty(len(scores), dtype=np.int64)
    places[np.argsort(-scores, kind="stable")] = np.arange(len(scores))
    return places


def _best_of(scores: NDArray[np.float64], group_of: NDArray[np.int64]) -> NDArray[np.float64]:
    best = np.full(int(group_of.max()) + 1, -np.inf)
    np.maximum.at(best, group_of, scores)
    return best


def _third_of(scores: NDArray[np.float64], group_of: NDArray[np.int64]) -> NDArray[np.float64]:
    """The third best of each group, or the worst of a smaller one."""
    order = np.lexsort((-scores, group_of))
    sizes = np.bincount(group_of)
    third: NDArray[np.float64] = scores[order[np.cumsum(sizes) - sizes + np.minimum(sizes, 3) - 1]]
    return third


def _two_largest(
    values: NDArray[np.float64], starts: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The largest and second largest of each stretch of values; 0 where there is no second.

    >>> [found.tolist() for found in _two_largest(np.array([1.0, 3.0, 2.0, 5.0]), np.array([0, 3]))]
    [[3.0, 5.0], [2.0, 0.0]]
    """
    largest = np.maximum.reduceat(values, starts)
    lengths = np.diff(starts, append=len(values))
    order = np.lexsort((-values, np.repeat(np.arange(len(starts)), lengths)))
    second = np.where(lengths > 1, values[order[np.minimum(starts + 1, len(values) - 1)]], 0.0)
    return largest, second
