from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from hybridrank.errors import InputError
from hybridrank.report.markup import hash_source
from hybridrank.report.page import render
from hybridrank.report.rows import Side
from tests.report.report_data import HOSTILE, INDEX, JUDGMENTS, QUERIES, reversed_side, searched

VOID = {"meta", "link", "input", "img", "br"}
TOKENIZER = INDEX.vocabulary.tokenizer


def page(*sides: Side, judged: bool = True, k: int = 10, title: str = "A $title <b>") -> str:
    return render(
        sides, QUERIES, tokenizer=TOKENIZER, judgments=JUDGMENTS if judged else None, k=k, title=title
    )


class Structure(HTMLParser):
    """The elements of a page, those in <noscript> included, as they stand where no script runs."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: dict[str, str] = {}
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open:
            self.text[self.open[-1]] = self.text.get(self.open[-1], "") + data

    def all(self, tag: str, **attributes: str) -> list[dict[str, str | None]]:
        return [
            found
            for name, found in self.elements
            if name == tag and all(found.get(key.strip("_")) == value for key, value in attributes.items())
        ]


BOTH = page(searched(), reversed_side())


def test_a_page_is_well_formed_and_its_ids_are_single() -> None:
    for source in (BOTH, page(searched()), page(searched(), judged=False), page(searched(), k=1)):
        found = Structure(source)
        assert found.open == []
        ids = [one["id"] for _, one in found.elements if "id" in one]
        assert len(set(ids)) == len(ids)
        links = [one["href"] for one in found.all("a")]
        assert links
        assert {str(link).removeprefix("#") for link in links} <= set(ids)
        for _, one in found.elements:
            assert not any(name.startswith("on") or name in ("src", "style") for name in one)
            for reference in ("for", "aria-labelledby", "aria-describedby"):
                assert one.get(reference) is None or one[reference] in ids


def test_landmarks_headings_labels_and_tables_are_there_for_a_screen_reader() -> None:
    found = Structure(BOTH)
    tags = [tag for tag, _ in found.elements]
    assert [tags.count(tag) for tag in ("h1", "main", "header", "search", "footer")] == [1] * 5
    levels = [int(tag[1]) for tag in tags if re.fullmatch("h[1-6]", tag)]
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert found.elements[0] == ("html", {"lang": "en"})
    assert found.all("a", href="#queries", class_="skip")
    assert found.all("output", id="count")[0]["aria-live"] == "polite"
    assert {one["id"] for one in found.all("input")} == {"words", "failed", "changed", "shortcuts"}
    assert all(one["scope"] in ("col", "row") for one in found.all("th"))
    assert len(found.all("caption")) == 1


def test_only_its_own_script_may_run_and_nothing_may_be_asked_for() -> None:
    (policy,) = (
        str(one["content"])
        for one in Structure(BOTH).all("meta")
        if one.get("http-equiv") == "Content-Security-Policy"
    )
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules.pop("default-src") == "'none'"
    assert rules.pop("img-src") == "data:"
    assert rules == {
        "script-src": hash_source(BOTH.partition("<script>")[2].partition("</script>")[0]),
        "style-src": hash_source(BOTH.partition("<style>")[2].partition("</style>")[0]),
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    assert BOTH.count("<script") == BOTH.count("<style") == 1
    assert "http:" not in BOTH
    assert "https:" not in BOTH


def test_hostile_texts_and_ids_come_out_as_text() -> None:
    for alert in range(1, 5):
        assert f"alert({alert})" in BOTH
        assert not re.search(rf"<[^<>]*alert\({alert}\)", BOTH)
    assert "${title} $style {{x}}" in BOTH
    assert "A $title &lt;b&gt;" in BOTH
    assert "\x00" not in BOTH
    assert "\u202e" not in BOTH
    assert HOSTILE not in BOTH
    assert "</noscript><b>" not in BOTH
    BOTH.encode("utf-8")
    tags = {tag for tag, _ in Structure(BOTH).elements}
    assert not tags & {"img", "i"}


def test_failures_come_first_and_carry_their_flags() -> None:
    queries = Structure(BOTH).all("details", class_="query")
    assert [one["id"] for one in queries] == ["q3", "q2", "q5", "q1", "q4"]
    assert {one["id"] for one in queries if "data-changed" in one} == {"q1", "q2", "q3", "q5"}
    # q3 is found by neither; of the others the other side has lost the one good hit.
    assert {one["id"] for one in queries if "data-failed" in one} == {"q2", "q3", "q5"}


def test_hits_are_shown_in_context_with_their_words_marked() -> None:
    assert "The <mark>boat</mark> needs paint." in BOTH
    assert "<mark>Boats</mark> sail." in BOTH
    assert re.search(r"… [^<]*The <mark>boat</mark> has paint\.[^<]* …", BOTH)
    assert "d3, characters 70 to" in BOTH
    assert max(map(len, re.findall(r'<p class="text"[^>]*>(.*?)</p>', BOTH))) < 1500


def test_moved_lost_and_new_hits_are_marked_and_linked() -> None:
    assert "<bdi>&lt;other&gt;</bdi>" in BOTH
    first = BOTH.partition('id="q1"')[2].partition("</noscript></details>")[0]
    assert '<span class="tag move">3 moved, 1 lost</span>' in first
    for link in (
        '<a class="tag move" href="#q1a5">up 4 from 5</a>',
        '<a class="tag move" href="#q1a4">up 2 from 4</a>',
        '<a class="tag" href="#q1a3">same place in bm25</a>',
        '<a class="tag move" href="#q1a2">down 2 from 2</a>',
        '<a class="tag move" href="#q1b4">&lt;other&gt;: 4</a>',
        '<span class="tag move">lost in &lt;other&gt;</span>',
    ):
        assert link in first
    same = page(searched(), Side(name="again", rankings=searched().rankings))
    assert "same place in again" in same
    assert "data-changed" not in same.partition("<body>")[2].partition("<script>")[0]
    gained = page(Side(name="none", rankings={}), searched())
    assert '<span class="tag move">new</span>' in gained
    assert "Nothing found." in gained


def test_reasons_budget_and_degradation_are_said() -> None:
    assert "Degraded: no &lt;budget&gt; left" in BOTH
    assert "Used: 2 requests, 30 tokens" in BOTH
    assert '<span class="tag bad">degraded</span>' in BOTH
    assert '<th scope="row">&lt;learned&gt;</th>' in BOTH
    assert "feature1 +1, feature2 +0.5" in BOTH
    assert "and 7 more</td>" in BOTH
    assert "feature13" not in BOTH


def test_what_was_judged_good_and_not_found_is_named() -> None:
    assert "Judged good, not among these hits: nowhere" in BOTH
    many = {"q1": {f"lost{number}": 1 for number in range(9)}}
    text = render([searched()], QUERIES, tokenizer=TOKENIZER, judgments=many)
    assert "lost0, lost1, lost2, lost3, lost4 and 4 more" in text


def test_the_overview_counts() -> None:
    text = Structure(page(searched())).text
    assert "5 queries, the best 10 hits of each." in text["p"]
    assert "of 4 with judgments" in text["caption"]
    # Found at 1, 1 and, of q1, where the search has it; not at all for q3.
    rank = next(hit.rank for hit in INDEX.search(QUERIES["q1"]) if hit.passage_id == "d1:0")
    assert f"31{(2 + 1 / rank) / 4:.3f}" in text["td"]
    assert "queries have other hits or another order" in BOTH
    assert "have other hits" not in page(searched())
    unjudged = page(searched(), reversed_side(), judged=False)
    assert 'id="failed"' not in unjudged
    assert 'id="changed"' in unjudged
    assert "first good hit" not in unjudged.partition("<script>")[0]


def test_a_hit_without_text_says_so_and_an_empty_query_too() -> None:
    bare = {"e": next(iter(reversed_side().rankings.values())).top(1)}
    hit = replace(bare["e"].hits[0], passage=None, reasons=())
    ranking = replace(bare["e"], hits=(hit,))
    text = render([Side(name="s", rankings={"e": ranking})], {"e": " "}, tokenizer=TOKENIZER)
    assert "Its text is not in the index." in text
    assert "(no text)" in text
    assert "<summary>Why" not in text
    assert "1 query, the best" in text


def test_the_same_input_gives_the_same_bytes() -> None:
    assert page(searched(), reversed_side()) == BOTH


@pytest.mark.parametrize("names", [(), ("a", "a"), ("a", "b", "c")])
def test_one_or_two_sides_are_shown(names: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match="Give one or two, each with its own name"):
        render([Side(name=name, rankings={}) for name in names], QUERIES, tokenizer=TOKENIZER)


def test_a_hit_takes_a_bounded_part_of_the_page() -> None:
    small, large = page(searched(), k=1, judged=False), page(searched(), judged=False)
    hits = sum(len(ranking) for ranking in searched().rankings.values())
    more = hits - sum(min(1, len(ranking)) for ranking in searched().rankings.values())
    assert more > 3
    assert (len(large) - len(small)) / more < 3000
