"""Kill builds at random moments and look at what they leave; prints what was found, as JSON.

Each build has a process of its own, forked from this one so that its time goes into building, not starting.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import time
from pathlib import Path
from typing import Any

from hybridrank.errors import HybridrankError
from hybridrank.manifest import data_files
from hybridrank.records import Span
from hybridrank.tasks.finance import FinanceIndex, build

QUESTION = "What were Corrimont's net sales in 2022?"
FRESH = 4  # every so many builds one starts without a directory; the others find an index


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("corpora", nargs=2, type=Path)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--kills", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    seconds = 0.0
    answers: list[list[Span]] = []
    for corpus in options.corpora:
        started = time.monotonic()
        build(corpus, options.directory)
        seconds = time.monotonic() - started
        answers.append(FinanceIndex.open(options.directory).spans(QUESTION))
    assert answers[0] != answers[1]
    found: list[dict[str, Any]] = []
    state: Any = 1
    for number in range(4 * options.kills):
        if sum(one["killed"] for one in found) == options.kills:
            break
        if number % FRESH == 0:
            shutil.rmtree(options.directory)
            state = None
        elif state is None:
            build(options.corpora[0], options.directory)
            state = 0
        new = 1 - (state or 0)
        killed = build_and_kill(options.corpora[new], options.directory, rng.uniform(0, seconds))
        after = look(options.directory, answers)
        found.append({"before": state, "new": new, "after": after, "killed": killed})
        state = after if isinstance(after, int) else None
        seconds *= 1.01 if killed else 0.9  # the machine may be busier or less so than when it was measured
    build(options.corpora[0], options.directory)
    generations = sorted(set(data_files(options.directory).values()))
    print(json.dumps({"found": found, "last": look(options.directory, answers), "generations": generations}))


def build_and_kill(corpus: Path, directory: Path, seconds: float) -> bool:
    """Build in a process that is killed after a while; returns whether it was still at work."""
    child = os.fork()
    if child == 0:
        try:
            build(corpus, directory)
        finally:
            os._exit(0)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def look(directory: Path, answers: list[list[Span]]) -> int | str:
    """Which index opens there, by its number; or the name of the error that it does not."""
    try:
        spans = FinanceIndex.open(directory, verify="full").spans(QUESTION)
    except HybridrankError as error:
        return type(error).__name__
    return answers.index(spans)


if __name__ == "__main__":
    main()
