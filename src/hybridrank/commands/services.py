"""The outside services that a command may ask, from its options and the environment."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from hybridrank.budget import Budget, Ledger
from hybridrank.commands.files import lines_of
from hybridrank.commands.terminal import positive_number, tell
from hybridrank.errors import CacheUnusable, MissingExtra

if TYPE_CHECKING:
    from hybridrank.jina import ResponseCache
    from hybridrank.tasks.finance.neural import NeuralSignals

__all__ = ["add_budget_to", "signals_from"]

_SECONDS = 2400  # of the 3,600 that the contract gives to a call


def add_budget_to(parser: argparse.ArgumentParser) -> None:
    """Give a parser the options that say what may be spent on services."""
    group = parser.add_argument_group(
        "services",
        "With JINA_API_KEY or JINA_BASE_URL set, and the extra `jina` installed, a cross-encoder is asked "
        "about the best spans. What these options allow is never exceeded.",
    )
    group.add_argument("--no-services", action="store_true", help="ask none")
    group.add_argument("--max-requests", type=positive_number, metavar="N", help="requests in all")
    group.add_argument("--max-tokens", type=positive_number, metavar="N", help="tokens in all")
    group.add_argument(
        "--max-seconds",
        type=positive_number,
        default=_SECONDS,
        metavar="N",
        help=f"after which no service is asked (default {_SECONDS})",
    )


def signals_from(
    options: argparse.Namespace, index_dir: Path, queries: Path, environ: Mapping[str, str] | None = None
) -> NeuralSignals | None:
    """What asks the services about the questions of a file, or ``None`` where there is none to ask.

    Answers are kept in ``services/responses.sqlite`` in the index directory, where that can be written.
    """
    if options.no_services:
        return None
    from hybridrank.jina import JinaClient, Limits
    from hybridrank.jina.aio import options_from_env
    from hybridrank.tasks.finance.neural import NeuralSignals

    named = options_from_env(environ)
    if not named.keys() & {"api_key", "base_url"}:
        return None
    budget = Budget(
        requests=options.max_requests, tokens=options.max_tokens, seconds=float(options.max_seconds)
    )
    ledger = Ledger(budget)
    limits = Limits(timeout=10.0, attempts=2)
    try:
        client = JinaClient(**named, ledger=ledger, cache=_cache(index_dir), limits=limits)
    except MissingExtra as error:
        tell(f"no service is asked: {error}")
        return None
    signals = NeuralSignals(scorer=client, ledger=ledger)
    questions = lines_of(queries)
    if questions is not None:
        signals.expect(questions)
    return signals


def _cache(index_dir: Path) -> ResponseCache | None:
    from hybridrank.jina import ResponseCache

    folder = index_dir / "services"
    try:
        folder.mkdir(exist_ok=True)
        return ResponseCache(folder / "responses.sqlite")
    except (OSError, CacheUnusable) as error:
        tell(f"answers of services are not kept: {error}")
        return None
