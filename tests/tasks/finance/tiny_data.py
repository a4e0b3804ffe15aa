"""The sample reports as data to train on, in the layout of an evaluation."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Any

SAMPLE = Path(str(files("hybridrank") / "data" / "finance"))


def rows_of(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (SAMPLE / name).read_bytes().splitlines()]


def write_set(data: Path, name: str, questions: Iterable[dict[str, Any]], labels: Iterable[Any]) -> None:
    (data / "validation").mkdir(exist_ok=True)
    for kind, rows in (("queries", questions), ("labels", labels)):
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (data / "validation" / f"{name}.{kind}.jsonl").write_text(lines, encoding="ascii")


def write_tiny_data(data: Path) -> Path:
    """Two sets to learn from, one only to look at, and one whose labels are pages; returns ``data``."""
    (data / "corpus-tiny").mkdir(parents=True)
    shutil.copyfile(SAMPLE / "reports.jsonl", data / "corpus-tiny" / "reports.jsonl")
    questions, labels = rows_of("questions.jsonl"), rows_of("labels.jsonl")
    sets = ("finqa-raw", "finqa-named", "finqa-raw", "finqa-named", "other")
    for name in dict.fromkeys(sets):
        places = [place for place in range(len(questions)) if sets[place % len(sets)] == name]
        write_set(data, name, [questions[place] for place in places], [labels[place] for place in places])
    pages = [
        {"query_id": label["query_id"], "pages": [_page_around(unit[0]) for unit in label["units"]]}
        for label in labels[:6]
    ]
    write_set(data, "pages", questions[:6], pages)
    return data


def _page_around(place: dict[str, Any]) -> dict[str, Any]:
    return place | {"start": max(place["start"] - 800, 0), "end": place["end"] + 800}
