"""Sessions for checking and measuring; each is a thin wrapper around a command that also runs by hand."""

import filecmp
import shutil
from pathlib import Path

import nox

nox.needs_version = ">=2024.4.15"
nox.options.default_venv_backend = "virtualenv"
nox.options.reuse_venv = "yes"
nox.options.sessions = ["lint", "types", "tests"]


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
def tests(session: nox.Session) -> None:
    """Run the tests with branch coverage; arguments after `--` choose tests and leave coverage out."""
    install(session, "dev")
    session.run("pytest", *(session.posargs or ["--cov", "--cov-report=term-missing:skip-covered"]))


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
