"""Sessions for checking and measuring; each is a thin wrapper around a command that also runs by hand."""

import filecmp
import shutil
from pathlib import Path

import nox

nox.needs_version = ">=2024.4.15"
nox.options.default_venv_backend = "virtualenv"
nox.options.reuse_venv = "yes"
nox.options.sessions = ["lint", "types", "docs", "tests"]

INTEGRATIONS = [
    "src/hybridrank/integrations",
    "tests/integrations",
    "tests/docs/test_pages.py",
    "--cov",
    "--cov-config=tests/integrations/coverage.toml",
    "--cov-report=term-missing:skip-covered",
]

ENGINES = [
    "src/hybridrank/engines",
    "tests/engines",
    "tests/benchmarks/test_milvus.py",
    "tests/docs/test_pages.py::test_a_page_shows_what_happens[milvus.md]",
    "--cov",
    "--cov-config=tests/engines/coverage.toml",
    "--cov-report=term-missing:skip-covered",
]


def install(session: nox.Session, extra: str = "") -> None:
    """Install the project in place, with one of its extras, at versions known to work together."""
    session.install("-c", "constraints.txt", "-e", f".[{extra}]" if extra else ".")


@nox.session
def lint(session: nox.Session) -> None:
    """Check style and formatting."""
    session.install("-c", "constraints.txt", "ruff")
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")


@nox.session
def types(session: nox.Session) -> None:
    """Check types, strictly."""
    install(session, "dev")
    session.run("mypy")


@nox.session
def docs(session: nox.Session) -> None:
    """Build the site into build/site, strictly: a broken link or reference is an error."""
    extras = nox.project.load_toml("pyproject.toml")["project"]["optional-dependencies"]
    session.install("-c", "constraints.txt", *extras["docs"])  # alone, for the sources are read, not run
    session.run("python", "-m", "doctest", "docs/docstrings.py")
    session.run("mkdocs", "build", env={"NO_MKDOCS_2_WARNING": "1"})


@nox.session
def tests(session: nox.Session) -> None:
    """Run the tests with branch coverage; arguments after `--` choose tests and leave coverage out."""
    install(session, "dev")
    arguments = session.posargs or ["--cov", "--cov-report=term-missing:skip-covered"]
    session.run("pytest", "--numprocesses=auto", *arguments)


@nox.session
def integrations(session: nox.Session) -> None:
    """Test the plugs against the frameworks themselves, with these frameworks' own tests where they have any,
    and the pages that speak of frameworks and of other libraries.

    Arguments after `--` choose tests and leave coverage out.
    """
    session.install(
        *("-c", "constraints.txt", "-c", "tests/integrations/constraints.txt"),
        *("-e", ".[dev,haystack,langchain,llama-index,peers,pyterrier]"),
        *(
            "langchain-classic",
            "langchain-tests",
            "llama-index-postprocessor-jinaai-rerank",
            "rerankers[api]",
        ),
    )
    # The latter two are of a plugin that only this session has, so that they cannot stand in pyproject.toml.
    session.run(
        "pytest",
        *("-o", "asyncio_mode=auto", "-o", "asyncio_default_fixture_loop_scope=function"),
        *(session.posargs or INTEGRATIONS),
    )


@nox.session
def milvus(session: nox.Session) -> None:
    """Test the index on Milvus, with Milvus Lite, which needs no server; arguments as in `integrations`."""
    session.install("-c", "constraints.txt", "-c", "tests/engines/constraints.txt", "-e", ".[dev,milvus]")
    session.run("pytest", *(session.posargs or ENGINES))


@nox.session
def browser(session: nox.Session) -> None:
    """Open reports in a Chromium that is installed, as Debian's package `chromium` is; skips without one."""
    install(session, "dev,browser")
    session.run("pytest", "tests/report/test_browser.py", *session.posargs)


@nox.session
def faults(session: nox.Session) -> None:
    """Tell stories of network failure over real sockets, 10,000 or `-- NUMBER` (the tests tell 400)."""
    install(session, "dev")
    number = session.posargs[0] if session.posargs else "10000"
    session.run("pytest", "tests/jina/test_faults.py", env={"HYBRIDRANK_FAULT_STORIES": number})


@nox.session
def bench_hybrid(session: nox.Session) -> None:
    """Measure what neural services add to finance evidence, beside LangChain and LlamaIndex.

    `-- --data DIR [--service URL]`, or on the sample reports with a service that only plays one.
    """
    session.install(
        *("-c", "constraints.txt", "-c", "tests/integrations/constraints.txt"),
        *("-e", ".[bench,jina,langchain,llama-index]"),
        *("langchain-classic", "langchain-community", "llama-index-postprocessor-jinaai-rerank"),
    )
    session.run("python", "-m", "benchmarks.hybrid", *(session.posargs or ["--smoke"]))


@nox.session
def bench_client(session: nox.Session) -> None:
    """Measure what the clients add to a request beside bare httpx."""
    install(session, "jina")
    session.run("python", "-m", "benchmarks.client", *session.posargs)


@nox.session
def package(session: nox.Session) -> None:
    """Hold the wheel to its bars, alone and with each extra alone, or with `-- EXTRA ...`; some minutes."""
    folder = Path(session.create_tmp()) / "wheel"
    shutil.rmtree(folder, ignore_errors=True)
    session.run("python", "-m", "pip", "wheel", "-q", "--no-deps", "--wheel-dir", str(folder), ".")
    session.run("python", "-m", "benchmarks.package", str(next(folder.glob("*.whl"))), *session.posargs)


@nox.session
def demo(session: nox.Session) -> None:
    """Run the whole finance job on the sample reports."""
    install(session)
    session.run("hybridrank", "demo", *session.posargs)


@nox.session
def bench_finance(session: nox.Session) -> None:
    """Measure finance evidence beside the plain recipe: `-- --data DIR`, or on the sample reports."""
    install(session, "bench")
    session.run("python", "-m", "benchmarks.finance", *(session.posargs or ["--smoke"]))


@nox.session
def bench_finance_scale(session: nox.Session) -> None:
    """Measure finance evidence at the size of the real job: `-- --data DIR`, or on the sample."""
    install(session)
    session.run("python", "-m", "benchmarks.finance_scale", *(session.posargs or ["--smoke"]))


@nox.session
def bench_meetings(session: nox.Session) -> None:
    """Measure keeping and recalling of meetings: `-- --data DIR`, or on the sample meetings."""
    install(session, "bench")
    session.run("python", "-m", "benchmarks.meetings", *(session.posargs or ["--smoke"]))


@nox.session
def bench_peers(session: nox.Session) -> None:
    """Measure search engines side by side: `-- --corpus DIR --queries FILE` or `--zipf N`, or the sample."""
    install(session, "bench,fast,peers")
    session.run("python", "-m", "benchmarks.peers", *(session.posargs or ["--smoke"]))


@nox.session
def bench_scaling(session: nox.Session) -> None:
    """Measure how the search index grows: `-- --passages N...`, or two small sizes."""
    install(session, "bench,fast")
    session.run("python", "-m", "benchmarks.scaling", *(session.posargs or ["--smoke"]))


@nox.session
def bench_milvus(session: nox.Session) -> None:
    """Measure what moves when an index moves to Milvus: `-- --data DIR`, or on the sample reports."""
    session.install("-c", "constraints.txt", "-c", "tests/engines/constraints.txt", "-e", ".[bench,milvus]")
    session.run("python", "-m", "benchmarks.milvus", *(session.posargs or ["--smoke"]))


@nox.session
def train_finance(session: nox.Session) -> None:
    """Train the shipped model again from `-- --data DIR`, and say whether it is the same, byte for byte.

    `--replace` as the first argument puts it in the package instead; the others go to the command.
    """
    install(session, "bench")
    arguments = list(session.posargs)
    replace = arguments[:1] == ["--replace"]
    made, shipped = Path(session.create_tmp()) / "ranker", Path("src/hybridrank/data/finance/ranker")
    shutil.rmtree(made, ignore_errors=True)
    session.run("hybridrank", "finance", "train", "--output", str(made), *arguments[replace:])
    names = ["manifest.json", *(path.name for path in made.glob("model.*.txt"))]
    if replace:
        shutil.rmtree(shipped, ignore_errors=True)
        shipped.mkdir()
        for name in names:
            shutil.copyfile(made / name, shipped / name)
    elif filecmp.cmpfiles(made, shipped, names, shallow=False)[0] != names:
        session.error("the model differs from the shipped one")
    else:
        session.log("the model is the shipped one, byte for byte")
