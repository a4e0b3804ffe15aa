"""What the page on the index format lists is what an index consists of."""

import json
import re
from pathlib import Path

import numpy as np

from hybridrank import LexicalIndex, Passage, dense, learned, lexical, ranking_model
from hybridrank.tasks.finance import index as finance
from tests.docs.pages import DOCS

PAGE = (DOCS / "index-format.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (`[^|]*`) \| ([^|]*) \| [^|]* \|$", PAGE, flags=re.MULTILINE)


def listed() -> dict[str, str]:
    """The parts that the page lists, with their types."""
    found: dict[str, str] = {}
    for cell, types in ROWS:
        names, of = re.findall(r"`([^`]*)`", cell), types.split(", ")
        found.update(zip(names, of if len(of) == len(names) else of * len(names), strict=True))
    return found


def test_every_part_of_an_index_is_listed_with_its_type(tmp_path: Path) -> None:
    index = LexicalIndex.build([Passage(id=str(n), text=f"boat {n}") for n in range(3)]).delete(["1"])
    index.save(tmp_path / "index")
    manifest = json.loads((tmp_path / "index" / "manifest.json").read_text(encoding="utf-8"))
    segment = "segment-000000"
    types = {}
    for name, kind in manifest["parts"].items():
        if kind == "array":
            kind = np.load(next((tmp_path / "index").glob(f"{name.replace('/', '.')}.g*.npy"))).dtype.name
        types[name.removeprefix(f"{segment}/").replace(segment, "SEGMENT")] = kind
    assert types.pop("segments") == "json"
    said = listed()
    assert types.keys() == said.keys()
    assert [name for name, kind in types.items() if kind not in said[name].split(" or ")] == []


def test_every_kind_of_index_is_named() -> None:
    (row,) = (line for line in PAGE.splitlines() if line.startswith("| `kind` |"))
    kinds = {module._KIND for module in (dense, finance, learned, lexical, ranking_model)}
    assert kinds <= set(re.findall(r"`([\w-]+)`", row))


def test_every_key_of_a_manifest_is_explained(tmp_path: Path) -> None:
    LexicalIndex.build([]).save(tmp_path / "index")
    manifest = json.loads((tmp_path / "index" / "manifest.json").read_text(encoding="utf-8"))
    assert all(f"\n| `{key}` | " in PAGE for key in manifest)
