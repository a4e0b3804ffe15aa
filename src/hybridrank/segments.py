"""A part of a lexical index that never changes, but for passages that are deleted from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import overload

import numpy as np
from numpy.typing import NDArray

from hybridrank.inversion import Inverted
from hybridrank.passage_store import StoredPassages, ids_of, in_order, store_passages
from hybridrank.postings import Postings
from hybridrank.records import Passage
from hybridrank.storage import IndexReader, IndexWriter
from hybridrank.text.lexicon import Lexicon, StringTable
from hybridrank.text.tokens import TermLookup, Tokenizer, Vocabulary

__all__ = ["Living", "Segment", "merged"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Segment:
    """Passages with their own vocabulary and postings.

    ``dead`` (bool, one a passage, or ``None``) marks the deleted ones; their share in the statistics is taken
    out by ``removed``, the ids of their terms, ascending, with the number of deleted passages that hold
    each, and ``removed_tokens``. ``source`` is the index that the segment was opened from.
    """

    name: str
    vocabulary: TermLookup
    postings: Postings
    passages: Sequence[Passage]
    dead: NDArray[np.bool_] | None = None
    removed: tuple[NDArray[np.int32], NDArray[np.int64]] | None = None
    removed_tokens: int = 0
    source: IndexReader | None = None

    @classmethod
    def build(
        cls, name: str, passages: Sequence[Passage], tokenizer: Tokenizer, *, k1: float, b: float
    ) -> Segment:
        """Index passages. Term ids are in the order of the terms, whichever passages they came from."""
        found = Vocabulary(tokenizer)
        ids, indptr = found.encode(passage.text for passage in passages)
        terms = sorted(found.terms)
        number = np.empty(len(terms), dtype=np.int32)
        number[np.fromiter(map(found.id_of, terms), dtype=np.int64, count=len(terms))] = np.arange(len(terms))
        del found
        ids = number[ids]
        postings = Postings.build(ids, indptr, n_terms=len(terms), k1=k1, b=b)
        return cls(name=name, vocabulary=Vocabulary(tokenizer, terms), postings=postings, passages=passages)

    def __len__(self) -> int:
        """The number of passages that are not deleted."""
        return len(self.passages) if self.dead is None else len(self.places)

    @property
    def n_tokens(self) -> int:
        """The number of terms, with repeats, of the passages that are not deleted."""
        return self.postings.n_tokens - self.removed_tokens

    @cached_property
    def silent(self) -> list[int]:
        """The places of passages without terms, deleted ones included."""
        heard = np.zeros(self.postings.n_documents, dtype=bool)
        heard[self.postings.docs] = True
        places: list[int] = np.flatnonzero(~heard).tolist()
        return places

    @cached_property
    def alive(self) -> NDArray[np.bool_]:
        """Which passages are not deleted."""
        return np.ones(len(self.passages), dtype=bool) if self.dead is None else ~self.dead

    @cached_property
    def places(self) -> NDArray[np.intp]:
        """The places of the passages that are not deleted, ascending."""
        return np.flatnonzero(self.alive)

    @cached_property
    def ids(self) -> StringTable:
        """The ids of all passages, deleted ones included."""
        if self.source is not None and isinstance(self.passages, StoredPassages):
            return StringTable.load(self.passages.ids, self.source, f"{self.name}/ids")
        return StringTable.of(list(ids_of(self.passages)))

    def find(self, passage_ids: Sequence[str]) -> list[int | None]:
        """The places of passages that are not deleted."""
        found = self.ids.find_all(passage_ids)
        return [place if place is not None and self.alive[place] else None for place in found]

    def document_frequency(self, terms: NDArray[np.integer]) -> NDArray[np.int64]:
        """In how many passages that are not deleted each of some terms occurs."""
        df: NDArray[np.int64] = self.postings.indptr[terms + 1] - self.postings.indptr[terms]
        if self.removed is not None:
            of, many = self.removed
            at = np.minimum(np.searchsorted(of, terms), max(len(of) - 1, 0))
            df = df - np.where(of[at] == terms, many[at], 0) if len(of) else df
        return df

    def without(self, places: Sequence[int]) -> Segment:
        """The segment with some more passages deleted."""
        dead = ~self.alive
        dead[list(places)] = True
        held = [self.vocabulary.lookup(self.passages[place].text) for place in places]
        terms = [np.unique(one) for one in held]
        before, many = self.removed or (np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int64))
        of, at = np.unique(np.concatenate([before, *terms]), return_inverse=True)
        counts = np.bincount(at, weights=np.concatenate([many, *(np.ones(len(one)) for one in terms)]))
        return replace(
            self,
            dead=dead,
            removed=(of.astype(np.int32), counts.astype(np.int64)),
            removed_tokens=self.removed_tokens + sum(map(len, held)),
        )

    def save(self, writer: IndexWriter) -> None:
        """Store the segment; what stands in the directory already is taken over."""
        if self.source is None or not writer.keep(self.source, self.name):
            Lexicon.save(self.vocabulary.terms, writer, f"{self.name}/terms")
            self.postings.save(writer, f"{self.name}/postings")
            store_passages(self.passages, writer, f"{self.name}/passages")
            self.ids.save(writer, f"{self.name}/ids")
        if self.dead is not None and self.removed is not None:
            writer.array(f"deleted/{self.name}/places", np.flatnonzero(self.dead))
            writer.array(f"deleted/{self.name}/terms", self.removed[0])
            writer.array(f"deleted/{self.name}/counts", self.removed[1])
            writer.json(f"deleted/{self.name}/tokens", self.removed_tokens)

    @classmethod
    def open(cls, reader: IndexReader, name: str, tokenizer: Tokenizer) -> Segment:
        """Open a segment that was stored."""
        segment = cls(
            name=name,
            vocabulary=Lexicon.load(tokenizer, reader, f"{name}/terms"),
            postings=Postings.load(reader, f"{name}/postings"),
            passages=StoredPassages(reader, f"{name}/passages"),
            source=reader,
        )
        if f"deleted/{name}/places" not in reader.parts:
            return segment
        dead = np.zeros(len(segment.passages), dtype=bool)
        dead[reader.array(f"deleted/{name}/places")] = True
        removed = reader.array(f"deleted/{name}/terms"), reader.array(f"deleted/{name}/counts")
        tokens = reader.json(f"deleted/{name}/tokens")
        return replace(segment, dead=dead, removed=removed, removed_tokens=tokens)


class Living(Sequence[Passage]):
    """The passages of segments, one after another, without deleted ones."""

    def __init__(self, segments: Sequence[Segment]) -> None:
        self._segments = segments
        self._starts = np.cumsum([0, *map(len, segments)])

    def __len__(self) -> int:
        return int(self._starts[-1])

    @overload
    def __getitem__(self, at: int) -> Passage: ...
    @overload
    def __getitem__(self, at: slice) -> list[Passage]: ...
    def __getitem__(self, at: int | slice) -> Passage | list[Passage]:
        if isinstance(at, slice):
            return [self[one] for one in range(*at.indices(len(self)))]
        if not -len(self) <= at < len(self):
            raise IndexError(f"no passage {at} among {len(self)}")
        at %= len(self)
        which = int(np.searchsorted(self._starts, at, side="right")) - 1
        segment = self._segments[which]
        return segment.passages[int(segment.places[at - self._starts[which]])]

    def __iter__(self) -> Iterator[Passage]:
        for segment in self._segments:
            yield from in_order(segment.passages, segment.places)


def merged(name: str, segments: Sequence[Segment], tokenizer: Tokenizer, *, k1: float, b: float) -> Segment:
    """One segment of all passages that are not deleted: the same as if it were built of them."""
    terms = sorted(set().union(*(_living_terms(segment) for segment in segments)))
    number_of = {term: number for number, term in enumerate(terms)}
    numbers, docs, frequencies, lengths = [], [], [], []
    start = 0
    for segment in segments:
        postings = segment.postings
        new = np.array([number_of.get(term, -1) for term in segment.vocabulary.terms], dtype=np.int32)
        place = np.cumsum(segment.alive) - 1 + start
        kept = segment.alive[postings.docs]
        numbers.append(np.repeat(new, postings.document_frequency)[kept])
        docs.append(place[postings.docs[kept]].astype(np.int32))
        frequencies.append(postings.frequencies[postings.codes[kept]])
        length = np.zeros(len(segment.passages), dtype=np.int64)
        length[postings.docs] = postings.lengths[postings.codes]
        lengths.append(length[segment.alive])
        start += len(segment)
    every = np.concatenate(numbers)
    order = np.argsort(every, kind="stable")  # merges what is sorted in parts, so it is fast
    indptr = np.concatenate(([0], np.cumsum(np.bincount(every, minlength=len(terms))))).astype(np.int64)
    inverted = Inverted(indptr, np.concatenate(docs)[order], np.concatenate(frequencies)[order])
    return Segment(
        name=name,
        vocabulary=Vocabulary(tokenizer, terms),
        postings=Postings.of_inverted(inverted, np.concatenate(lengths), k1=k1, b=b),
        passages=Living(segments),
    )


def _living_terms(segment: Segment) -> set[str]:
    df = segment.document_frequency(np.arange(segment.postings.n_terms))
    if segment.removed is None:
        return set(segment.vocabulary.terms)
    return {term for term, many in zip(segment.vocabulary.terms, df.tolist(), strict=True) if many}
