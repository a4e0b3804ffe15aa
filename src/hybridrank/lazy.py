"""Names of a package that are imported when they are first used (PEP 562)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["lazy_names"]


def lazy_names(
    package: str, home_of: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package whose names live in the modules below it that ``home_of``
    gives; each is imported once.

    >>> get, names = lazy_names("hybridrank", {"Hit": "records"})
    >>> get("Hit").__module__, "Hit" in names()
    ('hybridrank.records', True)
    """
    namespace = sys.modules[package].__dict__

    def get(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{home_of[name]}"), name)
        namespace[name] = value
        return value

    def names() -> list[str]:
        return sorted({*namespace, *home_of})

    return get, names
