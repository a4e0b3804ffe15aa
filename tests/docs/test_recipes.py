"""The page that compares recipes repeats figures; each must stand in the table that it is from."""

import re

from tests.docs.pages import DOCS, ROOT

SOURCES = (
    *(DOCS / f"{name}.md" for name in ("budgets", "hybrid", "learning")),
    ROOT / "README.md",
    ROOT / "src" / "hybridrank" / "data" / "finance" / "RANKER.md",
)


def figures(text: str) -> set[str]:
    return set(re.findall(r"(?<![\d.])0\.\d\d+(?![\d.]*\d)", text))


def test_every_figure_is_one_of_another_page() -> None:
    recipes = (DOCS / "recipes.md").read_text(encoding="utf-8")
    prose = re.sub(r"^```.*?^```$", "", recipes, flags=re.DOTALL | re.MULTILINE)
    known = set().union(*(figures(source.read_text(encoding="utf-8")) for source in SOURCES))
    assert len(figures(prose)) > 10
    assert figures(prose) <= known
