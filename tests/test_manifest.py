import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridrank.errors import IndexCorrupt, IndexForeign
from hybridrank.manifest import (
    BLOCK,
    SAMPLES,
    FileEntry,
    Manifest,
    check_file,
    data_files,
    file_name,
    fingerprint,
    foreign_files,
    read_manifest,
)

MANIFEST = Manifest(
    kind="test",
    generation=3,
    settings={"k1": 1.5, "é": "\ud800"},
    parts={"a": "array"},
    files={"a.g000003.npy": FileEntry(size=1, sha256="00", samples={0: "00"})},
)
NAMES = st.from_regex(r"[a-z0-9][a-z0-9_-]{0,2}(/[a-z0-9][a-z0-9_-]{0,2}){0,2}", fullmatch=True)


def test_a_manifest_comes_back_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text(MANIFEST.to_text())
    assert read_manifest(tmp_path) == MANIFEST


@given(st.data())
def test_a_manifest_that_was_changed_anywhere_is_refused(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    directory = tmp_path_factory.mktemp("index")
    raw = MANIFEST.to_text().encode()
    at = data.draw(st.integers(0, len(raw) - 1))
    byte = data.draw(st.sampled_from(b'x"0 {}').filter(lambda byte: byte != raw[at]))
    changed = raw[:at] + bytes([byte]) + raw[at + 1 :]
    (directory / "manifest.json").write_bytes(changed)
    try:
        found = json.loads(changed)
    except ValueError:
        found = None
    if found == json.loads(raw):  # white space for white space
        assert read_manifest(directory) == MANIFEST
    else:
        with pytest.raises((IndexCorrupt, IndexForeign)):
            read_manifest(directory)


@given(st.integers(0, len(MANIFEST.to_text()) - 2))
def test_a_truncated_manifest_is_corrupt(tmp_path_factory: pytest.TempPathFactory, size: int) -> None:
    directory = tmp_path_factory.mktemp("index")
    (directory / "a.g000003.npy").touch()
    (directory / "manifest.json").write_text(MANIFEST.to_text()[:size])
    with pytest.raises(IndexCorrupt, match="not whole JSON"):
        read_manifest(directory)


@given(
    NAMES,
    NAMES,
    st.sampled_from(["npy", "text.npy", "offsets.npy", "json", "txt"]),
    st.sampled_from(["npy", "text.npy"]),
)
def test_no_two_parts_share_a_file(one: str, other: str, suffix: str, other_suffix: str) -> None:
    same = file_name(one, 1, suffix) == file_name(other, 1, other_suffix)
    assert same == ((one, suffix) == (other, other_suffix))


def test_data_files_are_known_by_their_names(tmp_path: Path) -> None:
    ours = {
        file_name("a/b-c_d", 2, "npy"): 2,
        file_name("a", 1_234_567, "text.npy"): 1_234_567,
        file_name("a", 3, "json"): 3,
    }
    for name in [
        *ours,
        "manifest.json",
        "manifest.json.new",
        "a.npy",
        "a.g1.npy",
        "build.lock",
        "A.g000001.npy",
        "a.g000001.npy.bak",
    ]:
        (tmp_path / name).touch()
    assert data_files(tmp_path) == ours


@pytest.mark.parametrize("size", [0, 1, BLOCK, BLOCK + 1, 7 * BLOCK, 8 * BLOCK, 100 * BLOCK + 1])
def test_the_first_and_last_blocks_are_sampled(tmp_path: Path, size: int) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(size))
    entry = fingerprint(path)
    n_blocks = -(-size // BLOCK)
    assert len(entry.samples) == min(n_blocks, SAMPLES)
    assert {0, n_blocks - 1} <= entry.samples.keys() or size == 0
    check_file(path, entry, full=False)
    check_file(path, entry, full=True)


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e999"])
def test_a_number_that_json_does_not_know_is_a_change(tmp_path: Path, number: str) -> None:
    (tmp_path / "manifest.json").write_text(MANIFEST.to_text().replace("1.5", number))
    with pytest.raises(IndexCorrupt, match="was changed after it was written"):
        read_manifest(tmp_path)


def test_a_manifest_that_is_a_directory_is_foreign(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").mkdir()
    with pytest.raises(IndexForeign, match=r"manifest.json cannot be read \(.*choose another directory"):
        read_manifest(tmp_path)


def test_names_like_ours_are_ours_beside_a_lock_only(tmp_path: Path) -> None:
    for name in ("manifest.json.new", "a.g000001.npy", ".hidden"):
        (tmp_path / name).touch()
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "of someone.txt").touch()
    assert foreign_files(tmp_path) == ["a.g000001.npy"]
    (tmp_path / "build.lock").touch()
    assert foreign_files(tmp_path) == []
