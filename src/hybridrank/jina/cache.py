"""Answers of services, kept in a SQLite file, so that what was asked once is not paid for twice."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from os import PathLike, fspath

from hybridrank.errors import CacheUnusable, HybridrankWarning, InputError

__all__ = ["CacheSummary", "ResponseCache"]

_APPLICATION = 0x48524A43  # "HRJC", in the file's header: what tells our files from others
_FORMAT = 1
_SCHEMA = """
CREATE TABLE answers (
    key BLOB PRIMARY KEY,       -- digest of service, model, parameters and text
    kind TEXT NOT NULL,         -- embedding or score
    value BLOB NOT NULL,        -- float32, little-endian
    sum INTEGER NOT NULL,       -- CRC-32 of key and value
    used INTEGER NOT NULL,      -- nanoseconds since 1970
    text TEXT                   -- only when asked for
) WITHOUT ROWID;
CREATE INDEX answers_used ON answers (used);
"""
_AT_ONCE = 500  # keys in one statement: older SQLite takes no more than 999 parameters
_FRESH = 60 * 10**9  # nanoseconds for which a use is not noted again: reading should rarely write
_PAUSE = 30.0  # seconds for which a file that fails is left alone
_OLD_REMEDY = "Name another file, or delete this one: what it held will be asked for anew."
_OTHER_REMEDY = "Name another file."
_REMEDIES = (  # by what SQLite says when it cannot open a file
    ("unable to open", "Name a file in a directory that is there and that you may write to."),
    ("readonly", "Let yourself write to it and its directory, or name a file in another place."),
    ("full", "Make room there, or name a file in another place."),
    ("I/O", "See to the disk, or name a file in another place."),
    ("not a database", _OTHER_REMEDY),
    (
        "malformed",
        "Name another file, or delete this one if it was a cache: what it held will be asked for anew.",
    ),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class CacheSummary:
    """What a cache holds: answers by kind, and the bytes of its file in use and at most."""

    answers: Mapping[str, int] = field(hash=False)
    bytes: int
    max_bytes: int


class ResponseCache:
    """A file of answers by digest; safe to share between threads and processes.

    The file is made if it is not there, and grows to ``max_bytes`` at most (and a log of a few megabytes
    beside it); what was longest not used goes first. It holds no key and no address, and texts only with
    ``keep_texts``. A file that another process has locked for more than ``busy_timeout`` seconds, or that
    fails, is done without, with a :class:`~hybridrank.errors.HybridrankWarning`. An answer whose checksum is
    wrong is not used.

    Raises :class:`~hybridrank.errors.CacheUnusable` for a file that is no cache, cannot be written, is
    damaged, or was written by a newer version, and :class:`~hybridrank.errors.InputError` for ``max_bytes``
    below 1 MiB.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        max_bytes: int = 1 << 30,
        keep_texts: bool = False,
        busy_timeout: float = 2.0,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        if type(max_bytes) is not int or max_bytes < 1 << 20:
            raise InputError(f"max_bytes is {max_bytes!r}", remedy="Allow at least 1 MiB, 1 << 20.")
        self.path = fspath(path)
        self.max_bytes = max_bytes
        self.keep_texts = keep_texts
        self._busy_timeout = busy_timeout
        self._clock = clock
        self._lock = threading.Lock()
        self._warned = False
        self._paused_until = 0.0
        self._process = os.getpid()
        self._connection: sqlite3.Connection | None = None
        try:
            self._open()
        except sqlite3.Error as error:
            if not _is_locked(error):
                raise CacheUnusable(self.path, *_why_unusable(self.path, str(error))) from None
            self._warn(error)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.path!r})"

    def __enter__(self) -> ResponseCache:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __del__(self) -> None:
        if hasattr(self, "_connection"):  # not so where the arguments were refused
            self.close()

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._lock:
            connection, self._connection = self._connection, None
            if connection is not None and self._process == os.getpid():
                connection.close()

    def get(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """The answers that are there, by key."""
        found: dict[bytes, bytes] = {}
        stale: list[bytes] = []
        now = self._clock()
        with self._use() as connection:
            if connection is None:
                return found
            for start in range(0, len(keys), _AT_ONCE):
                some = keys[start : start + _AT_ONCE]
                marks = ",".join("?" * len(some))
                for key, value, check, used in connection.execute(
                    f"SELECT key, value, sum, used FROM answers WHERE key IN ({marks})", some
                ):
                    if _sum(key, value) == check:
                        found[key] = value
                        if abs(now - used) > _FRESH:
                            stale.append(key)
            if stale:
                with connection:
                    connection.execute("BEGIN IMMEDIATE")
                    connection.executemany(
                        "UPDATE answers SET used = ? WHERE key = ?", [(now, key) for key in stale]
                    )
        return found

    def put(self, kind: str, entries: Mapping[bytes, tuple[bytes, str]]) -> None:
        """Keep answers, given with their texts by key."""
        now = self._clock()
        rows = [
            (key, kind, value, _sum(key, value), now, text if self.keep_texts else None)
            for key, (value, text) in entries.items()
        ]
        with self._use() as connection:
            if connection is not None:
                with connection:
                    connection.execute("BEGIN IMMEDIATE")
                    connection.executemany("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?, ?)", rows)
                    self._evict(connection)

    def summary(self) -> CacheSummary:
        """What it holds."""
        answers: dict[str, int] = {}
        used = 0
        with self._use() as connection:
            if connection is not None:
                counts = connection.execute("SELECT kind, COUNT(*) FROM answers GROUP BY kind ORDER BY kind")
                answers = dict(counts.fetchall())
                used = _bytes_used(connection)
        return CacheSummary(answers=answers, bytes=used, max_bytes=self.max_bytes)

    def _evict(self, connection: sqlite3.Connection) -> None:
        """Make room down to nine tenths, when the file is full."""
        while (used := _bytes_used(connection)) > self.max_bytes:
            (count,) = connection.execute("SELECT COUNT(*) FROM answers").fetchone()
            surplus = max(1, count - int(count * 0.9 * self.max_bytes / used))
            connection.execute(
                "DELETE FROM answers WHERE key IN (SELECT key FROM answers ORDER BY used LIMIT ?)", (surplus,)
            )

    @contextmanager
    def _use(self) -> Iterator[sqlite3.Connection | None]:
        """The connection of this process, for one thread at a time, or ``None`` where the file fails."""
        with self._lock:
            if time.monotonic() < self._paused_until:
                yield None
                return
            try:
                if self._connection is None or self._process != os.getpid():
                    self._open()  # a connection must not cross a fork
            except (sqlite3.Error, CacheUnusable) as error:  # what lay there may be another file by now
                self._warn(error)
            try:
                yield self._connection
            except sqlite3.Error as error:
                self._warn(error)

    def _open(self) -> None:
        self._connection = None
        connection = sqlite3.connect(
            self.path, timeout=self._busy_timeout, isolation_level=None, check_same_thread=False
        )
        try:
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        self._connection, self._process = connection, os.getpid()

    def _prepare(self, connection: sqlite3.Connection) -> None:
        application, version, tables = _header(connection)
        if (application, version, tables) == (0, 0, 0):
            connection.execute("PRAGMA journal_mode = WAL")  # a reader does not wait for a writer
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                if _header(connection) == (0, 0, 0):  # no other process was faster
                    for statement in filter(str.strip, _SCHEMA.split(";")):
                        connection.execute(statement)
                    connection.execute(f"PRAGMA application_id = {_APPLICATION}")
                    connection.execute(f"PRAGMA user_version = {_FORMAT}")
        elif application != _APPLICATION:
            raise CacheUnusable(self.path, "it is a database of something else", _OTHER_REMEDY)
        elif version != _FORMAT:
            raise CacheUnusable(
                self.path, f"it is of format {version}, and this version reads {_FORMAT}", _OLD_REMEDY
            )
        connection.execute("PRAGMA synchronous = NORMAL")  # losing the last answers in a crash costs little

    def _warn(self, error: sqlite3.Error | CacheUnusable) -> None:
        self._paused_until = time.monotonic() + _PAUSE
        if not self._warned:
            self._warned = True
            warnings.warn(
                f"{self.path}: the response cache is done without for now ({error})",
                HybridrankWarning,
                stacklevel=3,
            )


def _why_unusable(path: str, words: str) -> tuple[str, str]:
    """What is wrong with a file of which SQLite says ``words``, and what to do about it."""
    if os.path.isdir(path):
        return "it is a directory", "Name a file, if you like one in there."
    remedy = next((one for key, one in _REMEDIES if key in words), "Name a file in another place.")
    return f"it cannot be used as a response cache ({words})", remedy


def _is_locked(error: sqlite3.Error) -> bool:
    return any(word in str(error) for word in ("locked", "busy"))


def _header(connection: sqlite3.Connection) -> tuple[int, int, int]:
    """Application, format, and the number of tables."""
    questions = ("PRAGMA application_id", "PRAGMA user_version", "SELECT COUNT(*) FROM sqlite_master")
    application, version, tables = (connection.execute(one).fetchone()[0] for one in questions)
    return application, version, tables


def _bytes_used(connection: sqlite3.Connection) -> int:
    page_count, free, size = (
        connection.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("page_count", "freelist_count", "page_size")
    )
    return int((page_count - free) * size)


def _sum(key: bytes, value: bytes) -> int:
    return zlib.crc32(value, zlib.crc32(key))
