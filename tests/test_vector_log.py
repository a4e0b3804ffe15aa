from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from hybridrank.vector_log import VectorLog

TEXTS = ["net sales", "\ud800 half", "東京"]
VECTORS: NDArray[np.float32] = np.linspace(0.1, 0.9, 6, dtype=np.float32).reshape(3, 2)


def log(path: Path | None, model: str = "m", dimension: int = 2) -> VectorLog:
    return VectorLog(path, model=model, dimension=dimension)


@pytest.mark.parametrize("on_disk", [True, False])
def test_vectors_come_back_bit_for_bit(tmp_path: Path, on_disk: bool) -> None:
    with log(tmp_path / "log" if on_disk else None) as one:
        one.append(TEXTS[:2], VECTORS[:2])
        assert TEXTS[0] in one
        assert TEXTS[2] not in one
        one.append(TEXTS[2:], VECTORS[2:])
        assert one.vectors([TEXTS[2], TEXTS[0], TEXTS[2]]).tobytes() == VECTORS[[2, 0, 2]].tobytes()
        assert (one.vectors([]).shape, len(one)) == ((0, 2), 3)
        with pytest.raises(KeyError):
            one.vectors(["unknown"])


def test_a_log_goes_on_where_it_ended(tmp_path: Path) -> None:
    for place in range(3):
        with log(tmp_path / "log") as one:
            assert [text in one for text in TEXTS] == [at < place for at in range(3)]
            one.append(TEXTS[place : place + 1], VECTORS[place : place + 1])
    with log(tmp_path / "log") as one:
        assert one.vectors(TEXTS).tobytes() == VECTORS.tobytes()


def test_after_a_cut_at_any_byte_the_whole_records_are_there(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with log(path) as one:
        one.append(TEXTS, VECTORS)
    whole = path.read_bytes()
    record = 32 + 2 * 4 + 4
    header = len(whole) - 3 * record
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        with log(path) as one:
            n = max(0, size - header) // record
            assert len(one) == n
            assert one.vectors(TEXTS[:n]).tobytes() == VECTORS[:n].tobytes()
            one.append(TEXTS[n:], VECTORS[n:])
        assert path.read_bytes() == whole


def test_what_is_damaged_is_not_believed(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with log(path) as one:
        one.append(TEXTS, VECTORS)
    whole = path.read_bytes()
    for at in (-44 - 5, -44 - 40):  # in the vector and in the digest of the second text
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with log(path) as one:
            assert [text in one for text in TEXTS] == [True, False, False]
    path.write_bytes(whole + whole[-44:])  # the same record twice
    with log(path) as one:
        assert len(one) == 3
    assert path.read_bytes() == whole


@pytest.mark.parametrize(("model", "dimension"), [("other", 2), ("m", 3)])
def test_another_model_starts_afresh(tmp_path: Path, model: str, dimension: int) -> None:
    with log(tmp_path / "log") as one:
        one.append(TEXTS, VECTORS)
    with log(tmp_path / "log", model, dimension) as one:
        assert len(one) == 0
    with log(tmp_path / "log") as one:
        assert len(one) == 0


def test_a_file_that_cannot_be_read_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError("the disk is gone")

    monkeypatch.setattr("hybridrank.vector_log.to_disk", fail)
    with pytest.raises(OSError, match="the disk is gone"), log(tmp_path / "log"):
        pass  # pragma: no cover
