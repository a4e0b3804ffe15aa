import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hybridrank.commands.terminal import UNHEALTHY
from hybridrank.doctor import Examination, Finding, Plan, examine
from hybridrank.errors import CacheUnusable, InputError
from hybridrank.jina import JinaClient, ResponseCache
from hybridrank.lexical import LexicalIndex
from hybridrank.text.corpus import read_corpus
from hybridrank.text.passages import split_documents
from tests.command_line import DATA, says
from tests.jina.fault_server import DIMENSION, FaultServer, running

KEY = "jina_0123456789abcdefghij"


@pytest.fixture(scope="module")
def server() -> Iterator[FaultServer]:
    with running() as found:
        yield found


@pytest.fixture
def environ(server: FaultServer, monkeypatch: pytest.MonkeyPatch) -> FaultServer:
    monkeypatch.setenv("JINA_API_KEY", KEY)
    monkeypatch.setenv("JINA_BASE_URL", server.url)
    return server


def test_without_key_and_address_nothing_is_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("JINA_API_KEY", raising=False)
    monkeypatch.delenv("JINA_BASE_URL", raising=False)
    code, out, err = says(capsys, ["doctor"])
    assert (code, err) == (0, "")
    assert "address   https://api.jina.ai/v1\nkey       not set\n" in out
    assert out.count(": not asked") == 2
    assert "set JINA_API_KEY" in out


def test_services_that_answer(environ: FaultServer, capsys: pytest.CaptureFixture[str]) -> None:
    environ.plan("r", ["with_documents"])
    code, out, err = says(capsys, ["doctor", "--embedding-model", "e", "--reranking-model", "r"])
    assert (code, err) == (0, "")
    assert "embedding e: answers, " in out
    assert f"{DIMENSION} dimensions" in out
    assert "500 requests left this minute" in out
    assert "key       set" in out
    assert KEY not in out
    assert environ.requests["e"] == environ.requests["r"] == 1


def test_services_that_do_not_answer(environ: FaultServer, capsys: pytest.CaptureFixture[str]) -> None:
    environ.plan("refused", ["status_401"])
    code, out, _err = says(capsys, ["doctor", "--embedding-model", "refused", "--json"])
    assert code == UNHEALTHY == 1
    found = json.loads(out)
    assert not found["healthy"]
    embedding, reranking = found["services"]
    assert "failed for Bearer [key] (status 401" in embedding["problem"]
    assert (embedding["answers"], reranking["answers"]) == (False, True)
    assert KEY not in out
    environ.plan("refused", ["status_401"])
    code, out, _ = says(capsys, ["doctor", "--embedding-model", "refused"])
    assert (code, "See that the key is right" in out) == (1, True)


def test_no_network(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = says(capsys, ["doctor", "--base-url", "http://127.0.0.1:1"])
    assert (code, err) == (1, "")
    assert out.count("the connection failed") == 2
    code, out, _ = says(capsys, ["doctor", "--base-url", "http://127.0.0.1:1", "--offline"])
    assert (code, out.count("not asked")) == (0, 2)


def test_what_cannot_be_used(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, err = says(capsys, ["doctor", "--base-url", "http://me:secret@host"])
    assert (code, out) == (2, "")
    assert "secret" not in err
    with pytest.raises(InputError, match="there is no cache here"):
        examine(environ={}, cache=tmp_path / "none.db")
    (tmp_path / "other.db").write_bytes(b"something else" * 100)
    with pytest.raises(CacheUnusable):
        examine(environ={}, cache=tmp_path / "other.db")


@pytest.mark.parametrize("job", [["fly"], ["embed"], ["embed", "a", "b"], ["rerank", "a"], ["rerank"] * 5])
def test_what_is_no_job(job: list[str]) -> None:
    with pytest.raises(InputError, match="is no job"):
        examine(environ={}, job=job)


@pytest.mark.parametrize("depth", ["0", "-1", "x", "²"])
def test_a_depth_is_a_number(depth: str) -> None:
    with pytest.raises(InputError, match="the depth is"):
        examine(environ={}, job=["rerank", "a", "b", depth])


def test_what_embedding_would_spend(server: FaultServer, tmp_path: Path) -> None:
    texts = [passage.text for passage in split_documents(read_corpus(DATA / "notes"))]
    path = tmp_path / "cache.db"
    environ = {"JINA_BASE_URL": server.url}
    before = examine(environ=environ, job=["embed", str(DATA / "notes")], ask=False).plan
    assert before is not None
    assert (before.texts, before.cached, before.requests) == (len(set(texts)), 0, 1)
    with ResponseCache(path) as cache, JinaClient(base_url=server.url, cache=cache) as client:
        client.embed(texts[:3])
        half = examine(environ=environ, job=["embed", str(DATA / "notes")], cache=path, ask=False)
        assert half.plan is not None
        assert (half.plan.texts, half.plan.cached) == (len(set(texts)), len(set(texts[:3])))
        assert 0 < half.plan.tokens < before.tokens
        usage = client.embed(texts).usage
        assert usage.requests == half.plan.requests
        assert usage.tokens <= half.plan.tokens
    after = examine(environ=environ, job=["embed", str(DATA / "notes")], cache=path, ask=False)
    assert after.plan is not None
    assert (after.plan.requests, after.plan.tokens) == (0, 0)
    assert after.cache is not None
    assert after.cache.answers == {"embedding": len(set(texts))}
    assert any(line.startswith(f"cache     {len(set(texts))} of kind embedding") for line in after.lines())
    assert any("0 requests of at most 0 tokens" in line for line in after.lines())


def test_what_reranking_would_spend(server: FaultServer, notes: Path, tmp_path: Path) -> None:
    queries = tmp_path / "queries.jsonl"
    asked = ["How do I stop slugs?", "zzzz", "Which glue for outdoors?"]
    queries.write_text(
        "".join(json.dumps({"query_id": str(n), "question": text}) + "\n" for n, text in enumerate(asked))
    )
    index = LexicalIndex.open(notes)
    found = examine(environ={}, job=["rerank", str(notes), str(queries), "5"]).plan
    assert found is not None
    hits = [index.search(query, 5) for query in asked]
    assert found.texts == sum(map(len, hits))
    assert found.requests == sum(bool(ranking) for ranking in hits) == 2
    with JinaClient(base_url=server.url) as client:
        for query, ranking in zip(asked, hits, strict=True):
            if ranking:
                client.rerank(query, [index.passages[hit.position].text for hit in ranking])
        assert client.ledger.usage.requests == found.requests
        assert client.ledger.usage.tokens <= found.tokens
    deeper = examine(environ={}, job=["rerank", str(notes), str(queries)]).plan
    assert deeper is not None
    assert deeper.texts >= found.texts


MISSING = "httpx is not installed. Install it with: pip install 'hybridrank[jina]'"


@pytest.fixture
def no_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "hybridrank.jina.engine", raising=False)
    monkeypatch.delitem(sys.modules, "hybridrank.jina.transport", raising=False)
    monkeypatch.setitem(sys.modules, "httpx", None)
    monkeypatch.delenv("JINA_API_KEY", raising=False)
    monkeypatch.delenv("JINA_BASE_URL", raising=False)


@pytest.mark.usefixtures("no_extra")
@pytest.mark.parametrize("variable", ["JINA_API_KEY", "JINA_BASE_URL"])
def test_a_service_that_lacks_the_extra_cannot_be_asked(
    variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ResponseCache(tmp_path / "cache.db").close()
    monkeypatch.setenv(variable, "http://localhost")
    code, out, err = says(capsys, ["doctor", "--cache", tmp_path / "cache.db"])
    assert (code, err) == (UNHEALTHY, "")
    assert out.splitlines()[-1] == f"problem   {MISSING}"
    assert "cache     empty" in out
    code, out, _ = says(capsys, ["doctor", "--json"])
    found = json.loads(out)
    assert (code, found["healthy"], found["problem"]) == (UNHEALTHY, False, MISSING)


@pytest.mark.usefixtures("no_extra")
def test_without_a_service_to_ask_the_extra_is_merely_noted(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = says(capsys, ["doctor"])
    assert (code, out.splitlines()[-1]) == (0, f"note      {MISSING}")
    assert says(capsys, ["doctor", "--plan", "embed", DATA / "notes"]) == (2, "", f"error: {MISSING}\n")


def test_what_is_one_is_said_in_the_singular() -> None:
    plan = Plan(job="embed a", texts=1, cached=0, requests=1, tokens=1)
    finding = Finding(service="embedding", model="m", answers=True, milliseconds=1.0, dimension=1, tokens=1)
    finding = replace(finding, requests_left=1, tokens_left=2000)
    lines = list(Examination(base_url="", key=False, services=[finding], plan=plan).lines())
    assert lines[2:] == [
        "embedding m: answers, 1 ms, 1 token, 1 dimension, 1 request left this minute, "
        "2,000 tokens left this minute",
        "plan      embed a: 1 answer, 0 in the cache; 1 request of at most 1 token",
    ]
