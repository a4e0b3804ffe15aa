import gc
import os
import sqlite3
import subprocess
import sys
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from hybridrank.errors import CacheUnusable, HybridrankWarning, InputError
from hybridrank.jina import ResponseCache
from hybridrank.jina.jobs import cache_key

MINUTE = 60 * 10**9


def key(name: object) -> bytes:
    return cache_key(str(name))


def filled(cache: ResponseCache, names: range, size: int = 16) -> None:
    cache.put("embedding", {key(name): (bytes(size), f"text {name}") for name in names})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "answers.db"


def test_what_is_kept_is_found_again(path: Path) -> None:
    with ResponseCache(path) as cache:
        cache.put("embedding", {key(1): (b"1234", "one")})
        cache.put("score", {key(2): (b"5678", "two"), key(3): (b"", "three")})
        assert cache.get([key(1), key(3), key(4)]) == {key(1): b"1234", key(3): b""}
    with ResponseCache(path) as again:
        assert again.get([key(2)]) == {key(2): b"5678"}
        assert again.summary().answers == {"embedding": 1, "score": 2}
        assert 0 < again.summary().bytes < again.summary().max_bytes
        again.put("score", {key(2): (b"9999", "two")})
        assert again.get([key(2)]) == {key(2): b"9999"}
    assert again.get([key(2)]) == {key(2): b"9999"}  # closed, it opens again
    again.close()
    assert repr(again) == f"ResponseCache({str(path)!r})"


def test_more_keys_than_one_statement_takes(path: Path) -> None:
    with ResponseCache(path) as cache:
        filled(cache, range(1300))
        assert len(cache.get([key(name) for name in range(2000)])) == 1300
        assert cache.get([]) == {}


def test_texts_are_kept_only_when_asked_for(path: Path, tmp_path: Path) -> None:
    for keep in (False, True):
        place = tmp_path / f"{keep}.db"
        with ResponseCache(place, keep_texts=keep) as cache:
            cache.put("embedding", {key(1): (b"1234", "a secret sentence")})
        content = b"".join(file.read_bytes() for file in tmp_path.glob(f"{keep}.db*"))
        assert (b"a secret sentence" in content) is keep


def test_the_longest_not_used_goes_first(path: Path) -> None:
    now = 0
    with ResponseCache(path, max_bytes=1 << 20, clock=lambda: now) as cache:
        for name in range(30):
            now += 2 * MINUTE
            filled(cache, range(100 * name, 100 * name + 100), size=400)
            cache.get([key(0)])  # used all the time
        assert cache.summary().bytes <= 1 << 20
        held = [name for name in range(3000) if cache.get([key(name)])]
        assert held[0] == 0
        assert held[-1] == 2999
        assert 1000 < len(held) < 2999
        assert all(name > 3000 - 2 * len(held) for name in held[1:])
    assert path.stat().st_size < 2 << 20


def test_use_is_noted_now_and_then(path: Path) -> None:
    now = 10 * MINUTE
    with ResponseCache(path, clock=lambda: now) as cache:
        filled(cache, range(1))
        now += MINUTE // 2
        cache.get([key(0)])
        assert used(path) == 10 * MINUTE
        now += MINUTE
        cache.get([key(0)])
        assert used(path) == now


def used(path: Path) -> int:
    connection = sqlite3.connect(path)
    (found,) = connection.execute("SELECT used FROM answers").fetchone()
    connection.close()
    return int(found)


@pytest.mark.parametrize("size", [0, (1 << 20) - 1, 2.0**30, True])
def test_the_bound_is_a_sensible_number(path: Path, size: int) -> None:
    with pytest.raises(InputError, match="max_bytes is"):
        ResponseCache(path, max_bytes=size)


def test_a_damaged_answer_is_not_used(path: Path) -> None:
    with ResponseCache(path) as cache:
        cache.put("embedding", {key(1): (b"1234", ""), key(2): (b"1234", "")})
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("UPDATE answers SET value = ? WHERE key = ?", (b"1235", key(1)))
    connection.close()
    with ResponseCache(path) as cache:
        assert cache.get([key(1), key(2)]) == {key(2): b"1234"}


def _foreign(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE notes (text)")
    connection.close()


def _newer(path: Path) -> None:
    ResponseCache(path).close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 2")
    connection.close()


@pytest.mark.parametrize(
    ("prepare", "reason"),
    [
        (
            lambda path: path.write_bytes(b"This is no database, but a text of mine. " * 50),
            r"file is not a database\). Name another file.$",
        ),
        (_foreign, "a database of something else"),
        (_newer, "it is of format 2"),
        (Path.mkdir, "it is a directory. Name a file"),
    ],
)
def test_a_file_of_another_kind_is_refused(
    path: Path, prepare: Callable[[Path], object], reason: str
) -> None:
    prepare(path)
    with pytest.raises(CacheUnusable, match=reason) as caught:
        ResponseCache(path)
    assert str(caught.value).startswith(f"{path}: ")


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        (
            "attempt to write a readonly database",
            "Let yourself write to it and its directory, or name a file",
        ),
        (
            "unable to open database file",
            "Name a file in a directory that is there and that you may write to",
        ),
        ("disk I/O error", "See to the disk, or name"),
        ("database or disk is full", "Make room there, or name"),
        ("database disk image is malformed", "Name another file, or delete this one if it was a cache"),
        ("authorization denied", "Name a file in another place"),
    ],
)
def test_what_keeps_a_file_from_being_used_has_its_remedy(
    path: Path, monkeypatch: pytest.MonkeyPatch, words: str, remedy: str
) -> None:
    def refuse(connection: sqlite3.Connection) -> tuple[int, int, int]:
        raise sqlite3.OperationalError(words)

    monkeypatch.setattr("hybridrank.jina.cache._header", refuse)
    with pytest.raises(CacheUnusable) as caught:
        ResponseCache(path)
    assert str(caught.value).startswith(f"{path}: it cannot be used as a response cache ({words}). {remedy}")


def test_where_there_is_no_directory_that_is_the_remedy(path: Path) -> None:
    with pytest.raises(
        CacheUnusable, match=r"\(unable to open database file\). Name a file in a directory that"
    ):
        ResponseCache(path / "below" / "nothing")


def test_an_empty_file_that_may_only_be_read_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.touch()
    connect = sqlite3.connect
    monkeypatch.setattr(  # as SQLite opens a file without the permission to write
        sqlite3, "connect", lambda place, **how: connect(f"file:{place}?mode=ro", uri=True, **how)
    )
    with pytest.raises(CacheUnusable, match=r"readonly database\). Let yourself write"):
        ResponseCache(path)


def test_a_file_that_is_locked_is_done_without(path: Path) -> None:
    with ResponseCache(path, busy_timeout=0.01) as cache:
        filled(cache, range(1))
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        with pytest.warns(HybridrankWarning, match="done without for now .*locked") as warned:
            filled(cache, range(2))
        assert len(warned) == 1
        assert cache.get([key(0)]) == {}  # it is left alone for a while, without another word
        filled(cache, range(3))
        assert cache.summary().answers == {}
        other.execute("ROLLBACK")
        cache._paused_until = 0.0
        assert cache.get([key(0), key(2)]) == {key(0): bytes(16)}
        other.close()


def test_a_file_that_is_locked_from_the_beginning_is_done_without(path: Path) -> None:
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.warns(HybridrankWarning, match="locked"):
        cache = ResponseCache(path, busy_timeout=0.01)
    other.execute("ROLLBACK")
    other.close()
    cache._paused_until = 0.0
    filled(cache, range(1))
    assert cache.get([key(0)]) == {key(0): bytes(16)}
    cache.close()


def test_a_file_that_breaks_under_way_is_done_without(path: Path) -> None:
    with ResponseCache(path) as cache:
        filled(cache, range(1))
        assert cache._connection is not None
        cache._connection.execute("DROP TABLE answers")
        with pytest.warns(HybridrankWarning, match="no such table"):
            assert cache.get([key(0)]) == {}


def test_a_file_is_closed_when_nobody_holds_the_cache_any_longer(path: Path) -> None:
    cache = ResponseCache(path)
    connection = cache._connection
    assert connection is not None
    del cache
    gc.collect()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")


def test_threads_share_a_cache(path: Path) -> None:
    with ResponseCache(path) as cache, ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda part: filled(cache, range(50 * part, 50 * part + 50)), range(8)))
        assert len(cache.get([key(name) for name in range(400)])) == 400


WRITER = """
import sys
from hybridrank.jina import ResponseCache
from hybridrank.jina.jobs import cache_key
path, part = sys.argv[1], int(sys.argv[2])
with ResponseCache(path, busy_timeout=30) as cache:
    for name in range(50 * part, 50 * part + 50):
        cache.put("embedding", {cache_key(str(name)): (bytes(16), "")})
        assert cache.get([cache_key(str(name))])
"""


def test_processes_share_a_cache(path: Path) -> None:
    writers = [
        subprocess.Popen([sys.executable, "-W", "error", "-c", WRITER, str(path), str(part)])
        for part in range(3)
    ]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    with ResponseCache(path) as cache:
        assert len(cache.get([key(name) for name in range(150)])) == 150


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_opens_the_file_anew(path: Path) -> None:
    cache = ResponseCache(path)
    filled(cache, range(1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # from Python 3.12 on, where there are threads
        child = os.fork()
    if child == 0:  # pragma: no cover
        filled(cache, range(1, 2))
        os._exit(0 if len(cache.get([key(0), key(1)])) == 2 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert len(cache.get([key(0), key(1)])) == 2
    cache.close()


@pytest.mark.parametrize("content", [b"garbage" * 1000, b""])
def test_a_file_that_became_another_is_done_without(path: Path, content: bytes) -> None:
    with ResponseCache(path) as cache:
        filled(cache, range(3))
        cache.close()
        for file in path.parent.glob(f"{path.name}*"):
            file.unlink()
        path.write_bytes(content)
        if content:
            with pytest.warns(HybridrankWarning, match="done without for now"):
                assert cache.get([key(1)]) == {}
            filled(cache, range(3))  # and nobody is told again
            assert cache.summary().answers == {}
        else:
            filled(cache, range(2))  # an empty file is one to begin with
            assert len(cache.get([key(name) for name in range(3)])) == 2


def test_a_database_of_something_else_in_its_place_is_left_alone(path: Path) -> None:
    with ResponseCache(path) as cache:
        cache.close()
        for file in path.parent.glob(f"{path.name}*"):
            file.unlink()
        with closing(sqlite3.connect(path)) as other:
            other.execute("CREATE TABLE answers (key BLOB)")
        before = path.read_bytes()
        with pytest.warns(HybridrankWarning, match="a database of something else"):
            filled(cache, range(3))
        assert path.read_bytes() == before
