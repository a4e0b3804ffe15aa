from pathlib import Path

import numpy as np
import pytest

from hybridrank.array_files import ArrayWriter, StringList, open_array


def test_the_file_is_one_that_numpy_reads(tmp_path: Path) -> None:
    closed: list[ArrayWriter] = []
    with ArrayWriter(tmp_path / "a.npy", np.int16, (3, 2), closed.append) as writer:
        writer.append(np.arange(12, dtype=np.int16).reshape(2, 3, 2))
    assert closed == [writer]
    assert writer.rows == 2
    found = np.load(tmp_path / "a.npy", allow_pickle=False)
    assert found.tolist() == np.arange(12).reshape(2, 3, 2).tolist()


def test_a_writer_left_by_an_exception_is_not_finished(tmp_path: Path) -> None:
    closed: list[ArrayWriter] = []
    with pytest.raises(KeyError), ArrayWriter(tmp_path / "a.npy", np.int16, (), closed.append):
        raise KeyError
    assert closed == []
    with pytest.raises(ValueError, match="pickled"):
        open_array(tmp_path / "a.npy")


def test_arrays_that_run_the_other_way_are_stored_as_they_look(tmp_path: Path) -> None:
    array = np.asfortranarray(np.arange(6).reshape(2, 3))[:, ::-1]
    with ArrayWriter(tmp_path / "a.npy", array.dtype, (3,), lambda _: None) as writer:
        writer.append(array)
    assert open_array(tmp_path / "a.npy").tolist() == [[2, 1, 0], [5, 4, 3]]


def test_pickled_objects_are_not_read(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([{}] * 100), allow_pickle=True)
    with pytest.raises(ValueError, match=r"Python objects|allow_pickle"):
        open_array(tmp_path / "a.npy")


def test_strings_are_a_sequence() -> None:
    strings = StringList(np.frombuffer(b"netsales", np.uint8), np.array([0, 3, 3, 8]))
    assert list(strings) == [strings[0], strings[1], strings[2]] == ["net", "", "sales"]
    assert strings[::-2] == ["sales", "net"]
    assert "sales" in strings
    assert strings.take(np.array([2, 1, 2])) == ["sales", "", "sales"]
    assert strings.take(np.zeros(0, dtype=np.int64)) == []
    assert list(reversed(strings)) == ["sales", "", "net"]
