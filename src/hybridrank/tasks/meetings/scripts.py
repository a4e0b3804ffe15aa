"""What ``build.sh``, ``run.sh`` and ``answer.sh`` do, with the standard library alone.

Imports stand where they are needed: a script carries its modules as source, and each that is not imported is
not compiled either.
"""

from __future__ import annotations

import os
import sys

from hybridrank.errors import HybridrankError, InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hybridrank.tasks.meetings.recall import Index

__all__ = ["MOST_MEMORIES", "answer", "as_json", "build", "complain", "main", "recall", "write"]

MOST_MEMORIES = 10
"""Notes that are recalled for a question."""

_FAILED = 2
_OPTIONS = {
    "build": ("memory", "output"),
    "run": ("index", "question", "output"),
    "answer": ("question", "memories", "output"),
}
_JINA = ("JINA_BASE_URL", "JINA_API_KEY")


def main(arguments: Sequence[str]) -> int:
    """Run ``build``, ``run`` or ``answer``; returns the exit code: 0, or 2 for what cannot be used."""
    command, *rest = arguments
    try:
        options = _parse(command, rest)
        output = options.pop("output")
        if command == "build":
            build(options["memory"], output, os.environ)
        elif command == "run":
            write(output, as_json(recall(options["index"], options["question"], os.environ)))
        else:
            write(output, answer(options["question"], options["memories"], os.environ) + "\n")
    except HybridrankError as error:
        complain(f"error: {error}")
        return _FAILED
    except OSError as error:
        complain(f"error: {error.filename or command}: {error.strerror or error}")
        return _FAILED
    return 0


def build(memory: str, output: str, environ: Mapping[str, str]) -> None:
    """Index the memory of a file in a directory.

    Raises :class:`~hybridrank.errors.HybridrankError` when there is no memory in it, or no index can be
    written. Where Jina is to be had and fails, the index is built without vectors.
    """
    from hybridrank.tasks.meetings.memory import Memory
    from hybridrank.tasks.meetings.recall import Index

    text = _read(memory, "Give the memory.json that was made.")
    try:
        index = Index.build(Memory.from_json(text))
    except InputError as error:
        raise InputError(error.reason, file=memory, line=error.line, remedy=error.remedy) from None
    index.save(output)
    if any(environ.get(name) for name in _JINA):
        from hybridrank.tasks.meetings.neural import JinaService, NoteVectors

        try:
            service = JinaService.from_environment(environ)
            if service is not None:
                NoteVectors.made(index.notes, service).save(output, index.notes)
        except (HybridrankError, OSError) as error:  # such as a disk that is full
            complain(f"no vectors: {error}")


def recall(index: str, question: str, environ: Mapping[str, str]) -> list[str]:
    """The notes that bear on a question, best first, at most ten.

    Raises :class:`~hybridrank.errors.HybridrankError` when there is no index to be read; but whatever befalls
    the search, a list is returned, if need be an empty one.
    """
    from hybridrank.tasks.meetings.recall import Index

    opened = Index.open(index)
    asked = _readable(question)
    try:
        found = opened.search(asked, MOST_MEMORIES)
    except Exception as error:  # an empty recall is a miss, where a failure would cost everything
        complain(f"nothing was recalled: {error!r}")
        return []
    if any(environ.get(name) for name in _JINA):
        try:
            found = _improved(index, opened, asked, environ) or found
        except Exception as error:  # what was found without a service stands
            complain(f"no service is asked: {type(error).__name__}")
    return found[:MOST_MEMORIES]


def _improved(directory: str, index: Index, question: str, environ: Mapping[str, str]) -> list[str]:
    """What Jina makes of a longer list; empty where no service is named rightly."""
    from hybridrank.tasks.meetings.neural import JinaService, NoteVectors, improve

    try:
        service = JinaService.from_environment(environ)
    except InputError as error:
        complain(f"no service is asked: {error}")
        return []
    if service is None:
        return []
    vectors = NoteVectors.open(directory, index.notes)
    found, complaints = improve(question, index, vectors, service)
    for complaint in complaints:
        complain(complaint)
    return found


def answer(question: str, memories: str, environ: Mapping[str, str]) -> str:
    """The answer to a question from the recalled notes of a file.

    Whatever is in that file or befalls a service, there is an answer.
    """
    from hybridrank.generation import ChatService
    from hybridrank.tasks.meetings.answer import answer as answer_from

    try:
        service = ChatService.from_environment(environ)
    except InputError as error:
        complain(f"no service is asked: {error}")
        service = None
    found = answer_from(_readable(question), _notes(memories), service)
    for complaint in found.complaints:
        complain(complaint)
    return found.text


def as_json(memories: Sequence[str]) -> str:
    """A list of notes as ``run.sh`` writes it. Half a surrogate pair, which UTF-8 has not, is escaped: a note
    is read as it stands in the memory.

    >>> print(as_json(["caf\\u00e9 \\ud800"]), end="")
    [
     "caf\u00e9 \\ud800"
    ]
    """
    import json

    text = json.dumps(memories, ensure_ascii=False, indent=1) + "\n"
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _parse(command: str, arguments: Sequence[str]) -> dict[str, str]:
    """The options of a command, given as ``--name VALUE`` or ``--name=VALUE``; a value may begin as it likes.

    >>> _parse("build", ["--memory", "--odd", "--output=x=y"])
    {'memory': '--odd', 'output': 'x=y'}
    """
    names = _OPTIONS[command]
    usage = f"Usage: {command}.sh {' '.join(f'--{name} {name.upper()}' for name in names)}."
    found: dict[str, str] = {}
    rest = list(reversed(arguments))
    while rest:
        name, equals, value = rest.pop().partition("=")
        if not name.startswith("--") or name[2:] not in names:
            raise InputError(f"{name!r} is none of the options", remedy=usage)
        if not equals and not rest:
            raise InputError(f"{name} has no value", remedy=usage)
        if name[2:] in found:
            raise InputError(f"{name} is given twice", remedy=usage)
        found[name[2:]] = value if equals else rest.pop()
    missing = [f"--{name}" for name in names if name not in found]
    if missing:
        raise InputError(f"{' and '.join(missing)} must be given", remedy=usage)
    for name in names:
        if name != "question" and not found[name]:
            raise InputError(f"--{name} is empty", remedy=usage)
    return found


def _readable(question: str) -> str:
    """The question as text, with U+FFFD for what is none: bytes that are not UTF-8, halves of pairs."""
    return question.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _read(path: str, remedy: str) -> str:
    try:
        with open(path, encoding="utf-8-sig") as file:
            return file.read()
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", file=path, remedy=remedy) from error
    except UnicodeDecodeError:
        raise InputError("is not UTF-8", file=path, remedy=remedy) from None


def _notes(path: str) -> list[str]:
    """The strings of a JSON list; what else there is, is complained of and left out."""
    import json

    try:
        content = json.loads(_read(path, "Give the file that run.sh wrote."))
    except InputError as error:
        complain(f"no notes: {error}")
        return []
    except (ValueError, RecursionError) as error:
        complain(f"no notes: {path} is not valid JSON ({error})")
        return []
    if not isinstance(content, list):
        complain(f"no notes: {path} holds no JSON list")
        return []
    notes = [note for note in content if isinstance(note, str)]
    if len(notes) < len(content):
        complain(f"{len(content) - len(notes)} of {len(content)} entries of {path} are no strings")
    return notes


def write(path: str, text: str) -> None:
    """Put a text into a file, whole or not at all, if need be in place of an older one."""
    content = text.encode("utf-8", "replace")
    beside = f"{path}.{os.getpid()}.new"
    try:
        if os.path.exists(path) and not os.path.isfile(path):  # a pipe, or /dev/stdout
            _put(path, content)
            return
        try:
            _put(beside, content)
            os.replace(beside, path)
        except OSError:
            _drop(beside)
            _put(path, content)  # the file may be ours to write where its directory is not
    except OSError as error:
        raise InputError(
            f"cannot be written ({error.strerror})",
            file=path,
            remedy="Choose a file that you may write, on a disk with room.",
        ) from error


def _put(path: str, content: bytes) -> None:
    with open(path, "wb") as file:
        file.write(content)


def _drop(path: str) -> None:
    try:  # noqa: SIM105 - contextlib would be imported for this alone
        os.unlink(path)
    except OSError:
        pass


def complain(message: str) -> None:
    """Say on standard error what is no result; nobody listening is no reason to stop."""
    try:
        sys.stderr.write(f"{message}\n".encode("utf-8", "replace").decode("utf-8"))
        sys.stderr.flush()
    except (AttributeError, OSError, ValueError):
        pass
