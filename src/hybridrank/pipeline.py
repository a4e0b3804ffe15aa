"""The composition: retrievers, then fusion, then rerankers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from hybridrank.errors import InputError
from hybridrank.fusion import ConvexCombination, Fusion, ReciprocalRankFusion
from hybridrank.lexical import LexicalIndex
from hybridrank.protocols import Reranker, Retriever, check_depth, check_query
from hybridrank.records import Passage, Ranking

__all__ = ["Pipeline", "hybrid", "rank"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Pipeline:
    """Searches with every retriever, fuses what they find, and lets each reranker order it anew; a retriever
    itself.

    Each retriever gives ``depth`` candidates (or ``k``, if that is more), and the rerankers see all of them.
    With one retriever there is nothing to fuse, and its scores stay. All retrievers must index the same
    passages, and each retriever and reranker needs a name of its own.

    >>> passages = [Passage(id="a", text="Net sales rose."), Passage(id="b", text="Costs fell.")]
    >>> index = LexicalIndex.build(passages)
    >>> print(Pipeline(retrievers=[index]).search("Which sales?").explain())
    1 hit for 'Which sales?'
    1. a  score 0.2...
       bm25: rank 1, score 0.2... = sale 0.2...
       Net sales rose.
    """

    retrievers: Sequence[Retriever]
    fusion: Fusion = field(default_factory=ReciprocalRankFusion)
    rerankers: Sequence[Reranker] = ()
    depth: int = 100
    name: str = "pipeline"

    def __post_init__(self) -> None:
        names = [retriever.name for retriever in self.retrievers]
        if not names or len(set(names)) < len(names):
            raise InputError(
                f"a pipeline of the retrievers {names}", remedy="Give at least one, and each its own name."
            )
        names += [reranker.name for reranker in self.rerankers if hasattr(reranker, "name")]
        if len(set(names)) < len(names):
            raise InputError(
                f"a pipeline of retrievers and rerankers with the names {names}",
                remedy="Give each reranker a name that nothing else in the pipeline has.",
            )
        check_depth(self.depth)

    def __len__(self) -> int:
        return len(self.retrievers[0])

    def search(self, query: str, k: int = 10) -> Ranking:
        """The best ``k`` passages. Raises :class:`~hybridrank.errors.InputError` for ``k < 1``."""
        depth = max(check_depth(k), self.depth)
        found = {retriever.name: retriever.search(query, depth) for retriever in self.retrievers}
        ranking = self._fused(found)
        for reranker in self.rerankers:
            ranking = reranker.rerank(ranking)
        return ranking.top(k)

    def search_many(self, queries: Iterable[str], k: int = 10) -> list[Ranking]:
        """The same as :meth:`search` of each query, in order; but retrievers and rerankers see all queries at
        once, so that texts are embedded in few calls and a budget is weighed out over the queries."""
        depth, asked = max(check_depth(k), self.depth), list(queries)
        lists = {retriever.name: retriever.search_many(asked, depth) for retriever in self.retrievers}
        rankings = [
            self._fused({name: found[place] for name, found in lists.items()}) for place in range(len(asked))
        ]
        for reranker in self.rerankers:
            many = getattr(reranker, "rerank_many", None)
            rankings = list(many(rankings)) if many else [reranker.rerank(ranking) for ranking in rankings]
        return [ranking.top(k) for ranking in rankings]

    def _fused(self, found: Mapping[str, Ranking]) -> Ranking:
        return self.fusion(found) if len(found) > 1 else next(iter(found.values()))


def hybrid(
    lexical: Retriever,
    dense: Retriever,
    *,
    weight: float = 0.2,
    rerankers: Sequence[Reranker] = (),
    depth: int = 100,
) -> Pipeline:
    """A pipeline of a lexical and a dense index whose scores are combined, ``weight`` being the dense one's
    share.

    Each list's scores are brought to the range from 0 to 1, those of BM25 from 0 up. Give a weight of your
    own when you have judged queries: :func:`~hybridrank.fusion_choice.choose_fusion` finds one, or says that
    the dense list hurts. ``Pipeline(retrievers=[lexical, dense])`` fuses ranks with equal weights, as is
    usual, and loses much where one list is clearly better than the other: with MiniLM over 40 lexical
    candidates of FinQA questions the evidence in the best five fell from 0.744 to 0.729, and from 0.927 to
    0.853 for questions that name a company; weights of 0.1 to 0.3 gave 0.760 to 0.765, and 0.925 to 0.928.

    Raises :class:`~hybridrank.errors.InputError` for a weight beyond 0 to 1.
    """
    if not 0 <= weight <= 1:
        raise InputError(f"the weight of the dense list is {weight}", remedy="Give a number from 0 to 1.")
    fusion = ConvexCombination(
        weights={lexical.name: 1 - weight, dense.name: weight}, lowest={lexical.name: 0.0}
    )
    return Pipeline(retrievers=[lexical, dense], fusion=fusion, rerankers=rerankers, depth=depth)


def rank(query: str, texts: Iterable[str], k: int = 10) -> Ranking:
    """Rank texts of your own by BM25; a hit's ``position`` is its place among them, its id the same as a
    string.

    Texts that share no word with the query are left out. Raises :class:`~hybridrank.errors.InputError` for
    ``k < 1``, for a query or a text that is no string, and for a single string in place of texts.

    >>> notes = ["Milk and eggs.", "Plan C: sell the boat.", "The boat needs paint."]
    >>> [notes[hit.position] for hit in rank("Which plan is about boats?", notes)]
    ['Plan C: sell the boat.', 'The boat needs paint.']
    """
    check_query(query)
    if isinstance(texts, str):
        raise InputError("the texts are a single string", remedy="Give a list of strings.")
    passages = [_passage(place, text) for place, text in enumerate(texts)]
    return LexicalIndex.build(passages).search(query, k)


def _passage(place: int, text: str) -> Passage:
    if not isinstance(text, str):
        raise InputError(
            f"text {place} (counted from 0) is of type {type(text).__name__}, not str",
            remedy="Give strings only.",
        )
    return Passage(id=str(place), text=text)
