"""What Jina adds to a recall, where its services are there: vectors of the notes, made when the index is
built, and at search a vector of the question and the scores of a reranker, both asked for at once.

Similarities of vectors join the lexical scores before the slots are filled, by note and by meeting. Only what
stands out counts: of a thousand notes some hundred are a little like any question, and a fourth power leaves
the few that are much like it. The reranker's order is then fused with that list (Cormack et al., Reciprocal
Rank Fusion, 2009).

The standard library alone. At search there is a deadline, and what has not come by then does not count; the
lexical scores are always there.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import threading
import time
from array import array
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import fsum, sqrt
from operator import mul
from typing import TYPE_CHECKING, NamedTuple

from hybridrank.errors import BadAnswer, HybridrankError
from hybridrank.jina.answers import Reply, error_of, read_embeddings, read_scores
from hybridrank.jina.wire import (
    Call,
    check_base_url,
    check_key,
    clean,
    embedding_call,
    is_blank,
    rerank_call,
    split,
    token_bound,
)
from hybridrank.plain_http import post

if TYPE_CHECKING:
    from hybridrank.tasks.meetings.recall import Index

__all__ = ["DEPTH", "SECONDS", "JinaService", "NoteVectors", "blend", "fuse", "improve", "question_vector"]

DEPTH = 30
"""Notes of the lexical list that are reranked."""

SECONDS = 0.6
"""What the services may take at search: a question has about a second in all."""

_BUILD_SECONDS = 200.0  # of the 300 that a build has
_ATTEMPTS = 3
_DIMENSIONS = 512  # the products with a thousand notes are taken in plain Python
_MOST_TEXTS, _MOST_TOKENS, _MOST_CHARACTERS = 64, 60_000, 6_000
_SIMILAR = 0.4  # of a note, and of its meeting, where the best lexical score counts 1
_PEAK = 4  # power of the standard deviations by which a similarity is above the mean
_TOP = 3  # notes by whose mean closeness is measured: those of all, and those of a meeting
_RRF = 5.0  # measured; the usual 60 is for lists of a thousand
_ADDRESS = "https://api.jina.ai"
_VECTORS, _ABOUT = "vectors.f32", "vectors.json"

Send = Callable[..., Reply]


class JinaService(NamedTuple):
    """Where to ask, for which models, and with which key, if any."""

    address: str
    key: str | None = None
    embedding_model: str = "jina-embeddings-v3"
    reranking_model: str = "jina-reranker-v2-base-multilingual"

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> JinaService | None:
        """The service that ``JINA_BASE_URL`` and ``JINA_API_KEY`` name; ``None`` when neither is set.

        ``JINA_EMBEDDING_MODEL`` and ``JINA_RERANKING_MODEL`` name other models. Raises
        :class:`~hybridrank.errors.InputError` for an address or a key that is none.
        """
        address, key = environ.get("JINA_BASE_URL", "").strip(), check_key(environ.get("JINA_API_KEY"))
        if not address and not key:
            return None
        service = cls(check_base_url(address or _ADDRESS), key)
        return service._replace(
            embedding_model=environ.get("JINA_EMBEDDING_MODEL") or service.embedding_model,
            reranking_model=environ.get("JINA_RERANKING_MODEL") or service.reranking_model,
        )

    def __repr__(self) -> str:
        return f"JinaService(address={self.address!r}, key={self.key and '...'!r})"


class NoteVectors:
    """One vector a note, of unit length, in the order of the notes."""

    def __init__(self, rows: Sequence[array[float]], model: str) -> None:
        self.rows = rows
        self.model = model

    @classmethod
    def made(
        cls,
        notes: Sequence[str],
        service: JinaService,
        *,
        seconds: float = _BUILD_SECONDS,
        send: Send = post,
        clock: Callable[[], float] = time.monotonic,
    ) -> NoteVectors:
        """The vectors of notes.

        Raises :class:`~hybridrank.errors.ServiceError` when not all are had within ``seconds``.
        """
        deadline = clock() + seconds
        texts = [_sendable(note) for note in notes]
        rows: list[array[float]] = []
        for batch in split(
            [token_bound(text) for text in texts], max_count=_MOST_TEXTS, max_tokens=_MOST_TOKENS
        ):
            call = _embedding(service, [texts[at] for at in batch], "retrieval.passage")
            for attempt in range(1, _ATTEMPTS + 1):
                try:
                    rows.extend(_vectors(call, service, deadline - clock(), send))
                    break
                except HybridrankError as error:
                    if attempt == _ATTEMPTS or not getattr(error, "passing", False) or clock() >= deadline:
                        raise
        return cls(rows, service.embedding_model)

    def save(self, directory: str, notes: Sequence[str]) -> None:
        """Write the vectors into a directory, and what notes and model they are of."""
        content = b"".join(_little(row).tobytes() for row in self.rows)
        about = {"model": self.model, "notes": _digest(notes), "vectors": hashlib.sha256(content).hexdigest()}
        with open(os.path.join(directory, _VECTORS), "wb") as file:
            file.write(content)
        with open(os.path.join(directory, _ABOUT), "w", encoding="utf-8") as file:
            json.dump(about, file)

    @classmethod
    def open(cls, directory: str, notes: Sequence[str]) -> NoteVectors | None:
        """The vectors of these notes from a directory, or ``None`` where there are none that fit."""
        try:
            with open(os.path.join(directory, _ABOUT), encoding="utf-8") as file:
                about = json.load(file)
            with open(os.path.join(directory, _VECTORS), "rb") as binary:
                content = binary.read()
            same_notes = about["notes"] == _digest(notes)
            whole = about["vectors"] == hashlib.sha256(content).hexdigest()
            model = str(about["model"])
        except (OSError, ValueError, LookupError, TypeError):
            return None
        if not (same_notes and whole and notes) or len(content) % (4 * len(notes)):
            return None
        numbers = array("f")
        numbers.frombytes(content)
        numbers = _little(numbers)
        size = len(numbers) // len(notes)
        return cls([numbers[at * size : (at + 1) * size] for at in range(len(notes))], model)

    def similarities(self, vector: Sequence[float]) -> list[float]:
        """The cosine of each note's vector with another, in the order of the notes.

        Raises :class:`~hybridrank.errors.BadAnswer` for a vector of another length than theirs.
        """
        if len(vector) != len(self.rows[0]):
            raise BadAnswer("", f"a vector of {len(vector)} numbers for notes of {len(self.rows[0])}")
        return [sum(map(mul, row, vector)) for row in self.rows]


def improve(
    question: str,
    index: Index,
    vectors: NoteVectors | None,
    service: JinaService,
    *,
    seconds: float = SECONDS,
    send: Send = post,
) -> tuple[list[str], list[str]]:
    """The notes in a better order than that of ``index.search``, and what went wrong on the way.

    Nothing comes within ``seconds``: the order is that of the search.
    """
    deadline = time.monotonic() + seconds
    scores = index.scores(question)
    lexical = index.best(scores, DEPTH)
    lists: dict[str, list[str]] = {}
    complaints: list[str] = []

    def dense(vectors: NoteVectors) -> None:
        vector = question_vector(question, service, deadline - time.monotonic(), send=send)
        blended = blend(scores, vectors.similarities(vector), index.meeting_of)
        lists["blended"] = index.best(blended, DEPTH)

    def reranked() -> None:
        call = rerank_call(
            service.address,
            _sendable(question),
            [_sendable(text) for text in lexical],
            model=service.reranking_model,
        )
        given = read_scores(_answer(call, service, deadline - time.monotonic(), send), len(lexical)).scores
        lists["reranked"] = [
            lexical[at] for at in sorted(range(len(lexical)), key=lambda at: (-given[at], at))
        ]

    jobs: list[Callable[[], None]] = []
    if not is_blank(question) and vectors is not None and vectors.rows:
        jobs.append(partial(dense, vectors))
    if not is_blank(question) and lexical:
        jobs.append(reranked)
    workers = [threading.Thread(target=_try, args=(job, complaints), daemon=True) for job in jobs]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(max(0.0, deadline - time.monotonic()))
        if worker.is_alive():
            complaints.append(f"a service gave no answer within {seconds:.3g} s")
    came = dict(lists)  # a copy, for a thread that is late may still add to it
    first = came.pop("blended", lexical)
    return fuse([first, *came.values()]), complaints


def question_vector(
    question: str, service: JinaService, seconds: float, *, send: Send = post
) -> Sequence[float]:
    """The vector of a question. Raises :class:`~hybridrank.errors.ServiceError` when it is not to be had."""
    call = _embedding(service, [_sendable(question)], "retrieval.query")
    (vector,) = _vectors(call, service, seconds, send)
    return vector


def blend(
    lexical: Mapping[int, float], similarities: Sequence[float], meeting_of: Sequence[int]
) -> dict[int, float]:
    """Scores of notes, by place, of words and vectors together.

    ``lexical`` has the scores of those that share a word with the question, ``similarities`` one for each
    note. A note is as close as it stands out from all, and its meeting as its three closest notes are.

    >>> scores = blend({0: 2.0}, [0.1, 0.1, 0.1, 0.1, 0.1, 0.9], [0, 0, 1, 1, 2, 2])
    >>> sorted(scores, key=lambda at: -scores[at])
    [5, 0, 4]
    """
    mean = fsum(similarities) / len(similarities)
    spread = sqrt(fsum((one - mean) ** 2 for one in similarities) / len(similarities))
    highest = max(lexical.values(), default=0.0) or 1.0
    scores = {at: score / highest for at, score in lexical.items()}
    if not spread:  # notes that are all alike say nothing
        return scores
    close = [max(0.0, (one - mean) / spread) ** _PEAK for one in similarities]
    scale = _SIMILAR / (_mean_of_best(close) or 1.0)
    of_meeting: dict[int, list[float]] = {}
    for at, meeting in enumerate(meeting_of):
        of_meeting.setdefault(meeting, []).append(close[at])
    meetings = {meeting: _mean_of_best(found) for meeting, found in of_meeting.items()}
    for at, meeting in enumerate(meeting_of):
        if gain := scale * (close[at] + meetings[meeting]):
            scores[at] = scores.get(at, 0.0) + gain
    return scores


def fuse(lists: Sequence[Sequence[str]]) -> list[str]:
    """One list of several by reciprocal ranks; what is tied stands as in the first list that has it.

    >>> fuse([["a", "b", "c"], ["c", "d"]])
    ['c', 'a', 'b', 'd']
    """
    scores: dict[str, float] = {}
    for one in lists:
        for rank, text in enumerate(dict.fromkeys(one), start=1):
            scores[text] = scores.get(text, 0.0) + 1 / (_RRF + rank)
    return sorted(scores, key=lambda text: -scores[text])


def _mean_of_best(values: Sequence[float]) -> float:
    best = sorted(values)[-_TOP:]
    return fsum(best) / len(best)


def _try(job: Callable[[], None], complaints: list[str]) -> None:
    try:
        job()
    except HybridrankError as error:
        complaints.append(str(error))


def _embedding(service: JinaService, texts: Sequence[str], task: str) -> Call:
    return embedding_call(
        service.address, texts, model=service.embedding_model, task=task, dimensions=_DIMENSIONS
    )


def _vectors(call: Call, service: JinaService, seconds: float, send: Send) -> list[array[float]]:
    found = []
    for row in read_embeddings(_answer(call, service, seconds, send), call.count).rows:
        vector = array("f")
        vector.frombytes(row)
        found.append(_little(vector))
    return found


def _answer(call: Call, service: JinaService, seconds: float, send: Send) -> Reply:
    reply = send(call.url, call.body, key=service.key, seconds=max(0.0, seconds), most_bytes=call.max_answer)
    failure = error_of(reply, service.key)
    if failure is not None:
        raise failure
    return reply


def _sendable(text: str) -> str:
    """A text as it is sent: bounded, and never blank, which services refuse."""
    return clean(text, _MOST_CHARACTERS) if not is_blank(text) else "-"


def _little(numbers: array[float]) -> array[float]:
    """The numbers with their bytes in the order of files, or back from it."""
    if sys.byteorder == "big":
        numbers = numbers[:]
        numbers.byteswap()
    return numbers


def _digest(notes: Sequence[str]) -> str:
    return hashlib.sha256(json.dumps(list(notes)).encode("ascii")).hexdigest()
