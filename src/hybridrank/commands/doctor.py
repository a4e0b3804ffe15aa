"""``hybridrank doctor``: do the outside services answer, and what would a job spend?"""

from __future__ import annotations

import argparse
import json

from hybridrank.commands.files import path_of
from hybridrank.commands.parsing import Parser
from hybridrank.commands.terminal import UNHEALTHY, say

__all__ = ["add_to"]


def add_to(parser: Parser) -> None:
    """Give the parser of ``doctor`` its arguments."""
    parser.description = (
        "Ask the services of JINA_API_KEY and JINA_BASE_URL one short question each, and say what they "
        "allow, what the cache holds, and what a job would spend. Keys are not shown."
    )
    parser.epilog = (
        "exit codes: 0, also when there is no service to ask; 1 when one cannot be asked or does not answer; "
        "2 for what cannot be used."
    )
    parser.examples = [
        "hybridrank doctor",
        "hybridrank doctor --offline --cache answers.db --plan rerank my.index queries.jsonl 50",
    ]
    parser.add_argument(
        "--plan",
        nargs="+",
        default=[],
        metavar="JOB",
        help="embed CORPUS, or rerank INDEX QUERIES [DEPTH]: what it would spend; it is not done",
    )
    parser.add_argument("--cache", type=path_of, metavar="FILE", help="the response cache")
    parser.add_argument("--base-url", metavar="URL", help="in place of JINA_BASE_URL")
    parser.add_argument("--embedding-model", metavar="NAME", help="to ask for vectors")
    parser.add_argument("--reranking-model", metavar="NAME", help="to ask for scores")
    parser.add_argument("--offline", action="store_true", help="send nothing")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    parser.set_defaults(command=_doctor)


def _doctor(options: argparse.Namespace) -> int:
    from hybridrank.doctor import examine

    found = examine(
        base_url=options.base_url,
        embedding_model=options.embedding_model,
        reranking_model=options.reranking_model,
        cache=options.cache,
        job=options.plan,
        ask=not options.offline,
    )
    say(json.dumps(found.to_json()) if options.json else "\n".join(found.lines()))
    return 0 if found.healthy else UNHEALTHY
