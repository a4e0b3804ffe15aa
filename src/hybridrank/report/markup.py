"""HTML made of text that nobody can trust: whatever it holds, it comes out as text."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Sequence

from hybridrank.text.highlight import Excerpt

__all__ = ["clip", "escape", "hash_source", "marked"]

# HTML knows no escape for control characters and halves of surrogate pairs; marks of the writing direction
# could turn around what stands beside the text. Those that separate lines or pages are space.
_SPACES = dict.fromkeys(map(ord, "\x0b\x0c\x1c\x1d\x1e\x1f\x85"), " ")
_UNSHOWABLE = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x9f\ud800-\udfff\ufffe\uffff\u202a-\u202e\u2066-\u2069]")


def escape(text: str) -> str:
    """A text for an element or a quoted attribute.

    >>> escape('</script><b title="$x {y}">')
    '&lt;/script&gt;&lt;b title=&quot;$x {y}&quot;&gt;'
    """
    return html.escape(_UNSHOWABLE.sub("\ufffd", text.translate(_SPACES)), quote=True)


def clip(text: str, width: int) -> str:
    """The beginning of a text, on one line, with an ellipsis where something is left out; not escaped.

    >>> clip("one two three", 8)
    'one two…'
    """
    words = " ".join(text[: 4 * width].split())
    if len(words) <= width and len(text) <= 4 * width:
        return words
    return f"{words[: width - 1].rstrip()}…"


def marked(text: str, parts: Sequence[Excerpt]) -> str:
    """Parts of a text with what matches in ``<mark>``, and an ellipsis wherever something is left out."""
    out: list[str] = []
    at = 0
    for part in parts:
        if part.start > at:
            out.append("… " if not out else " … ")
        at = part.start
        for start, end in part.marks:
            out.append(f"{escape(text[at:start])}<mark>{escape(text[start:end])}</mark>")
            at = end
        out.append(escape(text[at : part.end]))
        at = part.end
    if at < len(text):
        out.append(" …")
    return "".join(out)


def hash_source(content: str) -> str:
    """What a content security policy calls an inline script or style, so that no other may be used.

    >>> hash_source("")
    "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"
    """
    digest = base64.b64encode(hashlib.sha256(content.encode("utf-8")).digest()).decode("ascii")
    return f"'sha256-{digest}'"
