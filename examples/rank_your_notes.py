"""Rank the notes of a folder for a question, and say why each is there.

    python examples/rank_your_notes.py                                     the notes that the package brings
    python examples/rank_your_notes.py FOLDER "where is the spare key?"    your own .txt and .md files

It needs no key and no network.
"""

from __future__ import annotations

import sys
from importlib.resources import files

from hybridrank import LexicalIndex, read_corpus, split_documents

QUESTION = "How do I keep slugs off the salad?"


def main() -> None:
    """Index a folder in memory, and ask it one question."""
    folder = sys.argv[1] if len(sys.argv) > 1 else str(files("hybridrank") / "data" / "notes")
    question = sys.argv[2] if len(sys.argv) > 2 else QUESTION

    index = LexicalIndex.build(split_documents(read_corpus(folder), max_chars=400))
    print(f"{len(index)} passages of {folder}\n\n{question}\n")

    for hit in index.search(question, k=3):
        passage, reason = hit.passage, hit.reasons[0]
        assert passage is not None  # an index of texts keeps them
        words = ", ".join(f"{word} {share:.2f}" for word, share in reason.terms.items())
        print(f"{hit.rank}. {passage.document_id}, characters {passage.start} to {passage.end}   ({words})")
        print(f"   {' '.join(passage.text.split())[:160]} ...\n")

    # To keep the index: index.save("notes.index"), and later LexicalIndex.open("notes.index").


if __name__ == "__main__":
    main()
