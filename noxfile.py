"""Sessions for checking and measuring; each is a thin wrapper around a command that also runs by hand."""

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
