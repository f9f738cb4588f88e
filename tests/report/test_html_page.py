"""The page in a real browser: no error, no request, sorting by click and by key, light and dark."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

from tests.chromium import launched

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    yield from launched()


class Visit:
    """A page and everything it asked for or complained about."""

    def __init__(self, browser: Browser, path: Path, *, width: int = 1280, dark: bool = False) -> None:
        scheme: Literal["dark", "light"] = "dark" if dark else "light"
        self.page: Page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.url = path.as_uri()
        self.page.goto(self.url)

    def column(self, table: str, number: int) -> list[str]:
        """Texts of a column of a table's body, from top to bottom."""
        cells = self.page.locator(f"#table-{table} tbody tr > *:nth-child({number})")
        return [text.strip() for text in cells.all_inner_texts()]


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1280, 390])
def test_it_opens_without_errors_requests_or_sideways_scrolling(
    browser: Browser, written: Path, width: int, dark: bool
) -> None:
    visit = Visit(browser, written / "index.html", width=width, dark=dark)
    for summary in visit.page.locator("summary").all():
        summary.click()
    visit.page.wait_for_timeout(200)
    assert visit.complaints == []
    assert visit.requests == [visit.url]
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
    paper = visit.page.evaluate("getComputedStyle(document.body).backgroundColor")
    bright = sum(map(int, re.findall(r"\d+", paper)[:3])) > 384
    assert bright is not dark
    ink = visit.page.evaluate("getComputedStyle(document.querySelector('figure svg text')).fill")
    assert (sum(map(int, re.findall(r"\d+", ink)[:3])) > 384) is dark, "drawings follow the page"
    visit.page.close()


def test_a_click_sorts_up_and_a_second_one_down(browser: Browser, written: Path) -> None:
    visit = Visit(browser, written / "index.html")
    heading = visit.page.locator("#table-summary thead th").nth(1)
    heading.locator("button").click()
    values = [float(text) for text in visit.column("summary", 2)]
    assert values == sorted(values)
    assert heading.get_attribute("aria-sort") == "ascending"
    heading.locator("button").click()
    values = [float(text) for text in visit.column("summary", 2)]
    assert values == sorted(values, reverse=True)
    assert values[0] > values[-1]
    assert heading.get_attribute("aria-sort") == "descending"
    assert visit.complaints == []
    visit.page.close()


def test_names_sort_by_alphabet_and_empty_cells_stay_last(browser: Browser, written: Path) -> None:
    visit = Visit(browser, written / "index.html")
    heads = visit.page.locator("#table-summary thead th button")
    heads.nth(0).click()
    names = visit.column("summary", 1)
    assert names == sorted(names)
    for _ in range(2):  # up, then down: the hindsight baselines have no rank
        heads.nth(3).click()
        assert visit.column("summary", 4)[-2:] == ["", ""]
    visit.page.close()


def test_numbers_sort_as_numbers_and_averages_stay_below(browser: Browser, written: Path) -> None:
    visit = Visit(browser, written / "index.html")
    visit.page.locator("#table-par10 thead th button").nth(1).click()
    values = [float(text.split("±")[0]) for text in visit.column("par10", 2)]
    assert len(values) == 3
    assert values == sorted(values)
    assert visit.page.locator("#table-par10 tfoot th").inner_text() == "average rank"
    visit.page.close()


def test_the_keyboard_sorts_and_unfolds(browser: Browser, written: Path) -> None:
    visit = Visit(browser, written / "index.html")
    visit.page.locator("#table-summary thead th button").nth(2).focus()
    visit.page.keyboard.press("Enter")
    values = [float(text) for text in visit.column("summary", 3)]
    assert values == sorted(values)
    visit.page.locator("#scenario-BETA summary").focus()
    visit.page.keyboard.press("Enter")
    assert visit.page.locator("#scenario-BETA figure").first.is_visible()
    visit.page.close()


def test_a_link_to_a_scenario_opens_it(browser: Browser, written: Path) -> None:
    visit = Visit(browser, written / "index.html")
    visit.page.goto(f"{visit.url}#scenario-GAMMA")
    visit.page.wait_for_timeout(100)
    assert visit.page.locator("#scenario-GAMMA figure").first.is_visible()
    visit.page.close()


def test_ids_are_unique_and_nothing_points_outside(written: Path) -> None:
    """Without a browser: every id once, every reference to one of them, no address of another place."""
    text = (written / "index.html").read_text(encoding="utf-8")
    ids = re.findall(r'\sid="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]+)"', text)) | set(re.findall(r"url\(#([^)]+)\)", text)) <= set(ids)
    assert not re.search(r'(?:src|href)="(?!#|data:)', text)
    assert os.sep + "figures" not in text


def test_a_phone_shows_legends_above_their_figures(browser: Browser, written: Path) -> None:
    for width, shown in ((390, True), (1280, False)):
        visit = Visit(browser, written / "index.html", width=width)
        visit.page.evaluate("for (const part of document.querySelectorAll('details')) part.open = true")
        visit.page.wait_for_timeout(200)
        legends = visit.page.locator("svg.legend")
        assert legends.count() == visit.page.locator('[id*="legend_"]').count() > 0
        assert all(legend.is_visible() is shown for legend in legends.all())
        assert visit.complaints == []
        visit.page.close()
