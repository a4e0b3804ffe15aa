from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hybridrank.engines.milvus_server import Server, translated
from hybridrank.errors import (
    IndexLocked,
    IndexNotFound,
    InputError,
    RateLimited,
    ServiceDenied,
    ServiceError,
    ServiceRejected,
    ServiceTimeout,
    ServiceUnavailable,
    ServiceUnreachable,
)


class Failure(Exception):
    """An error as the client raises it: a code of Milvus's, or of gRPC's."""

    def __init__(self, code: Any, message: str = "what it said", **more: Any) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.__dict__.update(more)


class RpcError(Exception):
    """An error as gRPC raises it: code and details are methods."""

    def __init__(self, name: str, details: str = "what it said") -> None:
        super().__init__(name)
        self.code: Callable[[], Any] = lambda: SimpleNamespace(name=name)
        self.details: Callable[[], str] = lambda: details


class ParamError(Failure):
    pass


@pytest.mark.parametrize(
    ("error", "kind", "code"),
    [
        (RpcError("UNAVAILABLE"), ServiceUnavailable, "UNAVAILABLE"),
        (RpcError("DEADLINE_EXCEEDED"), ServiceTimeout, "DEADLINE_EXCEEDED"),
        (RpcError("UNAUTHENTICATED"), ServiceDenied, "UNAUTHENTICATED"),
        (RpcError("RESOURCE_EXHAUSTED"), RateLimited, "RESOURCE_EXHAUSTED"),
        (
            RpcError("RESOURCE_EXHAUSTED", "message larger than max (9 vs 4)"),
            ServiceRejected,
            "RESOURCE_EXHAUSTED",
        ),
        (RpcError("UNIMPLEMENTED"), ServiceRejected, "UNIMPLEMENTED"),
        (Failure(SimpleNamespace(name="UNAVAILABLE")), ServiceUnavailable, "UNAVAILABLE"),
        (Failure(1), ServiceUnavailable, "1"),
        (Failure(8), RateLimited, "8"),
        (Failure(9), ServiceRejected, "9"),
        (Failure(1100), ServiceRejected, "1100"),
        (Failure(1401), ServiceDenied, "1401"),
        (Failure(777, retriable=True), ServiceUnavailable, "777"),
        (Failure(2, is_input_error=True), ServiceRejected, "2"),
        (ParamError(1), ServiceRejected, "1"),
    ],
)
def test_errors_are_of_our_kinds(error: Exception, kind: type[ServiceError], code: str) -> None:
    ours = translated("milvus", error)
    assert type(ours) is kind
    assert isinstance(ours, ServiceError)
    assert ours.code == code
    assert "milvus: " in str(ours)
    assert ("what it said" in str(ours)) or ("larger than max" in str(ours))


def test_what_is_no_error_of_the_client_stays_itself() -> None:
    error = ValueError("a fault of ours")
    assert translated("milvus", error) is error


class Flaky:
    """A client whose calls fail as they are told to, and then return what they were."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*, timeout: float, **arguments: Any) -> Any:
            assert 0 < timeout <= 60
            self.calls.append(name)
            if self.errors:
                raise self.errors.pop(0)
            return name, arguments

        return call


def server(client: Any, timeout: float = 60.0) -> tuple[Server, list[float]]:
    waits: list[float] = []
    return Server(
        "http://user:secret@host:19530", token="secret", client=client, timeout=timeout, sleep=waits.append
    ), waits


def test_passing_failures_are_tried_again_after_waits() -> None:
    client = Flaky(Failure(8), RpcError("UNAVAILABLE"), Failure(1))
    ours, waits = server(client)
    assert ours.call("insert", again="upsert", data=1) == ("upsert", {"data": 1})
    assert client.calls == ["insert", "upsert", "upsert", "upsert"]
    assert len(waits) == 3
    assert all(0 <= wait <= 5 for wait in waits)


def test_there_is_an_end_to_it() -> None:
    client = Flaky(*(Failure(8) for _ in range(50)))
    with pytest.raises(RateLimited):
        server(client)[0].call("search")
    assert len(client.calls) == 5


def test_no_wait_goes_beyond_the_deadline() -> None:
    client = Flaky(*(Failure(8) for _ in range(50)))
    ours, waits = server(client, timeout=1e-9)
    with pytest.raises(RateLimited):
        ours.call("search")
    assert (len(client.calls), waits) == (1, [])


def test_permanent_failures_are_not_tried_again() -> None:
    client = Flaky(Failure(1100))
    with pytest.raises(ServiceRejected):
        server(client)[0].call("search")
    assert client.calls == ["search"]


def test_rows_come_page_by_page() -> None:
    class Pages:
        def __init__(self) -> None:
            self.pages: list[Any] = [[{"id": 1}, {"id": 2}], Failure(8), [{"id": 3}], []]
            self.closed = False

        def next(self) -> Any:
            page = self.pages.pop(0)
            if isinstance(page, Exception):
                raise page
            return page

        def close(self) -> None:
            self.closed = True

    pages = Pages()
    client = SimpleNamespace(query_iterator=lambda **_: pages)
    assert [row["id"] for row in server(client)[0].every("c", ["id"])] == [1, 2, 3]
    assert pages.closed


def test_no_secret_is_told() -> None:
    ours, _ = server(Flaky(Failure(1401)))
    with pytest.raises(ServiceDenied) as caught:
        ours.call("search")
    told = f"{ours!r} {ours.name} {caught.value} {caught.value!r}"
    assert "secret" not in told
    assert "Give the token that this server expects" in told
    assert ours.name == "http://host:19530"


@pytest.mark.parametrize("timeout", [0, -1, float("nan")])
def test_a_timeout_is_some_time(timeout: float) -> None:
    with pytest.raises(InputError, match=r"the timeout is .*Give a number of seconds above 0"):
        Server("http://host", client=object(), timeout=timeout)


def test_where_there_can_be_no_server(lite: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"'host:19530' is no address of a Milvus server. Give one such as"):
        Server("host:19530")
    with pytest.raises(IndexNotFound, match="there is no such folder"):
        Server(tmp_path / "missing" / "lite.db")
    (tmp_path / "file.db").write_text("no database")
    with pytest.raises(IndexLocked, match=r"file.db: Milvus Lite cannot open it. Close it in the process"):
        Server(tmp_path / "file.db", timeout=0.5)


def test_a_server_that_is_not_there_is_told_of(lite: Path) -> None:
    with pytest.raises(ServiceUnreachable, match=r"http://127.0.0.1:1: .*Start the server") as caught:
        Server("http://127.0.0.1:1", token="secret", timeout=0.3)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("package", "code"),
    [
        ("tenacity", "import hybridrank.engines.milvus"),
        ("pymilvus", "from hybridrank.engines import MilvusIndex; MilvusIndex('http://127.0.0.1:1')"),
    ],
)
def test_a_missing_package_is_an_error_that_names_the_extra(package: str, code: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.modules[{package!r}] = None; {code}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr.rstrip().splitlines()[-1] == (
        f"hybridrank.errors.MissingExtra: {package} is not installed. "
        "Install it with: pip install 'hybridrank[milvus]'"
    )


def test_a_missing_milvus_lite_names_the_extra_too(
    lite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hybridrank.engines.milvus_server.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"milvus-lite is not installed.*'hybridrank\[milvus\]'"):
        Server(tmp_path / "other.db")
