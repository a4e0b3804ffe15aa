"""Whether the wheel is as small, as light and as modular as it is meant to be: `python -m benchmarks.package
WHEEL [EXTRA ...]`, or `nox -s package`, which makes the wheel first.

It is installed alone and with each extra alone, each into an environment of its own, and used there. The exit
code is 1 when a bar is not met.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

__all__ = ["MOST_BYTES", "MOST_PACKAGES", "MOST_TIME", "USES", "main"]

MOST_BYTES = 2_000_000
"""Of the wheel."""

MOST_PACKAGES = 12
"""That come with it when no extra is asked for."""

MOST_TIME = 1.5
"""Of `import hybridrank`, as a multiple of `import numpy`."""

_CORE = "import hybridrank; assert hybridrank.rank('boats', ['A boat.'])"
_MEASURES = "from hybridrank.evaluation.measures import check_measures; check_measures(['nDCG@10'])"
USES = {
    "completion": (
        "shtab",
        "from hybridrank.cli import main; raise SystemExit(main(['completion', 'bash']))",
    ),
    "evaluate": ("ir_measures", _MEASURES),
    "fast": ("numba", "from hybridrank.accelerators import use_backend; use_backend('numba')"),
    "haystack": ("haystack", "import hybridrank.integrations.haystack"),
    "jina": ("httpx", "from hybridrank import JinaClient; JinaClient()"),
    "langchain": ("langchain_core", "import hybridrank.integrations.langchain"),
    "llama-index": ("llama_index", "import hybridrank.integrations.llama_index"),
    "milvus": ("tenacity", "from hybridrank.engines import MilvusIndex; import milvus_lite, pymilvus"),
    "pyterrier": ("pyterrier", "import hybridrank.integrations.pyterrier"),
    "serve": ("starlette", "import hybridrank.integrations.serve.app"),
}
"""For each extra that the package itself uses, something that it brings, and code that needs it."""

_CONSTRAINTS = ("constraints.txt", "tests/integrations/constraints.txt")
_TIMER = "import time; start = time.perf_counter(); import {}; print(time.perf_counter() - start)"
_ROUNDS = 15


def main(arguments: Sequence[str] | None = None) -> int:
    """Look at a wheel and print what was found; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.package", description=__doc__)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("extras", nargs="*", default=list(USES), metavar="EXTRA")
    options = parser.parse_args(arguments)
    failed = [_judge("bytes of the wheel", options.wheel.stat().st_size, MOST_BYTES)]
    with tempfile.TemporaryDirectory() as folder:
        python = _installed(options.wheel, "", Path(folder))
        packages = len(_packages(python)) - 1  # all but hybridrank
        failed.append(_judge("packages that come with it", packages, MOST_PACKAGES))
        failed.append(_judge("time to import, beside numpy", _import_time(python), MOST_TIME))
        failed.append(_use(python, "no extra", _CORE))
        for extra in options.extras:
            failed.append(_use(_installed(options.wheel, extra, Path(folder)), extra, USES[extra][1]))
    return int(any(failed))


def _judge(what: str, found: float, most: float) -> bool:
    print(f"{what}: {found:.4g}, at most {most:.4g}{'' if found <= most else ': TOO MUCH'}", flush=True)
    return found > most


def _installed(wheel: Path, extra: str, folder: Path) -> Path:
    """The Python of an environment that has the wheel, with an extra, and what these ask for."""
    subprocess.run([sys.executable, "-m", "venv", folder / f"with-{extra}"], check=True)
    python = folder / f"with-{extra}" / "bin" / "python"
    constraints = [word for name in _CONSTRAINTS for word in ("-c", name)]
    wanted = f"{wheel.resolve()}[{extra}]" if extra else str(wheel.resolve())
    subprocess.run([python, "-m", "pip", "install", "-q", *constraints, wanted], check=True)
    return python


def _packages(python: Path) -> list[str]:
    listed = subprocess.run(
        [python, "-m", "pip", "list", "--format", "json"], capture_output=True, text=True, check=True
    )
    names = [one["name"] for one in json.loads(listed.stdout)]
    return [name for name in names if name not in ("pip", "setuptools", "wheel")]


def _import_time(python: Path) -> float:
    """The time of `import hybridrank` as a multiple of that of `import numpy`: the ratio of medians, taken in
    turns, so that what else the machine does strikes both."""
    taken: dict[str, list[float]] = {"hybridrank": [], "numpy": []}
    for _ in range(_ROUNDS):
        for name, times in taken.items():
            ran = subprocess.run(
                [python, "-c", _TIMER.format(name)], capture_output=True, text=True, check=True
            )
            times.append(float(ran.stdout))
    return statistics.median(taken["hybridrank"]) / statistics.median(taken["numpy"])


def _use(python: Path, what: str, code: str) -> bool:
    ran = subprocess.run([python, "-W", "ignore", "-c", code], capture_output=True, text=True, check=False)
    print(f"{what}: {'used' if ran.returncode == 0 else f'FAILS: {ran.stderr}'}", flush=True)
    return ran.returncode != 0


if __name__ == "__main__":
    raise SystemExit(main())
