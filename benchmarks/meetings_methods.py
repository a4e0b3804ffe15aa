"""The usual ways of choosing what to keep of a meeting, to stand beside ours.

All choose among the same candidates, the turns of at least eight words with tags taken out, and rank them
within a meeting; the budget is then shared evenly among the meetings.
"""

from __future__ import annotations

import heapq
import json
import math
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hybridrank.tasks.meetings.history import Meeting
from hybridrank.tasks.meetings.scoring import Source, content_words

LEAST_WORDS = 8
_TAG = re.compile(r"\{[^{}]*\}|<[^<>]*>")
_K1, _B = 1.2, 0.75
_THRESHOLD, _DAMPING, _ROUNDS = 0.1, 0.85, 50


class Candidate(NamedTuple):
    """A turn that may be kept, and its content words with repeats."""

    source: Source
    words: list[str]


Order = Callable[[Sequence[Candidate], random.Random], Iterable[int]]


def candidates(meetings: Iterable[Meeting]) -> list[list[Candidate]]:
    """The candidates of each meeting, in order."""
    return [
        [
            Candidate(Source(f"{turn.speaker}: {text}", meeting.meeting_id, at, at), content_words(turn.text))
            for at, turn in enumerate(meeting.turns)
            if len(text := " ".join(_TAG.sub(" ", turn.text).split())) and len(text.split()) >= LEAST_WORDS
        ]
        for meeting in meetings
    ]


def select(
    meetings: Sequence[Sequence[Candidate]], order: Order, max_bytes: int, *, seed: int = 0
) -> list[Source]:
    """What fits into ``max_bytes`` of JSON when each meeting's candidates are taken in their order, always
    from the meeting that has got the least so far; in the order of the history."""
    chance = random.Random(seed)
    queues = [list(order(one, chance)) for one in meetings]
    heap = [(0, at, 0) for at, queue in enumerate(queues) if queue]
    size = 2
    chosen: list[tuple[int, int]] = []
    while heap:
        used, at, place = heapq.heappop(heap)
        number = queues[at][place]
        cost = json_bytes([meetings[at][number].source])
        if size + cost <= max_bytes:
            chosen.append((at, number))
            size += cost
            used += cost
        if place + 1 < len(queues[at]):
            heapq.heappush(heap, (used, at, place + 1))
    return [meetings[at][number].source for at, number in sorted(chosen)]


def json_bytes(sources: Iterable[Source]) -> int:
    """What notes measure in a JSON list with one on each line."""
    return sum(len(json.dumps(one.text, ensure_ascii=False).encode("utf-8")) + 2 for one in sources)


def first(found: Sequence[Candidate], chance: random.Random) -> Iterable[int]:
    """From the meeting's beginning on."""
    return range(len(found))


def longest(found: Sequence[Candidate], chance: random.Random) -> Iterable[int]:
    """The longest turns."""
    return _best([float(len(one.source.text)) for one in found])


def at_random(found: Sequence[Candidate], chance: random.Random) -> Iterable[int]:
    """Any turns, the same ones each time."""
    return chance.sample(range(len(found)), len(found))


def tf_isf(found: Sequence[Candidate], chance: random.Random) -> Iterable[int]:
    """Turns whose words are frequent in them and rare in the meeting (Neto et al., Generating Text Summaries
    through the Relative Importance of Topics, 2000)."""
    rare = _inverse_frequency(found)
    scores = []
    for one in found:
        counts = Counter(one.words)
        scores.append(sum(count * rare[word] for word, count in counts.items()) / max(1, len(counts)))
    return _best(scores)


def bm25_centrality(found: Sequence[Candidate], chance: random.Random) -> Iterable[int]:
    """Turns that BM25 finds often when the others are the queries (Barrios et al., Variations of the
    Similarity Function of TextRank, 2016)."""
    counts = _counts(found)
    if not counts.shape[0]:
        return []
    lengths = np.asarray(counts.sum(axis=1)).ravel()
    frequency = np.asarray((counts > 0).sum(axis=0)).ravel()
    idf = np.log1p((len(found) - frequency + 0.5) / (frequency + 0.5))
    norm = _K1 * (1 - _B + _B * lengths / max(lengths.mean(), 1e-9))
    weights = counts.tocoo()
    values = weights.data * (_K1 + 1) / (weights.data + norm[weights.row]) * idf[weights.col]
    scores = sparse.csr_matrix((values, (weights.row, weights.col)), shape=counts.shape)
    similar = (scores @ (counts > 0).T.astype(float)).tolil()
    similar.setdiag(0)
    return _best(np.asarray(similar.tocsr().sum(axis=1)).ravel().tolist())


def lexrank(found: Sequence[Candidate], chance: random.Random) -> Iterable[int]:
    """Turns that are like many turns that are like many (Erkan and Radev, LexRank, 2004)."""
    counts = _counts(found)
    if not counts.shape[0]:
        return []
    frequency = np.asarray((counts > 0).sum(axis=0)).ravel()
    weighted = counts @ sparse.diags(np.log(len(found) / np.maximum(frequency, 1)))
    norms = np.sqrt(np.asarray(weighted.multiply(weighted).sum(axis=1)).ravel())
    unit = sparse.diags(1 / np.maximum(norms, 1e-9)) @ weighted
    alike: NDArray[np.float64] = ((unit @ unit.T) > _THRESHOLD).toarray().astype(float)
    steps = alike / np.maximum(alike.sum(axis=1, keepdims=True), 1)
    rank = np.full(len(found), 1 / len(found))
    for _ in range(_ROUNDS):
        rank = (1 - _DAMPING) / len(found) + _DAMPING * rank @ steps
    return _best(rank.tolist())


def idf_coverage(found: Sequence[Candidate], chance: random.Random) -> Iterable[int]:
    """Turn by turn, the one that adds most for its length: rare words that no chosen turn has (a lazy greedy
    cover; Lin and Bilmes, 2011)."""
    rare = _inverse_frequency(found)
    covered: set[str] = set()

    def gain(at: int) -> float:
        new = set(found[at].words) - covered
        return sum(rare[word] for word in new) / (20 + len(found[at].source.text.encode("utf-8")))

    heap = [(-gain(at), at) for at in range(len(found))]
    heapq.heapify(heap)
    while heap:
        promised, at = heapq.heappop(heap)
        actual = -gain(at)
        if heap and actual > promised and actual > heap[0][0]:
            heapq.heappush(heap, (actual, at))
            continue
        covered.update(found[at].words)
        yield at


ORDERS: Mapping[str, Order] = {
    "first": first,
    "longest": longest,
    "random": at_random,
    "TF-ISF": tf_isf,
    "BM25 centrality": bm25_centrality,
    "LexRank": lexrank,
    "idf coverage": idf_coverage,
}


def _best(scores: Sequence[float]) -> list[int]:
    return sorted(range(len(scores)), key=lambda at: (-scores[at], at))


def _inverse_frequency(found: Sequence[Candidate]) -> dict[str, float]:
    counts = Counter(word for one in found for word in set(one.words))
    return {word: math.log((len(found) + 1) / count) for word, count in counts.items()}


def _counts(found: Sequence[Candidate]) -> sparse.csr_matrix:
    """How often each candidate (row) has each word (column)."""
    number: dict[str, int] = {}
    rows, columns, values = [], [], []
    for row, one in enumerate(found):
        for word, count in Counter(one.words).items():
            rows.append(row)
            columns.append(number.setdefault(word, len(number)))
            values.append(float(count))
    return sparse.csr_matrix((values, (rows, columns)), shape=(len(found), max(1, len(number))))
