"""The manifest of an index directory: what it says, how it is checked, and how data files are named.

A manifest is a JSON object. Its keys ``format`` and ``version`` keep their meaning in every later version, so
that an older reader can tell a newer index from a damaged one.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hybridrank.errors import (
    IndexCorrupt,
    IndexForeign,
    IndexIncomplete,
    IndexNotFound,
    IndexTooNew,
    InputError,
)

__all__ = [
    "FORMAT",
    "LOCK",
    "MANIFEST",
    "VERSION",
    "FileEntry",
    "Manifest",
    "check_file",
    "data_files",
    "file_name",
    "fingerprint",
    "foreign_files",
    "read_manifest",
    "without_generation",
]

FORMAT = "hybridrank index"
VERSION = 1
MANIFEST = "manifest.json"
LOCK = "build.lock"

BLOCK = 1 << 16  # bytes of a sampled block
SAMPLES = 8  # sampled blocks a file, evenly spread, the first and last among them

REBUILD = "Build the index again."

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*(?:/[a-z0-9][a-z0-9_-]*)*")
_GENERATION = re.compile(r"(.+)\.g\d{6,}(?=\.)")
_DATA_FILE = re.compile(r"[a-z0-9_.-]+\.g(\d{6,})(?:\.(?:text|offsets))?\.(?:npy|json|txt)")


@dataclass(frozen=True, kw_only=True, slots=True)
class FileEntry:
    """What the manifest knows of a data file: size in bytes, SHA-256, and that of sampled blocks."""

    size: int
    sha256: str
    samples: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Manifest:
    """The content of a manifest; ``parts`` maps a name to ``array``, ``strings``, ``json`` or ``text``."""

    kind: str
    generation: int
    settings: Mapping[str, Any]
    parts: Mapping[str, str]
    files: Mapping[str, FileEntry]

    def to_text(self) -> str:
        """The manifest as JSON, with the checksum of its own content."""
        content: dict[str, Any] = {
            "format": FORMAT,
            "version": VERSION,
            "kind": self.kind,
            "generation": self.generation,
            "settings": dict(self.settings),
            "parts": dict(self.parts),
            "files": {
                name: {
                    "size": entry.size,
                    "sha256": entry.sha256,
                    "samples": {str(block): digest for block, digest in entry.samples.items()},
                }
                for name, entry in self.files.items()
            },
        }
        return json.dumps({**content, "checksum": _checksum(content)}, indent=1, allow_nan=False) + "\n"


def file_name(name: str, generation: int, suffix: str) -> str:
    """The file of a part, in one flat directory.

    Raises :class:`~hybridrank.errors.InputError` for a name that is not lower-case letters, digits, ``_``,
    ``-`` and ``/`` between parts: no two names may share a file on any file system.

    >>> file_name("blocks/indptr", 3, "npy")
    'blocks.indptr.g000003.npy'
    """
    if not _NAME.fullmatch(name):
        raise InputError(
            f"{name!r} cannot name a part of an index",
            remedy="Use lower-case letters, digits, '_' and '-', with '/' between a prefix and a name.",
        )
    return f"{name.replace('/', '.')}.g{generation:06d}.{suffix}"


def without_generation(name: str) -> str:
    """What the files of one part are called whichever build wrote them.

    >>> without_generation("blocks.indptr.g000003.npy")
    'blocks.indptr.npy'
    """
    return _GENERATION.sub(r"\1", name)


def data_files(directory: Path) -> dict[str, int]:
    """The data files of any generation in a directory, by name, with their generation."""
    found: dict[str, int] = {}
    for path in directory.iterdir():
        if match := _DATA_FILE.fullmatch(path.name):
            found[path.name] = int(match.group(1))
    return found


def foreign_files(directory: Path) -> list[str]:
    """What a directory without a manifest holds that no build of ours left there, by name.

    Hidden files are passed over, and folders, which no build touches: where little else may be written, a
    cache or temporary files may lie there. A name like that of a data file is ours beside a ``build.lock``
    only, for every build starts with that.
    """
    names = {path.name for path in directory.iterdir() if not (path.name.startswith(".") or path.is_dir())}
    ours = {LOCK, f"{MANIFEST}.new"}
    if LOCK in names:
        ours.update(data_files(directory))
    return sorted(names - ours)


def fingerprint(path: Path) -> FileEntry:
    """Read a file from the disk and describe it."""
    size = path.stat().st_size
    wanted = _sampled_blocks(size)
    samples: dict[int, str] = {}
    whole = hashlib.sha256()
    with path.open("rb") as file:
        for number, block in enumerate(iter(lambda: file.read(BLOCK), b"")):
            whole.update(block)
            if number in wanted:
                samples[number] = hashlib.sha256(block).hexdigest()
    return FileEntry(size=size, sha256=whole.hexdigest(), samples=samples)


def check_file(path: Path, entry: FileEntry, *, full: bool) -> None:
    """Compare a file with its entry: in full, or by size and sampled blocks.

    Raises :class:`~hybridrank.errors.IndexCorrupt` for a difference, and ``FileNotFoundError``.
    """
    size = path.stat().st_size
    if size != entry.size:
        state = "truncated" if size < entry.size else "longer than it was written"
        raise IndexCorrupt(path.parent, f"{path.name} is {state} ({size} bytes of {entry.size})", REBUILD)
    if full:
        intact = fingerprint(path).sha256 == entry.sha256
    else:
        intact = all(
            hashlib.sha256(_read_block(path, number)).hexdigest() == digest
            for number, digest in entry.samples.items()
        )
    if not intact:
        raise IndexCorrupt(path.parent, f"{path.name} was changed after it was written", REBUILD)


def read_manifest(directory: Path) -> Manifest:
    """Read and check the manifest of a directory.

    Raises one of the index errors of :mod:`hybridrank.errors` when there is none, or none of ours, or it is
    damaged or newer.
    """
    try:
        raw = (directory / MANIFEST).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise _no_manifest(directory) from None
    except OSError as error:
        raise IndexForeign(
            directory,
            f"{MANIFEST} cannot be read ({error.strerror})",
            "Make it a readable file, or choose another directory.",
        ) from error
    try:
        content = json.loads(raw)
    except (ValueError, RecursionError):
        # A truncated manifest of ours still starts with our mark, or lies beside our data files.
        if not raw or FORMAT.encode() in raw[:64] or data_files(directory):
            raise IndexCorrupt(directory, f"{MANIFEST} is damaged: it is not whole JSON", REBUILD) from None
        content = None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise IndexForeign(
            directory, f"{MANIFEST} was not written by hybridrank", "Choose the directory of an index."
        )
    version = content.get("version")
    if isinstance(version, int) and version > VERSION:
        raise IndexTooNew(
            directory,
            f"the index has format version {version}, and this hybridrank reads up to {VERSION}",
            "Upgrade hybridrank, or delete the directory and build the index again.",
        )
    checksum = content.pop("checksum", None)
    try:
        intact = checksum == _checksum(content)
    except ValueError:  # NaN or infinity, which are never written
        intact = False
    if not intact:
        raise IndexCorrupt(directory, f"{MANIFEST} was changed after it was written", REBUILD)
    return _from_content(content)


def _no_manifest(directory: Path) -> IndexNotFound | IndexIncomplete:
    if not directory.is_dir():
        reason = "this is not a directory" if directory.exists() else "there is no such directory"
        return IndexNotFound(directory, reason, "Build an index there first, or correct the path.")
    if (directory / LOCK).exists() or data_files(directory):
        return IndexIncomplete(directory, "a build started here and has not finished", REBUILD)
    return IndexNotFound(
        directory, "there is no index here", "Build an index there first, or correct the path."
    )


def _from_content(content: Mapping[str, Any]) -> Manifest:
    return Manifest(
        kind=content["kind"],
        generation=content["generation"],
        settings=content["settings"],
        parts=content["parts"],
        files={
            name: FileEntry(
                size=entry["size"],
                sha256=entry["sha256"],
                samples={int(block): digest for block, digest in entry["samples"].items()},
            )
            for name, entry in content["files"].items()
        },
    )


def _checksum(content: Mapping[str, Any]) -> str:
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def _sampled_blocks(size: int) -> frozenset[int]:
    last = max(0, (size - 1) // BLOCK)
    return frozenset(round(step * last / (SAMPLES - 1)) for step in range(SAMPLES))


def _read_block(path: Path, number: int) -> bytes:
    with path.open("rb") as file:
        file.seek(number * BLOCK)
        return file.read(BLOCK)
