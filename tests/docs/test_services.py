"""What the pages on neural services and budgets show is what happens, with a stand-in on loopback."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.stub_service import StubService

ROOT = Path(__file__).parents[2]
PAGES = {name: (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8") for name in ("hybrid", "budgets")}
EXAMPLES = {
    name: re.findall(r"```python\n(.*?)```\n\n```\n(.*?)```", page, flags=re.DOTALL)
    for name, page in PAGES.items()
}
SHELL = re.findall(r"^\$ hybridrank (.*)\n((?:(?!\$ |```).*\n)+)", PAGES["budgets"], flags=re.MULTILINE)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with StubService() as service:
        yield service.url


def run(arguments: list[str], folder: Path, **variables: str) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("JINA_")}
    done = subprocess.run(
        [sys.executable, "-W", "error", *arguments],
        cwd=folder,
        env={**environment, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.stdout


@pytest.mark.parametrize(("name", "count"), [("hybrid", 7), ("budgets", 5)])
def test_the_examples_print_what_is_shown(name: str, count: int, url: str, tmp_path: Path) -> None:
    assert PAGES[name].count("```python") == len(EXAMPLES[name]) == count
    code, output = map("".join, zip(*EXAMPLES[name], strict=True))  # the later go on from the earlier
    assert run(["-c", code], tmp_path, JINA_BASE_URL=url) == output


def test_the_commands_print_what_is_shown(tmp_path: Path) -> None:
    (tmp_path / "src").symlink_to(ROOT / "src")
    assert len(SHELL) == 2
    for command, output in SHELL:
        assert run(["-m", "hybridrank", *command.split()], tmp_path) == output


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name: str) -> None:
    links = [link for link in re.findall(r"\]\(([^)]+)\)", PAGES[name]) if "://" not in link]
    assert links
    assert all((ROOT / "docs" / link).exists() for link in links)
