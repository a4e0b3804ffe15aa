"""Measure what a budget for a cross-encoder buys, by how it is spent.

    python -m benchmarks.hybrid_budget --data DIR [--sets NAME ...] [--corpora NAME ...] [--jina-url URL]
                                       [--work DIR] [--json FILE] [--plot FILE]
    python -m benchmarks.hybrid_budget --smoke

The full budget scores 40 candidates of every question. Four ways to spend a share of it:

``first come``  full depth for each question until nothing is left; the questions come in random order
``uniform``     the same number of tokens for every question
``online``      the planner, which sees one question after the other and knows how many will come
``planned``     the planner, which sees all questions at once

``benchmarks.budget_pools`` says what stands in for the cross-encoder. The reranker, the planner and the
ledger are the real ones; tokens are those that the planner estimates.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from benchmarks.budget_pools import (
    N_CANDIDATES,
    Pool,
    add_learned,
    add_noisy_labels,
    add_service,
    read_pools,
)
from benchmarks.command_line import run_command
from hybridrank.budget import Budget, Ledger
from hybridrank.cross_encoder import CrossEncoderReranker
from hybridrank.errors import InputError
from hybridrank.evaluation.plotting import pyplot_for_files
from hybridrank.planner import Planner
from hybridrank.records import Ranking, Usage
from hybridrank.tasks.finance.datasets import find_sets, sample_sets

SHARES = (0.1, 0.25, 0.5, 0.75)
WAYS = ("first come", "uniform", "online", "planned")
TRIED = ("learned", "labels±0.5", "labels±1", "service")
Row = dict[str, object]
_SHOWN = (0.1, 0.25, 0.5)
_SEED = 0
_WIDTH_WITHOUT_TERMINAL = 110


@dataclass(frozen=True, slots=True)
class Looked:
    """Scores that were looked up."""

    scores: NDArray[np.float32]
    usage: Usage


class LookUp:
    """A scorer that looks scores up, at the price that the planner estimates."""

    def __init__(self, pools: Sequence[Pool], name: str, ledger: Ledger, planner: Planner) -> None:
        self.ledger = ledger
        self._planner = planner
        self._scores = {pool.ranking.query: pool.scores[name] for pool in pools}

    def rerank(
        self,
        query: str,
        documents: Sequence[str],
        *,
        ledger: Ledger | None = None,
        deadline: float | None = None,
    ) -> Looked:
        """The scores of the first documents of a question, in order."""
        tokens = price(self._planner, query, documents)
        with (ledger or self.ledger).reserve(tokens):
            scores = self._scores[query][: len(documents)].astype(np.float32)
        return Looked(scores, Usage(requests=1, tokens=tokens))


def price(planner: Planner, query: str, documents: Sequence[str]) -> int:
    """The tokens that it takes to score documents for a query, as the planner estimates them."""
    return sum(planner.tokens_of(query) + planner.tokens_of(text) for text in documents)


def spend(
    way: str, pools: Sequence[Pool], name: str, share: float, planner: Planner
) -> tuple[list[float], int]:
    """The quality of each question when a share of the full budget is spent in one way, and the tokens spent.

    ``name`` is that of the stand-in.
    """
    prospects = [planner.prospect(pool.ranking) for pool in pools]
    budget = int(share * sum(prospect.tokens[-1] for prospect in prospects))
    ledger = Ledger(Budget(tokens=budget))
    scorer = LookUp(pools, name, ledger, planner)
    order = np.random.default_rng(_SEED).permutation(len(pools)).tolist()
    rankings = [pools[place].ranking for place in order]
    if way == "planned":
        found = CrossEncoderReranker(scorer, planner=planner).rerank_many(rankings)
    elif way == "online":
        online = CrossEncoderReranker(scorer, planner=planner, expected=len(pools))
        found = [online.rerank(ranking) for ranking in rankings]
    else:
        found = []
        for number, ranking in enumerate(rankings):
            left = ledger.share(1 if way == "first come" else len(rankings) - number).tokens or 0
            tokens = planner.prospect(ranking).tokens
            depth = max(at for at in range(len(tokens)) if tokens[at] <= left)
            full = way == "first come" and depth < len(tokens) - 1
            found.append(ranking if full or depth < 2 else _to_depth(scorer, ranking, depth))
    quality = dict(zip(order, found, strict=True))
    return [pool.quality(quality[place]) for place, pool in enumerate(pools)], ledger.usage.tokens


def _to_depth(scorer: LookUp, ranking: Ranking, depth: int) -> Ranking:
    return CrossEncoderReranker(scorer, depth=depth).rerank(ranking)


def measure(pools: Sequence[Pool], planner: Planner, tell: Callable[[str], None]) -> list[Row]:
    """Every way, stand-in and share for every set: mean quality, and the share that was spent."""
    rows: list[Row] = []
    for set_name in sorted({pool.set_name for pool in pools}):
        some = [pool for pool in pools if pool.set_name == set_name]
        full = sum(planner.prospect(pool.ranking).tokens[-1] for pool in some)
        for name in TRIED:
            if name not in some[0].scores:
                continue
            tell(f"spending on {set_name}, {name}")
            for way in WAYS:
                for share in (0.0, *SHARES, 1.0):
                    quality, tokens = spend(way, some, name, share, planner)
                    rows.append(
                        {
                            "set": set_name,
                            "signal": name,
                            "way": way,
                            "share": share,
                            "quality": float(np.mean(quality)),
                            "spent": tokens / full,
                        }
                    )
    return rows


def table_of(rows: Sequence[Row]) -> Table:
    """The qualities at 10, 25 and 50 % of the full budget, beside those with none and all of it."""
    table = Table(title="Quality of five answers, by how a budget is spent", title_justify="left")
    for heading in ("set", "stand-in", "way"):
        table.add_column(heading, no_wrap=True)
    for share in (0.0, *_SHOWN, 1.0):
        table.add_column(f"{share:.0%}", justify="right")
    quality = {(row["set"], row["signal"], row["way"], row["share"]): row["quality"] for row in rows}
    for set_name, signal in dict.fromkeys((row["set"], row["signal"]) for row in rows):
        for way in WAYS:
            cells = [f"{quality[set_name, signal, way, share]:.3f}" for share in (0.0, *_SHOWN, 1.0)]
            first = way == WAYS[0]
            table.add_row(str(set_name) if first else "", str(signal) if first else "", way, *cells)
        table.add_section()
    return table


def draw(rows: Sequence[Row], path: Path) -> None:
    """The curves of quality over budget, one picture for each set and stand-in."""
    pyplot = pyplot_for_files()
    pictures = list(dict.fromkeys((str(row["set"]), str(row["signal"])) for row in rows))
    n_columns = len({signal for _, signal in pictures})
    n_rows = -(-len(pictures) // n_columns)
    figure, axes = pyplot.subplots(
        n_rows, n_columns, figsize=(4.2 * n_columns, 3 * n_rows), squeeze=False, sharex=True
    )
    for at, (set_name, signal) in zip(axes.flat, pictures, strict=False):
        for way in WAYS:
            points = [
                (row["share"], row["quality"])
                for row in rows
                if (row["set"], row["signal"], row["way"]) == (set_name, signal, way)
            ]
            at.plot(*zip(*points, strict=True), label=way, marker=".", linewidth=1.2)
        at.set_title(f"{set_name}, {signal}", fontsize=9)
        at.grid(alpha=0.3)
    axes.flat[0].legend(fontsize=8)
    for at in axes[-1]:
        at.set_xlabel("share of the full budget")
    for at in axes[:, 0]:
        at.set_ylabel("evidence in five answers")
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; 0 on success, 1 with a message where it cannot be run."""
    return run_command(_parser(), _run, arguments, InputError)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.hybrid_budget",
        description="Measure what a budget for a cross-encoder buys, by how it is spent.",
    )
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--data", type=Path, metavar="DIR", help="evaluation data, as for benchmarks.finance")
    source.add_argument("--smoke", action="store_true", help="the sample reports that the package ships")
    parser.add_argument("--sets", nargs="+", metavar="NAME", help="only these sets, such as finqa-raw")
    parser.add_argument("--corpora", nargs="+", metavar="NAME", help="only these corpora, such as small")
    parser.add_argument("--jina-url", metavar="URL", help="also ask a reranking service there")
    parser.add_argument("--work", type=Path, metavar="DIR", help="keep indexes here")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write what was measured as JSON")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="also draw the curves")
    return parser


def _run(options: argparse.Namespace, errors: Console) -> None:
    sets, homeless = (
        sample_sets() if options.smoke else find_sets(options.data, options.sets, options.corpora)
    )
    for name in homeless:
        errors.print(f"skipped {name}: no chosen corpus holds all its labelled reports")
    planner = Planner(depth=N_CANDIDATES)
    with contextlib.ExitStack() as stack:
        work = options.work or Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="hybridrank-bench-"))
        )
        status = stack.enter_context(errors.status("starting"))
        pools = read_pools(sets, work, status.update)
        add_learned(pools, status.update)
        add_noisy_labels(pools)
        if options.jina_url:
            from hybridrank.jina import JinaClient

            add_service(pools, JinaClient.from_env(base_url=options.jina_url), status.update)
        rows = measure(pools, planner, status.update)
    output = Console()
    if not output.is_terminal:
        output = Console(width=_WIDTH_WITHOUT_TERMINAL)
    output.print(table_of(rows))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    if options.plot:
        draw(rows, options.plot)


if __name__ == "__main__":
    sys.exit(main())
