"""What the page on meetings shows is what happens."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "meetings.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```\n\n```\n(.*?)```", PAGE, flags=re.DOTALL)
SHELL = re.findall(r"^\$ hybridrank (.*)\n((?:(?!\$ |```).*\n)*)", PAGE, flags=re.MULTILINE)


def run(command: str, folder: Path) -> str:
    done = subprocess.run(
        f"{sys.executable} -W error {command}",
        shell=True,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
    )
    return done.stdout


def test_the_examples_print_what_is_shown(tmp_path: Path) -> None:
    assert PAGE.count("```python") == len(EXAMPLES) == 2
    code, output = map("".join, zip(*EXAMPLES, strict=True))  # the later go on from the earlier
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == (output, "")


def test_the_commands_print_what_is_shown(tmp_path: Path) -> None:
    (tmp_path / "src").symlink_to(ROOT / "src")
    assert len(SHELL) == 4
    for command, output in SHELL:
        assert run(f"-m hybridrank {command}", tmp_path) == output


def test_links_lead_somewhere() -> None:
    links = [link for link in re.findall(r"\]\(([^)]+)\)", PAGE) if "://" not in link]
    assert links
    assert all((ROOT / "docs" / link).exists() for link in links)
