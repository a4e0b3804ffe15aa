"""Rankings to show, with passages that would like to be more than text."""

from __future__ import annotations

from dataclasses import replace

from hybridrank import LexicalIndex, Passage, Ranking
from hybridrank.records import Hit, Reason, Usage
from hybridrank.report.rows import Side

HOSTILE = (
    "A boat </script><script>alert(1)</script> <img src=x onerror=alert(2)> ${title} $style {{x}} "
    "\"quoted\" 'single' &amp; \u202eover\x00\x1b[31m\ud800 <!-- --> </noscript><b>bold</b> ]]>"
)
LONG = "Nothing here to see. " * 60 + "The boat has paint. " + "More of the same. " * 60
PASSAGES = [
    Passage(id="d1:0", text="The boat needs paint.", document_id="d1"),
    Passage(id="d2:0", text=HOSTILE, document_id="d2"),
    Passage(id="d3:70", text=LONG, document_id="d3", start=70),
    Passage(id='"><script>alert(3)</script>', text="Boats sail."),
    Passage(id="d5:0", text="Bread wants flour, and a boat wants wind.", document_id="d5"),
]
INDEX = LexicalIndex.build(PASSAGES)
QUERIES = {
    "q1": "boats",
    "<i>q2</i>": "paint </details></noscript><script>alert(4)</script> boat",
    "q3": "flour",
    "q4": "zebra",
    "q5": "wind",
}
JUDGMENTS = {
    "q1": {"d1:0": 1, "d5:0": 0},
    "<i>q2</i>": {"d2": 2},
    "q3": {"nowhere": 1, "d1": 0},
    "q5": {"d5": 1},
}


def searched(*, k: int = 10) -> Side:
    return Side(name="bm25", rankings={query_id: INDEX.search(text, k) for query_id, text in QUERIES.items()})


def reversed_side() -> Side:
    """The same hits the other way round, without the last; one ranking says what was spent on it."""
    rankings = {}
    for query_id, text in QUERIES.items():
        hits = INDEX.search(text).hits[:0:-1]
        rankings[query_id] = Ranking(
            query=text, hits=tuple(_moved(hit, rank) for rank, hit in enumerate(hits, 1))
        )
    first = rankings["q1"]
    rankings["q1"] = Ranking(
        query=first.query, hits=first.hits, degraded="no <budget> left", usage=Usage(requests=2, tokens=30)
    )
    return Side(name="<other>", rankings=rankings)


def _moved(hit: Hit, rank: int) -> Hit:
    terms = {f"feature{number}": 1.0 / number for number in range(1, 20)}
    reason = Reason(source="<learned>", rank=rank, score=9.0 - rank, terms=terms)
    return replace(hit, rank=rank, score=9.0 - rank, reasons=(*hit.reasons, reason))
