"""The best few documents of a query, compiled: MaxScore window by window.

Documents are passed through in windows. In each, the terms without which no document can be among the best
are added up in an array that stays in the cache. Documents whose sum, with all that the other terms could
add, reaches the k-th score so far are listed; the other terms are added too, most promising first, or looked
up for these documents alone where they have become few. What still reaches the k-th score gets its exact one:
the float32 sum in the order of term ids.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hybridrank.asked import Asked, PostingLists
from hybridrank.maxscore import leeway

__all__ = ["prepare", "top", "top_many"]

_WINDOW = 1 << 14  # documents whose sums are kept at a time: 64 KiB, far less than a second-level cache
_SPARSE = (
    16  # with fewer postings than documents / _SPARSE in a window, only documents that match are touched
)
_GROUP = 64  # sums compared at a time
_SURE = 0.4  # terms are optional below this share of the threshold, so that fewer documents are listed
_PROBE = 24  # looking up one document costs about as much as adding up so many postings
_NONE = np.uint32(0xFFFFFFFF)  # stands for "no document"
_TINY = 1e-45  # becomes the least float32 above 0
_ALL = np.ones(0, dtype=np.bool_)  # stands for "every document is allowed"


def prepare(codes: str) -> None:
    """Compile what searches postings whose codes are of a type, or load it where it was compiled before."""
    one = np.ones(1)
    whole = np.array([0, 1])
    asked = (whole[:1], whole[1:], one, one.astype(np.float32), one, whole)
    _run((np.zeros(1, np.int32), np.zeros(1, codes), one), asked, 1, _ALL, 1.0)


def top(
    postings: PostingLists, asked: Asked, k: int, allowed: NDArray[np.bool_] | None = None
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """The best ``k`` documents, by score descending and then document ascending."""
    ptr = np.array([0, len(asked.terms)])
    ((docs, scores),) = top_many(postings, asked, ptr, k, allowed)
    return docs, scores


def top_many(
    postings: PostingLists,
    asked: Asked,
    ptr: NDArray[np.int64],
    k: int,
    allowed: NDArray[np.bool_] | None = None,
) -> list[tuple[NDArray[np.int32], NDArray[np.float32]]]:
    """The same of many queries; the terms of query ``i`` are those from ``ptr[i]`` to ``ptr[i + 1]``."""
    longest = int(np.diff(ptr).max(initial=0))
    k = max(1, min(k, postings.n_documents))
    queries = (asked.starts, asked.ends, asked.idf, asked.weights, asked.bounds, ptr)
    lists = (postings.docs, postings.codes, postings.gains)
    docs, scores, found = _run(lists, queries, k, _ALL if allowed is None else allowed, leeway(longest))
    return [(docs[at, :many], scores[at, :many]) for at, many in enumerate(found.tolist())]


def _run(lists: Any, queries: Any, k: int, allowed: Any, slack: float) -> Any:
    docs, codes, gains = lists
    n_queries = len(queries[-1]) - 1
    best_docs = np.empty((n_queries, k), dtype=np.int32)
    best_scores = np.empty((n_queries, k), dtype=np.float32)
    found = np.empty(n_queries, dtype=np.int64)
    _search_all(
        _read_only(docs.view(np.uint32)),
        _read_only(codes),
        gains,
        gains.astype(np.float32),
        *queries,
        _read_only(allowed),
        slack,
        best_docs,
        best_scores,
        found,
    )
    return best_docs, best_scores, found


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    # Arrays in memory as well as mapped ones: for each kind of array all would be compiled anew.
    view: NDArray[Any] = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def _compiled(function: Any) -> Any:
    # Without the lock of the interpreter, so that threads search at the same time.
    return njit(nogil=True, boundscheck=False)(function)


def _compiled_once(function: Any) -> Any:
    # What is compiled is kept where numba keeps such files, beside this one or else in the user's cache (the
    # variable NUMBA_CACHE_DIR names another place), and never in an index.
    try:
        return njit(nogil=True, boundscheck=False, cache=True)(function)
    except RuntimeError:  # no place that may be written to
        return _compiled(function)


@_compiled
def _find(docs: Any, low: int, high: int, doc: Any) -> Any:
    """The first place from ``low`` on, and before ``high``, whose document is ``doc`` or a later one."""
    size = high - low
    while size > 0:  # without a branch, for none could be foreseen
        half = (size + 1) >> 1
        low += half * (docs[low + half - 1] < doc)
        size -= half
    return low


@_compiled
def _advance(docs: Any, at: int, end: int, doc: int) -> Any:
    """The first place from ``at`` on whose document is ``doc`` or a later one, by galloping."""
    step = 1
    low = at
    high = at
    while high < end and docs[high] < doc:
        low = high + 1
        high += step
        step <<= 1
    return _find(docs, low, min(high, end), doc)


@_compiled
def _worse(score: Any, doc: int, other_score: Any, other_doc: int) -> bool:
    return score < other_score or (score == other_score and doc > other_doc)


@_compiled
def _sift(docs: Any, scores: Any, at: int, size: int) -> None:
    """Let the entry at a place of the heap, whose root is the worst, sink to where it belongs."""
    doc, score = docs[at], scores[at]
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and _worse(scores[child + 1], docs[child + 1], scores[child], docs[child]):
            child += 1
        if not _worse(scores[child], docs[child], score, doc):
            break
        docs[at], scores[at] = docs[child], scores[child]
        at = child
    docs[at], scores[at] = doc, score


@_compiled
def _keep(docs: Any, scores: Any, size: int, doc: int, score: Any) -> int:
    """Take a document into the heap when it is among the best; returns the new size of the heap."""
    if size < len(docs):
        at = size
        while at > 0:
            parent = (at - 1) >> 1
            if not _worse(score, doc, scores[parent], docs[parent]):
                break
            docs[at], scores[at] = docs[parent], scores[parent]
            at = parent
        docs[at], scores[at] = doc, score
        return size + 1
    if _worse(scores[0], docs[0], score, doc):
        docs[0], scores[0] = doc, score
        _sift(docs, scores, 0, size)
    return size


@_compiled
def _sort(docs: Any, scores: Any, size: int) -> None:
    """Bring a heap into order, best first."""
    for last in range(size - 1, 0, -1):
        docs[0], docs[last] = docs[last], docs[0]
        scores[0], scores[last] = scores[last], scores[0]
        _sift(docs, scores, 0, last)


@_compiled
def _exact(docs: Any, codes: Any, gains: Any, at: Any, stop: Any, idf: Any, weights: Any, doc: int) -> Any:
    """The score of a document: the float32 sum in the order of term ids."""
    score = np.float32(0)
    for term in range(len(at)):
        place = _find(docs, at[term], stop[term], doc)
        if place < stop[term] and docs[place] == doc:
            score += weights[term] * np.float32(idf[term] * gains[codes[place]])
    return score


@_compiled
def _add(docs: Any, codes: Any, gains: Any, factor: Any, at: int, stop: int, first: Any, sums: Any) -> None:
    """Add what a term gives to each document of a window."""
    for posting in range(at, stop):
        sums[docs[posting] - first] += factor * gains[codes[posting]]


@_compiled
def _add_and_list(
    docs: Any,
    codes: Any,
    gains: Any,
    factor: Any,
    at: int,
    stop: int,
    first: Any,
    sums: Any,
    need: Any,
    listed: Any,
    many: int,
) -> int:
    """The same, listing each document whose sum now reaches what is needed for the first time."""
    for posting in range(at, stop):
        place = docs[posting] - first
        before = sums[place]
        after = before + factor * gains[codes[posting]]
        sums[place] = after
        listed[many] = place
        many += (before < need) & (after >= need)
    return many


@_compiled
def _list(sums: Any, need: Any, listed: Any) -> int:
    """List each document of a window whose sum reaches what is needed."""
    many = 0
    for start in range(0, len(sums), _GROUP):
        group = sums[start : start + _GROUP]
        hit = np.int32(0)
        for place in range(_GROUP):  # without a branch, so that several are compared in one step
            hit |= np.int32(group[place] >= need)
        if hit:
            for place in range(_GROUP):
                listed[many] = start + place
                many += group[place] >= need
    return many


@_compiled
def _reached(sums: Any, k: int, first: Any, allowed: Any, heap: Any) -> Any:
    """The k-th highest sum of a window, 0 when there are fewer."""
    heap[:] = 0
    docs = np.zeros(k, dtype=np.uint32)
    for start in range(0, len(sums), _GROUP):
        group = sums[start : start + _GROUP]
        hit = np.int32(0)
        for place in range(_GROUP):
            hit |= np.int32(group[place] > heap[0])
        if hit:
            for place in range(_GROUP):
                if group[place] > heap[0] and (len(allowed) == 0 or allowed[first + start + place]):
                    heap[0] = group[place]
                    _sift(docs, heap, 0, k)
    return heap[0]


@_compiled
def _search(
    docs: Any,
    codes: Any,
    gains: Any,
    rough_gains: Any,
    starts: Any,
    ends: Any,
    idf: Any,
    weights: Any,
    bounds: Any,
    allowed: Any,
    slack: float,
    sums: Any,
    listed: Any,
    best_docs: Any,
    best_scores: Any,
) -> int:
    n_terms = len(starts)
    order = np.argsort(bounds)
    factors = (idf * weights).astype(np.float32)
    at = starts.copy()  # the first posting in the window, or beyond
    stop = starts.copy()  # and the first one after it
    upto = np.zeros(n_terms + 1)  # what the first terms in order can give together
    for place in range(n_terms):
        upto[place + 1] = upto[place] + bounds[order[place]]
    rough_docs, rough_scores = np.empty_like(best_docs), np.empty_like(best_scores)
    n_rough = 0
    size = 0
    threshold = 0.0  # sums below it cannot be among the best
    optional = 0  # so many terms, in order, cannot bring a document there by themselves
    while optional < n_terms:
        first = np.uint32(_NONE)
        for place in range(optional, n_terms):
            term = order[place]
            if at[term] < ends[term]:
                first = min(first, docs[at[term]])
        if first == _NONE:
            break
        until = np.uint32(first + _WINDOW)
        n_postings = 0
        for place in range(optional, n_terms):
            term = order[place]
            stop[term] = _advance(docs, at[term], ends[term], until)
            n_postings += stop[term] - at[term]
        sparse = n_postings * _SPARSE < _WINDOW
        need = np.float32(max(threshold - upto[optional], _TINY))
        many = 0
        for place in range(n_terms - 1, optional - 1, -1):
            term = order[place]
            a, b, factor = at[term], stop[term], factors[term]
            if sparse:
                many = _add_and_list(docs, codes, rough_gains, factor, a, b, first, sums, need, listed, many)
            else:
                _add(docs, codes, rough_gains, factor, a, b, first, sums)
        if not sparse:
            if n_rough == 0 and optional == 0:  # the first sums, which are whole, raise the threshold at once
                threshold = _reached(sums, len(best_docs), first, allowed, rough_scores) / slack
                need = np.float32(max(threshold, _TINY))
            many = _list(sums, need, listed)
        for place in range(optional - 1, -1, -1):
            if many == 0:
                break
            term = order[place]
            at[term] = _advance(docs, at[term], ends[term], first)
            stop[term] = _advance(docs, at[term], ends[term], until)
            if not sparse and stop[term] - at[term] < _PROBE * many:
                _add(docs, codes, rough_gains, factors[term], at[term], stop[term], first, sums)
            else:
                for one in range(many):
                    doc = first + listed[one]
                    found = _find(docs, at[term], stop[term], doc)
                    if found < stop[term] and docs[found] == doc:
                        sums[listed[one]] += factors[term] * rough_gains[codes[found]]
            need = np.float32(max(threshold - upto[place], _TINY))
            left = 0
            for one in range(many):
                listed[left] = listed[one]
                left += sums[listed[one]] >= need
            many = left
        # The sums so far raise the threshold first, so that few documents need an exact score.
        left = 0
        for one in range(many):
            doc = first + listed[one]
            if len(allowed) == 0 or allowed[doc]:
                listed[left] = listed[one]
                left += 1
                if sums[listed[one]] >= threshold:
                    n_rough = _keep(rough_docs, rough_scores, n_rough, doc, sums[listed[one]])
                    if n_rough == len(rough_docs):
                        threshold = max(threshold, rough_scores[0] / slack)
        for one in range(left):
            if sums[listed[one]] >= threshold:
                doc = first + listed[one]
                score = _exact(docs, codes, gains, at, stop, idf, weights, doc)
                if score > 0:
                    size = _keep(best_docs, best_scores, size, doc, score)
        if sparse:
            for place in range(optional, n_terms):
                term = order[place]
                for posting in range(at[term], stop[term]):
                    sums[docs[posting] - first] = 0
        else:
            sums[:] = 0
        for term in range(n_terms):
            at[term] = stop[term]
        while optional < n_terms and upto[optional + 1] < _SURE * threshold:
            optional += 1
    _sort(best_docs, best_scores, size)
    return size


@_compiled_once
def _search_all(
    docs: Any,
    codes: Any,
    gains: Any,
    rough_gains: Any,
    starts: Any,
    ends: Any,
    idf: Any,
    weights: Any,
    bounds: Any,
    ptr: Any,
    allowed: Any,
    slack: float,
    best_docs: Any,
    best_scores: Any,
    found: Any,
) -> None:
    sums = np.zeros(_WINDOW, dtype=np.float32)
    listed = np.empty(_WINDOW + 1, dtype=np.uint32)
    for query in range(len(ptr) - 1):
        a, b = ptr[query], ptr[query + 1]
        found[query] = _search(
            docs,
            codes,
            gains,
            rough_gains,
            starts[a:b],
            ends[a:b],
            idf[a:b],
            weights[a:b],
            bounds[a:b],
            allowed,
            slack,
            sums,
            listed,
            best_docs[query],
            best_scores[query],
        )
