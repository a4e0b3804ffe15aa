"""What the pages show is what happens; every page is found, and no block of it is left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.pages import DOCS, Session, defects, page_names, run, sessions

SESSIONS = [session for name in page_names() for session in sessions(DOCS / name)]
RUN = [one for one in SESSIONS if any(block.kind in ("python", "console") for block in one.blocks)]


@pytest.mark.parametrize("session", RUN, ids=lambda session: session.name)
def test_a_page_shows_what_happens(session: Session, tmp_path: Path) -> None:
    if session.missing:
        pytest.skip(f"needs {', '.join(session.missing)}")
    run(session, tmp_path)


@pytest.mark.parametrize("session", SESSIONS, ids=lambda session: session.name)
def test_no_block_is_left_out(session: Session) -> None:
    assert list(defects(session)) == []


def of(text: str) -> Session:
    (session,) = sessions(DOCS / "page.md", text)
    return session


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("```\n1\n```\n", "a bare fence is the output"),
        ("```python\n1\n```\n\nWords.\n\n```\n1\n```\n", "a bare fence is the output"),
        ("```console\nhybridrank demo\n```\n", "a console begins with a command"),
        ("```sh\nls\n```\n", "nobody runs a block of 'sh'"),
        ("```text\nprint(1)\n```\n", "looks like code"),
        ("```text\npip install x\n```\n", "looks like code"),
        ("```json\n{1}\n```\n", "no JSON"),
    ],
)
def test_what_would_not_be_run_is_told(text: str, problem: str) -> None:
    (told,) = defects(of(text))
    assert problem in told


@pytest.mark.parametrize("text", ["- one\n\n    ```python\n    1\n    ```\n", "```python\n1\n"])
def test_fences_that_would_be_missed_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="fence"):
        sessions(DOCS / "page.md", text)


@pytest.mark.parametrize(
    "text",
    [
        "```python\nprint(1)\n```\n\n```\n2\n```\n",
        "```python\nprint(1)\n```\n",
        "```console\n$ echo 1\n2\n```\n",
        "```console\n$ hybridrank search nowhere x\nfound\n```\n",
    ],
)
def test_another_output_is_a_failure(text: str, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="line 2: the page shows"):
        run(of(text), tmp_path)


def test_sessions_begin_anew_with_what_they_need() -> None:
    text = "```python\nx = 1\n```\n<!-- needs: service zebra -->\n```python\nx\n```\n"
    first, second = sessions(DOCS / "page.md", text)
    assert (first.name, first.missing) == ("page.md", [])
    assert (second.name, second.needs, second.missing) == ("page.md:4", ("service", "zebra"), ["zebra"])
