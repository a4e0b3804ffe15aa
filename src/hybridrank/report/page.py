"""One self-contained HTML page of rankings: built from the files in ``data/report``, whose policy lets no
request leave and no script but its own run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from string import Template

from hybridrank.errors import InputError
from hybridrank.records import Ranking, Reason, Usage, counted
from hybridrank.report.markup import clip, escape, hash_source, marked
from hybridrank.report.rows import HitRow, QueryRow, Side, SideRow, rows_of
from hybridrank.text.highlight import excerpts, find_matches
from hybridrank.text.tokens import Tokenizer

__all__ = ["render"]

_QUERY, _ID, _NOTE = 1000, 200, 400  # characters of each that are shown
_EXCERPT = 480
_TERMS = 12  # shares named in a reason
_NAMED = 5  # ids of what was missed


def render(
    sides: Sequence[Side],
    queries: Mapping[str, str],
    *,
    tokenizer: Tokenizer,
    judgments: Mapping[str, Mapping[str, int]] | None = None,
    k: int = 10,
    title: str = "Ranking report",
) -> str:
    """The page: each query with the best ``k`` hits of one system, or of two side by side.

    ``tokenizer`` is that of the index, by which the query's words are found in the hits. With ``judgments``,
    grades by query and by the id of a passage or document, queries where a side shows nothing good come
    first. The same input gives the same bytes. Raises :class:`~hybridrank.errors.InputError` unless there are
    one or two sides with names of their own.

    >>> from hybridrank import rank
    >>> page = render([Side(name="bm25", rankings={"q": rank("boats", ["A <boat>."])})], {"q": "boats"},
    ...               tokenizer=Tokenizer())
    >>> "A &lt;<mark>boat</mark>&gt;." in page
    True
    """
    names = [side.name for side in sides]
    if not 1 <= len(names) <= 2 or len(set(names)) < len(names):
        raise InputError(
            f"a report of the systems {names}", remedy="Give one or two, each with its own name."
        )
    rows = rows_of(sides, queries, judgments, k=k)
    style, script = _file("page.css"), _file("page.js")
    return Template(_file("page.html")).substitute(
        title=escape(clip(title, _NOTE)),
        style=style,
        script=script,
        style_hash=hash_source(style),
        script_hash=hash_source(script),
        overview=_overview(rows, names, k),
        switches=_switches(rows),
        count=counted(len(rows), "query"),
        queries="\n".join(_query(row, tokenizer) for row in rows),
    )


@lru_cache
def _file(name: str) -> str:
    # With the line ends that a browser reads, for it hashes those.
    text = (files("hybridrank") / "data" / "report" / name).read_text(encoding="utf-8")
    return text.replace("\r\n", "\n")


def _overview(rows: Sequence[QueryRow], names: Sequence[str], k: int) -> str:
    judged = [row for row in rows if row.judged]
    best = "the best hit" if k == 1 else f"the best {k} hits"
    parts = [_p(f"{counted(len(rows), 'query')}, {best} of each.")]
    if judged:
        headings = ("System", "Found", "Not found", f"Mean reciprocal rank at {k}")
        body = []
        for place, name in enumerate(names):
            first = [row.sides[place].first_good for row in judged]
            found = sum(rank is not None for rank in first)
            mean = sum(1 / rank for rank in first if rank is not None) / len(first)
            body.append((escape(clip(name, _ID)), f"{found:,}", f"{len(first) - found:,}", f"{mean:.3f}"))
        caption = f"Queries with something judged good among the hits, of {len(judged):,} with judgments"
        parts.append(_table(caption, headings, body, numbers=3))
    if len(names) == 2:
        changed = sum(row.changed for row in rows)
        text = f"{changed:,} of {len(rows):,} queries have other hits or another order."
        if judged:
            better, worse = (
                sum(_reciprocal(row.sides[one]) > _reciprocal(row.sides[1 - one]) for row in judged)
                for one in (1, 0)
            )
            text += f" The first good hit of {names[1]} comes earlier in {better:,} and later in {worse:,}."
        parts.append(_p(escape(text)))
    return "\n".join(parts)


def _reciprocal(side: SideRow) -> float:
    return 0.0 if side.first_good is None else 1 / side.first_good


def _switches(rows: Sequence[QueryRow]) -> str:
    switches = []
    if any(row.judged for row in rows):
        switches.append(("failed", "Failures only"))
    if any(len(row.sides) == 2 for row in rows):
        switches.append(("changed", "Changed only"))
    return "\n".join(
        f'<label><input type="checkbox" id="{name}"> {label}</label>' for name, label in switches
    )


def _query(row: QueryRow, tokenizer: Tokenizer) -> str:
    # The hits stand in a <noscript>: where scripts run it is a single text until the query is opened, so that
    # a page of thousands of hits opens at once; where they do not, it is part of the page.
    terms = frozenset(tokenizer.terms(row.text))
    flags = (" data-failed" if row.failed else "") + (" data-changed" if row.changed else "")
    tags = [_found_tag(row, side) for side in row.sides] if row.judged else []
    tags += [
        _tag("degraded", "bad") for side in row.sides[:1] if any(one.ranking.degraded for one in row.sides)
    ]
    tags += _change_tags(row)
    name = f"q{row.place + 1}"
    sides = "".join(
        _side(f"{name}{letter}", side, row, terms, tokenizer)
        for letter, side in zip("ab", row.sides, strict=False)
    )
    return (
        f'<details class="query" id="{name}"{flags}>'
        f'<summary><h3><bdi class="of-query">{escape(clip(row.query_id, _ID))}</bdi> '
        f'<bdi lang="">{escape(clip(row.text, _QUERY)) or "(no text)"}</bdi></h3>{" ".join(tags)}</summary>'
        f'<noscript><div class="sides">{sides}</div></noscript></details>'
    )


def _found_tag(row: QueryRow, side: SideRow) -> str:
    whose = f"{clip(side.name, 40)}: " if len(row.sides) == 2 else ""
    if side.first_good is None:
        return _tag(f"{whose}not found", "bad")
    return _tag(f"{whose}found at {side.first_good}", "good")


def _change_tags(row: QueryRow) -> list[str]:
    if not row.changed:
        return []
    before, after = row.sides
    counts = (
        ("moved", sum(one.changed and one.other_rank is not None for one in after.hits)),
        ("new", sum(one.other_rank is None for one in after.hits)),
        ("lost", sum(one.other_rank is None for one in before.hits)),
    )
    return [_tag(", ".join(f"{count} {what}" for what, count in counts if count), "move")]


def _side(name: str, side: SideRow, row: QueryRow, terms: frozenset[str], tokenizer: Tokenizer) -> str:
    parts = [f'<div class="side"><h4 id="{name}">']
    parts.append(f"<bdi>{escape(clip(side.name, _ID))}</bdi></h4>")
    parts += [_p(note, "note") for note in _notes(side.ranking)]
    if side.hits:
        hits = "".join(_hit(name, hit, row, terms, tokenizer) for hit in side.hits)
        parts.append(f'<ol aria-labelledby="{name}">{hits}</ol>')
    else:
        parts.append(_p("Nothing found.", "note"))
    if side.missed:
        named = ", ".join(clip(one, _ID) for one in side.missed[:_NAMED])
        more = f" and {len(side.missed) - _NAMED} more" if len(side.missed) > _NAMED else ""
        parts.append(_p(f"Judged good, not among these hits: {escape(named)}{more}", "note"))
    return f"{''.join(parts)}</div>"


def _notes(ranking: Ranking) -> Iterable[str]:
    if ranking.degraded is not None:
        yield f"Degraded: {escape(clip(ranking.degraded, _NOTE))}"
    if ranking.usage != Usage():
        yield escape(f"Used: {ranking.usage}")


def _hit(side: str, row: HitRow, query: QueryRow, terms: frozenset[str], tokenizer: Tokenizer) -> str:
    hit = row.hit
    tags = []
    if row.grade is not None:
        tags.append(_tag(f"judged {row.grade}", "good" if row.good else ""))
    if row.compared:
        tags.append(_moved(side, row, query))
    place, text = "", _p("Its text is not in the index.", "note")
    if hit.passage is not None:
        passage = hit.passage
        place = f"characters {passage.start:,} to {passage.end:,}"
        if passage.document_id is not None:
            place = f"{clip(passage.document_id, _ID)}, {place}"
        parts = excerpts(passage.text, find_matches(passage.text, terms, tokenizer), width=_EXCERPT)
        text = f'<p class="text" lang="" dir="auto">{marked(passage.text, parts)}</p>'
    return (
        f'<li class="hit{" good" if row.good else ""}" id="{side}{hit.rank}" tabindex="-1">'
        f'<p class="about"><b>{hit.rank}.</b> <span class="id">{escape(clip(hit.passage_id, _ID))}</span> '
        f'<span class="place">{escape(place)}</span> {" ".join(tags)}</p>{text}{_why(hit.reasons)}</li>'
    )


def _moved(side: str, row: HitRow, query: QueryRow) -> str:
    """What the other side says of a hit; a link to where it stands there."""
    is_second = side.endswith("b")
    other = clip(query.sides[0 if is_second else 1].name, 40)
    if row.other_rank is None:
        return _tag("new" if is_second else f"lost in {other}", "move")
    text = f"{other}: {row.other_rank}"
    if is_second and row.changed:
        steps = row.other_rank - row.hit.rank
        text = f"{'up' if steps > 0 else 'down'} {abs(steps)} from {row.other_rank}"
    elif not row.changed:
        text = f"same place in {other}"
    target = f"{side[:-1]}{'a' if is_second else 'b'}{row.other_rank}"
    kind = " move" if row.changed else ""
    return f'<a class="tag{kind}" href="#{target}">{escape(text)}</a>'


def _why(reasons: Sequence[Reason]) -> str:
    if not reasons:
        return ""
    body = [
        (escape(clip(one.source, _ID)), f"{one.rank:,}", f"{one.score:.4g}", _shares(one)) for one in reasons
    ]
    table = _table("", ("List", "Rank", "Score", "What gave most"), body, numbers=2)
    return f'<details class="why"><summary>Why</summary>{table}</details>'


def _shares(reason: Reason) -> str:
    shares = list(reason.terms.items())
    named = ", ".join(f"{clip(term, 40)} {share:+.3g}" for term, share in shares[:_TERMS])
    more = f" and {len(shares) - _TERMS} more" if len(shares) > _TERMS else ""
    return f"{escape(named)}{more}"


def _tag(text: str, kind: str) -> str:
    return f'<span class="tag{" " + kind if kind else ""}">{escape(text)}</span>'


def _p(content: str, kind: str = "") -> str:
    return f'<p class="{kind}">{content}</p>' if kind else f"<p>{content}</p>"


def _table(caption: str, headings: Sequence[str], body: Iterable[Sequence[str]], *, numbers: int) -> str:
    """A table whose cells are HTML; after the first, which heads its row, ``numbers`` columns are numbers."""
    kinds = ["", *([' class="number"'] * numbers), *([""] * (len(headings) - 1 - numbers))]
    head = "".join(
        f'<th scope="col"{kind}>{escape(one)}</th>' for one, kind in zip(headings, kinds, strict=True)
    )
    lines = [
        f'<tr><th scope="row">{first}</th>'
        + "".join(f"<td{kind}>{cell}</td>" for cell, kind in zip(rest, kinds[1:], strict=True))
        + "</tr>"
        for first, *rest in body
    ]
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
