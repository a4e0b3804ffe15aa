import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from hybridrank import storage
from hybridrank.errors import (
    IndexCorrupt,
    IndexForeign,
    IndexIncomplete,
    IndexLocked,
    IndexNotFound,
    IndexTooNew,
    InputError,
)
from hybridrank.manifest import read_manifest
from hybridrank.storage import IndexReader, IndexWriter


def build(directory: Path, value: int = 1, *, kind: str = "test", size: int = 1000) -> None:
    with IndexWriter(directory, kind=kind, settings={"value": value}) as writer:
        writer.array("numbers", np.full(size, value, dtype=np.int64))
        writer.strings("words", [str(value)] * 10)
        writer.json("facts", {"value": value})
        writer.text("note", str(value))


def value_in(directory: Path) -> int:
    """The value that was built, after checking that every part has it."""
    reader = IndexReader.open(directory, kind="test", verify="full")
    values = {reader.settings["value"], reader.json("facts")["value"], *reader.array("numbers").tolist()}
    values |= {int(reader.text("note")), *map(int, reader.strings("words"))}
    (value,) = values
    return int(value)


def data_files(directory: Path) -> list[Path]:
    return sorted(path for path in directory.iterdir() if path.suffix in (".npy", ".json", ".txt"))


# -- what is written can be read


@given(
    array=npst.arrays(
        npst.integer_dtypes(endianness="?") | npst.floating_dtypes(sizes=(32, 64)) | npst.boolean_dtypes(),
        npst.array_shapes(max_dims=3, min_side=0, max_side=4),
    ),
    strings=st.lists(st.text(st.characters(exclude_categories=()))),
    value=st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=5,
    ),
    text=st.text(st.characters(exclude_categories=())),
)
def test_parts_come_back_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, array: np.ndarray, strings: list[str], value: Any, text: str
) -> None:
    directory = tmp_path_factory.mktemp("index")
    with IndexWriter(directory, kind="test", settings={"any": value}) as writer:
        writer.array("blocks/a", array)
        writer.array("blocks-a", array.T)
        writer.strings("blocks/text", strings)
        writer.json("blocks", value)
        writer.text("blocks/plain", text)
    reader = IndexReader.open(directory, kind="test")
    for name, given_array in (("blocks/a", array), ("blocks-a", array.T)):
        found = reader.array(name)
        np.testing.assert_array_equal(found, given_array)
        assert found.dtype == array.dtype.newbyteorder("<")
        assert not found.flags.writeable
        assert type(found) is np.ndarray
    words = reader.strings("blocks/text")
    assert list(words) == strings
    assert words[:] == strings
    assert [words[at] for at in range(-len(strings), len(strings))] == strings * 2
    assert reader.json("blocks") == value
    assert reader.text("blocks/plain") == text
    assert reader.settings == {"any": value}
    assert reader.parts.keys() == {"blocks/a", "blocks-a", "blocks/text", "blocks", "blocks/plain"}


def test_a_text_is_a_file_that_can_be_read_by_itself(tmp_path: Path) -> None:
    text = "eine Zeile\r\nund 東京\n"
    with IndexWriter(tmp_path, kind="test") as writer:
        writer.text("notes/first", text)
    assert (tmp_path / "notes.first.g000001.txt").read_bytes() == text.encode()
    assert IndexReader.open(tmp_path, kind="test").text("notes/first") == text


def test_an_array_can_be_appended_to(tmp_path: Path) -> None:
    with (
        IndexWriter(tmp_path, kind="test") as writer,
        writer.open_array("rows", np.float32, row_shape=(2,)) as rows,
    ):
        for number in range(5):
            rows.append(np.full((number, 2), number))
    found = IndexReader.open(tmp_path, kind="test").array("rows")
    assert found.tolist() == [[number, number] for number in range(5) for _ in range(number)]
    assert found.dtype == np.float32


def test_large_arrays_are_mapped(tmp_path: Path) -> None:
    build(tmp_path)
    base = IndexReader.open(tmp_path, kind="test").array("numbers").base
    assert isinstance(base, np.memmap)


def test_many_strings(tmp_path: Path) -> None:
    words = [f"word {number}" for number in range(10_000)]
    with IndexWriter(tmp_path, kind="test") as writer:
        writer.strings("words", iter(words))
    found = IndexReader.open(tmp_path, kind="test").strings("words")
    assert list(found) == words
    assert (len(found), found[4096], found[-1], found[5:3]) == (10_000, "word 4096", "word 9999", [])
    with pytest.raises(IndexError):
        found[10_000]


def test_the_same_input_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "other"):
        build(tmp_path / name)
    one, other = (
        {path.name: path.read_bytes() for path in data_files(tmp_path / name)} for name in ("one", "other")
    )
    assert one == other
    assert len(one) == 6


@pytest.mark.parametrize("name", ["", "A", "a b", "../a", "a//b", "/a", "a.b", "é"])
def test_names_that_could_clash_are_refused(tmp_path: Path, name: str) -> None:
    with IndexWriter(tmp_path, kind="test") as writer, pytest.raises(InputError, match="cannot name a part"):
        writer.array(name, np.zeros(1))


def test_misuse_is_refused(tmp_path: Path) -> None:
    writer = IndexWriter(tmp_path, kind="test")
    with pytest.raises(RuntimeError, match="inside its `with` block"):
        writer.array("a", np.zeros(1))
    with writer:
        writer.array("a", np.zeros(1))
        with pytest.raises(InputError, match="'a' is stored already"):
            writer.json("a", 1)
        with pytest.raises(InputError, match="an index stores numbers"):
            writer.array("objects", np.array([None]))
        with pytest.raises(InputError, match="rows of 3 dimensions"):
            writer.array("deep", np.zeros((1, 1, 1, 1)))
        with writer.open_array("rows", np.int32, row_shape=(2,)) as rows:
            for wrong in (np.zeros((1, 3), np.int32), np.zeros(2, np.int32), np.array(1)):
                with pytest.raises(InputError, match="do not fit an array of shape"):
                    rows.append(wrong)
            with pytest.raises(TypeError, match="Cannot cast"):
                rows.append(np.zeros((1, 2), np.float64))
    with pytest.raises(IndexIncomplete, match=r"no part 'b' \(array\). Build the index again"):
        IndexReader.open(tmp_path, kind="test").array("b")
    with pytest.raises(InputError, match=r"""verify is 'ful'. Give "auto" or "full"."""):
        IndexReader.open(tmp_path, kind="test", verify="ful")  # type: ignore[arg-type]
    with pytest.raises(IndexIncomplete, match=r"no part 'a' \(json\)"):
        IndexReader.open(tmp_path, kind="test").json("a")
    with pytest.raises(IndexIncomplete, match=r"no part 'a' \(text\)"):
        IndexReader.open(tmp_path, kind="test").text("a")


# -- a build replaces an index in one step, or not at all


def test_a_new_build_replaces_the_old_and_clears_up(tmp_path: Path) -> None:
    build(tmp_path, 1)
    (tmp_path / "cache.sqlite").write_text("mine")
    (tmp_path / "stray.g000009.npy").write_text("left by a killed build")
    build(tmp_path, 2)
    assert value_in(tmp_path) == 2
    assert {path.name for path in tmp_path.iterdir()} == {
        "build.lock",
        "cache.sqlite",
        "facts.g000010.json",
        "manifest.json",
        "note.g000010.txt",
        "numbers.g000010.npy",
        "words.g000010.offsets.npy",
        "words.g000010.text.npy",
    }


def test_a_build_that_fails_keeps_the_old_index(tmp_path: Path) -> None:
    build(tmp_path, 1)
    before = {path.name for path in tmp_path.iterdir()}

    def fail() -> None:
        with IndexWriter(tmp_path, kind="test") as writer:
            writer.array("numbers", np.zeros(3))
            with writer.open_array("rows", np.int32) as rows:
                rows.append(np.zeros(3, np.int32))
                raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert value_in(tmp_path) == 1
    assert {path.name for path in tmp_path.iterdir()} == before
    build(tmp_path, 2)
    assert value_in(tmp_path) == 2


def test_a_failure_after_the_manifest_is_in_place_keeps_the_new_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Path) -> None:
        raise OSError("the disk is gone")

    build(tmp_path, 1)
    with monkeypatch.context() as patch:
        patch.setattr(storage, "_directory_to_disk", fail)
        with pytest.raises(OSError, match="the disk is gone"):
            build(tmp_path, 2)
    assert value_in(tmp_path) == 2
    build(tmp_path, 3)
    assert value_in(tmp_path) == 3
    assert len(data_files(tmp_path)) == 6


def test_a_failure_before_the_manifest_is_in_place_keeps_the_old_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Path) -> None:
        raise OSError("no space left")

    build(tmp_path, 1)
    before = {path.name for path in data_files(tmp_path)}
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", fail)
        with pytest.raises(OSError, match="no space left"):
            build(tmp_path, 2)
    assert value_in(tmp_path) == 1
    assert {path.name for path in data_files(tmp_path)} == before


def test_a_build_with_an_open_array_fails(tmp_path: Path) -> None:
    with (
        pytest.raises(RuntimeError, match=r"still open .* rows.g000001.npy"),
        IndexWriter(tmp_path, kind="test") as writer,
    ):
        writer.open_array("rows", np.int32)
    with pytest.raises(IndexIncomplete):
        IndexReader.open(tmp_path, kind="test")


def test_settings_that_are_no_json_fail_before_the_manifest_changes(tmp_path: Path) -> None:
    build(tmp_path, 1)
    with (
        pytest.raises(ValueError, match="JSON"),
        IndexWriter(tmp_path, kind="test", settings={"x": float("nan")}),
    ):
        pass
    assert value_in(tmp_path) == 1


def test_readers_keep_the_index_that_they_opened(tmp_path: Path) -> None:
    build(tmp_path, 1, size=100_000)
    reader = IndexReader.open(tmp_path, kind="test")
    build(tmp_path, 2)
    assert set(reader.array("numbers").tolist()) == {1}
    assert reader.json("facts") == {"value": 1}


def test_opening_while_the_index_is_replaced_finds_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(tmp_path, 1)
    builds = iter([2, 3])

    def read_then_build(directory: Path) -> Any:
        manifest = read_manifest(directory)
        if (value := next(builds, None)) is not None:
            with monkeypatch.context() as patch:
                patch.setattr(storage, "read_manifest", read_manifest)
                build(directory, value)
        return manifest

    monkeypatch.setattr(storage, "read_manifest", read_then_build)
    assert value_in(tmp_path) == 3


def test_an_index_that_never_stands_still_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_then_build(directory: Path) -> Any:
        manifest = read_manifest(directory)
        with monkeypatch.context() as patch:
            patch.setattr(storage, "read_manifest", read_manifest)
            build(directory, manifest.generation + 1)
        return manifest

    build(tmp_path, 1)
    monkeypatch.setattr(storage, "read_manifest", read_then_build)
    with pytest.raises(IndexIncomplete, match="is missing"):
        IndexReader.open(tmp_path, kind="test")


BUILD_FOREVER = """
import sys
from pathlib import Path
import numpy as np
from hybridrank.storage import IndexWriter
print("ready", flush=True)
value = int(sys.argv[2])
while True:
    value += 1
    with IndexWriter(Path(sys.argv[1]), kind="test", settings={"value": value}) as writer:
        writer.array("numbers", np.full(200_000, value, dtype=np.int64))
        writer.strings("words", [str(value)] * 10)
        writer.json("facts", {"value": value})
"""


def test_a_killed_build_leaves_the_old_index_or_none(tmp_path: Path) -> None:
    random.seed(7)
    value = 0
    for _ in range(8):
        builder = subprocess.Popen(
            [sys.executable, "-c", BUILD_FOREVER, tmp_path, str(value)], stdout=subprocess.PIPE
        )
        assert builder.stdout is not None
        builder.stdout.readline()
        time.sleep(random.uniform(0, 0.05))
        builder.send_signal(signal.SIGKILL)
        builder.communicate()
        try:
            value = value_in(tmp_path)
        except (IndexNotFound, IndexIncomplete):
            assert value == 0
    build(tmp_path, value + 1)
    assert value_in(tmp_path) == value + 1
    assert len(data_files(tmp_path)) == 6


def test_a_second_build_at_once_is_refused(tmp_path: Path) -> None:
    code = "import sys; from hybridrank.storage import *\nwith IndexWriter(sys.argv[1], kind='test'): pass"
    with IndexWriter(tmp_path, kind="test") as writer:
        with (
            pytest.raises(IndexLocked, match=r"another build is under way"),
            IndexWriter(tmp_path, kind="test"),
        ):
            pass
        other = subprocess.run(
            [sys.executable, "-c", code, tmp_path], capture_output=True, text=True, check=False
        )
        assert "IndexLocked" in other.stderr
        writer.json("facts", 1)
    assert IndexReader.open(tmp_path, kind="test").json("facts") == 1
    subprocess.run([sys.executable, "-c", code, tmp_path], check=True)


# -- what is not a whole index of ours is refused


def test_no_index(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for place, reason in [
        (tmp_path / "missing", "there is no such directory"),
        (tmp_path / "file", "this is not a directory"),
        (tmp_path, "there is no index here"),
    ]:
        with pytest.raises(IndexNotFound, match=f"{reason}. Build an index there first") as caught:
            IndexReader.open(place, kind="test")
        assert caught.value.directory == str(place)


def test_a_build_that_was_killed_is_incomplete(tmp_path: Path) -> None:
    build(tmp_path)
    (tmp_path / "manifest.json").unlink()
    with pytest.raises(IndexIncomplete, match=r"has not finished. Build the index again"):
        IndexReader.open(tmp_path, kind="test")
    (tmp_path / "build.lock").unlink()
    with pytest.raises(IndexIncomplete):
        IndexReader.open(tmp_path, kind="test")


def test_a_missing_file_is_incomplete(tmp_path: Path) -> None:
    build(tmp_path)
    (tmp_path / "words.g000001.text.npy").unlink()
    with pytest.raises(IndexIncomplete, match=r"words.g000001.text.npy is missing. Copy the whole directory"):
        IndexReader.open(tmp_path, kind="test")


def flip(at: Callable[[int], int]) -> Callable[[bytes], bytes]:
    def change(raw: bytes) -> bytes:
        place = at(len(raw))
        return raw[:place] + bytes([raw[place] ^ 1]) + raw[place + 1 :]

    return change


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda raw: raw[:-1], "is truncated"),
        (lambda raw: b"", "is truncated"),
        (lambda raw: raw + b"\n", "is longer than it was written"),
        (flip(lambda size: 0), "was changed after it was written"),
        (flip(lambda size: size // 2), "was changed after it was written"),
        (flip(lambda size: size - 1), "was changed after it was written"),
    ],
)
@pytest.mark.parametrize("number", range(5))
def test_a_damaged_data_file_is_refused(
    tmp_path: Path, number: int, change: Callable[[bytes], bytes], reason: str
) -> None:
    build(tmp_path)
    path = [path for path in data_files(tmp_path) if path.name != "manifest.json"][number]
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(IndexCorrupt, match=rf"{path.name} {reason}.*Build the index again"):
        IndexReader.open(tmp_path, kind="test")
    build(tmp_path, 2)
    assert value_in(tmp_path) == 2


@pytest.mark.parametrize(("sampled", "error"), [(0, True), (63 * 65536 + 5, True), (5 * 65536, False)])
def test_a_large_file_is_checked_by_samples_and_in_full_on_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sampled: int, error: bool
) -> None:
    monkeypatch.setattr(storage, "FULL_CHECK_BYTES", 0)
    build(tmp_path, size=64 * 65536 // 8 - 16)  # with its header, 64 blocks
    path = tmp_path / "numbers.g000001.npy"
    path.write_bytes(flip(lambda size: sampled)(path.read_bytes()))
    if error:
        with pytest.raises(IndexCorrupt, match="was changed"):
            IndexReader.open(tmp_path, kind="test")
    else:
        IndexReader.open(tmp_path, kind="test")
    with pytest.raises(IndexCorrupt, match="was changed"):
        IndexReader.open(tmp_path, kind="test", verify="full")


def test_a_file_that_is_no_array_is_refused_even_with_the_right_checksums(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(tmp_path)
    monkeypatch.setattr(storage, "check_file", lambda *_, **__: None)
    (tmp_path / "numbers.g000001.npy").write_bytes(b"no array")
    with pytest.raises(IndexCorrupt, match="not a readable array"):
        IndexReader.open(tmp_path, kind="test")


def test_another_kind_is_foreign_to_readers_and_builders(tmp_path: Path) -> None:
    build(tmp_path, kind="dense")
    with pytest.raises(IndexForeign, match=r"of kind 'dense', where one of kind 'test' was asked for"):
        IndexReader.open(tmp_path, kind="test")
    with pytest.raises(IndexForeign, match=r"of kind 'dense'.*delete this one first"):
        build(tmp_path, kind="test")
    assert IndexReader.open(tmp_path, kind="dense").settings == {"value": 1}


def test_someone_elses_manifest_is_never_written_over(tmp_path: Path) -> None:
    for text in ('{"name": "my web app"}', "[]", "no JSON at all", "[" * 100_000):
        (tmp_path / "manifest.json").write_text(text)
        with pytest.raises(IndexForeign, match="was not written by hybridrank"):
            build(tmp_path)
        assert (tmp_path / "manifest.json").read_text() == text


def test_a_directory_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(
        InputError, match=r"cannot be written here.*Choose a directory that you may write to"
    ) as caught:
        build(tmp_path / "file" / "index")
    assert caught.value.file == str(tmp_path / "file" / "index")


def test_a_newer_index_is_neither_read_nor_written_over(tmp_path: Path) -> None:
    build(tmp_path)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    (tmp_path / "manifest.json").write_text(json.dumps(manifest | {"version": 2, "new": True}))
    for attempt in (lambda: IndexReader.open(tmp_path, kind="test"), lambda: build(tmp_path)):
        with pytest.raises(
            IndexTooNew, match=r"format version 2, and this hybridrank reads up to 1. Upgrade"
        ):
            attempt()


def test_a_read_only_directory_can_be_opened_and_is_left_alone(tmp_path: Path) -> None:
    build(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in [tmp_path, *tmp_path.iterdir()]}
    os.chmod(tmp_path, 0o555)
    try:
        assert value_in(tmp_path) == 1
    finally:
        os.chmod(tmp_path, 0o755)
    assert {path: path.stat().st_mtime_ns for path in [tmp_path, *tmp_path.iterdir()]} == before


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a.txt"], "it holds a.txt, and no index. Choose a new or an empty directory"),
        (["c.txt", "b.txt", "a.txt", ".git"], "it holds a.txt, b.txt and more, and no index"),
        (["notes.g000001.txt"], "it holds notes.g000001.txt, and no index"),
        (["build.lock", "a.txt", "notes.g000001.txt"], "it holds a.txt, and no index"),
    ],
)
def test_files_that_are_not_ours_are_left_alone(tmp_path: Path, names: list[str], message: str) -> None:
    for name in names:
        (tmp_path / name).write_text("mine")
    with pytest.raises(IndexForeign, match=message):
        build(tmp_path)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == dict.fromkeys(names, "mine")


def test_hidden_files_and_leftovers_do_not_keep_a_build_away(tmp_path: Path) -> None:
    (tmp_path / "lost+found").mkdir()
    for name in (".DS_Store", "build.lock", "manifest.json.new", "numbers.g000007.npy"):
        (tmp_path / name).touch()
    build(tmp_path)
    assert value_in(tmp_path) == 1
    assert not (tmp_path / "numbers.g000007.npy").exists()
    assert IndexReader.open(tmp_path, kind="test").generation == 8


def test_a_manifest_with_nan_is_written_over_and_one_that_is_a_directory_is_not(tmp_path: Path) -> None:
    build(tmp_path / "index")
    manifest = tmp_path / "index" / "manifest.json"
    (tmp_path / "index" / "README").touch()  # what is put beside an index does not make it less ours
    manifest.write_text(manifest.read_text().replace('"value": 1', '"value": NaN'))
    build(tmp_path / "index", 2)
    assert value_in(tmp_path / "index") == 2
    (tmp_path / "other" / "manifest.json").mkdir(parents=True)
    with pytest.raises(IndexForeign, match=r"manifest.json cannot be read"):
        build(tmp_path / "other")
    assert [path.name for path in (tmp_path / "other").iterdir()] == ["manifest.json"]
