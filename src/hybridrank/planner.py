"""Which queries a cross-encoder's budget is spent on, and how deep.

Reranking changes an answer where a good passage stands below the *cut*, the number of hits that will be
used. How likely that is shows in the scores: with those of the best ``depth`` hits brought to the range from
0 to 1, as :math:`z_r` at rank :math:`r`, the chance that a hit is the one looked for is taken as

.. math:: p_r = e^{s z_r} / \\sum_q e^{s z_q}

with one *sharpness* :math:`s` for all queries. Reranking the best ``d`` hits can bring up what stands at the
ranks from ``cut + 1`` to ``d``, so its expected gain is the sum of :math:`p_r` over these. Where the first
hits stand far above the rest it is next to nothing: such an order is settled.

The gains of depths are to be had at the price of tokens and requests. Which to buy is a knapsack problem in
which one item is chosen from each class, and is solved greedily on the upper convex hull of each class (Sinha
and Zoltners, *The Multiple-Choice Knapsack Problem*, Operations Research 27(3), 1979): steps to greater
depths are taken in the order of gain for price, as long as they fit. Where both tokens and requests are
limited, the price is the sum of the shares of what is left.

On 924 FinQA questions over 512-character windows the likelihood of the labels is highest at a sharpness of
7.1 (:meth:`Planner.fit` finds it for other data); results change little between 5 and 10.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

from scipy.optimize import minimize_scalar

from hybridrank.budget import Remaining
from hybridrank.errors import InputError
from hybridrank.records import Ranking

__all__ = ["OnlinePlan", "Planner", "Prospect", "allocate", "estimate_tokens"]

_REMEMBERED = 64  # queries that an online plan looks back on
_SHARPEST = 50.0


def estimate_tokens(text: str) -> int:
    """About how many tokens a text has: one for four bytes of UTF-8. Not a bound.

    >>> estimate_tokens("Net sales rose.")
    4
    """
    return -(-len(text.encode("utf-8", "replace")) // 4)


@dataclass(frozen=True, kw_only=True, slots=True)
class Prospect:
    """What reranking a query to each depth may bring, and what it takes.

    ``gains[d]`` and ``tokens[d]`` are those of depth ``d``, from 0 to as many hits as there are; both are 0
    for depth 0 and never fall.
    """

    gains: tuple[float, ...]
    tokens: tuple[int, ...]

    @property
    def gain(self) -> float:
        """What the greatest depth may bring, from 0 to 1."""
        return self.gains[-1]


@dataclass(frozen=True, kw_only=True, slots=True)
class Planner:
    """Gives each query a depth within what is left of a budget.

    ``depth`` is the greatest, ``cut`` the number of hits that will be used: the order among these does not
    count. An order is ``settled`` when the expected gain is below that; then nothing is spent on it, however
    much is left. ``tokens_of`` estimates the tokens of a text, and ``per_request`` is how many documents a
    request takes. Raises :class:`~hybridrank.errors.InputError` for numbers out of range.

    A plan never takes more than what is left, by these estimates; that the budget itself is never exceeded is
    the ledger's part. The same input gives the same plan; of equal queries the first comes first.
    """

    depth: int = 40
    cut: int = 5
    sharpness: float = 7.0
    settled: float = 0.001
    per_request: int = 64
    tokens_of: Callable[[str], int] = estimate_tokens

    def __post_init__(self) -> None:
        whole = all(type(n) is int and n >= 1 for n in (self.depth, self.cut, self.per_request))
        if not (whole and 0 <= self.sharpness < math.inf and 0 <= self.settled < math.inf):
            raise InputError(
                f"a plan with depth={self.depth}, cut={self.cut}, sharpness={self.sharpness}, "
                f"settled={self.settled} and per_request={self.per_request}",
                remedy="Give whole numbers of 1 or more, and a sharpness and a settled gain of 0 or more.",
            )

    def prospect(self, ranking: Ranking) -> Prospect:
        """What reranking a ranking may bring; all gains are 0 when its order is settled."""
        hits = ranking.hits[: self.depth]
        chances = _chances([hit.score for hit in hits], self.sharpness)
        below = [chance if rank >= self.cut else 0.0 for rank, chance in enumerate(chances)]
        query = self.tokens_of(ranking.query)
        tokens = [0 if hit.passage is None else query + self.tokens_of(hit.passage.text) for hit in hits]
        gains = tuple(accumulate(below, initial=0.0))
        return Prospect(
            gains=gains if gains[-1] >= self.settled else (0.0,) * len(gains),
            tokens=tuple(accumulate(tokens, initial=0)),
        )

    def plan(self, rankings: Sequence[Ranking], left: Remaining, *, pace: float = 0.0) -> list[int]:
        """A depth for each of the queries that are to come, in order; 0 for those that are not worth it.

        ``pace`` is the seconds that a request is expected to take: what is left of the time then limits the
        requests.
        """
        prospects = [self.prospect(ranking) for ranking in rankings]
        return allocate(prospects, left, per_request=self.per_request, pace=pace)

    def online(self, expected: int) -> OnlinePlan:
        """A plan for queries that come one at a time, ``expected`` of them."""
        return OnlinePlan(self, expected)

    @classmethod
    def fit(
        cls, rankings: Sequence[Ranking], judgments: Mapping[str, Mapping[str, int]], **options: object
    ) -> Planner:
        """A planner with the sharpness at which the judged passages are likeliest.

        ``judgments`` maps the text of a query to the grades of passages by their ids; those above 0 count as
        looked for. Rankings without such a passage among the best ``depth`` teach nothing. ``options`` are
        the planner's own. Raises :class:`~hybridrank.errors.InputError` when nothing can be learned.
        """
        planner = replace(cls(), **options)  # type: ignore[arg-type]  # its own fields, checked by it
        examples: list[tuple[list[float], list[bool]]] = []
        for ranking in rankings:
            grades = judgments.get(ranking.query, {})
            hits = ranking.hits[: planner.depth]
            good = [grades.get(hit.passage_id, 0) > 0 for hit in hits]
            if any(good) and not all(good):
                examples.append(([hit.score for hit in hits], good))
        if not examples:
            raise InputError(
                "no ranking has a passage that is judged to help, and one that is not",
                remedy="Judge passages that are found, by the text of the query.",
            )

        def surprise(sharpness: float) -> float:
            return -math.fsum(
                math.log(
                    math.fsum(
                        chance
                        for chance, is_good in zip(_chances(scores, sharpness), good, strict=True)
                        if is_good
                    )
                )
                for scores, good in examples
            )

        best = minimize_scalar(surprise, bounds=(0.0, _SHARPEST), method="bounded")
        return replace(planner, sharpness=float(best.x))


class OnlinePlan:
    """Depths for queries as they come, made by :meth:`Planner.online`.

    The queries that came so far, up to 64 of them, stand for those that will: what is left is shared out
    among them as if they came again, in the proportion of their number to that of the queries left. What one
    query does not take is there for the next. When more queries come than were expected, each may take all
    that is left.
    """

    def __init__(self, planner: Planner, expected: int) -> None:
        if type(expected) is not int or expected < 1:
            raise InputError(f"{expected!r} queries are expected", remedy="Expect a whole number from 1.")
        self.planner = planner
        self.queries_left = expected
        self._seen: deque[Prospect] = deque(maxlen=_REMEMBERED)

    def depth(self, ranking: Ranking, left: Remaining, *, pace: float = 0.0) -> int:
        """The depth for the next query, within what is left; ``pace`` as for :meth:`Planner.plan`."""
        per_request = self.planner.per_request
        prospect = self.planner.prospect(ranking)
        self._seen.append(prospect)
        share = _scaled(left, len(self._seen) / max(1, self.queries_left))
        self.queries_left -= 1
        depth = allocate(self._seen, share, per_request=per_request, pace=pace)[-1]
        return _Purse(left, per_request, pace).deepest(prospect, 0, depth)


def allocate(
    prospects: Sequence[Prospect], left: Remaining, *, per_request: int = 64, pace: float = 0.0
) -> list[int]:
    """The depth for each prospect, so that together they gain most for what is left, as nearly as greed gets.

    ``per_request`` and ``pace`` are as in :class:`Planner`.

    >>> doubtful = Prospect(gains=(0.0, 0.0, 0.3), tokens=(0, 50, 100))
    >>> settled = Prospect(gains=(0.0, 0.0, 0.01), tokens=(0, 50, 100))
    >>> allocate([settled, doubtful], Remaining(tokens=120)), allocate([settled, doubtful], Remaining())
    ([0, 2], [2, 2])
    """
    purse = _Purse(left, per_request, pace)
    steps: list[tuple[float, int, int, int]] = []
    for number, prospect in enumerate(prospects):
        for shallow, deep in pairwise(_hull(prospect, purse)):
            gain = prospect.gains[deep] - prospect.gains[shallow]
            price = purse.price(prospect, deep) - purse.price(prospect, shallow)
            steps.append((-gain / price if price > 0 else -math.inf, number, shallow, deep))
    depths = [0] * len(prospects)
    full: set[int] = set()
    for _, number, shallow, deep in sorted(steps):
        if number not in full:
            depths[number] = purse.deepest(prospects[number], shallow, deep)
            purse.take(prospects[number], shallow, depths[number])
            if depths[number] < deep:
                full.add(number)
    return depths


class _Purse:
    """What is left while it is shared out."""

    def __init__(self, left: Remaining, per_request: int, pace: float) -> None:
        self.per_request = per_request
        self.tokens = math.inf if left.tokens is None else left.tokens
        self.requests = math.inf if left.requests is None else left.requests
        if left.seconds is not None and pace > 0:
            self.requests = min(self.requests, left.seconds // pace)
        # The sum of the shares of what was left at the beginning; the tokens, where there is no limit.
        self._per_token = 1 / max(self.tokens, 1)
        self._per_request = 1 / max(self.requests, 1)
        if not (self._per_token or self._per_request):
            self._per_token = 1.0

    def price(self, prospect: Prospect, depth: int) -> float:
        """What a depth costs, in a measure that goes for tokens and requests alike."""
        return prospect.tokens[depth] * self._per_token + self._n_requests(depth) * self._per_request

    def deepest(self, prospect: Prospect, shallow: int, deep: int) -> int:
        """The greatest depth up to ``deep`` that can be paid for after ``shallow`` has been, and gains."""
        for depth in range(deep, shallow, -1):
            gains = prospect.gains[depth] > prospect.gains[shallow]
            tokens = prospect.tokens[depth] - prospect.tokens[shallow]
            requests = self._n_requests(depth) - self._n_requests(shallow)
            if gains and tokens <= self.tokens and requests <= self.requests:
                return depth
        return shallow

    def take(self, prospect: Prospect, shallow: int, deep: int) -> None:
        self.tokens -= prospect.tokens[deep] - prospect.tokens[shallow]
        self.requests -= self._n_requests(deep) - self._n_requests(shallow)

    def _n_requests(self, depth: int) -> int:
        return -(-depth // self.per_request)


def _hull(prospect: Prospect, purse: _Purse) -> list[int]:
    """The depths on the upper convex hull of gain over price, beginning with 0."""
    points: list[tuple[float, float, int]] = [(0.0, 0.0, 0)]
    for depth in range(1, len(prospect.gains)):
        price, gain = purse.price(prospect, depth), prospect.gains[depth]
        if gain <= points[-1][1]:
            continue
        while len(points) > 1:
            (first, least, _), (second, more, _) = points[-2:]
            if (gain - more) * (second - first) < (more - least) * (price - second):
                break
            points.pop()
        points.append((price, gain, depth))
    return [depth for _, _, depth in points]


def _chances(scores: Sequence[float], sharpness: float) -> list[float]:
    """How likely each hit is the one looked for, by the scores of all; they sum to 1."""
    if not scores:
        return []
    low, high = min(scores), max(scores)
    span = high - low
    # Scores that are all alike, infinite or no numbers tell nothing.
    tells = 0 < span < math.inf and all(map(math.isfinite, scores))
    weights = [math.exp(sharpness * ((score - high) / span)) if tells else 1.0 for score in scores]
    total = math.fsum(weights)
    return [weight / total for weight in weights]


def _scaled(left: Remaining, factor: float) -> Remaining:
    return Remaining(
        requests=None if left.requests is None else int(left.requests * factor),
        tokens=None if left.tokens is None else int(left.tokens * factor),
        seconds=None if left.seconds is None else left.seconds * factor,
    )
