"""Every public name is in the reference, and has an example that is run: a doctest, or a block of a page."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import hybridrank
from hybridrank import errors
from tests.docs.pages import DOCS, page_names, sessions

REFERENCE = "".join(
    (DOCS / name).read_text(encoding="utf-8") for name in page_names() if name.startswith("api/")
)


def used_in_pages() -> set[str]:
    """The names that blocks of Python in the pages, or what they print, speak of."""
    found: set[str] = set()
    for name in page_names():
        for session in sessions(DOCS / name):
            for block in session.blocks:
                if block.kind == "python":
                    found.update(
                        node.id for node in ast.walk(ast.parse(block.text)) if isinstance(node, ast.Name)
                    )
                elif block.kind == "":  # an error is raised rather than named
                    found.update(re.findall(r"^(\w+)(?:: | - )", block.text, flags=re.MULTILINE))
    return found


USED = used_in_pages()


def has_doctest(name: str) -> bool:
    value = getattr(hybridrank, name)
    own = [value, *(vars(value).values() if isinstance(value, type) else ())]
    return any(">>> " in (getattr(thing, "__doc__", None) or "") for thing in own)


@pytest.mark.parametrize("name", hybridrank.__all__)
def test_a_public_name_has_an_example(name: str) -> None:
    assert has_doctest(name) or name in USED


def test_the_reference_has_every_public_name() -> None:
    documented = re.findall(r"^::: hybridrank\.(\w+)$", REFERENCE, flags=re.MULTILINE)
    assert sorted(documented) == hybridrank.__all__


def test_the_overview_links_every_public_name() -> None:
    overview = (DOCS / "api" / "index.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"\[hybridrank\.(\w+)\]", overview)) == hybridrank.__all__


def test_each_error_is_shown_with_its_message() -> None:
    page = (DOCS / "errors.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"^(\w+)(?:: | - )", page, flags=re.MULTILINE))
    kinds = {name for name in errors.__all__ if not getattr(errors, name).__subclasses__()}
    assert kinds <= shown


def test_every_page_is_in_the_navigation() -> None:
    listed = re.findall(r"[\w/-]+\.md", (Path(DOCS).parent / "mkdocs.yml").read_text(encoding="utf-8"))
    assert sorted(listed) == page_names()
