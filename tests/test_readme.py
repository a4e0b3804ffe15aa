"""What the README shows is what happens."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```\n\n```\n(.*?)```", README, flags=re.DOTALL)
SHELL = re.findall(r"^\$ (\.venv/bin/hybridrank .*)\n((?:(?!\$ |```).*\n)+)", README, flags=re.MULTILINE)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A place with the sources beside it, where examples may write."""
    (tmp_path / "src").symlink_to(ROOT / "src")
    return tmp_path


def test_the_examples_are_found() -> None:
    assert len(EXAMPLES) == 3
    assert README.count("```python") == len(EXAMPLES)
    assert len(SHELL) == 2


@pytest.mark.parametrize(("code", "output"), EXAMPLES)
def test_an_example_prints_what_is_shown(code: str, output: str, checkout: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=checkout, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == (output, "")


def test_the_commands_print_what_is_shown(checkout: Path) -> None:
    for command, output in SHELL:
        words = command.removeprefix(".venv/bin/hybridrank ")
        done = subprocess.run(
            f"{sys.executable} -m hybridrank {words}",
            shell=True,
            cwd=checkout,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.stdout == output
