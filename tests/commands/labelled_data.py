"""Queries and judgments on the sample notes, and what a command says that is run on them."""

from __future__ import annotations

import json
from pathlib import Path

QUERIES = {
    "glue": "which glue for outdoor joints",
    "slugs": "how do I stop slugs",
    "bread": "sourdough starter",
}
GRADES = {"glue": "workshop-glue.txt", "slugs": "garden-slugs.txt", "bread": "kitchen-sourdough.txt"}


def write_queries(folder: Path) -> Path:
    file = folder / "queries.jsonl"
    rows = ({"query_id": query_id, "question": text} for query_id, text in QUERIES.items())
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


def write_qrels(folder: Path, suffix: str = "") -> Path:
    """Judgments of documents, or with ":0" of their first passages."""
    file = folder / "qrels.txt"
    lines = (f"{query_id} 0 {document}{suffix} 1\n" for query_id, document in GRADES.items())
    file.write_text("".join(lines), encoding="utf-8")
    return file


def write_run_file(folder: Path, name: str, suffix: str = "", *, extra: str = "") -> Path:
    """A run that has a wrong one first and then the right one."""
    file = folder / name
    lines = [
        f"{query_id} Q0 {document}{suffix} {rank} {10 - rank} sys\n"
        for query_id, right in GRADES.items()
        for rank, document in enumerate(("yatra-pahad.txt", right), start=1)
    ]
    file.write_text("".join(lines) + extra, encoding="utf-8")
    return file
