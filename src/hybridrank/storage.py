"""The index directory: plain files that open memory-mapped, and a manifest that is written last.

Layout
    ``manifest.json`` holds the format version, the kind of index, its settings, the size and SHA-256 of every
    data file, and a checksum of itself. Data files are ``.npy`` arrays, JSON and plain text; their names
    carry the number of the build (*generation*) that wrote them, as in ``postings.docs.g000003.npy``.
    ``build.lock`` is held while one builds.

Writing
    A build writes files of a new generation beside the old ones, then replaces the manifest in one step
    *inside* the directory (its parent may be unwritable). A build that is killed therefore leaves the old
    index, or none. What killed builds and superseded generations left behind is removed once the next
    manifest is in place. A build may take over parts that stand, whose files then keep their names.

Reading
    :meth:`IndexReader.open` checks the manifest, then the data files: every byte when they total at most 64
    MB; otherwise files of up to 1 MB in full, and of each larger one its size, its ``.npy`` header and eight
    sampled blocks of 64 KiB. ``verify="full"`` reads everything. An edit that misses the sampled blocks of a
    large file is found by the full check alone. A read-only directory can be opened.

No pickle, no code; and nothing about how the index will be used (threads, backend) is stored.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray

from hybridrank.array_files import ArrayWriter, StringList, open_array, to_disk, write_strings
from hybridrank.errors import (
    IndexCorrupt,
    IndexForeign,
    IndexIncomplete,
    IndexLocked,
    IndexNotFound,
    InputError,
)
from hybridrank.manifest import (
    LOCK,
    MANIFEST,
    REBUILD,
    FileEntry,
    Manifest,
    check_file,
    data_files,
    file_name,
    fingerprint,
    foreign_files,
    read_manifest,
    without_generation,
)

if sys.platform == "win32":  # pragma: no cover
    import msvcrt
else:
    import fcntl

__all__ = ["ArrayWriter", "IndexReader", "IndexWriter", "StringList"]

FULL_CHECK_BYTES = 64_000_000
SMALL_FILE_BYTES = 1_000_000
_NAMED = 2  # files named in one message
_MOST_ATTEMPTS = 5  # to open an index that others keep rebuilding


class IndexWriter:
    """Builds an index in a directory, which is created if need be; use it as a context manager.

    Leaving the block commits; leaving it by an exception removes what was written and keeps the index that
    was there.

    Raises on entry :class:`~hybridrank.errors.IndexLocked` when another build runs there,
    :class:`~hybridrank.errors.IndexForeign` when the directory has someone else's ``manifest.json``, another
    kind of index, or no index and files that are not ours, :class:`~hybridrank.errors.IndexTooNew` when a
    newer hybridrank owns it, and :class:`~hybridrank.errors.InputError` when it cannot be written; nothing is
    written then. A damaged index is written over.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        *,
        kind: str,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self.directory = Path(directory)
        self.kind = kind
        self.settings = dict(settings or {})
        self._generation = 0
        self._lock = ExitStack()
        self._building = False
        self._parts: dict[str, str] = {}
        self._files: dict[str, FileEntry] = {}
        self._open_arrays: set[ArrayWriter] = set()

    def __enter__(self) -> IndexWriter:
        try:
            self._check_owner()
            self.directory.mkdir(parents=True, exist_ok=True)
            self._lock.enter_context(_acquire(self.directory))
        except OSError as error:
            raise InputError(
                f"an index cannot be written here ({error.strerror})",
                file=self.directory,
                remedy="Choose a directory that you may write to.",
            ) from error
        try:
            self._generation = 1 + self._last_generation()
        except BaseException:
            self._lock.close()
            raise
        self._building = True
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._building = False
        with self._lock:  # given up at the end
            try:
                if kind is None:
                    self._commit()
            except BaseException as failed:
                kind = type(failed)
                raise
            finally:
                if kind is not None:
                    self._abort()

    def array(self, name: str, values: NDArray[Any]) -> None:
        """Store an array of numbers, of one dimension or more."""
        with self.open_array(name, values.dtype, row_shape=values.shape[1:]) as out:
            out.append(values)

    def open_array(self, name: str, dtype: DTypeLike, *, row_shape: tuple[int, ...] = ()) -> ArrayWriter:
        """Store an array that need not fit in memory: append rows of ``row_shape``, then close."""
        return self._array_writer(self._claim(name, "array"), "npy", dtype, row_shape)

    def strings(self, name: str, values: Iterable[str]) -> None:
        """Store strings, in any number; lone surrogates are kept."""
        self._claim(name, "strings")
        with (
            self._array_writer(name, "text.npy", np.uint8, ()) as text,
            self._array_writer(name, "offsets.npy", np.int64, ()) as offsets,
        ):
            write_strings(values, text, offsets)

    def json(self, name: str, value: Any) -> None:
        """Store a value made of what JSON knows; it is read whole, so keep it small."""
        self._write(self._claim(name, "json"), "json", json.dumps(value, allow_nan=False).encode("ascii"))

    def text(self, name: str, value: str) -> None:
        """Store one text as a file that can be read by itself: UTF-8, unchanged, lone surrogates kept."""
        self._write(self._claim(name, "text"), "txt", value.encode("utf-8", "surrogatepass"))

    def keep(self, source: IndexReader, prefix: str) -> bool:
        """Take over the parts under a prefix as they stand in this directory, instead of writing them.

        Only if they stand there as ``source`` read them, which may have been opened before; otherwise nothing
        is taken over and the answer is ``False``.
        """
        parts = {name: kind for name, kind in source.parts.items() if name.startswith(f"{prefix}/")}
        files = {
            name: entry
            for name, entry in source.entries.items()
            if without_generation(name).startswith(f"{prefix.replace('/', '.')}.")
        }
        standing = self._standing()
        if standing is None or not parts or any(standing.files.get(name) != files[name] for name in files):
            return False
        for name, kind in parts.items():
            self._claim(name, kind)
        self._files.update(files)
        return True

    def _claim(self, name: str, kind: str) -> str:
        if not self._building:
            raise RuntimeError("an IndexWriter writes inside its `with` block only")
        if name in self._parts:
            raise InputError(f"the part {name!r} is stored already", remedy="Give each part its own name.")
        self._parts[name] = kind
        return name

    def _new_file(self, name: str, suffix: str) -> Path:
        return self.directory / file_name(name, self._generation, suffix)

    def _write(self, name: str, suffix: str, content: bytes) -> None:
        path = self._new_file(name, suffix)
        with path.open("xb") as file:
            file.write(content)
            to_disk(file)
        self._files[path.name] = fingerprint(path)

    def _array_writer(
        self, name: str, suffix: str, dtype: DTypeLike, row_shape: tuple[int, ...]
    ) -> ArrayWriter:
        writer = ArrayWriter(self._new_file(name, suffix), dtype, row_shape, self._array_closed)
        self._open_arrays.add(writer)
        return writer

    def _array_closed(self, writer: ArrayWriter) -> None:
        self._open_arrays.discard(writer)
        self._files[writer.path.name] = fingerprint(writer.path)

    def _last_generation(self) -> int:
        """The highest generation that is or was in the directory."""
        manifest = self._check_owner()  # again, for another build may have ended before the lock was ours
        known = 0 if manifest is None else manifest.generation
        return max([known, *data_files(self.directory).values()])

    def _check_owner(self) -> Manifest | None:
        """The manifest that stands, if one does; refuses what must not be written over."""
        manifest = self._standing()
        if manifest is None:
            self._check_files()
        elif manifest.kind != self.kind:
            raise IndexForeign(
                self.directory,
                f"it holds an index of kind {manifest.kind!r}, and one of kind {self.kind!r} was to be built",
                "Choose another directory, or delete this one first.",
            )
        return manifest

    def _check_files(self) -> None:
        # A damaged manifest tells as well as a whole one that the directory is ours.
        if not self.directory.is_dir() or (self.directory / MANIFEST).exists():
            return
        if strange := foreign_files(self.directory):
            named = ", ".join(strange[:_NAMED]) + (" and more" if len(strange) > _NAMED else "")
            raise IndexForeign(
                self.directory, f"it holds {named}, and no index", "Choose a new or an empty directory."
            )

    def _standing(self) -> Manifest | None:
        """The manifest that is in place, unless there is none that is whole."""
        try:
            return read_manifest(self.directory)
        except (IndexNotFound, IndexIncomplete, IndexCorrupt):
            return None

    def _commit(self) -> None:
        if self._open_arrays:
            names = ", ".join(sorted(array.path.name for array in self._open_arrays))
            raise RuntimeError(f"arrays still open at the end of the build: {names}")
        manifest = Manifest(
            kind=self.kind,
            generation=self._generation,
            settings=self.settings,
            parts=self._parts,
            files=self._files,
        )
        # Always of one name, so that killed builds leave at most one, which the next replaces.
        temporary = self.directory / f"{MANIFEST}.new"
        with temporary.open("wb") as file:
            file.write(manifest.to_text().encode("ascii"))
            to_disk(file)
        os.replace(temporary, self.directory / MANIFEST)
        _directory_to_disk(self.directory)
        self._remove(set(data_files(self.directory)) - set(self._files))

    def _abort(self) -> None:
        for array in self._open_arrays:
            array.discard()
        # What failed may be the clearing up after the manifest was replaced: then the new index stands.
        standing = self._standing()
        if standing is None or standing.generation != self._generation:
            self._remove(name for name, age in data_files(self.directory).items() if age == self._generation)

    def _remove(self, names: Iterable[str]) -> None:
        for name in names:
            with suppress(OSError):  # some systems keep a file that a reader holds: next time, then
                (self.directory / name).unlink()


class IndexReader:
    """An index, opened and checked; its arrays are memory-mapped and read-only.

    All files are opened at once, so that a build that replaces the index meanwhile does no harm.
    """

    def __init__(self, directory: Path, manifest: Manifest, files: Mapping[str, NDArray[Any]]) -> None:
        self.directory = directory
        self.kind = manifest.kind
        self.settings = manifest.settings
        self.generation = manifest.generation
        self.parts = manifest.parts
        self.entries = manifest.files
        # A part that was taken over carries the number of the build that wrote it.
        self._files = {without_generation(name): array for name, array in files.items()}

    @classmethod
    def open(
        cls,
        directory: str | os.PathLike[str],
        *,
        kind: str,
        verify: Literal["auto", "full"] = "auto",
    ) -> IndexReader:
        """Open the index in a directory, after the checks that the module describes.

        Raises :class:`~hybridrank.errors.IndexNotFound`, :class:`~hybridrank.errors.IndexIncomplete`,
        :class:`~hybridrank.errors.IndexCorrupt`, :class:`~hybridrank.errors.IndexTooNew`, or
        :class:`~hybridrank.errors.IndexForeign` when the directory is not ours or holds another kind of
        index.
        """
        if verify not in ("auto", "full"):
            raise InputError(f"verify is {verify!r}", remedy='Give "auto" or "full".')
        place = Path(directory)
        for _ in range(_MOST_ATTEMPTS):
            manifest = read_manifest(place)
            if manifest.kind != kind:
                raise IndexForeign(
                    place,
                    f"it holds an index of kind {manifest.kind!r}, where one of kind {kind!r} was asked for",
                    "Choose the directory of the right index.",
                )
            try:
                return cls(place, manifest, _open_files(place, manifest, full=verify == "full"))
            except FileNotFoundError as error:
                missing = Path(error.filename).name
            if read_manifest(place).generation == manifest.generation:
                break
            # Another build committed in between and removed this generation: start over with the new one.
        raise IndexIncomplete(place, f"{missing} is missing", f"Copy the whole directory, or: {REBUILD}")

    def array(self, name: str) -> NDArray[Any]:
        """A stored array, memory-mapped and read-only."""
        return self._file(name, "array", "npy")

    def strings(self, name: str) -> StringList:
        """Stored strings, read one by one as they are asked for."""
        return StringList(self._file(name, "strings", "text.npy"), self._file(name, "strings", "offsets.npy"))

    def json(self, name: str) -> Any:
        """A stored JSON value."""
        return json.loads(self._file(name, "json", "json").tobytes())

    def text(self, name: str) -> str:
        """A stored text."""
        return self._file(name, "text", "txt").tobytes().decode("utf-8", "surrogatepass")

    def mapped(self) -> list[NDArray[Any]]:
        """All arrays of the index."""
        return list(self._files.values())

    def _file(self, name: str, kind: str, suffix: str) -> NDArray[Any]:
        if self.parts.get(name) != kind:
            raise IndexIncomplete(self.directory, f"the index has no part {name!r} ({kind})", REBUILD)
        return self._files[without_generation(file_name(name, self.generation, suffix))]


def _open_files(directory: Path, manifest: Manifest, *, full: bool) -> dict[str, NDArray[Any]]:
    full = full or sum(entry.size for entry in manifest.files.values()) <= FULL_CHECK_BYTES
    opened: dict[str, NDArray[Any]] = {}
    for name, entry in manifest.files.items():
        path = directory / name
        check_file(path, entry, full=full or entry.size <= SMALL_FILE_BYTES)
        try:
            opened[name] = open_array(path) if path.suffix == ".npy" else np.fromfile(path, dtype=np.uint8)
        except ValueError as error:
            raise IndexCorrupt(directory, f"{name} is not a readable array ({error})", REBUILD) from error
    return opened


def _acquire(directory: Path) -> IO[bytes]:
    """Lock the directory for building, until the returned file is closed or the process ends."""
    file = (directory / LOCK).open("ab")
    try:
        if sys.platform == "win32":  # pragma: no cover
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.close()
        if isinstance(error, (BlockingIOError, PermissionError)):
            raise IndexLocked(
                directory, "another build is under way here", "Wait until it has finished."
            ) from None
        raise
    return file


def _directory_to_disk(directory: Path) -> None:
    if sys.platform != "win32":  # pragma: no branch  (there a directory cannot be opened)
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
