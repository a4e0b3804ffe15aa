"""Which outside services answer, what they allow, what the cache holds, and what a job would spend."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from hybridrank.budget import Budget, Ledger
from hybridrank.errors import BudgetExhausted, InputError, MissingExtra, ServiceError
from hybridrank.evaluation.formats import read_queries
from hybridrank.jina.aio import options_from_env
from hybridrank.jina.cache import CacheSummary, ResponseCache
from hybridrank.jina.client import JinaClient
from hybridrank.jina.jobs import Job, Limits, embedding_job, rerank_job
from hybridrank.lexical import LexicalIndex
from hybridrank.records import counted
from hybridrank.text.corpus import read_corpus
from hybridrank.text.passages import split_documents

__all__ = ["Examination", "Finding", "Plan", "examine", "plan"]

_SECONDS = 20.0  # for each service: one that is slower helps nobody
_ATTEMPTS = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """What is known of a service: whether it answers, and how.

    ``asked`` is false where nothing was sent. ``milliseconds`` is the time of the answer, the first
    connection included; ``dimension`` the length of a vector; ``requests_left`` and ``tokens_left`` what the
    service says that this minute still allows.
    """

    service: str
    model: str
    asked: bool = True
    answers: bool = False
    problem: str = ""
    milliseconds: float | None = None
    dimension: int | None = None
    requests: int = 0
    tokens: int = 0
    requests_left: int | None = None
    tokens_left: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """What a job would spend: requests when none fails, and the most tokens that they can take.

    ``texts`` counts the answers that it needs, each different one once; ``cached`` those that the cache has.
    """

    job: str
    texts: int
    cached: int
    requests: int
    tokens: int

    def __str__(self) -> str:
        return (
            f"{self.job}: {counted(self.texts, 'answer')}, {self.cached:,} in the cache; "
            f"{counted(self.requests, 'request')} of at most {counted(self.tokens, 'token')}"
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Examination:
    """All that was found; ``problem`` is what keeps every service from being asked."""

    base_url: str
    key: bool
    services: Sequence[Finding] = ()
    cache: CacheSummary | None = None
    plan: Plan | None = None
    problem: str = ""
    notes: Sequence[str] = field(default=())

    @property
    def healthy(self) -> bool:
        """Whether services can be asked, and every one that was asked answers."""
        return not self.problem and all(finding.answers for finding in self.services if finding.asked)

    def to_json(self) -> dict[str, object]:
        """The same as plain values."""
        return {**asdict(self), "healthy": self.healthy}

    def lines(self) -> Iterator[str]:
        """The same for people."""
        yield f"address   {self.base_url or 'not set'}"
        yield f"key       {'set' if self.key else 'not set'}"
        for finding in self.services:
            yield from _lines_of(finding)
        if self.cache is not None:
            held = ", ".join(f"{count:,} of kind {kind}" for kind, count in self.cache.answers.items())
            size = f"{self.cache.bytes / 1e6:.1f} of {self.cache.max_bytes / 1e6:.0f} MB"
            yield f"cache     {held or 'empty'} ({size})"
        if self.plan is not None:
            yield f"plan      {self.plan}"
        if self.problem:
            yield f"problem   {self.problem}"
        yield from (f"note      {note}" for note in self.notes)


def _lines_of(finding: Finding) -> Iterator[str]:
    if not finding.asked:
        yield f"{finding.service:<9} {finding.model}: not asked"
    elif not finding.answers:
        yield f"{finding.service:<9} {finding.model}: {finding.problem}"
    else:
        parts = [f"{finding.milliseconds:.0f} ms", counted(finding.tokens, "token")]
        parts += [counted(finding.dimension, "dimension")] if finding.dimension else []
        left = (("request", finding.requests_left), ("token", finding.tokens_left))
        parts += [f"{counted(number, what)} left this minute" for what, number in left if number is not None]
        yield f"{finding.service:<9} {finding.model}: answers, {', '.join(parts)}"


def examine(
    *,
    environ: Mapping[str, str] | None = None,
    base_url: str | None = None,
    embedding_model: str | None = None,
    reranking_model: str | None = None,
    cache: Path | None = None,
    job: Sequence[str] = (),
    ask: bool = True,
) -> Examination:
    """Ask each service one short question, unless ``ask`` is false or there is neither a key nor an address
    of one's own, and look at the rest.

    What is not given comes from the environment, or else is the clients' own. Without the extra ``jina`` no
    service can be asked, which is a problem where there is one to ask, else a note. Raises
    :class:`~hybridrank.errors.InputError` for an address, a key or a job that is none,
    :class:`~hybridrank.errors.CacheUnusable`, and :class:`~hybridrank.errors.MissingExtra` for a job that
    cannot be planned without.
    """
    named = {"base_url": base_url, "embedding_model": embedding_model, "reranking_model": reranking_model}
    options = {
        **options_from_env(environ),
        **{name: value for name, value in named.items() if value is not None},
        "limits": Limits(timeout=_SECONDS, attempts=_ATTEMPTS),
    }
    own = "api_key" in options or "base_url" in options
    held = None if cache is None else _open(cache)
    try:
        client = JinaClient(**options)
    except MissingExtra as missing:
        if job:
            raise
        return Examination(
            base_url=str(options.get("base_url", "")),
            key="api_key" in options,
            cache=None if held is None else held.summary(),
            problem=str(missing) if own else "",
            notes=[] if own else [str(missing)],
        )
    with client:
        notes = []
        if not own:
            notes.append("set JINA_API_KEY, or JINA_BASE_URL for a service of your own")
        wanted = ask and own
        services = [
            _examine(client, "embedding", client.embedding_model, ask=wanted),
            _examine(client, "reranking", client.reranking_model, ask=wanted),
        ]
        return Examination(
            base_url=client.base_url,
            key="api_key" in options,
            services=services,
            cache=None if held is None else held.summary(),
            plan=plan(job, client, held) if job else None,
            notes=notes,
        )


def _open(path: Path) -> ResponseCache:
    if not path.is_file():
        raise InputError("there is no cache here", file=path, remedy="A first run with this file makes it.")
    return ResponseCache(path)


def _examine(client: JinaClient, service: str, model: str, *, ask: bool) -> Finding:
    if not ask:
        return Finding(service=service, model=model, asked=False)
    ledger = Ledger(Budget(seconds=_SECONDS))
    start = time.perf_counter()
    dimension, problem = None, ""
    try:
        if service == "embedding":
            dimension = client.embed(["ping"], ledger=ledger).vectors.shape[1]
        else:
            client.rerank("ping", ["pong"], ledger=ledger)
    except (ServiceError, BudgetExhausted) as error:
        problem = str(error)
    return Finding(
        service=service,
        model=model,
        answers=not problem,
        problem=problem,
        milliseconds=1000 * (time.perf_counter() - start),
        dimension=dimension,
        requests=ledger.usage.requests,
        tokens=ledger.usage.tokens,
        requests_left=ledger.told.requests,
        tokens_left=ledger.told.tokens,
    )


def plan(job: Sequence[str], client: JinaClient, cache: ResponseCache | None = None) -> Plan:
    """What a job would spend that asks as the clients do; nothing is sent.

    ``embed CORPUS`` embeds the passages of a corpus; ``rerank INDEX QUERIES [DEPTH]`` scores the best
    ``DEPTH`` passages of each query, 50 if not given. Raises :class:`~hybridrank.errors.InputError` for
    another job.
    """
    words = list(job)
    if words[:1] == ["embed"] and len(words) == 2:
        jobs: Iterable[Job] = [_embedding(Path(words[1]), client)]
    elif words[:1] == ["rerank"] and len(words) in (3, 4):
        depth = words[3] if len(words) == 4 else "50"
        if not (depth.isascii() and depth.isdigit() and int(depth) > 0):
            raise InputError(f"the depth is {depth!r}", remedy="Give a whole number of 1 or more.")
        jobs = _rerankings(Path(words[1]), Path(words[2]), int(depth), client)
    else:
        raise InputError(
            f"{' '.join(words)!r} is no job", remedy="Give: embed CORPUS, or: rerank INDEX QUERIES [DEPTH]."
        )
    texts = cached = requests = tokens = 0
    for each in jobs:
        different = each.different()
        keys = {text: each.key(text) for text in different} if cache is not None else {}
        known = cache.get(list(keys.values())) if cache is not None else {}
        batches = list(each.batches([text for text in different if keys.get(text) not in known]))
        texts += len(different)
        cached += len(known)
        requests += len(batches)
        tokens += sum(batch.tokens for batch in batches)
    return Plan(job=" ".join(words), texts=texts, cached=cached, requests=requests, tokens=tokens)


def _embedding(corpus: Path, client: JinaClient) -> Job:
    passages = split_documents(read_corpus(corpus))
    return embedding_job(
        [passage.text for passage in passages],
        base_url=client.base_url,
        model=client.embedding_model,
        task="retrieval.passage",
        dimensions=None,
        dialect=client.dialect,
        limits=client.limits,
    )


def _rerankings(directory: Path, queries: Path, depth: int, client: JinaClient) -> Iterator[Job]:
    index = LexicalIndex.open(directory)
    for query in read_queries(queries).values():
        found = [index.passages[hit.position].text for hit in index.search(query, depth)]
        if found:
            yield rerank_job(
                query,
                found,
                base_url=client.base_url,
                model=client.reranking_model,
                dialect=client.dialect,
                limits=client.limits,
            )
