"""What the site makes of docstrings, and what it refuses: for mkdocs.yml, not a page.

Docstrings are written to be read in the source, with references as ``:class:`~package.module.Name``` and bare
doctests; the site reads Markdown. A reference that names nothing is a warning, which ends a strict build.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import griffe
from mkdocs.exceptions import PluginError

__all__ = ["Docstrings", "on_post_page", "to_markdown"]

_REFERENCE = re.compile(r":(?:class|meth|func|mod|data|attr):`(~?)([\w.]+)`")
_DOCTEST = re.compile(r"^>>> .*(?:\n(?!\s*$).*)*", re.MULTILINE)
_OUTSIDE = re.compile(r"<(?:script|img|iframe)[^>]*\ssrc=.?(?:https?:)?//|<link[^>]*rel=.?stylesheet[^>]*//")
_LOGGER = logging.getLogger("mkdocs.plugins.docstrings")


def to_markdown(text: str, resolve: Callable[[str], str | None]) -> str:
    """A docstring as Markdown; ``resolve`` gives the full path that a reference stands for.

    >>> to_markdown("See :meth:`~Index.search`.", lambda name: f"a.{name}")
    'See <autoref optional identifier="a.Index.search"><code>search</code></autoref>.'
    >>> to_markdown("As in::\\n\\n>>> 1\\n1", str).splitlines()
    ['As in:', '', '```pycon', '>>> 1', '1', '```']
    """

    def link(found: re.Match[str]) -> str:
        name = found[2].rpartition(".")[2] if found[1] else found[2]
        path = resolve(found[2])
        if path is None:
            return f"<code>{name}</code>"
        # Optional, for what is documented in the source alone has no page.
        return f'<autoref optional identifier="{path}"><code>{name}</code></autoref>'

    text = _REFERENCE.sub(link, text)
    text = re.sub(r"^::\n\n|::$", lambda found: ":" if found[0] == "::" else "", text, flags=re.MULTILINE)
    return _DOCTEST.sub(lambda found: f"```pycon\n{found[0]}\n```", text)


class Docstrings(griffe.Extension):
    """Applies :func:`to_markdown` to all docstrings of a package, once it is read."""

    def on_package(self, *, pkg: griffe.Module, loader: griffe.GriffeLoader, **options: Any) -> None:
        """Rewrite the docstrings in place."""
        del loader, options
        for thing in _things(pkg):
            if thing.docstring is not None:
                resolve = partial(_path_of, thing=thing, package=pkg)
                thing.docstring.value = to_markdown(thing.docstring.value, resolve)


def on_post_page(output: str, *, page: Any, **options: Any) -> str:
    """Refuse a page that would fetch something from elsewhere when it is opened."""
    del options
    if found := _OUTSIDE.search(output):
        raise PluginError(f"{page.url} asks another place for something: {found[0]}")
    return output


def _things(thing: griffe.Object) -> Iterator[griffe.Object]:
    yield thing
    for member in thing.members.values():
        if not member.is_alias:
            yield from _things(member)


def _path_of(name: str, *, thing: griffe.Object, package: griffe.Module) -> str | None:
    """Look a name up as it is written, then in what holds the thing, from near to far."""
    names = [name.removeprefix(f"{package.path}.")] if name.startswith(package.path) else []
    holder: griffe.Object | None = thing
    while holder is not None:
        prefix = holder.path.removeprefix(package.path).lstrip(".")
        names.append(f"{prefix}.{name}".lstrip("."))
        holder = holder.parent
    for one in names:
        try:
            return str(package[one].canonical_path) if one else package.path
        except (KeyError, griffe.AliasResolutionError, griffe.CyclicAliasError):
            continue
    outside = "." in name and name.partition(".")[0] not in (package.name, *thing.module.members)
    listed = name in (thing.module.exports or ())  # assigned as one of several, which griffe does not see
    if not (outside or listed):
        _LOGGER.warning("%s: its docstring refers to %s, which is not there", thing.path, name)
    return None
