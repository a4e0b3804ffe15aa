import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridrank.errors import IndexCorrupt, IndexForeign, IndexNotFound, IndexTooNew, InputError
from hybridrank.tasks.meetings import recall
from hybridrank.tasks.meetings.memory import Memory
from hybridrank.tasks.meetings.recall import Index
from tests.tasks.meetings.sample import QUESTIONS

MEMORY = Memory(
    [
        ["[pump seal] PhD A: It leaks.", "[paint colour] Grad B: Green it is.\nPhD A: Or blue."],
        ["[budget] Grad B: The pump was dear.", "[travel] PhD C: Oslo in May."],
        ["[pump pressure] PhD C: Two bars."],
    ]
)
INDEX = Index.build(MEMORY)


@given(st.text() | st.sampled_from([question.question for question in QUESTIONS]), st.integers(1, 99))
def test_a_recall_holds_notes_of_the_memory_each_once(question: str, k: int) -> None:
    found = INDEX.search(question, k)
    assert len(found) <= k
    assert len(set(found)) == len(found)
    assert set(found) <= set(MEMORY.notes)


@pytest.mark.parametrize(
    "question", ["", " ", "?!", "what did they think about it", "zzzz", "\x00", "\ud800"]
)
def test_a_question_without_content_finds_nothing(question: str) -> None:
    assert INDEX.search(question) == []


def test_an_index_that_was_saved_gives_the_same(tmp_path: Path, sample_memory: Memory) -> None:
    index = Index.build(sample_memory)
    index.save(tmp_path / "new" / "index")
    opened = Index.open(tmp_path / "new" / "index")
    assert opened.notes == index.notes == list(sample_memory.notes)
    for question in QUESTIONS:
        assert opened.search(question.question) == index.search(question.question)


def test_the_next_note_of_a_meeting_counts_for_less() -> None:
    alike = Memory([["[pump] A: One.", "[pump] A: Two."], ["[pump] A: Three.", "[pump] A: Four."]])
    assert Index.build(alike).search("the pump", 2) == ["[pump] A: One.", "[pump] A: Three."]


def test_slots_that_are_left_go_to_neighbours() -> None:
    assert INDEX.search("Oslo") == ["[travel] PhD C: Oslo in May.", "[budget] Grad B: The pump was dear."]
    assert INDEX.search("Oslo", 1) == ["[travel] PhD C: Oslo in May."]


def test_the_speaker_asked_about_is_lifted() -> None:
    alike = Index.build(Memory([["[pump] PhD A: One."], ["[pump] Grad B: Two."]]))
    assert alike.search("What did Grad B say about the pump?", 1) == ["[pump] Grad B: Two."]
    assert alike.search("What did PhD A say about the pump?", 1) == ["[pump] PhD A: One."]


def test_words_that_begin_alike_count_half() -> None:
    index = Index.build(
        Memory([["[transcribers] A: Six."], ["[transcription] A: Done."], ["[train] A: Late."]])
    )
    assert index.search("transcription") == ["[transcription] A: Done.", "[transcribers] A: Six."]
    assert index.search("cat") == []


def test_a_note_that_stands_twice_is_there_once() -> None:
    index = Index.build(Memory([["[pump] A: One."], ["[pump] A: One.", "[pump] A: Two."]]))
    assert index.notes == ["[pump] A: One.", "[pump] A: Two."]


@pytest.mark.parametrize("memory", [Memory([]), Memory([[]]), Memory([["", "[]", "?"]])])
def test_an_empty_memory_is_searched_in_vain(memory: Memory) -> None:
    assert Index.build(memory).search("pump") == []


def test_a_reranker_orders_a_longer_list() -> None:
    asked: list[int] = []

    def rerank(question: str, notes: list[str]) -> list[float]:
        asked.append(len(notes))
        return [float("Two bars" in note) for note in notes]

    assert INDEX.search("the pump", 1, rerank) == ["[pump pressure] PhD C: Two bars."]
    assert asked == [3]
    assert INDEX.search("zzzz", 1, rerank) == []
    with pytest.raises(InputError, match="0 scores for 3 notes"):
        INDEX.search("the pump", 1, lambda question, notes: [])


def test_k_below_one_is_refused() -> None:
    with pytest.raises(InputError, match="k is 0"):
        INDEX.search("pump", 0)


def test_a_directory_without_an_index_is_refused(tmp_path: Path) -> None:
    with pytest.raises(IndexNotFound, match="Build one first"):
        Index.open(tmp_path)
    file = tmp_path / "recall.json"
    INDEX.save(tmp_path)
    content = json.loads(file.read_text(encoding="utf-8"))
    for text, kind in [
        ("{", IndexCorrupt),
        ("[]", IndexForeign),
        ('{"kind": "else"}', IndexForeign),
        (json.dumps({**content, "version": 2}), IndexTooNew),
        (json.dumps({key: value for key, value in content.items() if key != "notes"}), IndexCorrupt),
    ]:
        file.write_text(text, encoding="utf-8")
        with pytest.raises(kind):
            Index.open(tmp_path)


def test_where_nothing_can_be_written_nothing_is(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match="cannot be written"):
        INDEX.save(tmp_path / "file" / "index")


def test_a_question_s_terms_are_compared_with_those_that_begin_alike_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared = 0
    shared = recall._shared

    def counted(one: str, other: str) -> int:
        nonlocal compared
        compared += 1
        return shared(one, other)

    monkeypatch.setattr(recall, "_shared", counted)
    names = [f"{letter}{other}ming" for letter in "bdfgk" for other in "aeiou"]
    index = Index.build(Memory([[f"A: {name}s leak." for name in names]]))
    assert len(index.search(" ".join(f"{name}ly" for name in names), 25)) == 25
    assert compared <= len(names)


def test_a_long_question_is_read_in_part() -> None:
    index = Index.build(Memory([["A: The pump leaks."], ["B: The budget is spent."]]))
    assert index.search("pump " + "budget of " * 10, 1)
    assert index.search("pump " * 2_000 + "budget", 2) == ["A: The pump leaks."]
