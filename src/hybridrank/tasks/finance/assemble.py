"""The directory that fulfils the contract on a machine that has Python and nothing else."""

from __future__ import annotations

import importlib.metadata
import shutil
from os import PathLike
from pathlib import Path

from hybridrank.bundle import bundle, check_target, script_source
from hybridrank.errors import InputError

__all__ = ["assemble"]

SCRIPTS = ("build.sh", "run.sh", "entry.py")
_NEEDED = ("lightgbm", "more-itertools", "narwhals", "numpy", "PyStemmer", "scipy")
# What asks outside services, which is done without where it is not installed.
_SERVICES = ("anyio", "certifi", "h11", "httpcore", "httpx", "idna", "sniffio", "tenacity")
_SERVICES_ON_OLD = ("exceptiongroup", "typing_extensions")  # of Pythons up to 3.12
_SYSTEM = ("libgomp.so.1",)  # which LightGBM stands on and does not bring
_LIBRARIES = "lib"
_OURS = frozenset((*SCRIPTS, _LIBRARIES))


def assemble(output: str | PathLike[str]) -> Path:
    """Write ``build.sh``, ``run.sh`` and all that they need into a directory, and return it.

    The directory may be new, empty, or one that was assembled before; anything else is refused with
    :class:`~hybridrank.errors.InputError`, as is a distribution that is not installed. It needs a Python of
    the same version and platform as this one, and everyone may read it.
    """
    target, scripts = Path(output), script_source("finance")
    if target.exists() and target.samefile(scripts):
        raise InputError("holds the originals", file=target, remedy="Give a new or an empty directory.")
    check_target(target, _OURS)
    try:
        if not target.exists():
            target.mkdir(parents=True)
            target.chmod(0o755)
        bundle(target / _LIBRARIES, [*_NEEDED, *_services()], _SYSTEM)
        for name in SCRIPTS:
            shutil.copyfile(scripts / name, target / name)
            (target / name).chmod(0o755 if name.endswith(".sh") else 0o644)
    except OSError as error:
        raise InputError(
            f"cannot be written ({error.strerror or error})",
            file=target,
            remedy="Choose a directory that you may write, on a disk with room.",
        ) from error
    return target


def _services() -> list[str]:
    """The distributions that ask services, if all that are needed are installed."""
    if not all(map(_is_installed, _SERVICES)):
        return []
    return [*_SERVICES, *filter(_is_installed, _SERVICES_ON_OLD)]


def _is_installed(name: str) -> bool:
    try:
        importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True
