"""Every error and warning that hybridrank raises on purpose.

::

    Exception
    └── HybridrankError               catch this to catch them all
        ├── InputError                what the user gave cannot be used (also a ValueError)
        ├── IndexDirectoryError       an index directory cannot be used
        │   ├── IndexNotFound         there is no index there
        │   ├── IndexIncomplete       a build was cut short, or a file is missing
        │   ├── IndexCorrupt          a file is truncated or was changed
        │   ├── IndexForeign          it belongs to something else, or holds another kind of index
        │   ├── IndexTooNew           a newer hybridrank wrote it
        │   └── IndexLocked           another build is under way there
        ├── BudgetExhausted           what was asked for does not fit into the budget, and was not sent
        ├── ServiceError              an outside service did not do what it was asked to do
        │   ├── ServiceRejected       it refuses the request: 400, 404, 413, 422, a redirect
        │   │   └── ServiceDenied     it refuses the key, or the account: 401, 403
        │   ├── ServiceUnavailable    it cannot answer now: 408, 5xx, no connection, or a broken one
        │   │   ├── RateLimited       it was asked too often: 429
        │   │   ├── ServiceTimeout    it took too long
        │   │   └── ServiceUnreachable    there was no connection, so that nothing was sent
        │   └── BadAnswer             its answer is none: no JSON, or not of the form that was agreed
        │       ├── AnswerTooLarge    larger than any answer to the request
        │       ├── AnswerMismatch    results are missing, doubled, or for what was not sent
        │       ├── AnswerNotFinite   a score or a vector that is no number, or infinite
        │       └── WrongDimension    vectors of another length than expected
        ├── CacheUnusable             a file is no response cache, or a newer or damaged one
        ├── MissingExtra              an optional dependency is not installed (also an ImportError)
        └── MissingLibrary            a library that is needed cannot be loaded (also an ImportError)

    UserWarning
    └── HybridrankWarning             something was skipped or looks wrong; the work goes on

A message names the place, then the reason, then the remedy.
"""

from __future__ import annotations

from os import PathLike, fspath

TYPE_CHECKING = False  # typing's own would cost the scripts that start in an instant half of their time
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "AnswerMismatch",
    "AnswerNotFinite",
    "AnswerTooLarge",
    "BadAnswer",
    "BudgetExhausted",
    "CacheUnusable",
    "HybridrankError",
    "HybridrankWarning",
    "IndexCorrupt",
    "IndexDirectoryError",
    "IndexForeign",
    "IndexIncomplete",
    "IndexLocked",
    "IndexNotFound",
    "IndexTooNew",
    "InputError",
    "MissingExtra",
    "MissingLibrary",
    "RateLimited",
    "ServiceDenied",
    "ServiceError",
    "ServiceRejected",
    "ServiceTimeout",
    "ServiceUnavailable",
    "ServiceUnreachable",
    "WrongDimension",
]


class HybridrankError(Exception):
    """The base of every error that hybridrank raises on purpose."""


class InputError(HybridrankError, ValueError):
    """What the user gave cannot be used.

    ``reason`` says what is wrong and ``remedy`` what to do about it; ``file`` and ``line`` (counted from 1)
    name the place where it was read, when there is one.

    >>> str(InputError("not valid JSON", file="corpus.jsonl", line=3, remedy="Correct the line."))
    'corpus.jsonl, line 3: not valid JSON. Correct the line.'
    """

    def __init__(
        self,
        reason: str,
        *,
        remedy: str = "",
        file: str | PathLike[str] | None = None,
        line: int | None = None,
    ) -> None:
        # A keyword-only signature cannot be rebuilt from `args`, so unpickling goes through __reduce__.
        self.reason = reason
        self.remedy = remedy
        self.file = None if file is None else fspath(file)
        self.line = line
        super().__init__(_sentence(self.place, reason, remedy))

    @property
    def place(self) -> str:
        """The file and line, or an empty string when the input did not come from a file."""
        parts = [] if self.file is None else [self.file]
        if self.line is not None:
            parts.append(f"line {self.line}")
        return ", ".join(parts)

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild_input_error, (type(self), self.reason, self.remedy, self.file, self.line)


def _rebuild_input_error(
    kind: type[InputError], reason: str, remedy: str, file: str | None, line: int | None
) -> InputError:
    return kind(reason, remedy=remedy, file=file, line=line)


class IndexDirectoryError(HybridrankError):
    """An index directory cannot be used; ``directory`` names it, ``reason`` and ``remedy`` say why and what
    to do.

    >>> str(IndexNotFound("/data/index", "there is no index here", "Build one first."))
    '/data/index: there is no index here. Build one first.'
    """

    def __init__(self, directory: str | PathLike[str], reason: str, remedy: str) -> None:
        self.directory = fspath(directory)
        self.reason = reason
        self.remedy = remedy
        super().__init__(_sentence(self.directory, reason, remedy))

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.directory, self.reason, self.remedy)


class IndexNotFound(IndexDirectoryError):
    """There is no index in the directory."""


class IndexIncomplete(IndexDirectoryError):
    """A build was cut short before its manifest was written, or a file that the manifest names is missing."""


class IndexCorrupt(IndexDirectoryError):
    """A file of the index is truncated, or was changed after it was written."""


class IndexForeign(IndexDirectoryError):
    """The directory belongs to something else, or holds another kind of index than was asked for."""


class IndexTooNew(IndexDirectoryError):
    """The index was written by a newer hybridrank, in a format that this one cannot read."""


class IndexLocked(IndexDirectoryError):
    """Another build is under way in the directory."""


class BudgetExhausted(HybridrankError):
    """A request does not fit into what is left of a budget, and was not sent.

    ``limit`` is the name of the budget's field, ``asked`` what the request would have taken of it and
    ``left`` what there was.

    >>> str(BudgetExhausted("requests", asked=1, left=0))
    "the budget's requests do not suffice: 1 asked for, 0 left"
    """

    def __init__(self, limit: str, *, asked: float, left: float) -> None:
        self.limit = limit
        self.asked = asked
        self.left = left
        super().__init__(f"the budget's {limit} do not suffice: {asked:.9g} asked for, {left:.9g} left")

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild_budget_exhausted, (type(self), self.limit, self.asked, self.left)


def _rebuild_budget_exhausted(
    kind: type[BudgetExhausted], limit: str, asked: float, left: float
) -> BudgetExhausted:
    return kind(limit, asked=asked, left=left)


class ServiceError(HybridrankError):
    """An outside service did not do what it was asked to do.

    ``service`` is the address, ``reason`` what happened, in the service's own words where it has any,
    ``remedy`` what to do; ``status``, ``code`` and ``request_id`` are what the service gave, and
    ``retry_after`` the seconds that it asks to wait. No key is in any of them.

    >>> str(ServiceRejected("http://localhost/v1/rerank", "no such model", status=422, request_id="7f3"))
    'http://localhost/v1/rerank: no such model (status 422, request 7f3)'
    """

    def __init__(
        self,
        service: str,
        reason: str,
        remedy: str = "",
        *,
        status: int | None = None,
        code: str | None = None,
        request_id: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        self.service = service
        self.reason = reason
        self.remedy = remedy
        self.status = status
        self.code = code
        self.request_id = request_id
        self.retry_after = retry_after
        named = (("status", status), ("code", code), ("request", request_id))
        about = ", ".join(f"{name} {value}" for name, value in named if value is not None)
        super().__init__(_sentence(service, f"{reason} ({about})" if about else reason, remedy))

    @property
    def passing(self) -> bool:
        """Whether the same request may succeed a little later."""
        return isinstance(self, ServiceUnavailable | BadAnswer)

    def __reduce__(self) -> tuple[object, ...]:
        named = {name: getattr(self, name) for name in ("status", "code", "request_id", "retry_after")}
        return _rebuild_service_error, (type(self), self.service, self.reason, self.remedy, named)


def _rebuild_service_error(
    kind: type[ServiceError], service: str, reason: str, remedy: str, named: dict[str, Any]
) -> ServiceError:
    return kind(service, reason, remedy, **named)


class ServiceRejected(ServiceError):
    """The service refuses the request, and will refuse it again."""


class ServiceDenied(ServiceRejected):
    """The service refuses the key, or the account has nothing left."""


class ServiceUnavailable(ServiceError):
    """The service cannot answer now, or cannot be reached."""


class RateLimited(ServiceUnavailable):
    """The service was asked more often than it allows."""


class ServiceTimeout(ServiceUnavailable):
    """The service did not answer in time."""


class ServiceUnreachable(ServiceUnavailable):
    """There was no connection to the service, so that it has seen nothing of the request."""


class BadAnswer(ServiceError):
    """The service's answer is none: no JSON, or not of the form that was agreed."""


class AnswerTooLarge(BadAnswer):
    """An answer is larger than any to the request can be."""


class AnswerMismatch(BadAnswer):
    """Results are missing, doubled, or for what was not sent."""


class AnswerNotFinite(BadAnswer):
    """A score or a vector is no number, or infinite."""


class WrongDimension(BadAnswer):
    """Vectors are of another length than was asked for or expected."""


class CacheUnusable(HybridrankError):
    """A file cannot be used as a response cache; ``file`` names it, ``reason`` and ``remedy`` say why and
    what to do."""

    def __init__(self, file: str | PathLike[str], reason: str, remedy: str) -> None:
        self.file = fspath(file)
        self.reason = reason
        self.remedy = remedy
        super().__init__(_sentence(self.file, reason, remedy))

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.file, self.reason, self.remedy)


class MissingExtra(HybridrankError, ImportError):
    """An optional dependency is not installed; the message names the extra that brings it.

    >>> str(MissingExtra("matplotlib", extra="bench"))
    "matplotlib is not installed. Install it with: pip install 'hybridrank[bench]'"
    """

    def __init__(self, package: str, *, extra: str) -> None:
        self.package = package
        self.extra = extra
        super().__init__(f"{package} is not installed. Install it with: pip install 'hybridrank[{extra}]'")

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild_missing_extra, (type(self), self.package, self.extra)


def _rebuild_missing_extra(kind: type[MissingExtra], package: str, extra: str) -> MissingExtra:
    return kind(package, extra=extra)


class MissingLibrary(HybridrankError, ImportError):
    """A library that is needed is missing or broken; ``reason`` is what the system said, and ``remedy`` says
    what to do.

    >>> str(MissingLibrary("lightgbm", "libgomp.so.1 was not found", "Install libgomp1."))
    'lightgbm cannot be loaded: libgomp.so.1 was not found. Install libgomp1.'
    """

    def __init__(self, package: str, reason: str, remedy: str) -> None:
        self.package = package
        self.reason = reason
        self.remedy = remedy
        super().__init__(_sentence(f"{package} cannot be loaded", reason, remedy))

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.package, self.reason, self.remedy)


class HybridrankWarning(UserWarning):
    """Something was skipped or looks wrong, and the work goes on."""


def _sentence(place: str, reason: str, remedy: str) -> str:
    head = f"{place}: {reason}" if place else reason
    return f"{head}. {remedy}" if remedy else head
