"""A folder as BEIR lays it out."""

from __future__ import annotations

import json
from pathlib import Path

DOCUMENTS = [
    {"_id": "d1", "title": "Boats", "text": "They need paint."},
    {"_id": "d2", "title": "", "text": "Bread needs flour."},
    {"_id": "d 3", "text": "Trains run at night.", "metadata": {"year": 2020}},
]
QUERIES = [{"_id": "1", "text": "boats", "metadata": {}}, {"_id": "2", "text": "night train"}]


def write_beir(folder: Path) -> Path:
    (folder / "qrels").mkdir(parents=True)
    for name, rows in (("corpus", DOCUMENTS), ("queries", QUERIES)):
        (folder / f"{name}.jsonl").write_text(
            "".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8"
        )
    header = "query-id\tcorpus-id\tscore\n"
    (folder / "qrels" / "test.tsv").write_text(f"{header}1\td1\t1\n2\td 3\t2\n", encoding="utf-8")
    (folder / "qrels" / "dev.tsv").write_text(f"{header}1\td2\t1\n", encoding="utf-8")
    return folder
