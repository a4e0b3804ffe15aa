"""An evaluation as text for a terminal, as Markdown, and as a plot."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Sequence
from io import StringIO
from typing import NamedTuple

from hybridrank.evaluation.plotting import pyplot_for_files
from hybridrank.evaluation.results import Difference, Evaluation, QueryDifference
from hybridrank.evaluation.significance import CONFIDENCE
from hybridrank.records import counted

__all__ = ["ALPHA", "Sheet", "plot", "sheets", "to_markdown", "to_text"]

ALPHA = 0.05
_QUERIES = 3  # worst and best that are shown
_WIDTH = 60  # characters of a query that are shown
_MARKDOWN = str.maketrans({char: f"\\{char}" for char in "\\`*_[]<>|&~$"})


class Sheet(NamedTuple):
    """A table: its title, its headings, and its rows; the first ``words`` columns hold no numbers."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: int = 1


def sheets(evaluation: Evaluation, *, queries: int = _QUERIES) -> list[Sheet]:
    """The tables: what each system reaches, how each differs from the baseline, and the queries where the
    first measure differs most."""
    found = [_means(evaluation)]
    if evaluation.differences:
        found.append(_differences(evaluation))
    measure = evaluation.measures[0]
    for one in evaluation.systems:
        if one.name != evaluation.baseline:
            found.append(
                _extremes(one.name, evaluation.query_differences(one.name, measure), evaluation, queries)
            )
    if len(evaluation.systems) == 1:
        found.append(_lowest(evaluation, queries))
    return found


def _means(evaluation: Evaluation) -> Sheet:
    timed = any(one.latency for one in evaluation.systems)
    rows = []
    for one in evaluation.systems:
        row = [one.name, *(f"{one.means[measure]:.4f}" for measure in evaluation.measures)]
        if timed:
            row += ["", ""] if one.latency is None else [f"{1000 * seconds:.1f}" for seconds in one.latency]
        rows.append(tuple(row))
    headings = ("system", *evaluation.measures, *(("median ms", "p99 ms") if timed else ()))
    return Sheet(counted(len(evaluation.queries), "judged query"), headings, tuple(rows))


def _differences(evaluation: Evaluation) -> Sheet:
    rows = tuple(
        (
            one.system,
            one.measure,
            f"{one.difference:+.4f}",
            "" if one.low is None else f"{one.low:+.4f} to {one.high:+.4f}",
            *("" if value is None else f"{value:.4f}" for value in (one.p_value, one.p_adjusted)),
            "yes" if _significant(one) else "no",
            f"{one.better}/{one.worse}",
        )
        for one in evaluation.differences
    )
    headings = (
        "system", "measure", "difference", f"{CONFIDENCE:.0%} interval", "p", "p (Holm)",
        f"p < {ALPHA}", "better/worse",
    )  # fmt: skip
    return Sheet(f"Against {evaluation.baseline}", headings, rows, words=2)


def _significant(one: Difference) -> bool:
    return one.p_adjusted is not None and one.p_adjusted < ALPHA


def _extremes(name: str, found: Sequence[QueryDifference], evaluation: Evaluation, count: int) -> Sheet:
    chosen = [one for one in found[:count] if one.difference < 0]
    chosen += [one for one in found[max(count, len(found) - count) :] if one.difference > 0]
    rows = tuple(
        (
            one.query_id,
            _shorten(one.query),
            f"{one.theirs:.3f}",
            f"{one.ours:.3f}",
            f"{one.difference:+.3f}",
        )
        for one in chosen
    )
    title = f"Queries where {name} loses and gains most, {evaluation.measures[0]}"
    return Sheet(title, ("id", "query", evaluation.baseline, name, "difference"), rows, words=2)


def _lowest(evaluation: Evaluation, count: int) -> Sheet:
    measure, system = evaluation.measures[0], evaluation.systems[0]
    values = zip(evaluation.queries.items(), system.by_query[measure], strict=True)
    lowest = sorted(values, key=lambda one: one[1])[:count]
    rows = tuple((query_id, _shorten(text), f"{value:.3f}") for (query_id, text), value in lowest)
    return Sheet(f"Queries with the lowest {measure}", ("id", "query", measure), rows, words=2)


def _shorten(text: str) -> str:
    words = " ".join(text[: 4 * _WIDTH].split())
    return words if len(words) <= _WIDTH else f"{words[: _WIDTH - 1]}…"


def to_text(evaluation: Evaluation, *, width: int = 120, queries: int = _QUERIES) -> str:
    """The tables as plain text of at most ``width`` columns."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(file=StringIO(), width=width, color_system=None, force_terminal=False)
    for sheet in sheets(evaluation, queries=queries):
        table = Table(title=Text(sheet.title), title_justify="left")
        for place, heading in enumerate(sheet.headings):
            # Text, not markup: a name or a query may hold brackets.
            table.add_column(
                Text(heading), justify="left" if place < sheet.words else "right", overflow="fold"
            )
        for row in sheet.rows:
            table.add_row(*map(Text, row))
        console.print(table)
    output: StringIO = console.file  # type: ignore[assignment]  # the one given above
    return output.getvalue().rstrip("\n")


def to_markdown(evaluation: Evaluation, *, queries: int = _QUERIES) -> str:
    """The tables as Markdown, in which no character of a name or a query is markup."""
    lines: list[str] = []
    for sheet in sheets(evaluation, queries=queries):
        alignment = ["---"] * sheet.words + ["---:"] * (len(sheet.headings) - sheet.words)
        rows = [sheet.headings, *sheet.rows]
        cells = [[_escape(cell) for cell in row] for row in rows]
        lines += [f"## {_escape(sheet.title)}", ""]
        lines += [_row(cells[0]), _row(alignment), *map(_row, cells[1:]), ""]
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _escape(text: str) -> str:
    plain = "".join(" " if unicodedata.category(char) in ("Cc", "Zl", "Zp") else char for char in text)
    return plain.translate(_MARKDOWN)


def plot(evaluation: Evaluation, path: str | os.PathLike[str]) -> None:
    """Draw each measure's means, with the interval of the difference from the baseline as a whisker.

    The file's suffix says the format. Raises :class:`~hybridrank.errors.MissingExtra` without matplotlib.
    """
    pyplot = pyplot_for_files(extra="evaluate")
    names = [one.name for one in evaluation.systems]
    found = {(one.system, one.measure): one for one in evaluation.differences}
    count = len(evaluation.measures)
    figure, panels = pyplot.subplots(
        1, count, figsize=(3.2 * count, 1.4 + 0.45 * len(names)), sharey=True, squeeze=False
    )
    for measure, axes in zip(evaluation.measures, panels[0], strict=True):
        axes.set_title(measure, parse_math=False)
        axes.grid(axis="x", alpha=0.3)
        for place, one in enumerate(evaluation.systems):
            mean, difference = one.means[measure], found.get((one.name, measure))
            strong = difference is not None and _significant(difference)
            axes.plot(mean, place, "o", color="black", markerfacecolor="black" if strong else "white")
            if difference is not None and difference.low is not None and difference.high is not None:
                base = mean - difference.difference
                axes.plot([base + difference.low, base + difference.high], [place, place], color="black")
        axes.axvline(evaluation.system(evaluation.baseline).means[measure], linestyle=":", color="grey")
    panels[0][0].set_yticks(range(len(names)), names, parse_math=False)
    panels[0][0].set_ylim(len(names) - 0.5, -0.5)
    figure.suptitle(
        f"{counted(len(evaluation.queries), 'query')}; line: {CONFIDENCE:.0%} interval of the difference "
        f"from {evaluation.baseline} (dotted); filled: p < {ALPHA} after Holm",
        fontsize=8,
        parse_math=False,
    )
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
