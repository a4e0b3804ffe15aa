"""``hybridrank index``, ``search`` and ``rank``: passages of your own, by BM25."""

from __future__ import annotations

import argparse
import json
import os
import warnings
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybridrank.commands.files import STDIN, STDIN_NAME, input_path, path_of, writing
from hybridrank.commands.inputs import QUERIES_HELP, with_model
from hybridrank.commands.parsing import Parser
from hybridrank.commands.terminal import Advance, add_json, finish, positive_number, progress, say, tell
from hybridrank.errors import HybridrankWarning, InputError
from hybridrank.records import counted

if TYPE_CHECKING:
    from hybridrank.records import Passage, Ranking

__all__ = ["add_index_to", "add_rank_to", "add_search_to"]

_LONGEST = 2000  # characters of a passage that people are shown


def add_index_to(parser: Parser) -> None:
    """Give the parser of ``index`` its arguments."""
    parser.description = (
        "Cut texts into passages and index them. Files of any other kind than these can be made into one of "
        "them: of a PDF, pdftotext makes text, whose pages are kept apart."
    )
    parser.examples = [
        "hybridrank index notes/ --output notes.index",
        "hybridrank index table.csv --output table.index --max-chars 500",
        "pdftotext -layout report.pdf - | hybridrank index - --output report.index",
    ]
    parser.add_argument(
        "corpus",
        type=input_path,
        metavar="CORPUS",
        help='a folder of .txt and .md files, one of these, JSON lines {"id", "text"}, a .csv or .tsv table '
        "with the columns id and text, or a BEIR folder; - is standard input",
    )
    parser.add_argument("--output", type=path_of, required=True, metavar="DIR", help="the index directory")
    parser.add_argument(
        "--format",
        choices=("jsonl", "csv", "tsv", "txt"),
        help="of the file (default: by its suffix, or by its start where it has none)",
    )
    parser.add_argument(
        "--max-chars", type=positive_number, default=1000, metavar="N", help="longest passage (default 1000)"
    )
    _add_language(parser)
    add_json(parser)
    parser.set_defaults(command=_index)


def add_search_to(parser: Parser) -> None:
    """Give the parser of ``search`` its arguments."""
    parser.description = "Find the passages of an index that answer a question, or each of many."
    parser.examples = [
        "hybridrank search my.index 'which glue for outdoor joints' -k 3 --explain",
        "hybridrank search my.index --queries queries.tsv --json > found.jsonl",
        "echo 'plan C' | hybridrank search my.index --queries -",
    ]
    parser.add_argument("index", type=path_of, metavar="DIR", help="the index directory")
    parser.add_argument(
        "question", nargs="?", metavar="QUESTION", help="plain text; after -- it may start with a dash"
    )
    parser.add_argument("--queries", type=input_path, metavar="PATH", help=f"in place of one: {QUERIES_HELP}")
    _add_hits(parser)
    parser.add_argument("--model", type=path_of, metavar="DIR", help="a learned ranker that orders the hits")
    parser.add_alias("--ranker", "--model")
    parser.set_defaults(command=_search)


def add_rank_to(parser: Parser) -> None:
    """Give the parser of ``rank`` its arguments."""
    parser.description = (
        "Rank the lines of a file by a question, without an index; a hit's id is its line number."
    )
    parser.examples = [
        "hybridrank rank 'plan C' notes.txt -k 3",
        "git log --oneline | hybridrank rank 'locks of the index'",
    ]
    parser.add_argument("question", metavar="QUESTION", help="plain text; after -- it may start with a dash")
    parser.add_argument(
        "file", type=input_path, nargs="?", default=STDIN, metavar="FILE", help="default: standard input"
    )
    _add_hits(parser)
    _add_language(parser)
    parser.set_defaults(command=_rank)


def _add_hits(parser: Parser) -> None:
    parser.add_argument("-k", type=positive_number, default=10, metavar="N", help="passages (default 10)")
    parser.add_argument("--json", action="store_true", help="a JSON object for each question")
    parser.add_argument("--explain", action="store_true", help="say why each passage is there")


def _add_language(parser: Parser) -> None:
    parser.add_argument("--language", default="english", help="language of the stemmer (default english)")


def _index(options: argparse.Namespace) -> int:
    from hybridrank.lexical import LexicalIndex
    from hybridrank.text.passages import split_document
    from hybridrank.text.tokens import Tokenizer

    tokenizer = Tokenizer(options.language)
    with progress("Reading", "passages") as advance:
        passages: list[Passage] = []
        read = _Read(_size_of(options.corpus), advance)
        for one in _documents(options, read):
            # What has nothing but a file was a text, perhaps one out of a PDF, whose pages are kept apart.
            pages = one.metadata.keys() == {"file"}
            passages += split_document(
                one.text, one.id, max_chars=options.max_chars, metadata=one.metadata, pages=pages
            )
            read.tell(len(passages))
    if not passages:
        warnings.warn(
            f"{options.corpus} holds no text: nothing can be found in it", HybridrankWarning, stacklevel=1
        )
    with progress("Indexing", counted(len(passages), "passage")), writing(options.output):
        index = LexicalIndex.build(passages, tokenizer=tokenizer)
        index.save(options.output)
    message = f"{counted(len(index), 'passage')} indexed in {options.output}"
    return finish(options, message, passages=len(index), output=options.output)


def _documents(options: argparse.Namespace, read: _Read) -> Iterator[Passage]:
    from hybridrank.evaluation import beir
    from hybridrank.text.corpus import read_corpus

    if (options.corpus / beir.CORPUS).is_file():
        return beir.read_corpus(options.corpus)
    documents = read_corpus(options.corpus, format=options.format, seen=read.seen)
    if options.corpus.name != STDIN_NAME:
        return documents
    # The file that it was put into has a name of chance.
    return (
        replace(one, metadata={**one.metadata, "file": STDIN_NAME}) if "file" in one.metadata else one
        for one in documents
    )


class _Read:
    """How much of a corpus has been read, of the bytes that it has."""

    def __init__(self, size: int, advance: Advance) -> None:
        self._size = size
        self._advance = advance
        self._bytes = 0

    def seen(self, size: int) -> None:
        self._bytes += size

    def tell(self, done: int) -> None:
        self._advance(done, min(1.0, self._bytes / self._size) if self._size else None)


def _size_of(corpus: Path) -> int:
    """The bytes of a corpus, 0 where that is not known."""
    from hybridrank.text.corpus import FORMATS

    try:
        if not corpus.is_dir():
            return corpus.stat().st_size
        texts = {suffix for suffix, one in FORMATS.items() if one == "txt"}
        files = (Path(parent, name) for parent, _, names in os.walk(corpus) for name in names)
        return sum(file.stat().st_size for file in files if file.suffix.lower() in texts)
    except OSError:
        return 0  # whoever reads it says what is wrong


def _search(options: argparse.Namespace) -> int:
    from hybridrank.evaluation.formats import read_queries
    from hybridrank.lexical import LexicalIndex

    if (options.question is None) == (options.queries is None):
        given = (
            "no question is given" if options.question is None else "a question and a file of them are given"
        )
        raise InputError(given, remedy="Give QUESTION, or --queries PATH.")
    index = LexicalIndex.open(options.index)
    retriever = index if options.model is None else with_model(index, options.model, name="learned")
    if options.queries is None:
        return _show(retriever.search(options.question, options.k), options)
    for query_id, question in read_queries(options.queries).items():
        _show(retriever.search(question, options.k), options, query_id)
    return 0


def _rank(options: argparse.Namespace) -> int:
    from hybridrank.evaluation.lines import text_lines
    from hybridrank.lexical import LexicalIndex
    from hybridrank.records import Passage
    from hybridrank.text.tokens import Tokenizer

    if options.file.is_dir():
        raise InputError(
            "this is a folder",
            file=options.file,
            remedy=f"Index it: hybridrank index {options.file} --output DIR; then hybridrank search DIR.",
        )
    lines = [Passage(id=str(number), text=line) for number, line in text_lines(options.file)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HybridrankWarning)  # a line of dashes is no news
        index = LexicalIndex.build(lines, tokenizer=Tokenizer(options.language))
    return _show(index.search(options.question, options.k), options)


def _show(ranking: Ranking, options: argparse.Namespace, query_id: str | None = None) -> int:
    if options.json:
        named = {} if query_id is None else {"query_id": query_id}
        return say(json.dumps({**named, **_to_json(ranking)}))
    if options.explain:
        return say(ranking.explain())
    if query_id is not None:
        say(f"{query_id}: {' '.join(ranking.query.split())}")
    if not ranking:
        tell("nothing found" if query_id is None else f"nothing found for {query_id}")
    for hit in ranking:
        say(f"{hit.rank}. {hit.passage_id}  ({hit.score:.4g})")
        if hit.passage is not None:
            shown, cut = hit.passage.text[:_LONGEST], len(hit.passage.text) > _LONGEST
            say(f"   {' '.join(shown.split())}{'…' * cut}")
    return 0


def _to_json(ranking: Any) -> dict[str, Any]:
    return {
        "query": ranking.query,
        "hits": [
            {
                "id": hit.passage_id,
                "rank": hit.rank,
                "score": hit.score,
                "document_id": hit.passage.document_id,
                "start": hit.passage.start,
                "end": hit.passage.end,
                "text": hit.passage.text,
                "metadata": dict(hit.passage.metadata),
                "reasons": [asdict(reason) for reason in hit.reasons],
            }
            for hit in ranking
        ],
        "degraded": ranking.degraded,
        "usage": asdict(ranking.usage),
    }
