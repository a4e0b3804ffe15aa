"""What one is told who lacks the package of an adapter; and that nobody pays for one that is not used."""

import subprocess
import sys

import pytest

NEEDS = {
    "langchain": ("langchain_core", "langchain"),
    "llama_index": ("llama_index", "llama-index"),
    "haystack": ("haystack", "haystack"),
    "pyterrier": ("pyterrier", "pyterrier"),
    "serve.app": ("starlette", "serve"),
}


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("module", sorted(NEEDS))
def test_a_missing_package_is_an_error_that_names_the_extra(module: str) -> None:
    package, extra = NEEDS[module]
    done = run(f"import sys; sys.modules[{package!r}] = None; import hybridrank.integrations.{module}")
    last = done.stderr.rstrip().splitlines()[-1]
    assert last.startswith("hybridrank.errors.MissingExtra: ")
    assert last.endswith(f" is not installed. Install it with: pip install 'hybridrank[{extra}]'")


def test_the_command_says_so_too() -> None:
    done = run("import sys; sys.modules['uvicorn'] = None; from hybridrank.cli import main; main(['serve'])")
    assert done.stderr == (
        "error: uvicorn is not installed. Install it with: pip install 'hybridrank[serve]'\n"
    )


def test_the_command_line_itself_loads_none_of_them() -> None:
    done = run("import sys, hybridrank.cli; print(*{name.split('.')[0] for name in sys.modules})")
    assert not {package for package, _ in NEEDS.values()} & set(done.stdout.split())
