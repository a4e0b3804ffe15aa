"""One HTTP request with the standard library alone, under a deadline that holds whatever the other side does.

For scripts that run where nothing is installed; the clients in :mod:`hybridrank.jina` use httpx.
"""

from __future__ import annotations

import http.client
import threading
import time
import urllib.request
from collections.abc import Mapping
from typing import Any

from hybridrank.errors import AnswerTooLarge, ServiceError, ServiceTimeout, ServiceUnavailable
from hybridrank.jina.answers import Reply

__all__ = ["MOST_BYTES", "post"]

MOST_BYTES = 1 << 20
"""What an answer may measure, unless told otherwise: 1 MiB."""

_PIECE = 1 << 16


class _AnyStatus(urllib.request.HTTPErrorProcessor):
    """Hands on every answer as it is: an error is read like any other, and a redirect is not followed, for
    the key must not go where nobody sent it."""

    def http_response(self, request: Any, response: Any) -> Any:
        return response

    https_response = http_response


def post(
    url: str,
    body: bytes,
    *,
    key: str | None = None,
    seconds: float,
    most_bytes: int = MOST_BYTES,
) -> Reply:
    """Send the JSON ``body``, with ``key`` if there is one, and return the answer, of any status.

    ``url`` and ``key`` are such as :func:`~hybridrank.jina.wire.check_base_url` and ``check_key`` let pass.
    Proxies are taken from the environment, as everywhere. After ``seconds`` in all, the look-up of the name
    included, :class:`~hybridrank.errors.ServiceTimeout` is raised; where no connection is made or it breaks,
    :class:`~hybridrank.errors.ServiceUnavailable`; for a body of more than ``most_bytes``,
    :class:`~hybridrank.errors.AnswerTooLarge`.
    """
    headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "hybridrank"}
    if key is not None:
        headers["Authorization"] = f"Bearer {key}"
    deadline = time.monotonic() + seconds
    outcome: list[Reply | ServiceError] = []

    def work() -> None:
        outcome.append(_exchange(url, headers, body, deadline, most_bytes))

    # In a thread of its own, since nothing else bounds the look-up of a name or a body that only drips.
    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    worker.join(max(0.0, seconds))
    found = outcome[0] if outcome else ServiceTimeout(url, f"no answer within {seconds:.3g} s")
    if isinstance(found, ServiceError):
        raise found
    return found


def _exchange(
    url: str, headers: Mapping[str, str], body: bytes, deadline: float, most_bytes: int
) -> Reply | ServiceError:
    try:
        request = urllib.request.Request(url, data=body, headers=dict(headers), method="POST")
        opener = urllib.request.build_opener(_AnyStatus)
        with opener.open(request, timeout=max(0.01, deadline - time.monotonic())) as response:
            content = _read(response, deadline, most_bytes)
            if len(content) > most_bytes:
                return AnswerTooLarge(url, f"an answer of more than {most_bytes:,} bytes")
            named = {name.lower(): value for name, value in response.headers.items()}
            return Reply(url=url, status=response.status, headers=named, content=content)
    except http.client.HTTPException as error:
        return ServiceUnavailable(url, f"the connection broke ({type(error).__name__})")
    except OSError as error:
        cause = getattr(error, "reason", error)  # URLError is an OSError, and wraps another
        if isinstance(cause, TimeoutError):
            return ServiceTimeout(url, "no answer in time")
        return ServiceUnavailable(url, f"it cannot be reached ({cause})")
    except Exception as error:  # a thread has no one to tell, and a message of another's might hold the key
        return ServiceUnavailable(url, f"the request cannot be sent ({type(error).__name__})")


def _read(response: Any, deadline: float, most_bytes: int) -> bytes:
    pieces = []
    size = 0
    while size <= most_bytes:
        if time.monotonic() > deadline:
            raise TimeoutError
        piece = response.read1(_PIECE)
        if not piece:
            if response.length:  # read1 does not complain when the other side hangs up too early
                raise http.client.IncompleteRead(b"", response.length)
            break
        pieces.append(piece)
        size += len(piece)
    return b"".join(pieces)
