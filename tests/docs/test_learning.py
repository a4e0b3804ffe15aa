"""What the page on learning shows is what happens."""

import re
import subprocess
import sys
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "learning.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```\n\n```\n(.*?)```", PAGE, flags=re.DOTALL)


def test_the_examples_print_what_is_shown(tmp_path: Path) -> None:
    assert PAGE.count("```python") == len(EXAMPLES) == 2
    code, output = map("".join, zip(*EXAMPLES, strict=True))  # the later go on from the earlier
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == (output, "")


def test_links_lead_somewhere() -> None:
    links = re.findall(r"\]\(([^)]+)\)", PAGE)
    assert links
    assert all((Path(__file__).parents[2] / "docs" / link).exists() for link in links)
