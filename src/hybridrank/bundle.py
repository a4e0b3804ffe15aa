"""Copying this package and what it needs into a directory, from which scripts run with nothing installed."""

from __future__ import annotations

import compileall
import ctypes
import importlib.metadata
import os
import shutil
import sys
import sysconfig
from collections.abc import Collection, Iterator, Sequence
from os import PathLike
from pathlib import Path, PurePath
from py_compile import PycInvalidationMode

from hybridrank.errors import InputError

__all__ = ["PYTHON_NOTE", "SYSTEM", "bundle", "check_target", "python_tag", "script_source"]

PYTHON_NOTE = "python.txt"  # in the bundle: which Python its compiled parts are for
SYSTEM = "system"  # in the bundle: libraries of the system that the other machine may lack
_NOTICE = """\
libgomp is part of GCC: GNU General Public License, version 3 or later, with the GCC Runtime Library
Exception, version 3.1. It was copied unchanged from the system; its source is that of the system's GCC.
"""
_PACKAGE = Path(__file__).resolve().parent
_LEFT_OUT = frozenset(("__pycache__", "conftest.py", "_examples"))
_MODULES = frozenset((".py", ".so", ".pyd"))


def bundle(
    directory: str | PathLike[str], distributions: Sequence[str], libraries: Sequence[str] = ()
) -> None:
    """Fill ``directory`` with the package and the installed distributions named, compiled and ready.

    What lies there is replaced. Tests and command line scripts of the distributions are left out, their
    licences are kept. ``libraries`` of the system are copied too, where this machine has them. Everyone may
    read it, whatever the modes of the originals. Raises :class:`~hybridrank.errors.InputError`, before
    anything is touched, for a distribution that is not
    installed, or so that its files are not known.
    """
    files = [*_files_of_package(), *_licence()]
    files += [(source, PurePath(SYSTEM, source.name)) for source in map(_shared_library, libraries) if source]
    for name in distributions:
        files += _files_of(name)
    target = Path(directory)
    if target.exists():
        shutil.rmtree(target)
    for source, place in files:
        (target / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target / place)
    # Hash-based and unchecked, for the bundle may be read-only, and copying it changes every time stamp; and
    # without the path to it, so that the same originals give the same bytes.
    compileall.compile_dir(
        target, quiet=2, stripdir=str(target), invalidation_mode=PycInvalidationMode.UNCHECKED_HASH
    )
    if (target / SYSTEM).is_dir():
        (target / SYSTEM / "NOTICE").write_text(_NOTICE, encoding="ascii")
    (target / PYTHON_NOTE).write_text(f"{python_tag()}\n", encoding="ascii")  # last: now it is whole
    for folder, _, names in os.walk(target):
        os.chmod(folder, 0o755)
        for name in names:
            os.chmod(os.path.join(folder, name), 0o644)


def check_target(target: Path, ours: Collection[str]) -> None:
    """Raise :class:`~hybridrank.errors.InputError` unless a directory to assemble in is new, or holds nothing
    but what is named in ``ours``."""
    if target.exists() and not target.is_dir():
        raise InputError("is a file", file=target, remedy="Give a new or an empty directory.")
    foreign = sorted(path.name for path in target.glob("*") if path.name not in ours)
    if foreign:
        raise InputError(
            f"holds {', '.join(foreign[:3])}", file=target, remedy="Give a new or an empty directory."
        )


def _shared_library(name: str) -> Path | None:
    """Where a library of the system lies, such as ``libgomp.so.1``; ``None`` where it is not to be found."""
    try:
        ctypes.CDLL(name)
        maps = Path("/proc/self/maps").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return None
    stem = name.partition(".so")[0]
    paths = (Path(line.split(maxsplit=5)[-1].rstrip()) for line in maps.splitlines() if "/" in line)
    found = next((path for path in paths if path.name.startswith(f"{stem}.so")), None)
    return None if found is None else found.parent / name


def python_tag() -> str:
    """What a compiled module must be built for to be loaded here, as in ``cpython-311-x86_64-linux-gnu``."""
    return str(sysconfig.get_config_var("SOABI") or sys.implementation.cache_tag)


def script_source(task: str) -> Path:
    """The directory of a task's scripts: in the package when installed, at the top of a checkout.

    Raises :class:`~hybridrank.errors.InputError` when they are in neither place.
    """
    places = (_PACKAGE / "app" / task, _PACKAGE.parents[1] / "app" / task)
    for place in places:
        if place.is_dir():
            return place
    raise InputError(
        f"the scripts of {task} are neither in {places[0]} nor in {places[1]}",
        remedy="Install hybridrank again.",
    )


def _files_of_package() -> Iterator[tuple[Path, PurePath]]:
    for source in sorted(_PACKAGE.rglob("*")):
        place = source.relative_to(_PACKAGE.parent)
        if source.is_file() and _is_needed(place):
            yield source, place


def _licence() -> Iterator[tuple[Path, PurePath]]:
    """The licence of this package: beside it in an installation, at the top of a checkout."""
    installed = _PACKAGE.parent.glob("hybridrank-*.dist-info/licenses/LICENSE")
    for source in (*installed, _PACKAGE.parents[1] / "LICENSE"):
        if source.is_file():
            yield source, PurePath("hybridrank", "LICENSE")
            return


def _is_needed(place: PurePath) -> bool:
    """Whether a file is more than a test; helpers in a folder of tests stay, for numpy 2.2 imports one."""
    if "tests" in place.parts and (place.suffix != ".py" or place.name.startswith("test_")):
        return False
    return not _LEFT_OUT & set(place.parts)


def _files_of(name: str) -> list[tuple[Path, PurePath]]:
    """The files of an installed distribution, each with its place in the bundle."""
    try:
        listed = importlib.metadata.distribution(name).files
    except importlib.metadata.PackageNotFoundError:
        raise InputError(
            f"the distribution {name} is not installed", remedy=f"Install it: pip install {name}"
        ) from None
    found = [
        (Path(str(place.locate())), PurePath(*place.parts))
        for place in listed or ()
        # Command line scripts lie beside the packages, at "../../bin/…".
        if ".." not in place.parts and _is_needed(place)
    ]
    found = [(source, place) for source, place in found if source.is_file()]
    if not any(place.suffix in _MODULES for _, place in found):  # an editable or a system's installation
        raise InputError(
            f"the distribution {name} does not say which files it has",
            remedy=f"Install it with pip, not editable: pip install --force-reinstall {name}",
        )
    return found
