from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hybridrank import read_corpus, split_documents
from hybridrank.engines import MilvusIndex, milvus, milvus_statistics, milvus_writer
from hybridrank.engines.bm25_weights import digest
from hybridrank.engines.milvus_rows import row_of
from hybridrank.errors import (
    HybridrankWarning,
    IndexForeign,
    IndexIncomplete,
    IndexNotFound,
    IndexTooNew,
    InputError,
    ServiceDenied,
    ServiceRejected,
)
from hybridrank.learned import LearnedReranker
from hybridrank.lexical import LexicalIndex
from hybridrank.pipeline import hybrid
from hybridrank.protocols import Retriever
from hybridrank.records import Passage, Ranking
from hybridrank.text.tokens import Tokenizer
from tests.retriever_contract import WordCounts

SAMPLE = files("hybridrank") / "data" / "finance"
QUESTIONS = [
    json.loads(line)["question"] for line in (SAMPLE / "questions.jsonl").read_text("utf-8").splitlines()
]
REPORTS = list(split_documents(read_corpus(str(SAMPLE / "reports.jsonl"))))

Names = Callable[[], str]


def client_of(path: Path) -> Any:
    from pymilvus import MilvusClient

    return MilvusClient(str(path))


class Failing:
    """A client that passes calls on, some of which fail: the calls and errors that ``fails`` returns."""

    def __init__(self, client: Any, fails: Callable[[str], Exception | None]) -> None:
        self.client, self.fails = client, fails

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*, timeout: float, **arguments: Any) -> Any:
            error = self.fails(name)
            if error is not None:
                raise error
            return getattr(self.client, name)(timeout=timeout, **arguments)

        return call


class Refusal(Exception):
    def __init__(self, code: int) -> None:
        super().__init__(f"refused with {code}")
        self.code = code


@pytest.fixture(scope="module")
def reports(lite: Path) -> MilvusIndex:
    """The sample reports; to be searched only."""
    return MilvusIndex.build(REPORTS, lite, collection="reports")


def small(*words: str) -> list[Passage]:
    return [Passage(id=word.split()[0], text=word) for word in words]


def test_rankings_are_those_of_the_embedded_index_bit_by_bit(reports: MilvusIndex, lite: Path) -> None:
    embedded = LexicalIndex.build(REPORTS)
    for index in (reports, MilvusIndex(lite, collection="reports")):
        assert index.search_many(QUESTIONS, 20) == embedded.search_many(QUESTIONS, 20)
        assert (len(index), index.n_documents) == (len(embedded), len(embedded))
        assert index.average_length == embedded.postings.n_tokens / len(embedded)


def test_a_ranker_that_learned_there_ranks_the_same_here(reports: MilvusIndex) -> None:
    embedded = LexicalIndex.build(REPORTS)
    queries = {str(at): query for at, query in enumerate(QUESTIONS[:8])}
    judgments = {id: {embedded.search(query, 3)[-1].passage_id: 1} for id, query in queries.items()}
    ours = LearnedReranker.fit(embedded, queries, judgments)
    theirs = LearnedReranker.fit(reports, queries, judgments)
    for query in QUESTIONS:
        found = reports.search(query, 30)
        assert theirs.rerank(found) == ours.rerank(found)
        bare = replace(found, hits=tuple(replace(hit, passage=None) for hit in found))
        assert [hit.passage_id for hit in theirs.rerank(bare)] == [
            hit.passage_id for hit in ours.rerank(found)
        ]


def test_after_any_additions_and_deletions_it_is_as_if_built_anew(lite: Path, collection: Names) -> None:
    chance = random.Random(5)
    words = ["net", "sales", "rose", "fell", "C", "10-K", "größe", "zebra"]
    texts = [" ".join(chance.choices(words, k=4)) for _ in range(40)]
    passages = [Passage(id=str(at), text=text) for at, text in enumerate(texts)]
    # All of one length, so that the average cannot drift.
    index = MilvusIndex.build(passages[:10], lite, collection=collection())
    living = passages[:10]
    for start in range(10, 40, 10):
        gone = chance.sample(living, 4)
        index = index.delete(passage.id for passage in gone).add(passages[start : start + 10])
        living = [passage for passage in living if passage not in gone] + passages[start : start + 10]
        if start == 20:
            index = index.merge()
        fresh = LexicalIndex.build(living)
        for query in ("net sales", "rose C zebra", "größe 10-K fell fell"):
            expected, found = fresh.search(query, 50), index.search(query, 50)
            assert [(hit.passage, hit.score, hit.reasons) for hit in found] == [
                (hit.passage, hit.score, hit.reasons) for hit in expected
            ]
    assert len(index) == len(living)
    assert index.position_of(living[-1].id) == 39


def test_it_comes_from_a_stream_that_is_never_held(
    lite: Path, collection: Names, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(milvus, "_SAMPLE", 5)
    monkeypatch.setattr(milvus_writer, "_BATCH", 10)
    monkeypatch.setattr(milvus_writer, "_BATCH_BYTES", 400)
    monkeypatch.setattr(milvus_writer, "_PART", 20)
    taken = 0
    sent: list[tuple[int, int]] = []
    real = client_of(lite)

    def text(number: int) -> str:
        return f"net sales number {number} " * (1 + number % 2)

    def stream() -> Iterator[Passage]:
        nonlocal taken
        for taken in range(1, 46):
            yield Passage(id=str(taken), text=text(taken))

    class Watching(Failing):
        def insert(self, *, collection_name: str, data: list[Any], **more: Any) -> Any:
            if "text" in data[0]:
                sent.append((len(data), taken))
            return real.insert(collection_name=collection_name, data=data, **more)

    index = MilvusIndex.build(
        stream(), lite, collection=collection(), client=Watching(real, lambda name: None)
    )
    assert sum(number for number, _ in sent) == len(index) == 45
    assert max(number for number, _ in sent) < 10
    assert sent[0][1] == 10
    assert (
        index.average_length
        == sum(map(len, map(index.tokenizer.terms, (text(at) for at in range(1, 6))))) / 5
    )
    assert (index.n_documents, index.document_frequency(["sale", "45", "none"]).tolist()) == (45, [45, 1, 0])


def test_an_empty_index_takes_its_average_from_what_comes_first(lite: Path, collection: Names) -> None:
    index = MilvusIndex.build([], lite, collection=collection())
    assert (index.average_length, len(index)) == (1.0, 0)
    with pytest.warns(
        HybridrankWarning, match="1 of 1 passages hold no term and can never be found: 'x'"
    ) as seen:
        index.add([Passage(id="x", text="…")])
    assert seen[0].filename == __file__
    other = MilvusIndex(lite, collection=index._collection.name)
    index.add(small("net sales", "rose"))
    assert index.average_length == other.average_length == 1.5
    assert [hit.passage_id for hit in other.search("sales")] == ["net"]


def test_settings_are_kept(lite: Path, collection: Names) -> None:
    name = collection()
    tokenizer = Tokenizer(stem=False, stopwords=["net"])
    MilvusIndex.build(small("sales net", "rose"), lite, collection=name, tokenizer=tokenizer, k1=0.9, b=0.4)
    index = MilvusIndex(lite, collection=name)
    assert index.tokenizer.settings() == tokenizer.settings()
    assert (index.k1, index.b) == (0.9, 0.4)
    assert [len(index.search(query)) for query in ("net", "sale", "sales")] == [0, 0, 1]
    assert repr(index) == f"MilvusIndex({str(lite)!r}, collection={name!r})"


def test_what_is_there_already_is_refused_and_the_rest_is_counted(lite: Path, collection: Names) -> None:
    index = MilvusIndex.build(small("net sales", "rose"), lite, collection=collection())
    with pytest.raises(
        InputError, match=r"the passage id 'rose' is in the index already. Delete that passage"
    ):
        index.add(small("fell", "rose"))
    with pytest.raises(InputError, match="have the same id 'fell'"):
        index.add(small("fell", "fell down"))
    wrong: Any = ["a text"]
    with pytest.raises(InputError, match="passage 0 is a str, not a Passage"):
        index.add(wrong)
    with pytest.raises(InputError, match=r"there is no passage 'gone' in the index"):
        index.delete(["rose", "gone"])
    with pytest.raises(InputError, match=r"there is no passage 'gone' in the index"):
        index.position_of("gone")
    assert index.find(["gone", "rose"]) == [None, Passage(id="rose", text="rose")]
    assert len(index) == index.n_documents == 2


def test_a_passage_that_cannot_be_held_leaves_those_before_it(
    lite: Path, collection: Names, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(milvus_writer, "_BATCH", 1)
    index = MilvusIndex.build(small("net sales"), lite, collection=collection())
    with pytest.raises(InputError, match="the text of passage 'long' has 70,000 bytes"):
        index.add([Passage(id="rose", text="rose"), Passage(id="long", text="x" * 70_000)])
    assert len(index) == index.n_documents == 2
    assert [hit.passage_id for hit in index.search("rose")] == ["rose"]


def test_collections_are_told_apart(lite: Path, collection: Names, monkeypatch: pytest.MonkeyPatch) -> None:
    name, real = collection(), client_of(lite)
    with pytest.raises(IndexNotFound, match=rf"collection '{name}': there is no such collection. Build one"):
        MilvusIndex(lite, collection=name)
    real.create_collection(name, dimension=2)
    for attempt in (MilvusIndex, lambda *a, **k: MilvusIndex.build([], *a, replace=True, **k)):
        with pytest.raises(IndexForeign, match=r"hybridrank did not make it. Give another name"):
            attempt(lite, collection=name)
    name = collection()
    index = MilvusIndex.build(small("net"), lite, collection=name)
    with pytest.raises(InputError, match=r"is there already. Open it and add to it, say replace=True"):
        MilvusIndex.build([], lite, collection=name)
    index._collection.keep(format=2)
    with pytest.raises(IndexTooNew, match="it is of format 2, and this version knows 1"):
        MilvusIndex(lite, collection=name)
    index._collection.keep(format=1, tokenizer={**index.tokenizer.settings(), "scheme": 99})
    with pytest.raises(IndexTooNew, match="tokenizer settings of scheme 99"):
        MilvusIndex(lite, collection=name)
    with pytest.raises(InputError, match=r"'a b' is no name of a collection. Give letters"):
        MilvusIndex(lite, collection="a b")
    with pytest.raises(InputError, match="BM25 with k1=-1"):
        MilvusIndex.build([], lite, collection=name, k1=-1)


def test_a_build_that_was_cut_short_is_told_of_and_replaced(lite: Path, collection: Names) -> None:
    name = collection()

    def broken() -> Iterator[Passage]:
        yield Passage(id="a", text="net sales")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        MilvusIndex.build(broken(), lite, collection=name)
    with pytest.raises(IndexIncomplete, match=r"a build was cut short. Build it again, with replace=True"):
        MilvusIndex(lite, collection=name)
    index = MilvusIndex.build(small("rose"), lite, collection=name, replace=True)
    assert [len(index.search(query)) for query in ("net", "rose")] == [0, 1]
    client_of(lite).drop_collection(name)  # and not its statistics, as when a process is killed in between
    index = MilvusIndex.build(small("fell"), lite, collection=name)
    assert (len(index), index.n_documents) == (1, 1)
    index.drop()
    with pytest.raises(IndexNotFound):
        MilvusIndex(lite, collection=name)


def test_a_writer_that_was_killed_is_made_good_by_merging(
    lite: Path, collection: Names, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = MilvusIndex.build(small("net sales", "rose sales"), lite, collection=collection())
    monkeypatch.setattr(milvus_writer.Writer, "_finish", lambda self, part: None)
    index.add(small("fell sales", "zebra"))
    monkeypatch.undo()
    assert (index.n_documents, len(index), len(index.search("zebra"))) == (2, 4, 0)
    index.merge()
    assert (index.n_documents, index.document_frequency(["sale", "zebra"]).tolist()) == (4, [3, 1])
    assert [hit.passage_id for hit in index.search("zebra")] == ["zebra"]
    index.add(small("late"))
    assert index.position_of("late") == 4
    rows = list(index._collection.server.every(index._collection.statistics.name, ["part", "term"]))
    assert len({row["part"] for row in rows}) == 3  # settings, what was merged, what was added since


def test_what_others_add_is_seen_after_a_while(
    lite: Path, collection: Names, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = MilvusIndex.build(small("net sales"), lite, collection=collection())
    other = MilvusIndex(lite, collection=index._collection.name)
    assert len(other.search("rose")) == 0
    index.add(small("rose"))
    assert len(other.search("rose")) == 0
    monkeypatch.setattr(milvus_statistics, "_FRESH", -1.0)
    assert len(other.search("rose")) == 1


def test_conditions_may_be_milvus_s_own(lite: Path, collection: Names) -> None:
    passages = [
        Passage(id=str(year), text="net sales", document_id=f"r{year % 2}", metadata={"year": year})
        for year in range(2015, 2025)
    ]
    index = MilvusIndex.build(passages, lite, collection=collection())
    found = index.search("sales", where='metadata["year"] >= 2020 and document_id == "r1"')
    assert [hit.passage_id for hit in found] == ["2021", "2023"]
    mask = index.mask(lambda passage: passage.metadata["year"] == 2019)
    assert mask.tolist() == [year == 2019 for year in range(2015, 2025)]
    assert [hit.passage_id for hit in index.search("sales", where=mask)] == ["2019"]
    assert len(index.search("sales", where=np.zeros(10, dtype=bool))) == 0
    with pytest.raises(ServiceRejected, match=r"lite.db: "):
        index.search("sales", where="year === ")


def test_a_lost_server_leaves_an_empty_ranking_that_says_so(lite: Path, collection: Names) -> None:
    name, real = collection(), client_of(lite)
    MilvusIndex.build(small("net sales"), lite, collection=name, embedder=WordCounts())
    failing = Failing(real, lambda method: Refusal(code) if method == "search" else None)
    code = 2
    index = MilvusIndex(lite, collection=name, embedder=WordCounts(), client=failing, timeout=1e-9)
    index._collection.server.timeout = 0.01
    for retriever in (index, index.dense):
        ranking = retriever.search("net sales")
        assert ranking == Ranking(query="net sales", degraded=ranking.degraded)
        assert f"{retriever.name} left out: {lite}: refused with 2" in str(ranking.degraded)
    both = hybrid(index, index.dense).search("net")
    assert both.degraded is not None
    assert both.degraded.count("left out") == 2
    code = 1401
    for retriever in (index, index.dense):
        with pytest.raises(ServiceDenied, match="refused with 1401"):
            retriever.search("net sales")


def test_a_batch_that_is_lost_on_the_way_is_not_added_twice(lite: Path, collection: Names) -> None:
    real = client_of(lite)
    arrived: list[str] = []

    class Lossy(Failing):
        def insert(self, *, collection_name: str, data: list[Any], **more: Any) -> Any:
            arrived.append(collection_name)
            real.insert(collection_name=collection_name, data=data, **more)
            raise Refusal(1)  # the answer is lost, not the rows

    index = MilvusIndex.build(
        small("net sales", "rose sales"), lite, collection=collection(), client=Lossy(real, lambda name: None)
    )
    assert len(index) == index.n_documents == 2
    assert index.document_frequency(["sale"]).tolist() == [2]
    assert len(arrived) >= 3


def test_vectors_need_the_embedder_that_built_them(lite: Path, collection: Names) -> None:
    class Other(WordCounts):
        model = "other"

    name = collection()
    built = MilvusIndex.build(small("net sales"), lite, collection=name, embedder=WordCounts())
    index = MilvusIndex(lite, collection=name)
    assert index.search("net") == built.search("net")
    for ask in (lambda: index.dense, lambda: index.add([])):
        with pytest.raises(InputError, match=r"was opened without an embedder. Give the one that built it"):
            ask()
    with pytest.raises(IndexForeign, match="embedded by 'word-counts', and queries would be by 'other'"):
        MilvusIndex(lite, collection=name, embedder=Other())
    again = MilvusIndex(lite, collection=name, embedder=WordCounts()).add(small("rose"))
    assert [hit.passage_id for hit in again.dense.search("rose", 1)] == ["rose"]
    dense: Retriever = again.dense
    assert len(dense) == 2


def test_an_embedder_that_fails_leaves_out_its_list(lite: Path, collection: Names) -> None:
    class Tired(WordCounts):
        def embed(self, texts: Any, *, task: Any) -> Any:
            if task == "query":
                raise RuntimeError("asleep")
            return super().embed(texts, task=task)

    index = MilvusIndex.build(small("net sales"), lite, collection=collection(), embedder=Tired())
    ranking = hybrid(index, index.dense).search("net sales")
    assert [hit.passage_id for hit in ranking] == ["net"]
    assert ranking.degraded == "dense left out: asleep"


def test_a_server_over_the_network_does_the_same(tmp_path: Path) -> None:
    serve = pytest.importorskip("milvus_lite.adapter.grpc.server", reason="needs Milvus Lite")
    server, database, port = serve.start_server_in_thread(str(tmp_path / "data"))
    try:
        uri = f"http://127.0.0.1:{port}"
        index = MilvusIndex.build(small("net sales", "rose"), uri, token="user:secret", consistency="Strong")
        assert repr(index) == f"MilvusIndex({uri!r}, collection='hybridrank')"
        assert [hit.passage_id for hit in MilvusIndex(uri).search("sale")] == ["net"]
    finally:
        server.stop(grace=0)
        database.close()


def test_a_part_that_is_half_written_does_not_count(lite: Path, collection: Names) -> None:
    index = MilvusIndex.build(small("net sales", "rose"), lite, collection=collection())
    rows = [milvus_statistics._row("half", 1, digest("net"), documents=50)]
    index._collection.server.call("insert", collection_name=index._collection.statistics.name, data=rows)
    index._collection.statistics.forget()
    assert index.document_frequency(["net", "rose"]).tolist() == [1, 1]
    assert [hit.passage_id for hit in index.search("net")] == ["net"]


def test_positions_that_several_have_make_no_mask(lite: Path, collection: Names) -> None:
    index = MilvusIndex.build(small("net sales", "rose"), lite, collection=collection())
    server, name = index._collection.server, index._collection.name
    row, _ = row_of(Passage(id="late", text="fell"), 1, {1: 1.0})
    server.call("insert", collection_name=name, data=[row])
    with pytest.raises(InputError, match=r"has a position that is not its own. Give a function or a filter"):
        index.mask(lambda passage: True)


@pytest.mark.parametrize("average", [0, -1.0, float("nan"), float("inf")])
def test_an_average_length_is_above_nothing(average: float, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"the average length is .*Give a number of terms above 0"):
        MilvusIndex.build([], tmp_path / "never.db", average_length=average)
