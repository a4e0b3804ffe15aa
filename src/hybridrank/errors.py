"""Every error and warning that hybridrank raises on purpose.

::

    Exception
    └── HybridrankError               catch this to catch them all
        ├── InputError                what the user gave cannot be used (also a ValueError)
        ├── IndexDirectoryError       an index directory cannot be used
        │   ├── IndexNotFound         there is no index there
        │   ├── IndexIncomplete       a build was cut short, or a file is missing
        │   ├── IndexCorrupt          a file is truncated or was changed
        │   ├── IndexForeign          it belongs to something else, or holds another kind of index
        │   ├── IndexTooNew           a newer hybridrank wrote it
        │   └── IndexLocked           another build is under way there
        ├── MissingExtra              an optional dependency is not installed (also an ImportError)
        └── MissingLibrary            a library that is needed cannot be loaded (also an ImportError)

    UserWarning
    └── HybridrankWarning             something was skipped or looks wrong; the work goes on

A message names the place, then the reason, then the remedy.
"""

from __future__ import annotations

from os import PathLike, fspath

__all__ = [
    "HybridrankError",
    "HybridrankWarning",
    "IndexCorrupt",
    "IndexDirectoryError",
    "IndexForeign",
    "IndexIncomplete",
    "IndexLocked",
    "IndexNotFound",
    "IndexTooNew",
    "InputError",
    "MissingExtra",
    "MissingLibrary",
]


class HybridrankError(Exception):
    """The base of every error that hybridrank raises on purpose."""


class InputError(HybridrankError, ValueError):
    """What the user gave cannot be used.

    ``reason`` says what is wrong and ``remedy`` what to do about it; ``file`` and ``line`` (counted from 1)
    name the place where it was read, when there is one.

    >>> str(InputError("not valid JSON", file="corpus.jsonl", line=3, remedy="Correct the line."))
    'corpus.jsonl, line 3: not valid JSON. Correct the line.'
    """

    def __init__(
        self,
        reason: str,
        *,
        remedy: str = "",
        file: str | PathLike[str] | None = None,
        line: int | None = None,
    ) -> None:
        # A keyword-only signature cannot be rebuilt from `args`, so unpickling goes through __reduce__.
        self.reason = reason
        self.remedy = remedy
        self.file = None if file is None else fspath(file)
        self.line = line
        super().__init__(_sentence(self.place, reason, remedy))

    @property
    def place(self) -> str:
        """The file and line, or an empty string when the input did not come from a file."""
        parts = [] if self.file is None else [self.file]
        if self.line is not None:
            parts.append(f"line {self.line}")
        return ", ".join(parts)

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild_input_error, (type(self), self.reason, self.remedy, self.file, self.line)


def _rebuild_input_error(
    kind: type[InputError], reason: str, remedy: str, file: str | None, line: int | None
) -> InputError:
    return kind(reason, remedy=remedy, file=file, line=line)


class IndexDirectoryError(HybridrankError):
    """An index directory cannot be used; ``directory`` names it, ``reason`` and ``remedy`` say why and what
    to do.

    >>> str(IndexNotFound("/data/index", "there is no index here", "Build one first."))
    '/data/index: there is no index here. Build one first.'
    """

    def __init__(self, directory: str | PathLike[str], reason: str, remedy: str) -> None:
        self.directory = fspath(directory)
        self.reason = reason
        self.remedy = remedy
        super().__init__(_sentence(self.directory, reason, remedy))

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.directory, self.reason, self.remedy)


class IndexNotFound(IndexDirectoryError):
    """There is no index in the directory."""


class IndexIncomplete(IndexDirectoryError):
    """A build was cut short before its manifest was written, or a file that the manifest names is missing."""


class IndexCorrupt(IndexDirectoryError):
    """A file of the index is truncated, or was changed after it was written."""


class IndexForeign(IndexDirectoryError):
    """The directory belongs to something else, or holds another kind of index than was asked for."""


class IndexTooNew(IndexDirectoryError):
    """The index was written by a newer hybridrank, in a format that this one cannot read."""


class IndexLocked(IndexDirectoryError):
    """Another build is under way in the directory."""


class MissingExtra(HybridrankError, ImportError):
    """An optional dependency is not installed; the message names the extra that brings it.

    >>> str(MissingExtra("matplotlib", extra="bench"))
    "matplotlib is not installed. Install it with: pip install 'hybridrank[bench]'"
    """

    def __init__(self, package: str, *, extra: str) -> None:
        self.package = package
        self.extra = extra
        super().__init__(f"{package} is not installed. Install it with: pip install 'hybridrank[{extra}]'")

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild_missing_extra, (type(self), self.package, self.extra)


def _rebuild_missing_extra(kind: type[MissingExtra], package: str, extra: str) -> MissingExtra:
    return kind(package, extra=extra)


class MissingLibrary(HybridrankError, ImportError):
    """A library that is needed is missing or broken; ``reason`` is what the system said, and ``remedy`` says
    what to do.

    >>> str(MissingLibrary("lightgbm", "libgomp.so.1 was not found", "Install libgomp1."))
    'lightgbm cannot be loaded: libgomp.so.1 was not found. Install libgomp1.'
    """

    def __init__(self, package: str, reason: str, remedy: str) -> None:
        self.package = package
        self.reason = reason
        self.remedy = remedy
        super().__init__(_sentence(f"{package} cannot be loaded", reason, remedy))

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.package, self.reason, self.remedy)


class HybridrankWarning(UserWarning):
    """Something was skipped or looks wrong, and the work goes on."""


def _sentence(place: str, reason: str, remedy: str) -> str:
    head = f"{place}: {reason}" if place else reason
    return f"{head}. {remedy}" if remedy else head
