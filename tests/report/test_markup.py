from __future__ import annotations

import base64
import hashlib
from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from hybridrank.report.markup import clip, escape, hash_source, marked
from hybridrank.text.highlight import Excerpt

TEXT = st.text(st.characters(exclude_categories=()), max_size=60) | st.sampled_from(
    ["</script>", "<img src=x onerror=alert(1)>", "${x}", "&amp;", "</noscript>", "<!--", "a\x0cb", "]]>"]
)


class Seen(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_comment(self, data: str) -> None:
        self.tags.append("!--")

    def handle_data(self, data: str) -> None:
        self.text += data


@given(TEXT)
def test_whatever_a_text_holds_it_comes_out_as_text(text: str) -> None:
    seen = Seen(f'<p title="{escape(text)}">{escape(text)}</p>')
    assert seen.tags == ["p"]
    assert len(seen.text) == len(text)
    for before, after in zip(text, seen.text, strict=True):
        assert after == before or after in "\ufffd "
    escape(text).encode("utf-8")  # no half of a pair is left


def test_what_turns_the_writing_around_or_moves_a_cursor_is_replaced() -> None:
    assert escape("a\u202eb\x1b\x00\u2066\x9b\ud800") == "a\ufffdb\ufffd\ufffd\ufffd\ufffd\ufffd"
    assert escape("a\x0cb\x85c\n\td\r") == "a b c\n\td\r"
    assert escape("שלום 東京 é 🚲") == "שלום 東京 é 🚲"


@given(TEXT, st.integers(2, 40))
def test_what_is_clipped_keeps_its_beginning(text: str, width: int) -> None:
    found = clip(text, width)
    assert len(found) <= width
    assert "\n" not in found
    words = " ".join(text.split())
    assert found == words or (found.endswith("…") and words.startswith(found[:-1]))


@given(TEXT, st.data())
def test_marks_surround_what_matches_and_change_nothing_else(text: str, data: st.DataObject) -> None:
    edges = sorted(data.draw(st.lists(st.integers(0, len(text)), min_size=4, max_size=4)))
    part = Excerpt(edges[0], edges[3], ((edges[1], edges[2]),))
    found = marked(text, [part])
    inner = found.removeprefix("… ").removesuffix(" …")
    assert inner.replace("<mark>", "").replace("</mark>", "") == "".join(
        escape(text[start:end]) for start, end in (edges[:2], edges[1:3], edges[2:])
    )
    assert found.startswith("… ") or edges[0] == 0 or escape(text[edges[0] :]).startswith("… ")
    assert Seen(found).tags == ["mark"]


def test_what_is_left_out_shows() -> None:
    text = "one two three four five"
    parts = [Excerpt(4, 7, ((4, 7),)), Excerpt(14, 18)]
    assert marked(text, parts) == "… <mark>two</mark> … four …"
    assert marked(text, [Excerpt(0, len(text))]) == text


@given(TEXT.filter(lambda text: text.isascii()))
def test_a_policy_names_the_digest(text: str) -> None:
    kind, _, digest = hash_source(text).strip("'").partition("-")
    assert base64.b64decode(digest) == hashlib.new(kind, text.encode()).digest()
