"""Matplotlib, for those who have it, drawing into files alone."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from hybridrank.errors import MissingExtra

__all__ = ["pyplot_for_files"]


def pyplot_for_files(*, extra: str = "bench") -> ModuleType:
    """``matplotlib.pyplot``, set to draw into files alone.

    Raises :class:`~hybridrank.errors.MissingExtra`, which names ``extra``, when matplotlib is not installed.
    """
    try:
        import matplotlib
    except ImportError:
        raise MissingExtra("matplotlib", extra=extra) from None
    matplotlib.use("Agg")
    pyplot: ModuleType = import_module("matplotlib.pyplot")
    return pyplot
