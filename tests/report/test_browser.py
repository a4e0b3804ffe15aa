"""A report in a real browser. These tests skip where there is no Chromium, or no driver: `nox -s browser`."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hybridrank import Passage, rank
from hybridrank.report.page import render
from hybridrank.report.rows import Side
from hybridrank.text.tokens import Tokenizer
from tests.report.report_data import INDEX, JUDGMENTS, QUERIES, reversed_side, searched

playwright = pytest.importorskip("playwright.sync_api", reason="the extra `browser` is not installed")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed (Debian: chromium)")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        launched = driver.chromium.launch(executable_path=CHROMIUM)
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("report") / "report.html"
    page = render(
        [searched(), reversed_side()], QUERIES, tokenizer=INDEX.vocabulary.tokenizer, judgments=JUDGMENTS
    )
    file.write_text(page, encoding="utf-8")
    return file


class Opened:
    """A page that was opened from the disk, with all that it said or asked for."""

    def __init__(self, browser: Any, file: Path, fragment: str = "", **options: Any) -> None:
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        self.address = file.as_uri() + fragment
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", self._dismiss)
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(self.address)

    def _dismiss(self, dialog: Any) -> None:
        self.said.append("dialog")
        dialog.dismiss()

    def shown(self) -> list[str]:
        found: list[str] = self.page.eval_on_selector_all(
            "details.query", "all => all.filter(one => one.checkVisibility()).map(one => one.id)"
        )
        return found

    def focused(self) -> str:
        found: str = self.page.evaluate(
            "(document.activeElement.closest('.hit, details.query') || document.activeElement).id"
        )
        return found

    def close(self) -> None:
        """Close it, and hold it to its promise: no error, no dialog, nothing asked for but itself."""
        self.context.close()
        assert self.said == []
        assert {one.partition("#")[0] for one in self.asked} == {self.address.partition("#")[0]}


@pytest.fixture
def opened(browser: Any, report: Path) -> Iterator[Opened]:
    one = Opened(browser, report)
    yield one
    one.close()


def test_it_opens_with_failures_first_and_hits_unfold(opened: Opened) -> None:
    assert opened.shown() == ["q3", "q2", "q5", "q1", "q4"]
    assert opened.page.locator("#count").inner_text() == "5 of 5 queries shown"
    assert opened.page.locator(".hit").count() == 0  # not before they are asked for
    opened.page.locator("#q1 > summary").click()
    opened.page.locator("#q1 .hit").first.wait_for()  # `toggle` comes a moment after the click
    assert opened.page.locator("#q1 .hit").count() == 9
    assert opened.page.locator("#q1a1 mark").first.inner_text().lower() in ("boat", "boats")
    assert opened.page.locator("#q1b1 .why table").is_hidden()
    opened.page.locator("#q1b1 .why summary").click()
    assert opened.page.locator("#q1b1 .why table").is_visible()
    assert opened.page.locator("img, .text b, .text script").count() == 0


def test_filters_by_words_failures_and_changes(opened: Opened) -> None:
    page = opened.page
    page.get_by_label("Failures only").check()
    assert opened.shown() == ["q3", "q2", "q5"]
    page.get_by_label("Filter by words").fill("SAIL")
    assert opened.shown() == ["q2"]  # it is in a hit
    assert page.locator("#count").inner_text() == "1 of 5 queries shown"
    page.get_by_label("Filter by words").fill("sail nowhere-at-all")
    assert opened.shown() == []
    assert page.locator("#none").is_visible()
    page.get_by_label("Failures only").uncheck()
    page.get_by_label("Changed only").check()
    page.get_by_label("Filter by words").fill('boats sail. "quoted" <script>alert(1)')
    assert opened.shown() == ["q2", "q1"]
    page.get_by_label("Filter by words").fill("feature1")  # an explanation is not looked at
    assert opened.shown() == []
    page.keyboard.press("Escape")
    assert len(opened.shown()) == 4
    page.get_by_label("Changed only").uncheck()
    assert len(opened.shown()) == 5


def test_keys_lead_from_query_to_query(opened: Opened) -> None:
    page = opened.page
    page.keyboard.press("j")
    assert opened.focused() == "q3"
    page.keyboard.press("j")
    page.keyboard.press("ArrowDown")
    assert opened.focused() == "q5"
    page.keyboard.press("ArrowUp")
    page.keyboard.press("k")
    page.keyboard.press("k")
    assert opened.focused() == "q3"
    page.keyboard.press("ArrowRight")
    assert page.locator("#q3").get_attribute("open") is not None
    page.keyboard.press("ArrowLeft")
    assert page.locator("#q3").get_attribute("open") is None
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    assert page.evaluate(outline) == "solid"
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "words"
    page.keyboard.type("j/wind")
    assert page.get_by_label("Filter by words").input_value() == "j/wind"
    page.keyboard.press("Escape")
    assert len(opened.shown()) == 5
    page.get_by_label("Use the keys").uncheck()
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.id") == "shortcuts"


def test_the_first_tab_stop_skips_to_the_queries(opened: Opened) -> None:
    opened.page.keyboard.press("Tab")
    skip = opened.page.locator(".skip")
    assert skip.evaluate("one => one === document.activeElement && one.getBoundingClientRect().left >= 0")
    opened.page.keyboard.press("Enter")
    assert opened.page.evaluate("document.activeElement.id") == "queries"


def test_a_hit_is_followed_to_where_it_stands_on_the_other_side(opened: Opened) -> None:
    opened.page.locator("#q1 > summary").click()
    opened.page.get_by_role("link", name="up 4 from 5").click()
    assert opened.focused() == "q1a5"
    moved = opened.page.locator("#q1b1 .id").inner_text()
    assert opened.page.locator("#q1a5 .id").inner_text() == moved
    # Once more, though the address is the same by now.
    opened.page.keyboard.press("j")
    opened.page.get_by_role("link", name="up 4 from 5").click()
    assert opened.focused() == "q1a5"


def test_an_address_leads_to_a_hit_that_was_closed(browser: Any, report: Path) -> None:
    opened = Opened(browser, report, "#q2b1")
    opened.page.wait_for_selector("#q2b1")
    assert opened.focused() == "q2b1"
    opened.page.get_by_label("Filter by words").fill("zebra")
    assert opened.shown() == ["q4"]
    opened.page.evaluate("location.hash = '#q1'")
    opened.page.wait_for_function("document.activeElement.closest('#q1')")
    assert len(opened.shown()) == 5
    opened.page.evaluate("location.hash = '#nothing'")
    opened.close()


def test_all_can_be_opened_and_closed_and_printed(opened: Opened) -> None:
    opened.page.get_by_label("Filter by words").fill("flour")
    opened.page.get_by_role("button", name="Open all shown").click()
    assert opened.page.locator("details.query[open]").count() == len(opened.shown()) < 5
    opened.page.get_by_role("button", name="Close all").click()
    assert opened.page.locator("details.query[open]").count() == 0
    opened.page.emulate_media(media="print")
    assert opened.page.locator("#tools").is_hidden()
    assert opened.page.pdf().startswith(b"%PDF")
    opened.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert opened.page.locator("details.query[open]").count() > 0
    opened.page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert opened.page.locator("details.query[open]").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_it_passes_axe_and_nothing_is_cut_off(browser: Any, report: Path, scheme: str, width: int) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    opened = Opened(browser, report, color_scheme=scheme, viewport={"width": width, "height": 800})
    opened.page.locator("#open").click()
    opened.page.wait_for_selector("#q1b1")
    opened.page.evaluate("document.querySelectorAll('.why').forEach(one => { one.open = true; })")
    # What is out of view is not laid out, so that axe would see it in places where it is not.
    rule = ".query { content-visibility: visible !important; }"
    opened.page.evaluate("rule => document.styleSheets[0].insertRule(rule, 0)", rule)
    found = axe.Axe().run(opened.page)
    assert found.violations_count == 0, found.generate_report()
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
    opened.close()


def test_without_scripts_all_of_it_is_there(browser: Any, report: Path) -> None:
    opened = Opened(browser, report, java_script_enabled=False)
    assert opened.page.locator("#tools").is_hidden()
    opened.page.locator("#q1 > summary").click()
    assert opened.page.locator("#q1a1 .text").is_visible()
    opened.close()


def test_a_thousand_queries_stay_light(browser: Any, tmp_path: Path) -> None:
    texts = [f"The boat number {number} has paint." for number in range(10)]
    ranking = rank("boat", texts)
    assert isinstance(ranking[0].passage, Passage)
    queries = {f"q{number}": f"boat {number}" for number in range(1000)}
    side = Side(name="bm25", rankings=dict.fromkeys(queries, ranking))
    file = tmp_path / "many.html"
    file.write_text(render([side], queries, tokenizer=Tokenizer()), encoding="utf-8")
    opened = Opened(browser, file)
    # Hits are no elements before they are shown; that, not the text, is what would make the page slow.
    assert opened.page.evaluate("document.querySelectorAll('*').length") < 12 * 1000
    opened.page.get_by_label("Filter by words").fill("boat 77")
    assert "q78" in opened.shown()
    assert opened.page.locator("#count").inner_text().endswith("of 1,000 queries shown")
    opened.close()
