"""One HTTP exchange: bounded in time and size, without redirects, and with no key in what it returns."""

from __future__ import annotations

import logging
import weakref
import zlib
from functools import lru_cache

import anyio
import httpx

from hybridrank.errors import (
    AnswerTooLarge,
    BadAnswer,
    ServiceError,
    ServiceTimeout,
    ServiceUnavailable,
    ServiceUnreachable,
)
from hybridrank.jina.answers import Reply, hide
from hybridrank.jina.wire import Call

__all__ = ["Secret", "exchange", "http_client"]

# A filter works on the logger that is logged to, not on those above it.
_LOGGERS = ("httpx", *(f"httpcore.{part}" for part in ("connection", "http11", "http2", "proxy", "socks")))
_LOCATION = "hybridrank_location"
_LARGEST_ERROR = 65_536  # bytes of an error's body that are read
_url = lru_cache(maxsize=16)(httpx.URL)  # a client asks at two addresses again and again
_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol)


class Secret:
    """A key that no repr, log or report of variables shows."""

    __slots__ = ("__weakref__", "_value")

    def __init__(self, value: str | None) -> None:
        self._value = value
        if value:
            _REDACTOR.watch(self)

    def __repr__(self) -> str:
        return "Secret(***)" if self._value else "Secret(None)"

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("a key is not written to files")

    def reveal(self) -> str | None:
        """The key itself."""
        return self._value

    def headers(self) -> dict[str, str]:
        """The header that carries the key, if there is one."""
        return {"authorization": f"Bearer {self._value}"} if self._value else {}


class _Redactor(logging.Filter):
    """Takes keys out of what the HTTP libraries log of responses, in which a service may repeat them."""

    def __init__(self) -> None:
        super().__init__()
        self._secrets: weakref.WeakSet[Secret] = weakref.WeakSet()

    def watch(self, secret: Secret) -> None:
        for name in _LOGGERS:
            logging.getLogger(name).addFilter(self)  # which is done once, however often it is said
        self._secrets.add(secret)

    def filter(self, record: logging.LogRecord) -> bool:
        """Let every record pass, without keys."""
        message = shown = record.getMessage()
        for key in {secret.reveal() for secret in list(self._secrets)}:
            shown = hide(shown, key)
        if shown != message:
            record.msg, record.args = shown, ()
        return True


_REDACTOR = _Redactor()


class _Refused(Exception):
    """An answer that is not read to its end."""

    def __init__(self, kind: type[ServiceError], reason: str) -> None:
        self.kind = kind
        self.reason = reason


def http_client(
    *, connections: int, encrypted: bool, transport: httpx.AsyncBaseTransport | None, trust_env: bool
) -> httpx.AsyncClient:
    """A client that keeps ``connections`` open, and never looks at where a redirect leads."""
    return httpx.AsyncClient(
        # Certificates take long to load, and plain HTTP has none to verify: redirects are not followed. A
        # proxy of the environment may have one.
        verify=encrypted or trust_env,
        transport=transport,
        trust_env=trust_env,
        limits=httpx.Limits(max_keepalive_connections=connections),
        headers={"user-agent": "hybridrank"},
        event_hooks={"response": [_set_location_aside]},
    )


async def _set_location_aside(response: httpx.Response) -> None:
    """Keep the HTTP library from preparing a request to another address, at which it fails for some."""
    if "location" in response.headers:
        response.extensions[_LOCATION] = {"location": response.headers.pop("location")}


async def exchange(
    http: httpx.AsyncClient, call: Call, secret: Secret, timeout: float
) -> Reply | ServiceError:
    """Send a call and read the whole reply within ``timeout`` seconds.

    A failure is returned, not raised: raised from here it would carry the exception of the HTTP library in
    its context, and that the request with the key in its header.
    """
    kind: type[ServiceError] = ServiceTimeout
    reason = f"there was no whole answer within {timeout:.3g} s"
    try:
        with anyio.move_on_after(timeout):
            return await _exchange(http, call, secret, timeout)
    except _Refused as refused:
        kind, reason = refused.kind, refused.reason
    except httpx.TimeoutException as error:
        if isinstance(error, _NOT_SENT):
            kind, reason = ServiceUnreachable, f"there was no connection within {timeout:.3g} s"
    except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
        kind = ServiceUnreachable if isinstance(error, _NOT_SENT) else ServiceUnavailable
        words = " ".join(str(error).split()) or type(error).__name__
        reason = f"the connection failed: {hide(words, secret.reveal())}"
    return kind(hide(call.url, secret.reveal()), reason)


async def _exchange(http: httpx.AsyncClient, call: Call, secret: Secret, timeout: float) -> Reply:
    # The whole is bounded by the caller, so that its parts need no timers; only a connection that does not
    # come about is told apart, and so a little earlier, for then nothing was sent.
    timeouts = httpx.Timeout(None, connect=0.9 * timeout)
    headers = {"content-type": "application/json", "accept-encoding": "gzip", **secret.headers()}
    async with http.stream(
        "POST", _url(call.url), content=call.body, headers=headers, timeout=timeouts, follow_redirects=False
    ) as response:
        return Reply(
            url=call.url,
            status=response.status_code,
            headers={**response.headers, **response.extensions.get(_LOCATION, {})},
            content=await _read(response, call.max_answer),
        )


async def _read(response: httpx.Response, largest: int) -> bytes:
    """The decoded body. Of an error only the beginning is read; an answer must not exceed ``largest`` bytes,
    neither as sent nor decoded, for a few kilobytes of gzip may hold gigabytes."""
    success = response.is_success
    bound = largest if success else _LARGEST_ERROR
    too_large = _Refused(AnswerTooLarge, f"the answer is larger than {bound} bytes")
    length = response.headers.get("content-length", "")
    if success and length.isascii() and length.isdigit() and int(length[:20]) > bound:
        raise too_large
    if response.is_stream_consumed:  # a transport of a test, which has read and decoded it already
        if success and len(response.content) > bound:
            raise too_large
        return response.content[:bound]
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "gzip", "x-gzip", ""):
        raise _Refused(BadAnswer, "the answer is compressed in a way that was not asked for")
    inflater = zlib.decompressobj(31) if "gzip" in encoding else None
    body, received = bytearray(), 0
    async for chunk in response.aiter_raw():
        received += len(chunk)
        try:
            body += chunk if inflater is None else inflater.decompress(chunk, bound + 1 - len(body))
        except zlib.error:
            raise _Refused(BadAnswer, "the answer is not the gzip that it says to be") from None
        if len(body) > bound or received > bound:
            if success:
                raise too_large
            return bytes(body[:bound])
    if inflater is not None and not inflater.eof:
        raise _Refused(BadAnswer, "the compressed answer is cut short")
    return bytes(body)
