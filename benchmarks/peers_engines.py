"""Search engines, each behind the same four steps. What one needs is imported when it is chosen."""
# ruff: noqa: D102  (the steps of all engines are described once, by Engine)

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

Answers = list[list[int]]  # for each query, the places of texts, best first


class Engine(Protocol):
    """One engine over one index."""

    def build(self, texts: Sequence[str], directory: Path) -> None:
        """Index texts and bring the index to the disk, if the engine has a way to."""
        ...

    def open(self, directory: Path, texts: Sequence[str]) -> None:
        """Make the index ready for searching; ``texts`` are for an engine that cannot store an index."""
        ...

    def search(self, query: str, k: int) -> list[int]:
        """The best texts of one query."""
        ...

    def search_many(self, queries: Sequence[str], k: int) -> Answers:
        """The same of many queries, in the fastest way that the engine offers on one thread."""
        ...


class _OneByOne:
    def search(self, query: str, k: int) -> list[int]:
        raise NotImplementedError

    def search_many(self, queries: Sequence[str], k: int) -> Answers:
        return [self.search(query, k) for query in queries]


class Hybridrank:
    """This library: positions and scores alone, as bm25s gives them."""

    def __init__(self, backend: Any) -> None:
        import scipy.sparse  # noqa: F401  (which searches load when they need it: not to be measured)

        import hybridrank.lexical  # noqa: F401
        from hybridrank.accelerators import use_backend

        use_backend(backend)
        self._index: Any = None

    def build(self, texts: Sequence[str], directory: Path) -> None:
        from hybridrank import LexicalIndex, Passage

        index = LexicalIndex.build(Passage(id=str(at), text=text) for at, text in enumerate(texts))
        index.save(directory)

    def open(self, directory: Path, texts: Sequence[str]) -> None:
        from hybridrank import LexicalIndex

        self._index = LexicalIndex.open(directory)

    def search(self, query: str, k: int) -> list[int]:
        return self.search_many([query], k)[0]

    def search_many(self, queries: Sequence[str], k: int) -> Answers:
        return [positions.tolist() for positions, _ in self._index.top_many(queries, k)]


class HybridrankHits(Hybridrank):
    """This library, whole: passages, and what each term gave."""

    def search_many(self, queries: Sequence[str], k: int) -> Answers:
        return [[hit.position for hit in found] for found in self._index.search_many(queries, k)]


class Bm25s:
    """bm25s with its own tokenizer, English stop words and the stemmer that this library has, too."""

    def __init__(self, backend: str) -> None:
        import Stemmer

        self._backend = backend
        self._stemmer = Stemmer.Stemmer("english")
        self._model: Any = None

    def build(self, texts: Sequence[str], directory: Path) -> None:
        import bm25s

        tokens = bm25s.tokenize(list(texts), stopwords="en", stemmer=self._stemmer, show_progress=False)
        model = bm25s.BM25(backend=self._backend)
        model.index(tokens, show_progress=False)
        # With the texts, as this library stores them, too.
        model.save(directory, corpus=[{"text": text} for text in texts], show_progress=False)

    def open(self, directory: Path, texts: Sequence[str]) -> None:
        import bm25s

        self._model = bm25s.BM25.load(directory, mmap=True)
        self._model.backend = self._backend
        if self._backend == "numba":
            self._model.activate_numba_scorer()

    def search(self, query: str, k: int) -> list[int]:
        return self.search_many([query], k)[0]

    def search_many(self, queries: Sequence[str], k: int) -> Answers:
        import bm25s

        tokens = bm25s.tokenize(
            list(queries), stopwords="en", stemmer=self._stemmer, return_ids=False, show_progress=False
        )
        found, scores = self._model.retrieve(tokens, k=k, show_progress=False)
        return [
            [at for at, score in zip(*pair, strict=True) if score > 0]
            for pair in zip(found.tolist(), scores.tolist(), strict=True)
        ]


def words(text: str) -> list[str]:
    """The words of a text for engines that leave this to the user.

    >>> words("Net sales, 10-K")
    ['net', 'sales', '10', 'k']
    """
    return re.findall(r"\w+", text.lower())


class RankBm25(_OneByOne):
    """rank-bm25, which stores no index: what it is built of is stored as JSON."""

    def build(self, texts: Sequence[str], directory: Path) -> None:
        from rank_bm25 import BM25Okapi

        tokens = [words(text) for text in texts]
        BM25Okapi(tokens)
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "tokens.json").write_text(json.dumps(tokens), encoding="ascii")

    def open(self, directory: Path, texts: Sequence[str]) -> None:
        from rank_bm25 import BM25Okapi

        self._model = BM25Okapi(json.loads((directory / "tokens.json").read_text(encoding="ascii")))

    def search(self, query: str, k: int) -> list[int]:
        import numpy as np

        scores = self._model.get_scores(words(query))
        return [int(at) for at in np.argsort(-scores, kind="stable")[:k] if scores[at] > 0]


class LangChain(_OneByOne):
    """LangChain's BM25Retriever, which is rank-bm25 behind another door and stores no index either."""

    def build(self, texts: Sequence[str], directory: Path) -> None:
        self.open(directory, texts)

    def open(self, directory: Path, texts: Sequence[str]) -> None:
        from langchain_community.retrievers import BM25Retriever

        self._retriever = BM25Retriever.from_texts(
            list(texts), metadatas=[{"at": at} for at in range(len(texts))], preprocess_func=words
        )

    def search(self, query: str, k: int) -> list[int]:
        self._retriever.k = k
        return [document.metadata["at"] for document in self._retriever.invoke(query)]


class Tantivy(_OneByOne):
    """tantivy with its English stemmer, on one thread."""

    def build(self, texts: Sequence[str], directory: Path) -> None:
        import tantivy

        directory.mkdir(parents=True, exist_ok=True)
        schema = tantivy.SchemaBuilder()
        schema.add_text_field("body", stored=True, tokenizer_name="en_stem")
        schema.add_unsigned_field("at", stored=True)
        index = tantivy.Index(schema.build(), path=str(directory))
        writer = index.writer(heap_size=500_000_000, num_threads=1)
        for at, text in enumerate(texts):
            writer.add_document(tantivy.Document(body=text, at=at))
        writer.commit()
        writer.wait_merging_threads()

    def open(self, directory: Path, texts: Sequence[str]) -> None:
        import tantivy

        self._index = tantivy.Index.open(str(directory))
        self._searcher = self._index.searcher()

    def search(self, query: str, k: int) -> list[int]:
        parsed = self._index.parse_query(" ".join(words(query)), ["body"])
        hits = self._searcher.search(parsed, k, count=False).hits
        return [int(self._searcher.doc(address)["at"][0]) for _, address in hits]


class Fts5(_OneByOne):
    """The full-text search of SQLite with its Porter stemmer."""

    def build(self, texts: Sequence[str], directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._connect(directory)
        with self._base:
            self._base.execute("CREATE VIRTUAL TABLE t USING fts5(body, tokenize='porter unicode61')")
            self._base.executemany("INSERT INTO t(rowid, body) VALUES (?, ?)", enumerate(texts))
            self._base.execute("INSERT INTO t(t) VALUES ('optimize')")
        self._base.close()

    def open(self, directory: Path, texts: Sequence[str]) -> None:
        self._connect(directory)

    def search(self, query: str, k: int) -> list[int]:
        asked = " OR ".join(f'"{word}"' for word in dict.fromkeys(words(query)))
        if not asked:
            return []
        rows = self._base.execute("SELECT rowid FROM t WHERE t MATCH ? ORDER BY rank LIMIT ?", (asked, k))
        return [row[0] for row in rows]

    def _connect(self, directory: Path) -> None:
        import sqlite3

        self._base = sqlite3.connect(directory / "fts.db")


class LanceDb(_OneByOne):
    """LanceDB's own full-text index."""

    def build(self, texts: Sequence[str], directory: Path) -> None:
        import lancedb
        import pyarrow

        table = pyarrow.table({"at": list(range(len(texts))), "text": list(texts)})
        lancedb.connect(directory).create_table("t", table).create_fts_index("text")

    def open(self, directory: Path, texts: Sequence[str]) -> None:
        import lancedb

        self._table = lancedb.connect(directory).open_table("t")

    def search(self, query: str, k: int) -> list[int]:
        found = (
            self._table.search(" ".join(words(query)), query_type="fts")
            .select(["at", "_score"])
            .limit(k)
            .to_arrow()
        )
        places: list[int] = found["at"].to_pylist()
        return places


OURS = "hybridrank-numpy"  # which needs nothing else
# What makes each engine, and the modules that must be installed for it.
ENGINES: dict[str, tuple[Callable[[], Engine], tuple[str, ...]]] = {
    "hybridrank-numba": (lambda: Hybridrank("numba"), ("numba",)),
    OURS: (lambda: Hybridrank("numpy"), ()),
    "hybridrank-hits": (lambda: HybridrankHits("numba"), ("numba",)),
    "bm25s-numba": (lambda: Bm25s("numba"), ("bm25s", "numba", "Stemmer")),
    "bm25s-numpy": (lambda: Bm25s("numpy"), ("bm25s", "Stemmer")),
    "tantivy": (Tantivy, ("tantivy",)),
    "sqlite-fts5": (Fts5, ("sqlite3",)),
    "lancedb": (LanceDb, ("lancedb", "pyarrow")),
    "rank-bm25": (RankBm25, ("rank_bm25",)),
    "langchain-bm25": (LangChain, ("langchain_community", "rank_bm25")),
}
# Engines that share what another one builds.
BUILT_BY = {"hybridrank-numba": OURS, "hybridrank-hits": OURS}


def missing(name: str) -> list[str]:
    """The modules that an engine needs and that are not installed."""
    return [module for module in ENGINES[name][1] if find_spec(module) is None]
