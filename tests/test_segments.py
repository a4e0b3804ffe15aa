import subprocess
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from hybridrank.errors import HybridrankWarning, InputError
from hybridrank.lexical import LexicalIndex
from hybridrank.records import Passage
from hybridrank.segments import Living
from hybridrank.text.tokens import Tokenizer

WORDS = ["net", "sales", "rose", "fell", "C", "3", "10-K", "東京", "बिक्री", "the", "zebra"]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
IDS = st.integers(0, 12).map("p{}".format)
ADDED = st.dictionaries(IDS, TEXTS, max_size=5)


def fresh(passages: Sequence[Passage]) -> LexicalIndex:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HybridrankWarning)
        return LexicalIndex.build(passages, k1=1.2, b=0.6)


def of(texts: dict[str, str]) -> list[Passage]:
    return [
        Passage(id=name, text=text, metadata={"words": len(text.split())}) for name, text in texts.items()
    ]


class Changes(RuleBasedStateMachine):
    """Adds, deletes, merges, saves and opens an index; and keeps a list of what should be in it."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory()
        self.living: list[Passage] = []
        self.index = fresh([])
        self.saved = False

    def teardown(self) -> None:
        self.folder.cleanup()

    @rule(texts=ADDED)
    def add(self, texts: dict[str, str]) -> None:
        known = {passage.id for passage in self.living}
        new = of({name: text for name, text in texts.items() if name not in known})
        before = self.index
        found = before.search("net sales")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HybridrankWarning)
            self.index = before.add(new)
        self.living = self.living + new
        assert before.search("net sales") == found

    @precondition(lambda self: self.living)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        names = data.draw(st.sets(st.sampled_from([passage.id for passage in self.living])))
        before = self.index
        found = before.search("net sales")
        self.index = before.delete(names)
        self.living = [passage for passage in self.living if passage.id not in names]
        assert before.search("net sales") == found

    @rule()
    def merge(self) -> None:
        self.index = self.index.merge()
        assert self.index.n_segments == 1
        new = fresh(self.living)
        assert list(self.index.vocabulary.terms) == list(new.vocabulary.terms)
        for name in ("indptr", "docs", "codes", "frequencies", "lengths", "peaks", "gains"):
            ours, theirs = getattr(self.index.postings, name), getattr(new.postings, name)
            assert (ours.dtype, ours.tobytes()) == (theirs.dtype, theirs.tobytes())

    @rule()
    def save_and_open(self) -> None:
        self.index.save(self.folder.name)
        self.index = LexicalIndex.open(self.folder.name)

    @invariant()
    def it_is_as_if_built_anew(self) -> None:
        new = fresh(self.living)
        assert len(self.index) == len(new)
        assert list(self.index.passages) == self.living
        for query in ("net sales", "rose 10-K net net C", "東京 zebra बिक्री 3", "the", ""):
            for k in (1, 3, 50):
                assert self.index.search(query, k) == new.search(query, k)
        mask = np.arange(len(new)) % 2 == 0
        assert self.index.search("net sales", where=mask) == new.search("net sales", where=mask)
        assert [
            hit.position for hit in self.index.search("net rose", where=lambda one: len(one.text) % 2 == 0)
        ] == [
            hit.position for hit in new.search("net rose", 50) if len(self.living[hit.position].text) % 2 == 0
        ][:10]
        for place, passage in enumerate(self.living):
            assert self.index.position_of(passage.id) == place
            assert self.index.explain("net sales", passage.id) == new.explain("net sales", passage.id)


TestChanges = Changes.TestCase
TestChanges.settings = settings(max_examples=40, stateful_step_count=12, deadline=None)


def three() -> LexicalIndex:
    index = fresh(of({"a": "net sales", "b": "sales rose"}))
    return index.add(of({"c": "net zebra"})).add(of({"d": "sales fell fell"}))


def test_what_is_known_or_unknown_is_refused() -> None:
    index = three()
    with pytest.raises(
        InputError, match=r"the passage id 'c' is in the index already. Delete that passage first"
    ):
        index.add(of({"x": "net", "c": "net"}))
    with pytest.raises(InputError, match=r"no passage 'y' in the index"):
        index.delete(["a", "y"])
    with pytest.raises(InputError, match=r"of 3 segments, or has deleted passages\. Call merge"):
        _ = index.postings
    with pytest.raises(InputError, match="of 1 segments, or has deleted passages"):
        _ = fresh(of({"a": "net"})).delete(["a"]).vocabulary
    with pytest.raises(
        InputError, match=r"where is an array of bool of shape \(2,\), and there are 4 passages"
    ):
        index.search("net", where=np.ones(2, dtype=bool))
    with pytest.raises(InputError, match=r"where is an array of int"):
        index.search("net", where=np.ones(4, dtype=np.int64))
    assert len(index.add([])) == 4


def test_a_deleted_id_may_come_back() -> None:
    index = three().delete(["a"]).add(of({"a": "zebra zebra"}))
    assert [hit.passage_id for hit in index.search("zebra")] == ["a", "c"]
    assert index.delete(["a"]).merge().add(of({"a": "zebra"})).position_of("a") == 3


def test_passages_without_terms_are_warned_about() -> None:
    with pytest.warns(
        HybridrankWarning, match="1 of 2 passages hold no term and can never be found: 'y'"
    ) as caught:
        three().add(of({"x": "net", "y": "..."}))
    assert caught[0].filename == __file__


def test_living_passages_are_a_sequence() -> None:
    passages = three().delete(["b"]).passages
    assert isinstance(passages, Living)
    assert [passage.id for passage in passages[::-1]] == ["d", "c", "a"]
    assert passages[-1].id == "d"
    with pytest.raises(IndexError, match="no passage 3 among 3"):
        passages[3]


def test_only_what_changed_is_written(tmp_path: Path) -> None:
    fresh(of({f"p{at}": "net sales rose" for at in range(50)})).save(tmp_path)
    stamps = {path.name: path.stat().st_mtime_ns for path in tmp_path.glob("segment-000000.*")}
    old = LexicalIndex.open(tmp_path)
    new = old.add(of({"x": "zebra"})).delete(["p3"])
    new.save(tmp_path)
    assert {path.name: path.stat().st_mtime_ns for path in tmp_path.glob("segment-000000.*")} == stamps
    assert old.search("net") != new.search("net")
    opened = LexicalIndex.open(tmp_path, verify="full")
    assert opened.search("zebra net", 100) == new.search("zebra net", 100)
    opened.merge().save(tmp_path)
    assert not list(tmp_path.glob("segment-000000.*"))
    assert LexicalIndex.open(tmp_path).search("zebra net", 100) == new.search("zebra net", 100)


def test_segments_of_elsewhere_are_written_again(tmp_path: Path) -> None:
    fresh(of({"a": "net sales"})).save(tmp_path / "one")
    fresh(of({"a": "net zebra"})).save(tmp_path / "two")
    LexicalIndex.open(tmp_path / "one").save(tmp_path / "two")
    assert len(LexicalIndex.open(tmp_path / "two").search("sales")) == 1


def test_a_name_and_a_condition_go_along() -> None:
    index = three()
    index.name = "titles"
    index = index.delete(["a"]).add([]).merge()
    assert index.search("sales")[0].reasons[0].source == "titles"
    assert (index.k1, index.b, index.tokenizer.settings()) == (1.2, 0.6, Tokenizer().settings())
    mask = index.mask(lambda passage: passage.metadata["words"] == 3)
    assert mask.tolist() == [False, False, True]
    found = index.search_many(["sales"], where=mask)
    assert [hit.passage_id for hit in found[0]] == ["d"]


def test_many_queries_over_several_segments() -> None:
    index = three()
    queries = ["sales", "net zebra", ""]
    assert index.search_many(queries) == [index.search(query) for query in queries]
    assert [positions.tolist() for positions, _ in index.top_many(queries)] == [
        [hit.position for hit in index.search(query)] for query in queries
    ]


READER = """
import sys
from hybridrank import LexicalIndex
for _ in range(40):
    index = LexicalIndex.open(sys.argv[1])
    hits = index.search("net", 100)
    names = [hit.passage_id for hit in hits]
    # A state has the passages of one step, all with the scores of that step.
    step = len(names) - 20
    assert names == [f"p{at}" for at in range(20)] + [f"x{at}" for at in range(step)], names
    assert len(index) == 20 + step
    assert len({hit.score for hit in hits}) == 1
    print(step, flush=True)
"""


def test_readers_in_other_processes_see_one_state_or_the_next(tmp_path: Path) -> None:
    fresh(of({f"p{at}": "net" for at in range(20)})).save(tmp_path)
    with subprocess.Popen(
        [sys.executable, "-c", READER, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as reader:
        assert reader.stdout is not None
        seen = []
        for step, line in enumerate(reader.stdout):  # a step for each that was seen
            seen.append(int(line))
            index = LexicalIndex.open(tmp_path).add(of({f"x{step}": "net"}))
            (index.merge() if step % 4 == 3 else index).save(tmp_path)
    assert reader.returncode == 0
    assert seen == sorted(seen)
    assert seen[-1] > 1
