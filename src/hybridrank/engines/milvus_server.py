"""The line to a Milvus server: where it is, how often it is asked again, and what its errors mean.

No token appears in a message, a ``repr`` or a log of ours.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from os import PathLike, fspath
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from hybridrank.errors import (
    IndexLocked,
    IndexNotFound,
    InputError,
    MissingExtra,
    RateLimited,
    ServiceDenied,
    ServiceError,
    ServiceRejected,
    ServiceTimeout,
    ServiceUnavailable,
    ServiceUnreachable,
)

try:
    import tenacity
except ModuleNotFoundError as error:
    raise MissingExtra("tenacity", extra="milvus") from error

__all__ = ["Server", "translated"]

_ATTEMPTS = 5
_ROWS_AT_ONCE = 1_000
_BACKOFF = tenacity.wait_random_exponential(multiplier=0.25, max=5.0)
_SCHEMES = ("http", "https", "tcp", "unix")
_LOCAL = ".db"

# By the names of gRPC's codes, and by the numbers of Milvus's own; what is in neither is refused for good.
_BY_STATUS: dict[str, type[ServiceError]] = {
    "UNAVAILABLE": ServiceUnavailable,
    "INTERNAL": ServiceUnavailable,
    "UNKNOWN": ServiceUnavailable,
    "ABORTED": ServiceUnavailable,
    "CANCELLED": ServiceUnavailable,
    "DEADLINE_EXCEEDED": ServiceTimeout,
    "RESOURCE_EXHAUSTED": RateLimited,
    "UNAUTHENTICATED": ServiceDenied,
    "PERMISSION_DENIED": ServiceDenied,
}
_BY_CODE: dict[int, type[ServiceError]] = {
    1: ServiceUnavailable,  # not ready, and what has no other number
    2: ServiceUnavailable,
    4: RateLimited,  # the queue is full
    8: RateLimited,
    12: ServiceUnavailable,  # resources do not suffice now
    103: ServiceUnavailable,  # a collection that is still being loaded
    1400: ServiceDenied,
    1401: ServiceDenied,
    10001: ServiceTimeout,
}
# Errors that the client raises itself, with a code that says nothing.
_NEVER_SENT = {"ParamError", "DataNotMatchException", "DataTypeNotMatchException", "PrimaryKeyException"}
_TOO_LARGE = "larger than max"
_REMEDIES: dict[type[ServiceError], str] = {
    ServiceDenied: "Give the token that this server expects.",
    ServiceTimeout: "Give more `timeout`, or look after the server.",
    ServiceUnreachable: "Start the server, or correct the address.",
}


class Server:
    """A Milvus server, or a file of Milvus Lite's, which is served by this process.

    ``uri`` is an address, or the path of a file that ends in ``.db``; ``token`` is an API key, or
    ``user:password``. ``client`` may be a ``pymilvus.MilvusClient`` of your own, for a connection that needs
    more than these. No call takes longer than ``timeout`` seconds with all its attempts.
    """

    def __init__(
        self,
        uri: str | PathLike[str],
        *,
        token: str | None = None,
        timeout: float = 60.0,
        client: Any = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        address = fspath(uri)
        if not timeout > 0:
            raise InputError(f"the timeout is {timeout}", remedy="Give a number of seconds above 0.")
        self.is_local = address.endswith(_LOCAL)
        self.name = address if self.is_local else _without_credentials(address)
        self.timeout = timeout
        self._sleep = sleep
        self._client = client if client is not None else self._connect(address, token or "")

    def __repr__(self) -> str:
        return f"Server({self.name!r})"

    def call(self, method: str, *, again: str | None = None, **arguments: Any) -> Any:
        """Call a method of the client; after passing failures again, or the method ``again``.

        Raises :class:`~hybridrank.errors.ServiceError` of the kind that fits.
        """

        def ask(name: str, **more: Any) -> Any:
            return getattr(self._client, name)(**more)

        return self._persist(ask, method, again, arguments)

    def settle(self, collection: str) -> None:
        """Say that nothing more is written for now: Milvus Lite is slow to search what is not flushed."""
        if self.is_local:
            self.call("flush", collection_name=collection)

    def every(self, collection: str, fields: Sequence[str]) -> Iterator[dict[str, Any]]:
        """All rows of a collection, in the order of their keys."""
        rows = self.call(
            "query_iterator",
            collection_name=collection,
            filter="",
            output_fields=list(fields),
            batch_size=_ROWS_AT_ONCE,
            consistency_level="Strong",
        )
        while batch := self._persist(lambda _, timeout: rows.next(), "next", None, {}):
            yield from batch
        rows.close()

    def _persist(
        self, ask: Callable[..., Any], method: str, again: str | None, arguments: dict[str, Any]
    ) -> Any:
        ends = time.monotonic() + self.timeout
        names = iter([method])

        def attempt() -> Any:
            name = next(names, again or method)
            try:
                return ask(name, timeout=max(ends - time.monotonic(), 0.001), **arguments)
            except Exception as error:
                raise translated(self.name, error) from error

        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception(lambda e: isinstance(e, ServiceError) and e.passing),
            wait=_BACKOFF,
            stop=lambda state: (
                state.attempt_number >= _ATTEMPTS or time.monotonic() + state.upcoming_sleep >= ends
            ),
            sleep=self._sleep,
            reraise=True,
        )
        return retrying(attempt)

    def _connect(self, address: str, token: str) -> Any:
        try:
            from pymilvus import MilvusClient
        except ModuleNotFoundError as error:
            raise MissingExtra("pymilvus", extra="milvus") from error
        if self.is_local:
            if find_spec("milvus_lite") is None:
                raise MissingExtra("milvus-lite", extra="milvus")
            if not Path(address).parent.is_dir():
                raise IndexNotFound(address, "there is no such folder", "Make it, or correct the path.")
        elif urlsplit(address).scheme not in _SCHEMES:
            raise InputError(
                f"{self.name!r} is no address of a Milvus server",
                remedy=f"Give one such as http://localhost:19530, or a path that ends in {_LOCAL}.",
            )

        def connect(_: str, timeout: float) -> Any:
            return MilvusClient(uri=address, token=token, timeout=timeout)

        try:
            return self._persist(connect, "connect", None, {})
        except ServiceError as error:
            if self.is_local:
                raise IndexLocked(
                    address,
                    "Milvus Lite cannot open it",
                    "Close it in the process that has it open; several processes need a server.",
                ) from error
            if isinstance(error, ServiceUnavailable):
                raise ServiceUnreachable(
                    self.name, error.reason, _REMEDIES[ServiceUnreachable], code=error.code
                ) from error
            raise


def translated(service: str, error: Exception) -> Exception:
    """Our error for one of the client's; what is none of its own comes back as it is."""
    code = getattr(error, "code", None)
    code = code() if callable(code) else code
    if code is None:
        return error
    status = None if isinstance(code, int) else str(getattr(code, "name", code))
    reason = str(getattr(error, "message", "") or _details(error) or error)
    if status is not None:
        kind = _BY_STATUS.get(status, ServiceRejected)
    elif type(error).__name__ in _NEVER_SENT or getattr(error, "is_input_error", False):
        kind = ServiceRejected
    else:
        other = ServiceUnavailable if getattr(error, "retriable", False) else ServiceRejected
        kind = _BY_CODE.get(code, other)
    if kind is RateLimited and _TOO_LARGE in reason:
        kind = ServiceRejected
    return kind(service, " ".join(reason.split()), _REMEDIES.get(kind, ""), code=status or str(code))


def _details(error: Exception) -> Any:
    details = getattr(error, "details", None)
    return details() if callable(details) else details


def _without_credentials(address: str) -> str:
    head, found, tail = address.partition("://")
    return f"{head}{found}{tail.rpartition('@')[2]}" if found else address.rpartition("@")[2]
