"""The promises of the project's own files."""

from __future__ import annotations

import importlib.metadata
import io
import re
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import hybridrank
from benchmarks.package import MOST_BYTES, MOST_PACKAGES

ROOT = Path(__file__).resolve().parents[1]

try:
    PROJECT = importlib.metadata.metadata("hybridrank")
except importlib.metadata.PackageNotFoundError:
    pytest.skip("what the package says of itself shows once it is installed", allow_module_level=True)


def constraints() -> list[Requirement]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return [Requirement(line) for line in lines if not line.startswith("#")]


def test_constraints_are_exact_versions_without_addresses() -> None:
    assert all(re.fullmatch(r"==[^,*]+", str(found.specifier)) for found in constraints())
    assert not any(found.url or found.extras for found in constraints())
    assert "://" not in (ROOT / "constraints.txt").read_text(encoding="utf-8")


def test_each_dependency_is_constrained_to_a_version_that_it_allows() -> None:
    versions = {canonicalize_name(found.name): str(found.specifier)[2:] for found in constraints()}
    for declared in map(Requirement, importlib.metadata.requires("hybridrank") or ()):
        assert declared.specifier.contains(versions[canonicalize_name(declared.name)]), declared


def test_dependencies_have_lower_bounds_only() -> None:
    for declared in map(Requirement, importlib.metadata.requires("hybridrank") or ()):
        assert [bound.operator for bound in declared.specifier] == [">="], declared


def needed(name: str) -> set[str]:
    """The packages that one needs without an extra, itself included."""
    found: set[str] = set()
    waiting: list[str] = [canonicalize_name(name)]
    while waiting:
        if (one := waiting.pop()) in found:
            continue
        found.add(one)
        for requirement in map(Requirement, importlib.metadata.requires(one) or ()):
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                waiting.append(canonicalize_name(requirement.name))
    return found


def test_few_packages_come_with_it() -> None:
    assert {"numpy", "lightgbm"} < needed("hybridrank") - {"hybridrank"}
    assert len(needed("hybridrank") - {"hybridrank"}) <= MOST_PACKAGES


def test_the_wheel_is_small() -> None:
    """As `nox -s package` says of the wheel itself; here what it is made of is compressed in the same way."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for folder in (ROOT / "src" / "hybridrank", ROOT / "app"):
            for path in folder.rglob("*"):
                if path.is_file() and "__pycache__" not in path.parts:
                    archive.write(path, path.relative_to(ROOT))
    assert 500_000 < packed.tell() <= MOST_BYTES


def test_the_readme_s_commands_are_those_that_ci_runs() -> None:
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    commands = re.findall(r"^[A-Z]+='(.*)'$", ci, flags=re.MULTILINE)
    readme = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(commands) == 2
    for command in commands:
        assert command in readme, f"README.md lacks the line: {command}"


def test_the_changelog_speaks_of_this_version() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    first = re.search(r"^## \[(\d+\.\d+\.\d+)\]", changelog, flags=re.MULTILINE)
    assert first is not None
    assert first[1] == PROJECT["Version"]


def test_the_package_says_its_licence_and_that_it_is_typed() -> None:
    assert PROJECT["License-Expression"] == "Apache-2.0"
    assert PROJECT["Requires-Python"] == ">=3.10"
    assert (Path(hybridrank.__file__).parent / "py.typed").is_file()


def test_the_installed_command_is_the_command_line() -> None:
    (script,) = importlib.metadata.entry_points(group="console_scripts", name="hybridrank")
    assert callable(script.load())


def test_no_file_names_a_package_index() -> None:
    names = ("pyproject.toml", "constraints.txt", "noxfile.py", ".pre-commit-config.yaml", ".ci/run")
    for name in names:
        assert not re.search(r"index-url|find-links|https?://", (ROOT / name).read_text(encoding="utf-8")), (
            name
        )
