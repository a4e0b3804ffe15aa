"""Text from a chat service with OpenRouter's wire format: requests and replies as values, no transport here.

``POST {address}/chat/completions`` with ``{"model", "messages", "max_tokens", "temperature", "stream"}``; the
text is ``choices[0].message.content``. Which models a service admits is its own affair: it refuses others by
an error, which may name those that it would take.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from hybridrank.errors import BadAnswer, ServiceError
from hybridrank.jina.answers import Reply, error_of, hide
from hybridrank.jina.wire import check_base_url, check_key

__all__ = ["MOST_TOKENS", "ChatService", "Message", "chat_body", "named_models", "read_chat_reply"]

MOST_TOKENS = 2_000
"""The most output tokens that are ever asked for."""

_ADDRESS = "https://openrouter.ai/api/v1"
_MODELS = ("openai/gpt-4.1-mini", "google/gemini-2.5-flash")
_ENDPOINT = "/chat/completions"
_QUOTED = 200  # characters of a text that a message shows
# vendor/name with a digit or a hyphen in the name, so that neither "and/or" nor an address is taken for one.
_MODEL_ID = re.compile(
    r"(?<![\w/.:-])[a-z0-9][a-z0-9.-]*/[a-z]*[0-9-](?:[a-z0-9.:_-]*[a-z0-9])?\b", re.IGNORECASE
)
# What a model says in place of an answer, at its very beginning, perhaps after an apology.
_REFUSAL = re.compile(
    r"(?:(?:i'm |i am )?(?:very |so )?sorry|i apologi[sz]e|unfortunately)?[\s,.:;!—-]*(?:but )?"
    r"(?:as an ai\b|i (?:can't|cannot|can not|won't|will not|am unable to|am not able to)"
    r" (?:help|assist|comply|fulfil|fulfill|provide|answer|continue|discuss|engage)\b)",
    re.IGNORECASE,
)
_THOUGHT = re.compile(r"<(think|thinking|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)


class Message(NamedTuple):
    """A message of a chat; ``role`` is ``"system"`` or ``"user"``."""

    role: str
    content: str


class ChatService(NamedTuple):
    """Where to ask and for what: the endpoint, the models in order of preference, and a key if any."""

    url: str
    models: tuple[str, ...]
    key: str | None = None

    def __repr__(self) -> str:
        return f"ChatService(url={self.url!r}, models={self.models!r}, key={self.key and '...'!r})"

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> ChatService | None:
        """The service that these variables name, or ``None`` when they name neither an address nor a key.

        ``OPENROUTER_BASE_URL`` is the address (OpenRouter's own unless set), ``OPENROUTER_API_KEY`` the key,
        which a gateway may not need, and ``OPENROUTER_MODEL`` the model, or several with commas between.
        Raises :class:`~hybridrank.errors.InputError` for an address or a key that is none.

        >>> ChatService.from_environment({"OPENROUTER_BASE_URL": "http://h/v1/", "OPENROUTER_MODEL": "a/b"})
        ChatService(url='http://h/v1/chat/completions', models=('a/b',), key=None)
        >>> ChatService.from_environment({}) is None
        True
        """
        address = environ.get("OPENROUTER_BASE_URL", "").strip()
        key = check_key(environ.get("OPENROUTER_API_KEY"))
        if not address and not key:
            return None
        base = check_base_url(address or _ADDRESS).removesuffix(_ENDPOINT)
        named = [name.strip() for name in environ.get("OPENROUTER_MODEL", "").split(",")]
        return cls(base + _ENDPOINT, tuple(dict.fromkeys(filter(None, named))) or _MODELS, key)


def chat_body(model: str, messages: Sequence[Message], *, max_tokens: int = MOST_TOKENS) -> bytes:
    """The body of a request for one completion, never of more than :data:`MOST_TOKENS` tokens.

    >>> chat_body("a/b", [Message("user", "Who?")], max_tokens=9_000)
    b'{"model": "a/b", "messages": [{"role": "user", "content": "Who?"}], "max_tokens": 2000, ...}'
    """
    content = {
        "model": model,
        "messages": [message._asdict() for message in messages],
        "max_tokens": max(1, min(max_tokens, MOST_TOKENS)),
        "temperature": 0,
        "stream": False,
    }
    return json.dumps(content).encode("ascii")  # ASCII, so that half a surrogate pair does no harm


def read_chat_reply(reply: Reply, key: str | None = None) -> str:
    """The text of a reply, without what the model thought aloud.

    Raises a :class:`~hybridrank.errors.ServiceError` whose type says whether to try again: for a status that
    is no success, and :class:`~hybridrank.errors.BadAnswer` for a body without a text: no JSON, no choice,
    calls of tools, a refusal. Nothing of ``key`` is in its message.

    >>> read_chat_reply(Reply(url="", status=200, headers={}, content=b'{"choices": [{"message": {"content":'
    ...                       b' "<think>Hm.</think> Grad C."}}]}'))
    'Grad C.'
    """
    failure = error_of(reply, key)
    content = None if failure else _json(reply.content)
    if isinstance(content, dict) and content.get("error"):
        # OpenRouter reports what befalls a provider in an answer of status 200.
        failure = error_of(_with_status(reply, content["error"]), key)
    if failure is not None:
        raise failure
    text = _THOUGHT.sub("", _text(content)).strip()
    if not text:
        raise BadAnswer(reply.url, f"an answer without text: {_quote(reply.content, key)}")
    if _REFUSAL.match(text.replace("’", "'")):
        raise BadAnswer(reply.url, f"the model refuses: {_quote(text.encode(errors='replace'), key)}")
    return text


def named_models(error: ServiceError) -> list[str]:
    """The models that a service names when it refuses one, in its order.

    >>> from hybridrank.errors import ServiceRejected
    >>> named_models(ServiceRejected("http://host", "no one/model-9 here, use a-b/c-1.5 and/or d/e2:free."))
    ['one/model-9', 'a-b/c-1.5', 'd/e2:free']
    """
    return list(dict.fromkeys(_MODEL_ID.findall(error.reason)))


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _with_status(reply: Reply, error: Any) -> Reply:
    code = error.get("code") if isinstance(error, dict) else None
    status = code if type(code) is int and 400 <= code < 600 else 500
    return Reply(url=reply.url, status=status, headers=reply.headers, content=reply.content)


def _text(content: Any) -> str:
    """The text of the first choice, or nothing where a part of the way to it is missing."""
    choices = content.get("choices") if isinstance(content, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(message, dict) or message.get("refusal"):
        return ""
    text = message.get("content")
    if isinstance(text, list):  # parts, of which some may be no text
        parts = [part.get("text") for part in text if isinstance(part, dict)]
        text = "".join(part for part in parts if isinstance(part, str))
    return text if isinstance(text, str) else ""


def _quote(content: bytes, key: str | None) -> str:
    return " ".join(hide(content[: 4 * _QUOTED].decode(errors="replace"), key).split())[:_QUOTED]
