import numpy as np

from hybridrank.asked import Asked
from hybridrank.postings import Postings


def test_queries_that_are_joined_come_apart_as_they_were() -> None:
    postings = Postings.build(np.array([0, 1, 1, 2]), np.array([0, 2, 3, 4]), n_terms=3)
    queries = [np.array([2, 0, 2]), np.zeros(0, dtype=np.int64), np.array([1])]
    asks = [postings.ask(query) for query in queries]
    joined, ptr = Asked.joined(asks)
    assert ptr.tolist() == [0, 2, 2, 3]
    assert joined.terms.tolist() == [0, 2, 1]
    for apart, asked, looked_up in zip(joined.split(ptr), asks, postings.ask_each(queries), strict=True):
        for name in Asked._fields:
            column, expected, other = (getattr(one, name) for one in (apart, asked, looked_up))
            assert column.tolist() == expected.tolist() == other.tolist()
            assert column.dtype == expected.dtype == other.dtype
