from __future__ import annotations

import signal
import socket
import subprocess
from pathlib import Path

import pytest

from tests.command_line import QUERY, command, says

pytest.importorskip("httpx", reason="needs the extra: pip install 'hybridrank[jina]'")
pytest.importorskip("uvicorn", reason="needs the extra: pip install 'hybridrank[serve]'")

import httpx

from hybridrank import LearnedReranker, LexicalIndex
from tests.integrations.serve.live import commanded


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_serves_until_it_is_told_to_stop(notes: Path, number: signal.Signals) -> None:
    with subprocess.Popen(
        command("serve", notes, "--port", "0"), stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        assert process.stdout is not None
        words = process.stderr.readline().split()
        assert words[:2] == ["serving", "at"]
        url = words[2].rstrip(";")
        assert url.startswith("http://127.0.0.1:")
        (hit,) = httpx.get(f"{url}/search", params={"q": QUERY, "k": 1}).json()["hits"]
        assert "slug" in hit["text"].lower()
        process.send_signal(number)
        assert process.wait(timeout=60) == 0
        assert (process.stderr.read(), process.stdout.read()) == ("stopped\n", "")


def test_the_index_is_searched_with_the_ranker(notes: Path, tmp_path: Path) -> None:
    index = LexicalIndex.open(notes)
    best, second, *_ = index.search(QUERY)
    judgments = {"q": {best.passage_id: 0, second.passage_id: 1}}
    judgments = {f"q{n}": judgments["q"] for n in range(30)}
    parameters = {"min_data_in_leaf": 1}
    ranker = LearnedReranker.fit(
        index, dict.fromkeys(judgments, QUERY), judgments, rounds=20, parameters=parameters
    )
    ranker.save(tmp_path / "ranker")
    expected = [hit.passage_id for hit in ranker.rerank(index.search(QUERY, 100))]
    assert expected[0] == second.passage_id
    with commanded(notes, "--ranker", tmp_path / "ranker") as url:
        health = httpx.get(f"{url}/health").json()
        found = httpx.get(f"{url}/search", params={"q": QUERY, "k": len(expected)}).json()
    assert health["model"] == "hybridrank/learned"
    assert health["passages"] == len(index)
    assert [hit["id"] for hit in found["hits"]] == expected


def test_a_page_by_another_name_is_not_served(notes: Path) -> None:
    with commanded(notes) as url:
        assert httpx.get(f"{url}/health", headers={"Host": "example.org"}).status_code == 403


def test_the_size_of_a_body_is_bounded(notes: Path) -> None:
    with commanded(notes, "--max-body", 1) as url:
        documents = ["a" * (1 << 20)]
        response = httpx.post(f"{url}/v1/rerank", json={"query": "a", "documents": documents})
    assert response.status_code == 413


def test_whoever_opens_the_door_without_a_key_is_warned(capsys: pytest.CaptureFixture[str]) -> None:
    with commanded("--host", "0.0.0.0") as url:
        response = httpx.get(f"{url}/health".replace("0.0.0.0", "127.0.0.1"), headers={"Host": "example.org"})
    assert response.status_code == 200
    assert "warning: whoever reaches 0.0.0.0 is served; set HYBRIDRANK_API_KEY" in capsys.readouterr().err
    with commanded("--host", "0.0.0.0", environ={"HYBRIDRANK_API_KEY": "key"}) as url:
        response = httpx.get(f"{url}/search".replace("0.0.0.0", "127.0.0.1"))
    assert response.status_code == 401
    assert "warning" not in capsys.readouterr().err


@pytest.mark.skipif(not socket.has_ipv6, reason="this machine has no IPv6")
def test_an_address_of_the_sixth_version_has_brackets() -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6 loopback")
    with commanded("--host", "::1") as url:
        assert url.startswith("http://[::1]:")
        assert httpx.get(f"{url}/health").status_code == 200


def test_what_cannot_be_listened_at_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, _, err = says(capsys, ["serve", "--port", port])
    assert code == 2
    assert err.startswith(f"error: 127.0.0.1 port {port} cannot be listened at (")
    assert "Choose another --host or --port" in err
    code, _, err = says(capsys, ["serve", "--host", "no.such.host.invalid"])
    assert (code, err.count("cannot be listened at")) == (2, 1)
    code, _, err = says(capsys, ["serve", "--host", "a" * 80 + ".b"])
    assert (code, err.count("cannot be listened at")) == (2, 1)


def test_what_cannot_be_opened_is_an_error(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, _, err = says(capsys, ["serve", tmp_path])
    assert (code, "there is no index" in err) == (2, True)
    code, _, err = says(capsys, ["serve", "--ranker", tmp_path])
    assert (code, "there is no index" in err) == (2, True)


@pytest.mark.parametrize("port", ["-1", "65536", "x", "１", "999999"])
def test_a_port_is_a_number(capsys: pytest.CaptureFixture[str], port: str) -> None:
    code, _, err = says(capsys, ["serve", f"--port={port}"])
    assert (code, "is not a whole number from 0 to 65535" in err) == (2, True)
