"""From a question to candidate windows, with all that is known of each in arrays.

Blocks are found first, then the best of them are opened into windows: one for each segment, of at most 512
characters. A block's score adds up what its words give (BM25, relative to the best block) and what its report
gives (name, year, quarter, form, all raised, none excluded). A window's score is BM25 of its own words and of
its table's header, with the corpus's inverse document frequencies, plus a share of its block's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hybridrank.postings import best, lucene_idf
from hybridrank.tasks.finance.index import IndexedReports
from hybridrank.tasks.finance.layout import CASH
from hybridrank.tasks.finance.question import ParsedQuestion, QuestionParser
from hybridrank.tasks.finance.streams import TermSlots, held, ranges

__all__ = ["CandidateFinder", "Candidates", "Weights"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Weights:
    """How much each kind of evidence counts; found on validation questions, companies held out in turn.

    Block scores are relative to the best block of the question, so 1 is as much as all its words can give.
    """

    name: float = 1.5
    year: float = 0.3
    next_year: float = 0.6  # shares of `year`: the report after the year asked for also shows it
    year_after_next: float = 0.3
    year_before: float = 0.2
    quarter: float = 0.3
    annual: float = 0.1
    statement: float = 0.3
    header: float = 0.5  # what a term of a table's header counts in a row's window
    block: float = 0.8  # share of the block's score in a window's
    named_term: float = 0.1  # what a company's name still counts inside its own report
    k1: float = 0.4
    b: float = 0.4
    depth: int = 60  # blocks opened


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Candidates:
    """Windows for one question, best block first; all arrays have one entry a window.

    ``first``/``last`` are its segments (exclusive end) and ``report`` its report's place; ``start``/``end``
    are ``str`` positions in the report. ``frequencies`` has shape ``(terms, windows)``: how often each of
    ``terms`` (ids, with ``term_weights``) stands in the window, and ``in_header`` whether it stands in the
    header of its table. ``score`` is what the windows are ranked by. ``names`` is the exception: how well
    each report of the index is named.
    """

    question: ParsedQuestion
    terms: NDArray[np.int32]
    term_weights: NDArray[np.float64]
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    report: NDArray[np.int32]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    frequencies: NDArray[np.int32]
    in_header: NDArray[np.bool_]
    lengths: NDArray[np.int64]
    block: NDArray[np.int64]
    block_score: NDArray[np.float64]
    block_words: NDArray[np.float64]
    word_score: NDArray[np.float64]
    statement: NDArray[np.int8]
    score: NDArray[np.float64]
    names: NDArray[np.float64]

    def best(self, n: int) -> Candidates:
        """The ``n`` windows that score best, in the same order as here."""
        if n >= len(self):
            return self
        kept = np.sort(np.argsort(-self.score, kind="stable")[:n])
        return replace(
            self,
            frequencies=self.frequencies[:, kept],
            in_header=self.in_header[:, kept],
            **{name: getattr(self, name)[kept] for name in _ONE_EACH},
        )

    def __len__(self) -> int:
        return len(self.first)


_ONE_EACH = (
    *("first", "last", "report", "start", "end", "lengths", "block"),
    *("block_score", "block_words", "word_score", "statement", "score"),
)


class CandidateFinder:
    """Finds and scores the windows of an index for a question."""

    def __init__(self, reports: IndexedReports, weights: Weights | None = None) -> None:
        self.reports = reports
        self.weights = weights or Weights()
        self.parser = QuestionParser(reports.lexicon.tokenizer)
        profiles = reports.profiles
        self.fiscal_years = np.array([profile.fiscal_year for profile in profiles], dtype=np.int64)
        self.quarters = np.array([profile.quarter for profile in profiles], dtype=np.int64)
        self.annual = np.array([profile.form == "10-K" for profile in profiles], dtype=bool)
        self.slots = TermSlots(len(reports.lexicon))
        self.n_blocks = len(reports.block_starts) - 1
        holding = reports.statements[reports.block_starts[:-1]] if self.n_blocks else np.zeros(0, np.int8)
        self._block_statement = holding

    def find(self, text: str) -> Candidates | None:
        """The windows of the best blocks, or ``None`` when the corpus knows no word of the question."""
        question = self.parser(text)
        known = {
            number: weight
            for term, weight in question.terms.items()
            if (number := self.reports.lexicon.id_of(term)) is not None
        }
        if not known:
            return None
        terms = np.array(sorted(known), dtype=np.int32)
        term_weights = np.array([known[number] for number in terms.tolist()])
        names = self.reports.names.match(question)
        block_words = self._block_words(terms, term_weights, names)
        block_scores = self._block_scores(question, block_words, names)
        matched = np.flatnonzero(block_scores > 0)
        blocks, scores = best(matched, block_scores[matched], self.weights.depth)
        if len(blocks) == 0:
            return None
        return self._open(question, terms, term_weights, names, blocks, scores, block_words[blocks])

    def _block_words(
        self, terms: NDArray[np.int32], term_weights: NDArray[np.float64], names: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """BM25 of every block, relative to the best."""
        reports = self.reports
        words = np.zeros(self.n_blocks)
        for term, weight in zip(terms.tolist(), term_weights.tolist(), strict=True):
            docs, impacts = reports.blocks.of(term)
            damping = self.damping(term, names)
            given = weight * impacts
            if damping is not None:
                given = given * damping[reports.report_of_block[docs]]
            words[docs] += given
        relative: NDArray[np.float64] = words / max(words.max(initial=0.0), 1e-9)
        return relative

    def _block_scores(
        self, question: ParsedQuestion, words: NDArray[np.float64], names: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """What the words of every block and its report give together; 0 where no word matches."""
        weights = self.weights
        of_report = (
            weights.name * names
            + weights.year * self._year_match(question.report_year)
            + weights.annual * self.annual
        )
        if question.quarter:
            of_report += weights.quarter * (self.quarters == question.quarter)
        scores = words + np.repeat(of_report, np.diff(self.reports.block_ptr))
        scores += self._statement_bonus(question, names, self._block_statement)
        matched: NDArray[np.float64] = np.where(words > 0, scores, 0.0)
        return matched

    def _statement_bonus(
        self, question: ParsedQuestion, names: NDArray[np.float64], statements: NDArray[np.int8]
    ) -> NDArray[np.float64]:
        """What it gives to stand on a primary statement that is asked for.

        The better a report is named, the more: without a name, a word like *sales* may ask for any table.
        """
        bonus = np.zeros(CASH + 1)
        bonus[list(question.statements)] = self.weights.statement * min(
            1.0, 2 * float(names.max(initial=0.0))
        )
        return bonus[statements]

    def idf(self, terms: NDArray[np.int32], term_weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """The idf of each term among blocks, times its weight in the question."""
        blocks = self.reports.blocks
        df = blocks.indptr[terms + 1] - blocks.indptr[terms]
        idf: NDArray[np.float64] = lucene_idf(df, self.n_blocks) * term_weights
        return idf

    def damping(self, term: int, names: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """What a term of a company's name counts in each report: little in the reports that it names."""
        named = self.reports.names.named_by(term)
        if named is None:
            return None
        damping: NDArray[np.float64] = 1 - (1 - self.weights.named_term) * np.minimum(1, 2 * names) * named
        return damping

    def _year_match(self, year: int) -> NDArray[np.float64]:
        match = np.zeros(len(self.fiscal_years))
        if year:
            weights = self.weights
            for later, share in (
                (0, 1.0),
                (1, weights.next_year),
                (2, weights.year_after_next),
                (-1, weights.year_before),
            ):
                match[self.fiscal_years == year + later] = share
        return match

    def _open(
        self,
        question: ParsedQuestion,
        terms: NDArray[np.int32],
        term_weights: NDArray[np.float64],
        names: NDArray[np.float64],
        blocks: NDArray[np.int64],
        block_scores: NDArray[np.float64],
        block_words: NDArray[np.float64],
    ) -> Candidates:
        reports, weights = self.reports, self.weights
        firsts, ends = reports.block_starts[blocks], reports.block_starts[blocks + 1]
        n_segments = ends - firsts
        of_block = np.repeat(np.arange(len(blocks)), n_segments)
        first = ranges(firsts, n_segments)
        last = reports.window_ends[first].astype(np.int64)
        # The tokens of each block, and of the segments after it into which its last windows reach.
        from_token = reports.token_ptr[firsts]
        n_tokens = reports.token_ptr[reports.window_ends[ends - 1]] - from_token
        offset = np.cumsum(n_tokens) - n_tokens
        headers, header_of = np.unique(reports.headers[first], return_inverse=True)
        with self.slots.of(terms) as slot_of:
            slots = slot_of[reports.tokens[ranges(from_token, n_tokens)]]
            header_terms = self._header_terms(headers, slot_of, len(terms))
        shift = (offset - from_token)[of_block]
        begin, until = reports.token_ptr[first] + shift, reports.token_ptr[last] + shift
        running = np.zeros(len(slots) + 1, dtype=np.int32)
        frequencies = np.empty((len(terms), len(first)), dtype=np.int32)
        for slot in range(len(terms)):
            np.cumsum(slots == slot, out=running[1:])
            frequencies[slot] = running[until] - running[begin]
        report = reports.report_of_block[blocks][of_block]
        in_header = header_terms[:, header_of]
        lengths = until - begin
        words = self._word_scores(terms, term_weights, frequencies, in_header, lengths, names, report)
        statement = reports.statements[first]
        block_score = block_scores[of_block]
        score = words / max(words.max(initial=0.0), 1e-9) + weights.block * block_score
        score += self._statement_bonus(question, names, statement)
        return Candidates(
            question=question,
            terms=terms,
            term_weights=term_weights,
            first=first,
            last=last,
            report=report,
            start=reports.starts[first].astype(np.int64),
            end=reports.ends[last - 1].astype(np.int64),
            frequencies=frequencies,
            in_header=in_header,
            lengths=lengths,
            block=blocks[of_block],
            block_score=block_score,
            block_words=block_words[of_block],
            word_score=words,
            statement=statement,
            score=score,
            names=names,
        )

    def _header_terms(
        self, headers: NDArray[np.int32], slot_of: NDArray[np.int32], n_terms: int
    ) -> NDArray[np.bool_]:
        """Which terms stand in each table's header: two lines above its first row, and its first two rows.

        Shape ``(terms, headers)``; header -1 has none.
        """
        reports = self.reports
        found = np.zeros((n_terms, len(headers)), dtype=bool)
        real = np.flatnonzero(headers >= 0)
        rows = headers[real].astype(np.int64)
        of_report = np.searchsorted(reports.segment_ptr, rows, side="right")
        begins = np.maximum(rows - 2, reports.segment_ptr[of_report - 1])
        stops = np.minimum(rows + 2, reports.segment_ptr[of_report])
        from_token = reports.token_ptr[begins]
        n_tokens = reports.token_ptr[stops] - from_token
        slots = slot_of[reports.tokens[ranges(from_token, n_tokens)]]
        return held(slots, np.repeat(real, n_tokens), found)

    def _word_scores(
        self,
        terms: NDArray[np.int32],
        term_weights: NDArray[np.float64],
        frequencies: NDArray[np.int32],
        in_header: NDArray[np.bool_],
        lengths: NDArray[np.int64],
        names: NDArray[np.float64],
        report: NDArray[np.int32],
    ) -> NDArray[np.float64]:
        weights = self.weights
        idf = self.idf(terms, term_weights)
        damping = weights.k1 * (1 - weights.b + weights.b * lengths / self.reports.window_length)
        tf = np.maximum(frequencies, weights.header * in_header)
        shares = tf / (tf + damping) * idf[:, None]
        for row, term in enumerate(terms.tolist()):
            name_damping = self.damping(term, names)
            if name_damping is not None:
                shares[row] *= name_damping[report]
        scores: NDArray[np.float64] = shares.sum(axis=0)
        return scores
