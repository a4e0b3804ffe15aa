"""PyTerrier: a transformer that retrieves with any retriever of ours, and one that reranks with any reranker.

They need no Java. Ranks count from 0 here, as everywhere in PyTerrier.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any

from hybridrank.errors import InputError, MissingExtra
from hybridrank.integrations.reordering import check_reranker, make_passages, reorder
from hybridrank.integrations.scorers import Scorer
from hybridrank.lexical import LexicalIndex
from hybridrank.protocols import Reranker, Retriever, check_depth
from hybridrank.text.tokens import Tokenizer

try:
    import pandas as pd
    import pyterrier as pt
except ModuleNotFoundError as error:
    raise MissingExtra("pyterrier", extra="pyterrier") from error

__all__ = ["HybridrankReranker", "HybridrankRetriever"]


class HybridrankRetriever(pt.Transformer):
    """Q → R: finds passages in an index, a pipeline, or any other :class:`~hybridrank.protocols.Retriever`.

    For each row with ``qid`` and ``query`` come at most ``num_results`` rows with ``docno``, ``score``,
    ``rank`` and ``text`` besides; other columns of a query stay. A text that is not kept by the retriever is
    empty. ``retriever % 10`` asks it for 10.

    >>> documents = [{"docno": "a", "text": "Net sales rose."}, {"docno": "b", "text": "Costs fell."}]
    >>> retriever = HybridrankRetriever.from_documents(documents)
    >>> retriever.search("Which sales?")[["docno", "rank"]].to_dict("records")
    [{'docno': 'a', 'rank': 0}]
    """

    def __init__(self, retriever: Retriever, *, num_results: int = 1000) -> None:
        if not isinstance(retriever, Retriever):
            raise InputError(
                f"a {type(retriever).__name__} is no Retriever",
                remedy="Give an index or a pipeline; for documents use from_documents.",
            )
        self.retriever = retriever
        self.num_results = check_depth(num_results)

    @classmethod
    def from_documents(
        cls,
        documents: Iterable[Mapping[str, Any]],
        *,
        tokenizer: Tokenizer | None = None,
        num_results: int = 1000,
    ) -> HybridrankRetriever:
        """Index documents with BM25: an iterable of mappings with ``docno`` and ``text``, as a corpus gives.

        Raises :class:`~hybridrank.errors.InputError` for one without these, and when two have the same
        ``docno``.
        """
        given = list(documents)
        for place, document in enumerate(given):
            if not {"docno", "text"} <= document.keys():
                raise InputError(
                    f"document {place} (counted from 0) has the fields {sorted(document)}",
                    remedy="Give docno and text.",
                )
        passages = make_passages(
            [document["text"] for document in given],
            ids=[str(document["docno"]) for document in given],
        )
        return cls(LexicalIndex.build(passages, tokenizer=tokenizer), num_results=num_results)

    @classmethod
    def from_index(cls, directory: str | PathLike[str], *, num_results: int = 1000) -> HybridrankRetriever:
        """Open an index that :meth:`hybridrank.lexical.LexicalIndex.save` or ``hybridrank index`` wrote."""
        return cls(LexicalIndex.open(directory), num_results=num_results)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.retriever.name!r}, num_results={self.num_results})"

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """The results of a frame of queries; raises PyTerrier's own error for a frame that is none."""
        pt.validate.query_frame(inp, extra_columns=["query"])
        rankings = self.retriever.search_many(inp["query"].tolist(), self.num_results) if len(inp) else []
        hits = [(row, hit) for row, ranking in enumerate(rankings) for hit in ranking]
        found = inp.iloc[[row for row, _ in hits]].reset_index(drop=True)
        return found.assign(
            docno=pd.Series([hit.passage_id for _, hit in hits], dtype=object),
            score=pd.Series([hit.score for _, hit in hits], dtype="float64"),
            rank=pd.Series([hit.rank - 1 for _, hit in hits], dtype="int64"),
            text=pd.Series(
                ["" if hit.passage is None else hit.passage.text for _, hit in hits], dtype=object
            ),
        )

    def fuse_rank_cutoff(self, k: int) -> pt.Transformer | None:
        """The same transformer with fewer results, by which PyTerrier compiles ``retriever % k``."""
        if self.num_results <= k:
            return None
        return HybridrankRetriever(self.retriever, num_results=k)


class HybridrankReranker(pt.Transformer):
    """R → R: gives results new scores and ranks, query by query, by their ``query`` and ``text``.

    ``reranker`` is a :class:`~hybridrank.protocols.Reranker`, to which results are passages by their
    ``docno``; or anything with ``rerank(query, documents)`` that returns scores, such as a
    :class:`~hybridrank.jina.JinaClient`; by default BM25 over the results of the query.

    >>> rows = [["q1", "Which sales?", "a", "Costs fell."], ["q1", "Which sales?", "b", "Net sales rose."]]
    >>> results = pd.DataFrame(rows, columns=["qid", "query", "docno", "text"])
    >>> HybridrankReranker()(results)[["docno", "rank"]].to_dict("records")
    [{'docno': 'b', 'rank': 0}, {'docno': 'a', 'rank': 1}]
    """

    def __init__(self, reranker: Reranker | Scorer | None = None) -> None:
        self.reranker = check_reranker(reranker)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({getattr(self.reranker, 'name', type(self.reranker).__name__)!r})"

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """The results, best first; raises PyTerrier's own error for a frame that is none with texts."""
        pt.validate.result_frame(inp, extra_columns=["query", "text"])
        places: list[int] = []
        scores: list[float] = []
        ranks: list[int] = []
        for group in inp.reset_index(drop=True).groupby("qid", sort=False).indices.values():
            rows = inp.iloc[group]
            order = reorder(
                self.reranker,
                rows["query"].iloc[0],
                rows["text"].tolist(),
                ids=[str(docno) for docno in rows["docno"]],
                scores=rows["score"].tolist() if "score" in rows else (),
            ).order
            places.extend(int(group[place]) for place, _ in order)
            scores.extend(score for _, score in order)
            ranks.extend(range(len(order)))
        return (
            inp.iloc[places]
            .reset_index(drop=True)
            .assign(score=pd.Series(scores, dtype="float64"), rank=pd.Series(ranks, dtype="int64"))
        )
