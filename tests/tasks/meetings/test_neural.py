from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridrank.errors import BadAnswer, InputError, ServiceDenied, ServiceTimeout, ServiceUnavailable
from hybridrank.jina.answers import Reply
from hybridrank.tasks.meetings import neural
from hybridrank.tasks.meetings.memory import Memory
from hybridrank.tasks.meetings.neural import JinaService, NoteVectors, blend, fuse, improve
from hybridrank.tasks.meetings.recall import Index

KEY = "jina_0123456789abcdef"
SERVICE = JinaService("http://host", KEY)
NOTES = ["The pump leaks.", "Paint is red.", "Lunch at noon.", " "]
INDEX = Index.build(Memory([[note] for note in NOTES]))
# Two numbers for each text, of unit length.
PLACES: Mapping[str, list[float]] = {
    "The pump leaks.": [1.0, 0.0],
    "Paint is red.": [0.0, 1.0],
    "Lunch at noon.": [-1.0, 0.0],
    "-": [0.0, -1.0],
    "Is it red?": [0.8, 0.6],
    "water?": [0.8, 0.6],
}


class Jina:
    """A service in the process: answers, or fails as often as it is told to."""

    def __init__(self, *failures: int | Exception, scores: Sequence[float] = (0.1, 0.9, 0.5, 0.0)) -> None:
        self.failures = list(failures)
        self.scores = scores
        self.calls: list[dict[str, Any]] = []
        self.lock = threading.Lock()

    def __call__(self, url: str, body: bytes, *, key: str | None, seconds: float, most_bytes: int) -> Reply:
        asked = json.loads(body)
        with self.lock:
            self.calls.append({"url": url, "key": key, **asked})
            failure = self.failures.pop(0) if self.failures else 200
        if isinstance(failure, Exception):
            raise failure
        if "query" in asked:
            answer: dict[str, Any] = {
                "results": [
                    {"index": at, "relevance_score": self.scores[at]} for at in range(len(asked["documents"]))
                ]
            }
        else:
            answer = {
                "data": [
                    {"index": at, "embedding": PLACES.get(text, [0.0, 1.0])}
                    for at, text in enumerate(asked["input"])
                ]
            }
        return Reply(url=url, status=failure, headers={}, content=json.dumps(answer).encode())


def vectors() -> NoteVectors:
    return NoteVectors.made(NOTES, SERVICE, send=Jina())


def test_the_environment_names_the_service() -> None:
    assert JinaService.from_environment({}) is None
    found = JinaService.from_environment({"JINA_API_KEY": KEY})
    assert found == SERVICE._replace(address="https://api.jina.ai")
    assert KEY not in repr(found)
    other = JinaService.from_environment(
        {"JINA_BASE_URL": "http://h/", "JINA_EMBEDDING_MODEL": "e", "JINA_RERANKING_MODEL": "r"}
    )
    assert other == ("http://h", None, "e", "r")
    with pytest.raises(InputError):
        JinaService.from_environment({"JINA_BASE_URL": "ftp://h"})


def test_vectors_are_asked_for_once_a_batch_and_kept_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neural, "_MOST_TEXTS", 3)
    service = Jina()
    made = NoteVectors.made(NOTES, SERVICE, send=service)
    assert [list(row) for row in made.rows] == [PLACES[text] for text in (*NOTES[:3], "-")]
    assert [len(call["input"]) for call in service.calls] == [3, 1]
    assert {call["task"] for call in service.calls} == {"retrieval.passage"}
    assert {call["key"] for call in service.calls} == {KEY}


def test_passing_failures_are_outlived_and_others_end_it() -> None:
    assert NoteVectors.made(NOTES, SERVICE, send=Jina(503, 429)).rows
    with pytest.raises(ServiceUnavailable):
        NoteVectors.made(NOTES, SERVICE, send=Jina(503, 503, 503))
    service = Jina(401)
    with pytest.raises(ServiceDenied):
        NoteVectors.made(NOTES, SERVICE, send=service)
    assert len(service.calls) == 1


def test_when_the_time_is_over_it_is_not_tried_again() -> None:
    service = Jina(503)
    times = iter([0.0, 1.0, 999.0])
    with pytest.raises(ServiceUnavailable):
        NoteVectors.made(NOTES, SERVICE, seconds=5, send=service, clock=lambda: next(times))
    assert len(service.calls) == 1


def test_vectors_are_saved_with_what_they_are_of(tmp_path: Path) -> None:
    vectors().save(str(tmp_path), NOTES)
    again = NoteVectors.open(str(tmp_path), NOTES)
    assert again is not None
    assert [list(row) for row in again.rows] == [list(row) for row in vectors().rows]
    assert again.model == SERVICE.embedding_model
    assert NoteVectors.open(str(tmp_path), NOTES[::-1]) is None
    assert NoteVectors.open(str(tmp_path / "nowhere"), NOTES) is None


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("vectors.f32", b"1234"),
        ("vectors.f32", b""),
        ("vectors.json", b"{"),
        ("vectors.json", b"[]"),
        ("vectors.json", b"{}"),
        ("vectors.json", b"\xff"),
    ],
)
def test_damaged_vectors_are_none(tmp_path: Path, name: str, content: bytes) -> None:
    vectors().save(str(tmp_path), NOTES)
    (tmp_path / name).write_bytes(content)
    assert NoteVectors.open(str(tmp_path), NOTES) is None


def test_similarities_need_vectors_of_one_length() -> None:
    assert vectors().similarities([0.75, 0.5]) == [0.75, 0.5, -0.75, -0.5]
    with pytest.raises(BadAnswer, match="3 numbers for notes of 2"):
        vectors().similarities([1.0, 0.0, 0.0])


def test_both_services_are_asked_at_once() -> None:
    service = Jina(scores=(0.5,))
    found, complaints = improve("Is it red?", INDEX, vectors(), SERVICE, send=service)
    assert complaints == []
    assert found == ["Paint is red.", "The pump leaks."]  # by a word, and by the vectors alone
    assert sorted(call["url"] for call in service.calls) == [
        "http://host/v1/embeddings",
        "http://host/v1/rerank",
    ]
    (asked,) = [call for call in service.calls if "input" in call]
    assert (asked["task"], asked["input"]) == ("retrieval.query", ["Is it red?"])


def test_vectors_find_what_shares_no_word_with_the_question() -> None:
    assert INDEX.search("water?") == []
    found, complaints = improve("water?", INDEX, vectors(), SERVICE, send=Jina())
    assert (found, complaints) == (["The pump leaks.", "Paint is red."], [])


def test_a_reranker_alone_is_fused_with_the_search() -> None:
    lexical = INDEX.search("red paint, a leak, lunch", neural.DEPTH)
    assert lexical == ["Paint is red.", "The pump leaks.", "Lunch at noon."]
    service = Jina(scores=(0.1, 0.2, 0.9))
    found, _ = improve("red paint, a leak, lunch", INDEX, None, SERVICE, send=service)
    assert found == [lexical[0], lexical[2], lexical[1]]  # the first of each list are as good as each other
    assert len(service.calls) == 1


@pytest.mark.parametrize(
    "failures", [(503, 503), (401, 401), (ServiceTimeout("u", "slow"), BadAnswer("u", "odd"))]
)
def test_without_services_the_lexical_order_stands(failures: tuple[Any, ...]) -> None:
    question = "red paint, a leak"
    found, complaints = improve(question, INDEX, vectors(), SERVICE, send=Jina(*failures))
    assert found == INDEX.search(question) != []
    assert len(complaints) == 2


def test_an_answer_that_comes_too_late_does_not_count() -> None:
    late = threading.Event()

    def send(*_: Any, **__: Any) -> Reply:
        late.wait(20)
        raise ServiceTimeout("u", "slow")

    found, complaints = improve("red paint", INDEX, vectors(), SERVICE, seconds=0.05, send=send)
    late.set()
    assert found == INDEX.search("red paint") != []
    assert complaints == ["a service gave no answer within 0.05 s"] * 2


def test_what_cannot_help_is_not_asked_for() -> None:
    service = Jina()
    empty = Index.build(Memory([]))
    assert improve(" ", INDEX, vectors(), SERVICE, send=service) == ([], [])
    assert improve("water?", INDEX, None, SERVICE, send=service) == ([], [])
    assert improve("water?", empty, NoteVectors([], "m"), SERVICE, send=service) == ([], [])
    assert service.calls == []


@given(
    st.dictionaries(st.integers(0, 9), st.floats(0.1, 50)),
    st.lists(st.floats(-1, 1), min_size=10, max_size=10),
    st.lists(st.integers(0, 3), min_size=10, max_size=10),
)
def test_a_blend_keeps_what_words_found_and_does_not_depend_on_scale(
    lexical: dict[int, float], similarities: list[float], meeting_of: list[int]
) -> None:
    blended = blend(lexical, similarities, meeting_of)
    assert lexical.keys() <= blended.keys() <= set(range(10))
    assert all(0 < score < 4 for score in blended.values())
    doubled = blend({at: 2 * score for at, score in lexical.items()}, similarities, meeting_of)
    assert doubled == pytest.approx(blended)


def test_a_blend_of_vectors_that_are_alike_is_lexical() -> None:
    assert blend({1: 4.0, 2: 2.0}, [0.5, 0.5, 0.5], [0, 0, 1]) == {1: 1.0, 2: 0.5}


def test_a_meeting_with_close_notes_lifts_its_others() -> None:
    far = [0.0] * 20
    blended = blend({}, [0.9, *far, 0.8, *far], [0] * 21 + [1] * 21)
    assert blended[0] > blended[21] > blended[5] > blended[30] > 0


@given(st.lists(st.lists(st.sampled_from("abcdef"), max_size=5), max_size=4))
def test_a_fusion_has_each_text_once_and_best_agreed_first(lists: list[list[str]]) -> None:
    found = fuse(lists)
    assert sorted(found) == sorted({text for one in lists for text in one})
    if lists and all(one[:1] == lists[0][:1] for one in lists) and lists[0]:
        assert found[0] == lists[0][0]
