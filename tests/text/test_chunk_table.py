import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridrank.text import chunk_table
from hybridrank.text.chunk_table import LONGEST, UNKNOWN, ChunkTable, Keys

# Few different bytes, so that many strings begin alike.
STRINGS = st.lists(
    st.binary(min_size=1, max_size=LONGEST).filter(lambda one: 0 not in one), unique=True
) | st.lists(st.text(alphabet="ab", min_size=1, max_size=LONGEST).map(str.encode), unique=True, max_size=80)


def keys_of(strings: list[bytes]) -> Keys:
    buffer = np.frombuffer(b"\0".join(strings) + bytes(LONGEST), dtype=np.uint8)
    lengths = np.array(list(map(len, strings)), dtype=np.int64)
    starts = np.cumsum(lengths + 1) - lengths - 1
    return ChunkTable.keys(buffer, starts, lengths)


@given(STRINGS, STRINGS, st.booleans())
def test_finds_what_was_inserted_and_nothing_else(
    one: list[bytes], other: list[bytes], collide: bool
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunk_table, "_START", 2)  # so that the table grows
        if collide:  # all want the same place
            patch.setattr(chunk_table, "_FACTORS", (np.uint64(0), np.uint64(0)))
        table = ChunkTable()
        known: dict[bytes, int] = {}
        for strings in (one, other):
            new = [string for string in strings if string not in known]
            numbers = np.arange(len(known), len(known) + len(new), dtype=np.int32)
            table.insert(keys_of(new), numbers)
            known.update(zip(new, numbers.tolist(), strict=True))
        assert len(table) == len(known)
        every = [*known, *(string[:-1] + b"z" for string in known), b"zebra"]
        assert table.find(keys_of(every)).tolist() == [known.get(string, UNKNOWN) for string in every]
