"""The finance index: reports as segments, blocks and a stream of term ids, built in one pass.

Reports are read one by one and taken apart by as many processes as are given (see
:mod:`hybridrank.tasks.finance.parts`); what these make is put together in the order of the reports, so that
their number changes no byte. Memory holds a few reports a process, and then what postings need.

Parts of the index directory
    ``terms/…`` the vocabulary, ``numeric`` (bool) which of its terms are numbers and no years;
    ``tokens`` every report's term ids in reading order (int32); per segment
    ``starts``, ``ends``, ``headers``, ``window_ends`` (int32), ``statements`` (int8), ``rows`` (bool) and
    ``token_ptr`` (int64, one more: where its terms begin in ``tokens``); ``segment_ptr`` and ``block_ptr``
    (int64, one more than reports: where a report's segments and blocks begin); ``block_starts`` (int64, one
    more than blocks: the first segment of each); ``blocks/…`` BM25 postings of blocks,
    ``whole/…`` of reports; ``ids`` and ``texts``
    of the reports; ``profiles``.
"""

from __future__ import annotations

import hashlib
import warnings
from array import array
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hybridrank.array_files import open_array
from hybridrank.errors import HybridrankWarning, IndexTooNew
from hybridrank.postings import Postings
from hybridrank.storage import ArrayWriter, IndexReader, IndexWriter
from hybridrank.tasks.finance.corpus import Report, read_reports
from hybridrank.tasks.finance.lexicon import is_number
from hybridrank.tasks.finance.names import Names
from hybridrank.tasks.finance.parts import Parts, PartsMaker, make_parts
from hybridrank.tasks.finance.profile import Profile
from hybridrank.tasks.finance.workers import in_order, workers_for_build
from hybridrank.text.lexicon import Lexicon
from hybridrank.text.tokens import Tokenizer

__all__ = ["BuildReport", "IndexedReports", "build"]

_KIND = "finance"
_SCHEME = 3  # raised whenever the same reports would give other parts
BLOCK_K1, BLOCK_B = 0.9, 0.4
REPORT_K1, REPORT_B = 1.2, 0.75

Progress = Callable[[int, int], None]
"""Called with the number of reports and of characters done so far."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BuildReport:
    """What was built: counts, and reports passed over because their id came before."""

    reports: int
    characters: int
    segments: int
    blocks: int
    terms: int
    repeated: int


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class IndexedReports:
    """An opened index; arrays as the module describes them, memory-mapped.

    ``directory`` is where it was opened, and ``stamp`` tells it from any other that may stand there later.
    """

    directory: Path
    stamp: str
    lexicon: Lexicon
    numeric: NDArray[np.bool_]
    tokens: NDArray[np.int32]
    starts: NDArray[np.int32]
    ends: NDArray[np.int32]
    headers: NDArray[np.int32]
    window_ends: NDArray[np.int32]
    statements: NDArray[np.int8]
    rows: NDArray[np.bool_]
    token_ptr: NDArray[np.int64]
    segment_ptr: NDArray[np.int64]
    block_ptr: NDArray[np.int64]
    block_starts: NDArray[np.int64]
    blocks: Postings
    whole: Postings
    ids: Any  # a lazy sequence of str
    texts: Any  # a lazy sequence of str
    profiles: list[Profile]
    names: Names
    report_of_block: NDArray[np.int32]
    window_length: float

    @classmethod
    def open(
        cls, directory: str | PathLike[str], *, verify: Literal["auto", "full"] = "auto"
    ) -> IndexedReports:
        """Open an index; :meth:`hybridrank.storage.IndexReader.open` says what is checked and raised.

        Raises :class:`~hybridrank.errors.IndexTooNew` when another version laid it out in another way.
        """
        reader = IndexReader.open(directory, kind=_KIND, verify=verify)
        scheme = reader.settings.get("scheme")
        if scheme != _SCHEME:
            raise IndexTooNew(
                reader.directory,
                f"its parts follow scheme {scheme!r}, where this version has {_SCHEME}",
                "Build the index again, or use the version of hybridrank that built it.",
            )
        tokenizer = Tokenizer.from_settings(reader.settings["tokenizer"])
        lexicon = Lexicon.load(tokenizer, reader)
        blocks = Postings.load(reader, "blocks")
        profiles = [Profile.from_json(value) for value in reader.json("profiles")]
        block_ptr = reader.array("block_ptr")
        report_of_block = np.repeat(np.arange(len(profiles), dtype=np.int32), np.diff(block_ptr))
        return cls(
            directory=reader.directory,
            stamp=hashlib.sha256(repr(sorted(reader.entries.items())).encode()).hexdigest(),
            lexicon=lexicon,
            numeric=reader.array("numeric"),
            **{name: reader.array(name) for name in (*_PER_SEGMENT, "tokens", "token_ptr")},
            **{name: reader.array(name) for name in ("segment_ptr", "block_starts")},
            block_ptr=block_ptr,
            blocks=blocks,
            whole=Postings.load(reader, "whole"),
            ids=reader.strings("ids"),
            texts=reader.strings("texts"),
            profiles=profiles,
            names=Names(profiles, lexicon, blocks, report_of_block),
            report_of_block=report_of_block,
            window_length=reader.settings["window_length"],
        )


_PER_SEGMENT: dict[str, type[np.generic]] = {
    "starts": np.int32,
    "ends": np.int32,
    "headers": np.int32,
    "window_ends": np.int32,
    "statements": np.int8,
    "rows": np.bool_,
}


def build(
    corpus: str | PathLike[str],
    index_dir: str | PathLike[str],
    *,
    workers: int | None = 1,
    progress: Progress | None = None,
) -> BuildReport:
    """Index the reports of ``corpus/reports.jsonl`` in a directory, in place of an index that is there.

    ``workers`` processes share the work, ``None`` for as many as are worth their start; more than one need a
    program whose own work stands below ``if __name__ == "__main__":``. Should one of them be lost, a
    :class:`~hybridrank.errors.HybridrankWarning` says so, and the rest is done in this process. So does one
    for a report whose ``document_id`` came before, which is passed over.

    Raises :class:`~hybridrank.errors.InputError` for a line that cannot be read, with file, line and reason,
    and what :class:`~hybridrank.storage.IndexWriter` raises; the index that was there then stays.
    """
    settings: dict[str, Any] = {"scheme": _SCHEME, "tokenizer": Tokenizer().settings()}
    with IndexWriter(index_dir, kind=_KIND, settings=settings) as writer:
        collected = _Collected()
        with ExitStack() as stack:
            streams = {
                name: stack.enter_context(writer.open_array(name, kind))
                for name, kind in (_PER_SEGMENT | {"tokens": np.int32}).items()
            }
            number = workers_for_build(workers, corpus)
            reports = _add_all(corpus, collected, streams, number, progress)
            writer.strings("texts", (report.text for report in reports))
        writer.strings("ids", collected.ids)
        writer.json("profiles", [profile.to_json() for profile in collected.profiles])
        for name in ("segment_ptr", "block_ptr"):
            writer.array(name, np.array(getattr(collected, name), dtype=np.int64))
        token_ptr, block_starts = collected.token_ptr(), collected.block_starts()
        writer.array("token_ptr", token_ptr)
        writer.array("block_starts", block_starts)
        terms = list(collected.numbers)
        Lexicon.save(terms, writer)
        writer.array("numeric", np.fromiter(map(is_number, terms), dtype=bool, count=len(terms)))
        tokens = open_array(streams["tokens"].path)  # from the disk, for they may be many
        for name, starts, k1, b in (
            ("blocks", block_starts, BLOCK_K1, BLOCK_B),
            ("whole", np.array(collected.segment_ptr), REPORT_K1, REPORT_B),
        ):
            Postings.build(tokens, token_ptr[starts], n_terms=len(terms), k1=k1, b=b).save(writer, name)
        writer.settings["window_length"] = collected.window_length()
    return BuildReport(
        reports=len(collected.ids),
        characters=collected.characters,
        segments=len(token_ptr) - 1,
        blocks=len(block_starts) - 1,
        terms=len(terms),
        repeated=collected.repeated,
    )


class _Collected:
    """What a build gathers in memory: everything but the texts, their terms and the per-segment arrays."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}  # of terms, in order of first appearance
        self.ids: list[str] = []
        self.lines: dict[str, int] = {}
        self.profiles: list[Profile] = []
        self.segment_ptr = [0]
        self.block_ptr = [0]
        self.characters = 0
        self.repeated = 0
        self._known: dict[int, array[int]] = {}  # for each maker of parts, the numbers of its terms
        self._token_counts: list[NDArray[np.int32]] = [np.zeros(0, dtype=np.int32)]
        self._blocks: list[NDArray[np.int64]] = [np.zeros(0, dtype=np.int64)]
        self._window_tokens = 0

    def add(self, report: Report, parts: Parts) -> NDArray[np.int32]:
        """Take the next report in; returns its terms by their numbers in the index."""
        # A maker sees reports in their order. So a term that is new to all is new to it, and comes here in
        # the order of first appearance, as when there is one maker.
        known = self._known.setdefault(parts.maker, array("i"))
        known.extend(self.numbers.setdefault(term, len(self.numbers)) for term in parts.new_terms)
        self._window_tokens += parts.window_tokens
        self._token_counts.append(parts.counts)
        base = self.segment_ptr[-1]
        self._blocks.append(parts.layout.blocks.astype(np.int64) + base)
        self.segment_ptr.append(base + len(parts.layout.starts))
        self.block_ptr.append(self.block_ptr[-1] + len(parts.layout.blocks))
        self.ids.append(report.document_id)
        self.profiles.append(parts.profile)
        self.characters += len(report.text)
        return np.asarray(known, dtype=np.int32)[parts.tokens]

    def token_ptr(self) -> NDArray[np.int64]:
        return np.concatenate(([0], np.cumsum(np.concatenate(self._token_counts), dtype=np.int64)))

    def block_starts(self) -> NDArray[np.int64]:
        return np.concatenate([*self._blocks, np.array(self.segment_ptr[-1:])])

    def window_length(self) -> float:
        """The mean number of terms in a window."""
        return max(self._window_tokens / max(self.segment_ptr[-1], 1), 1.0)


def _add_all(
    corpus: str | PathLike[str],
    collected: _Collected,
    streams: dict[str, ArrayWriter],
    workers: int,
    progress: Progress | None,
) -> Iterator[Report]:
    """Take all reports in, writing their arrays as they pass by; yields those that were taken."""
    reports = _distinct(corpus, collected)
    for report, parts in in_order(reports, make_parts, PartsMaker(), workers=workers, complain=_warn):
        base = np.int32(collected.segment_ptr[-1])
        streams["tokens"].append(collected.add(report, parts))
        for name in _PER_SEGMENT:
            values = getattr(parts.layout, name)
            if name == "window_ends":
                values = values + base
            elif name == "headers":
                values = np.where(values >= 0, values + base, values)
            streams[name].append(values)
        yield report
        if progress is not None:
            progress(len(collected.ids), collected.characters)


def _distinct(corpus: str | PathLike[str], collected: _Collected) -> Iterator[Report]:
    """The reports of a corpus but those whose id came before."""
    for report in read_reports(corpus):
        first = collected.lines.setdefault(report.document_id, report.line)
        if first == report.line:
            yield report
            continue
        collected.repeated += 1
        _warn(
            f"the report on line {report.line} has the document_id {report.document_id!r} of the one on "
            f"line {first}, and is passed over"
        )


def _warn(message: str) -> None:
    warnings.warn(message, HybridrankWarning, stacklevel=2)
