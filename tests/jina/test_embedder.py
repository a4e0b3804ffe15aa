from collections.abc import Iterator

import numpy as np
import pytest

from hybridrank.budget import Budget, Ledger
from hybridrank.errors import BudgetExhausted, InputError, WrongDimension
from hybridrank.jina import JinaClient, JinaEmbedder, Limits
from hybridrank.protocols import Embedder, MeteredEmbedder
from tests.jina.fault_server import DIMENSION, FaultServer, running, vector_of


@pytest.fixture(scope="module")
def server() -> Iterator[FaultServer]:
    with running() as found:
        yield found


@pytest.fixture
def client(server: FaultServer) -> Iterator[JinaClient]:
    with JinaClient(base_url=server.url, embedding_model="m", limits=Limits(attempts=1)) as found:
        yield found


def test_it_is_an_embedder(client: JinaClient) -> None:
    embedder = JinaEmbedder(client)
    assert embedder.model == "m"
    vectors = embedder.embed(["a", ""], task="passage")
    assert vectors.tolist() == [vector_of("a"), [0.0] * DIMENSION]
    assert embedder.dimension == DIMENSION
    assert isinstance(embedder, Embedder)
    assert client.ledger.usage.requests == 1
    assert repr(embedder) == f"JinaEmbedder({client!r}, model='m', dimensions=None)"


def test_the_dimension_is_asked_for_once(client: JinaClient) -> None:
    embedder = JinaEmbedder(client)
    assert embedder.embed(["", " "], task="query").shape == (2, DIMENSION)
    assert embedder.embed([], task="query").shape == (0, DIMENSION)
    assert client.ledger.usage.requests == 1


def test_a_dimension_that_is_given_is_not_asked_for(client: JinaClient) -> None:
    embedder = JinaEmbedder(client, model="n", dimensions=DIMENSION, ledger=Ledger(Budget(requests=0)))
    assert embedder.dimension == DIMENSION
    assert embedder.embed([""], task="query").tolist() == [[0.0] * DIMENSION]
    with pytest.raises(BudgetExhausted):
        embedder.embed(["a"], task="query")


def test_a_part_pays_from_a_ledger_of_its_own_and_learns_for_all(client: JinaClient) -> None:
    embedder = JinaEmbedder(client, model="o")
    part, other = embedder.within(), embedder.within(Budget(requests=0))
    assert isinstance(part, MeteredEmbedder)
    assert part.dimension == embedder.dimension == other.dimension == DIMENSION
    with pytest.raises(BudgetExhausted):
        other.embed(["a"], task="query")
    assert [one.ledger.usage.requests for one in (embedder, part, other)] == [1, 1, 0]
    with pytest.raises(InputError, match=r"Give Ledger\(budget\)"):
        JinaEmbedder(client, ledger=Budget(requests=3))  # type: ignore[arg-type]


def test_a_model_that_changes_is_noticed(client: JinaClient, server: FaultServer) -> None:
    embedder = JinaEmbedder(client, model="changing")
    embedder.embed(["a"], task="passage")
    server.plan("changing", ["other_dimension"])
    with pytest.raises(WrongDimension, match=f"of {DIMENSION + 1} numbers, not {DIMENSION} as before"):
        embedder.embed(["b"], task="passage")


@pytest.mark.parametrize(
    ("tasks", "sent"),
    [
        (("retrieval.query", "retrieval.passage"), ["retrieval.query", "retrieval.passage"]),
        (None, [None, None]),
    ],
)
def test_tasks_are_named_as_the_service_names_them(
    client: JinaClient, server: FaultServer, tasks: tuple[str, str] | None, sent: list[str | None]
) -> None:
    server.bodies.clear()
    embedder = JinaEmbedder(client, tasks=tasks)
    embedder.embed(["a"], task="query")
    embedder.embed(["a"], task="passage")
    assert [body.get("task") for body in server.bodies] == sent
    with pytest.raises(InputError, match="the task is 'other'"):
        embedder.embed(["a"], task="other")  # type: ignore[arg-type]
    assert np.isfinite(embedder.embed(["a"], task="query")).all()
