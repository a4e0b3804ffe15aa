"""Measure what neural services add to finance evidence, and what they cost, beside what people use today.

    python -m benchmarks.hybrid --data DIR [--service URL] [--sets NAME ...] [--corpora NAME ...]
                                [--questions N] [--dense-windows all|candidates] [--cache DIR] [--work DIR]
                                [--json FILE] [--plot FILE] [--without-budget]
    python -m benchmarks.hybrid --smoke

Without ``--service`` the service is that of ``JINA_BASE_URL``, or Jina's with the key of ``JINA_API_KEY``.
``--smoke`` brings a service of its own, which knows no language, and the sample reports.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks import hybrid_budget
from benchmarks.budget_pools import add_learned, add_noisy_labels, add_service, read_pools
from benchmarks.command_line import run_command
from benchmarks.hybrid_dense import whole_corpus
from benchmarks.hybrid_frameworks import installed
from benchmarks.hybrid_methods import Asked, Method, ask, compare, framework, with_neural
from benchmarks.hybrid_questions import N_CANDIDATES, Question, Tell, read_all, sampled
from benchmarks.hybrid_report import NOTES, STAND_IN, as_json, draw, table_of
from benchmarks.stub_service import StubService
from hybridrank.errors import InputError
from hybridrank.jina import JinaClient, ResponseCache
from hybridrank.jina.aio import options_from_env
from hybridrank.planner import Planner
from hybridrank.tasks.finance.datasets import EvaluationSet, find_sets, sample_sets
from hybridrank.tasks.finance.training import Example, held_out_scores

_WIDTH_WITHOUT_TERMINAL = 150


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; 0 on success, 1 with a message where it cannot be run."""
    return run_command(_parser(), _run, arguments, InputError)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.hybrid",
        description="Measure what neural services add to finance evidence, and what they cost.",
        allow_abbrev=False,
    )
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--data", type=Path, metavar="DIR", help="evaluation data, as for benchmarks.finance")
    source.add_argument("--smoke", action="store_true", help="the sample, and a service of its own")
    parser.add_argument("--service", metavar="URL", help="the service to ask, in place of the environment's")
    parser.add_argument("--sets", nargs="+", metavar="NAME", help="only these sets, such as finqa-raw")
    parser.add_argument("--corpora", nargs="+", metavar="NAME", help="only these corpora, such as small")
    parser.add_argument("--questions", type=_positive, metavar="N", help="a seeded sample of each set")
    parser.add_argument(
        "--dense-windows",
        choices=("candidates", "all"),
        default="candidates",
        help="also embed every window of each corpus (all), or the candidates alone (the default)",
    )
    parser.add_argument(
        "--cache", type=Path, metavar="DIR", help="keep answers here, so that a second run asks nothing"
    )
    parser.add_argument("--work", type=Path, metavar="DIR", help="keep indexes here")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write what was measured as JSON")
    parser.add_argument(
        "--plot", type=Path, metavar="FILE", help="also draw it; the budget's curves as FILE-budget beside it"
    )
    parser.add_argument("--without-budget", action="store_true", help="leave the planner's curves out")
    return parser


def _positive(value: str) -> int:
    if not (value.isascii() and value.isdigit() and int(value) > 0):
        raise argparse.ArgumentTypeError("give a whole number of 1 or more")
    return int(value)


def _run(options: argparse.Namespace, errors: Console) -> None:
    with contextlib.ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hybridrank-bench-")))
        service = _service(options, stack)
        work, cache = options.work or scratch / "work", options.cache or scratch / "cache"
        cache.mkdir(parents=True, exist_ok=True)
        sets, homeless = (
            sample_sets() if options.smoke else find_sets(options.data, options.sets, options.corpora)
        )
        for name in homeless:
            errors.print(f"skipped {name}: no chosen corpus holds all its labelled reports")
        tell: Tell = stack.enter_context(errors.status("starting")).update
        sets = sampled(sets, options.questions, work)
        questions = read_all(sets, work, tell)
        learn_from = _units if options.smoke else _learnable
        measured, again, notes = _measure(questions, learn_from, service, cache, tell)
        if options.dense_windows == "all":
            with _client(service, cache / "all-windows.sqlite") as client:
                for name, method in whole_corpus(questions, client, work, tell).items():
                    measured[name].append(method)
        budget: list[Any] = []
        if not options.without_budget:
            with _client(service, cache / "budget.sqlite") as client:
                budget = _budget(sets, work, client, tell)
    _show(options, measured, service, again, notes, budget)


def _service(options: argparse.Namespace, stack: contextlib.ExitStack) -> dict[str, Any]:
    """The options of a client for the service to ask."""
    if options.smoke and options.service is None:
        return {"base_url": stack.enter_context(StubService()).url}
    found = options_from_env()
    if options.service is not None:
        return {**found, "base_url": options.service, "trust_env": False}
    if not {"api_key", "base_url"} & found.keys():
        raise InputError(
            "there is no service to ask", remedy="Give --service URL, or set JINA_API_KEY or JINA_BASE_URL."
        )
    return found


def _client(service: Mapping[str, Any], cache: Path) -> JinaClient:
    return JinaClient(**service, cache=ResponseCache(cache))


def _learnable(example: Example) -> bool:
    return example.may_be_learned_from


def _units(example: Example) -> bool:
    return not example.label.pages


def _measure(
    questions: Sequence[Question],
    learn_from: Callable[[Example], bool],
    service: Mapping[str, Any],
    cache: Path,
    tell: Tell,
) -> tuple[dict[str, list[Method]], int, list[str]]:
    """All methods by set, the requests of a second run, and what is to be said of the first."""
    examples = [question.example for question in questions]
    tell("learning from words")
    alone = held_out_scores(examples, learn_from=learn_from, tell=tell)
    places: dict[str, list[int]] = {}
    for place, question in enumerate(questions):
        places.setdefault(question.set_name, []).append(place)

    def asked_of(set_name: str) -> Asked:
        its = places[set_name]
        prefix = set_name.replace("/", "-")
        return ask(
            [questions[place] for place in its],
            [alone[place] for place in its],
            lambda name: _client(service, cache / f"{prefix}-{name}.sqlite"),
            lambda message: tell(f"{set_name}: {message}"),
        )

    asked = {set_name: asked_of(set_name) for set_name in places}
    again = sum(asked_of(set_name).requests for set_name in places)
    taught = list(examples)
    for set_name, its in places.items():
        for place, said in zip(its, asked[set_name].said, strict=True):
            taught[place] = with_neural(examples[place], said)
    tell("learning from words and neural scores")
    together = held_out_scores(taught, learn_from=learn_from, tell=tell)
    with JinaClient(**service) as client:
        frameworks, missing = installed(client.base_url, service.get("api_key"), client.reranking_model)
    measured: dict[str, list[Method]] = {}
    for set_name, its in places.items():
        some = [questions[place] for place in its]
        before, after = ([scores[place] for place in its] for scores in (alone, together))
        measured[set_name] = compare(some, asked[set_name], before, after, tell)
        measured[set_name] += [framework(one, some, asked[set_name].lists, tell) for one in frameworks]
    return measured, again, [f"{name}: not installed, left out." for name in missing]


def _budget(sets: Sequence[EvaluationSet], work: Path, client: JinaClient, tell: Tell) -> list[Any]:
    pools = read_pools(sets, work, tell)
    add_learned(pools, tell)
    add_noisy_labels(pools)
    add_service(pools, client, tell)
    return list(hybrid_budget.measure(pools, Planner(depth=N_CANDIDATES), tell))


def _show(
    options: argparse.Namespace,
    measured: Mapping[str, Sequence[Method]],
    service: Mapping[str, Any],
    again: int,
    notes: Sequence[str],
    budget: Sequence[Any],
) -> None:
    output = Console()
    if not output.is_terminal:
        output = Console(width=_WIDTH_WITHOUT_TERMINAL)
    output.print(table_of(measured))
    output.print(f"Requests of a second run, through the cache of the first: {again}", highlight=False)
    for note in (*NOTES, STAND_IN, *notes):
        output.print(f"- {note}", style="dim", highlight=False)
    if budget:
        output.print(hybrid_budget.table_of(budget))
    if options.json:
        told = {"base_url": service.get("base_url", "the environment's")}
        content = as_json(measured, told, again, budget)
        options.json.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    if options.plot:
        draw(measured, options.plot)
        if budget:
            path = options.plot
            hybrid_budget.draw(budget, path.with_name(f"{path.stem}-budget{path.suffix}"))


if __name__ == "__main__":
    sys.exit(main())
