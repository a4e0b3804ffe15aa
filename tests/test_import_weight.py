import subprocess
import sys

import pytest

HEAVY = {"bm25s", "httpx", "lightgbm", "llvmlite", "numba", "numpy", "pymilvus", "rich", "scipy", "sqlite3"}


def modules_after(code: str) -> set[str]:
    # What was there before is not counted: a coverage tool, for one.
    code = f"""
import sys
before = set(sys.modules)
{code}
print(*{{name.split('.')[0] for name in set(sys.modules) - before}})
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(found.stdout.split())


def test_importing_the_package_brings_nothing_heavy() -> None:
    assert not modules_after("import hybridrank") & HEAVY


def test_importing_the_package_brings_fewer_modules_than_numpy() -> None:
    # The bar is a time, which `nox -s package` measures: 1.5 times that of numpy.
    count = "import sys; before = len(sys.modules); import {}; print(len(sys.modules) - before)"
    ours, numpys = (
        int(
            subprocess.run([sys.executable, "-c", count.format(name)], capture_output=True, check=True).stdout
        )
        for name in ("hybridrank", "numpy")
    )
    assert 0 < ours < numpys / 2


def test_searching_needs_numpy_alone() -> None:
    names = (
        "from hybridrank import LexicalIndex, Pipeline, Tokenizer, read_corpus, rank, reciprocal_rank_fusion"
    )
    assert modules_after(names) & HEAVY == {"numpy"}


@pytest.mark.parametrize("name", ["LearnedReranker", "PassageFeatures", "RankingModel"])
def test_what_learns_loads_lightgbm_once_it_is_used(name: str) -> None:
    assert modules_after(f"from hybridrank import {name}") & HEAVY == {"numpy"}
    model = "RankingModel.train(np.arange(40.0)[:, None], np.arange(40) % 2, [2] * 20, ['x'], rounds=1)"
    assert "lightgbm" in modules_after(f"import numpy as np; from hybridrank import RankingModel; {model}")


@pytest.mark.parametrize(
    "name", ["InputError", "Passage", "read_corpus", "split_document", "reciprocal_rank_fusion"]
)
def test_names_that_need_no_arrays_bring_none(name: str) -> None:
    assert not modules_after(f"from hybridrank import {name}") & HEAVY
