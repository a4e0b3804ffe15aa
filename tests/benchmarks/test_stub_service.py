from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.stub_service import DIMENSION, StubService, vectors
from hybridrank.errors import ServiceRejected
from hybridrank.jina import JinaClient


def test_our_client_understands_it() -> None:
    texts = ["Net sales rose.", "Boats.", "?"]
    with StubService() as service, JinaClient(base_url=service.url) as client:
        found = client.embed(texts)
        assert np.array_equal(found.vectors, vectors(texts))
        scores = client.rerank("net sales", texts).scores
        assert scores[0] > scores[1] >= 0
        assert found.vectors.shape == (3, DIMENSION)
        assert found.usage.tokens > 0
    assert service.requests == {"/v1/embeddings": 1, "/v1/rerank": 1}


def test_another_path_is_not_found() -> None:
    with StubService() as service, pytest.raises(ServiceRejected, match="404"):
        JinaClient(base_url=service.url, dialect="tei").embed(["a"])


def test_started_alone_it_says_its_address_and_answers() -> None:
    command = [sys.executable, "-m", "benchmarks.stub_service"]
    with subprocess.Popen(
        command, cwd=Path(__file__).parents[2], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            name, _, url = process.stdout.readline().strip().partition("=")
            assert name == "JINA_BASE_URL"
            with JinaClient(base_url=url) as client:
                assert client.embed(["boats"]).vectors.shape == (1, DIMENSION)
        finally:
            process.kill()
