import inspect
import pickle
import re

import pytest

from hybridrank import errors
from hybridrank.errors import (
    BadAnswer,
    BudgetExhausted,
    CacheUnusable,
    HybridrankError,
    HybridrankWarning,
    IndexCorrupt,
    IndexDirectoryError,
    InputError,
    MissingExtra,
    MissingLibrary,
    RateLimited,
    ServiceDenied,
    ServiceError,
    ServiceRejected,
    ServiceTimeout,
    ServiceUnavailable,
    WrongDimension,
)

KINDS = [
    kind for _, kind in inspect.getmembers(errors, inspect.isclass) if kind.__module__ == errors.__name__
]


def test_all_names_every_class() -> None:
    assert sorted(errors.__all__) == sorted(kind.__name__ for kind in KINDS)


def test_the_tree_drawn_on_top_is_the_tree() -> None:
    assert errors.__doc__ is not None
    drawn: dict[str, str] = {}
    path: dict[int, str] = {}
    for line in errors.__doc__.splitlines():
        if match := re.match(r"( {4}[│ ]*(?:[├└]── )?)([A-Z]\w+)", line):
            depth = len(match.group(1)) // 4
            path[depth] = match.group(2)
            drawn[match.group(2)] = path.get(depth - 1, "")
    del drawn["Exception"], drawn["UserWarning"]
    assert drawn == {kind.__name__: kind.__mro__[1].__name__ for kind in KINDS}


def test_one_class_catches_all_errors() -> None:
    assert all(issubclass(kind, HybridrankError) for kind in KINDS if kind is not HybridrankWarning)
    assert issubclass(InputError, ValueError)
    assert issubclass(MissingExtra, ImportError)
    assert issubclass(MissingLibrary, ImportError)
    assert issubclass(HybridrankWarning, UserWarning)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (InputError("k is 0", remedy="Ask for 1."), "k is 0. Ask for 1."),
        (InputError("bad"), "bad"),
        (InputError("bad", file="f.jsonl"), "f.jsonl: bad"),
        (InputError("bad", file="f.jsonl", line=3, remedy="Mend it."), "f.jsonl, line 3: bad. Mend it."),
        (InputError("bad", line=3), "line 3: bad"),
    ],
)
def test_a_message_names_place_reason_and_remedy(error: InputError, message: str) -> None:
    assert str(error) == message


@pytest.mark.parametrize(
    "error",
    [
        InputError("bad", file="f.jsonl", line=3, remedy="Mend it."),
        IndexCorrupt("/index", "a file is truncated", "Build the index again."),
        MissingExtra("matplotlib", extra="bench"),
        MissingLibrary("lightgbm", "a library was not found", "Install it."),
        BudgetExhausted("tokens", asked=500, left=120),
        RateLimited("http://host", "slow down", status=429, code="RATE", request_id="r1", retry_after=2.5),
        WrongDimension("http://host", "vectors of 3 numbers", "Ask for 3."),
        CacheUnusable("/cache.db", "it is a text", "Name another file."),
    ],
)
def test_errors_cross_processes(error: HybridrankError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)


def test_the_fields_of_index_errors() -> None:
    error = IndexDirectoryError("/index", "reason", "Remedy.")
    assert (error.directory, error.reason, error.remedy) == ("/index", "reason", "Remedy.")


@pytest.mark.parametrize(
    ("kind", "passing"),
    [
        (ServiceError, False),
        (ServiceRejected, False),
        (ServiceDenied, False),
        (ServiceUnavailable, True),
        (RateLimited, True),
        (ServiceTimeout, True),
        (BadAnswer, True),
        (WrongDimension, True),
    ],
)
def test_what_may_pass_is_told_from_what_will_not(kind: type[ServiceError], passing: bool) -> None:
    assert kind("http://host", "reason").passing is passing


def test_a_service_error_says_what_the_service_said() -> None:
    error = ServiceRejected("http://host", "no", "Do it.", status=422, code="C", request_id="r")
    assert str(error) == "http://host: no (status 422, code C, request r). Do it."
    assert str(ServiceRejected("http://host", "no")) == "http://host: no"
    assert (
        str(CacheUnusable("/c.db", "it is a text", "Name another.")) == "/c.db: it is a text. Name another."
    )
