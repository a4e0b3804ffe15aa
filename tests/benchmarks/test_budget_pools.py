from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.budget_pools import Pool, add_learned, add_noisy_labels, add_service, read_pools
from hybridrank.records import Ranking
from hybridrank.tasks.finance.datasets import sample_sets


@pytest.fixture(scope="module")
def pools(tmp_path_factory: pytest.TempPathFactory) -> list[Pool]:
    return read_pools(sample_sets()[0], tmp_path_factory.mktemp("work"), lambda message: None)


def test_candidates_are_whole_and_in_order(pools: list[Pool]) -> None:
    assert len(pools) == 32
    for pool in pools:
        hits = pool.ranking.hits
        assert 5 < len(hits) <= 40
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
        assert len(pool.features) == len(pool.places) == len(hits)
        for hit, place in zip(hits, pool.places, strict=True):
            assert hit.passage is not None
            assert len(hit.passage.text) == place.end - place.start


def test_what_a_candidate_holds_is_its_quality_alone(pools: list[Pool]) -> None:
    for pool in pools:
        for hit, held in zip(pool.ranking, pool.holds().tolist(), strict=True):
            quality = pool.quality(Ranking(query="", hits=(hit,)))
            assert held == (2 if quality == 1 else 1 if quality > 0 else 0)
    assert sum(pool.holds().any() for pool in pools) > 28


def test_stand_ins_score_every_candidate_and_know_something(pools: list[Pool]) -> None:
    told: list[str] = []
    add_learned(pools, told.append)
    add_noisy_labels(pools)
    assert told == [f"learning, fold {fold} of 5" for fold in range(1, 6)]
    chance = np.mean([np.mean(pool.holds() > 0) for pool in pools])
    for name in ("learned", "labels±0.5", "labels±1"):
        best = [pool.holds()[np.argmax(pool.scores[name])] > 0 for pool in pools]
        assert all(len(pool.scores[name]) == len(pool.ranking) for pool in pools)
        assert np.mean(best) > 2 * chance
    strong, middling = (
        np.mean([pool.holds()[np.argmax(pool.scores[name])] for pool in pools])
        for name in ("labels±0.5", "labels±1")
    )
    assert strong > middling


def test_a_service_can_be_asked(pools: list[Pool]) -> None:
    class Lengths:
        def rerank(self, query: str, documents: Sequence[str], **_: Any) -> Any:
            class Answer:
                scores = np.array([len(text) for text in documents], dtype=np.float32)

            return Answer

    told: list[str] = []
    add_service(pools[:2], Lengths(), told.append)
    assert told[-1] == "asked the service for 2 of 2 questions"
    assert pools[0].scores["service"][0] == len(pools[0].ranking[0].passage.text)  # type: ignore[union-attr]


def test_an_index_that_is_there_is_used(tmp_path: Path) -> None:
    told: list[str] = []
    sets = sample_sets()[0]
    first = read_pools(sets, tmp_path, told.append)
    second = read_pools(sets, tmp_path, told.append)
    assert [message for message in told if message.startswith("indexing")] == ["indexing corpus sample"]
    assert [pool.ranking for pool in first] == [pool.ranking for pool in second]
