"""The dashboard in a real browser: logging in, charts that move, explanations, hostile names, keys alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

from tailcut.service.guard import ASSETS
from tests.chromium import launched
from tests.service.running import Running

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Dialog, Page

HOSTILE = "<img src=x onerror=alert(1)>"
INSTANCE = "</td><script>alert(2)</script>"
FEATURE = '"><svg onload=alert(3)>'
PATIENCE = 30_000
"""Milliseconds that anything may take; on an idle machine all is there at once."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    yield from launched()


@pytest.fixture(scope="module")
def farm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server with one project of 40 decisions, two of which wait, made by a client with odd names."""
    with Running(tmp_path_factory.mktemp("dashboard") / "state.db") as running:
        names = ["kissat", HOSTILE, "minisat"]
        path = running.create("farm", "tailcut", algorithms=names, feature_names=["size", FEATURE])
        requests = [
            {"features": [float(n % 7), float(n)], "instance": INSTANCE if n == 37 else f"i{n}"}
            for n in range(40)
        ]
        running.call("POST", f"{path}/select/batch", {"requests": requests})
        told: list[dict[str, float]] = [
            {"decision": n, "censored_at": 60.0} if n % 5 == 0 else {"decision": n, "runtime": 1.0 + n % 11}
            for n in range(38)
        ]
        answer = running.call("POST", f"{path}/observe/batch", {"outcomes": told})
        assert answer.status == 200
        assert all(one["learned"] for one in answer.json["answers"])
        yield running


class Visit:
    """A page and everything it asked for or complained about."""

    def __init__(self, browser: Browser, running: Running, *, width: int = 1280, dark: bool = False) -> None:
        scheme: Literal["dark", "light"] = "dark" if dark else "light"
        self.running = running
        self.page: Page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        self.page.set_default_timeout(PATIENCE)
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", self._refuse)
        self.page.goto(running.address)

    def _refuse(self, dialog: Dialog) -> None:
        self.complaints.append(dialog.message)
        dialog.dismiss()

    def __enter__(self) -> Visit:
        return self

    def __exit__(self, *_: object) -> None:
        self.page.close()

    def log_in(self, token: str | None = None) -> None:
        self.page.get_by_label("Token").fill(token or self.running.read_token)
        self.page.get_by_role("button", name="Log in").click()

    def open(self, project: str = "farm") -> None:
        """Log in and wait until a project is there with all that is fetched later."""
        self.log_in()
        self.page.locator(f"a[href='#/project/{project}']").click()
        self.page.get_by_role("button", name="Why decision").first.wait_for()
        self.page.locator(".pair .chart path.chosen").wait_for()

    def until(self, condition: str, *values: object) -> None:
        """Wait until a condition in the browser's language holds."""
        self.page.wait_for_function(condition, arg=list(values), timeout=PATIENCE)

    def text(self, selector: str) -> str:
        return self.page.locator(selector).first.inner_text()


LONG = "sat-competition-2022/main-track/hardware-verification/velev-pipe-unsat-1.0-{}-shuffled.cnf.xz"


@pytest.fixture(scope="module")
def long_names(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server with a project whose instances and algorithms have names as long as people give them."""
    with Running(tmp_path_factory.mktemp("long") / "state.db") as running:
        names = [
            "kissat-4.0.4-default-configuration-with-preprocessing",
            "minisat",
            "cryptominisat5-with-gauss",
        ]
        path = running.create("farm", "tailcut", algorithms=names, feature_names=["size", 9 * "feature_"])
        requests = [{"features": [n % 7.0, float(n)], "instance": LONG.format(n)} for n in range(30)]
        running.call("POST", f"{path}/select/batch", {"requests": requests})
        told: list[dict[str, float]] = [
            {"decision": n, "censored_at": 60.0} if n % 5 == 0 else {"decision": n, "runtime": 1.0 + n}
            for n in range(27)
        ]
        running.call("POST", f"{path}/observe/batch", {"outcomes": told})
        yield running


OVERPRINTED = """() => [...document.querySelectorAll("tbody tr")].flatMap((row) => {
  const kinds = ".algorithm, .end, .id, .instance .name, .bar, .share .number, time, button";
  const parts = [...row.querySelectorAll(kinds)];
  const boxes = parts.map((part) => part.getBoundingClientRect()).filter((box) => box.width > 0);
  return boxes.flatMap((one, index) => boxes.slice(index + 1)
    .filter((other) => one.left < other.right - 0.5 && other.left < one.right - 0.5
      && one.top < other.bottom - 0.5 && other.top < one.bottom - 0.5)
    .map(() => row.textContent));
})"""
"""The rows in which two parts lie upon each other."""

CUT_OFF = """() => [...document.querySelectorAll("main .scroll")]
  .filter((one) => one.checkVisibility() && one.scrollWidth > one.clientWidth)
  .map((one) => one.getAttribute("aria-label"))"""
"""The tables that show only a part of themselves."""


@pytest.mark.parametrize("width", [1280, 1100, 400, 320])
def test_long_names_leave_room_for_the_rest(browser: Browser, long_names: Running, width: int) -> None:
    with Visit(browser, long_names, width=width) as visit:
        visit.open()
        page = visit.page
        assert page.evaluate(OVERPRINTED) == []
        too_many_columns = {"Choices per algorithm", "Estimates, table"} if width < 500 else set()
        assert set(page.evaluate(CUT_OFF)) <= too_many_columns
        for button in page.get_by_role("button", name="Why decision").all():
            box, card = button.bounding_box(), page.locator(".lists > section").first.bounding_box()
            assert box is not None
            assert card is not None
            assert box["x"] + box["width"] < card["x"] + card["width"] <= width
        shown = "all => all.map(one => one.getBoundingClientRect().width)"
        for names in (".lists .instance .name", ".lists .algorithm .name"):
            assert min(page.locator(names).evaluate_all(shown)) > 25, "something of every name is to be seen"
        page.get_by_role("button", name="Why decision").first.click()
        page.get_by_text("Features that weigh most").first.wait_for()
        inside = page.locator("dialog .weights").bounding_box()
        window = page.locator("dialog").bounding_box()
        assert inside is not None
        assert window is not None
        assert inside["x"] + inside["width"] <= window["x"] + window["width"]
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def brightness(colour: str) -> int:
    return sum(map(int, re.findall(r"\d+", colour)[:3]))


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1280, 390])
def test_a_project_is_shown_without_errors_foreign_requests_or_sideways_scrolling(
    browser: Browser, farm: Running, width: int, dark: bool
) -> None:
    with Visit(browser, farm, width=width, dark=dark) as visit:
        visit.open()
        page = visit.page
        for summary in page.locator("summary").all():
            summary.click()
        assert page.locator("figure table tbody tr").count() > 10
        assert page.locator("figure svg[role=img]").count() == 4
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
        ink = page.evaluate("getComputedStyle(document.querySelector('figure svg text')).fill")
        assert (brightness(paper) > 384) is not dark
        assert (brightness(ink) > 384) is dark
        assert visit.text("[data-tile=decisions] .value") == "40"
        assert visit.text("[data-tile=solved] .value") == "79%"
        assert visit.complaints == []
        assert all(url.startswith(farm.address + "/") for url in visit.requests)


@pytest.mark.parametrize("width", [1280, 390, 320])
def test_the_log_in_stays_within_its_card(browser: Browser, farm: Running, width: int) -> None:
    with Visit(browser, farm, width=width) as visit:
        visit.page.get_by_label("Token").wait_for()
        edges = "one => [...one.querySelectorAll('*')].map(part => part.getBoundingClientRect().right)"
        card = visit.page.locator(".login")
        box = card.bounding_box()
        assert box is not None
        assert max(card.evaluate(edges)) < box["x"] + box["width"] <= width


@pytest.mark.parametrize("token", ["tailcut_wrong", "nö"])
def test_a_wrong_token_is_told_and_not_kept(browser: Browser, farm: Running, token: str) -> None:
    with Visit(browser, farm) as visit:
        visit.log_in(token)
        visit.until("() => document.querySelector('[role=alert]').textContent.includes('does not accept')")
        assert visit.page.evaluate("sessionStorage.length") == 0
        assert all("401" in text for text in visit.complaints), "the browser notes the answer itself"
        visit.log_in()
        visit.page.get_by_role("link", name="farm").wait_for()


def test_logging_out_forgets_the_token(browser: Browser, farm: Running) -> None:
    with Visit(browser, farm) as visit:
        visit.open()
        assert visit.page.evaluate("Object.values(sessionStorage)") == [farm.read_token]
        visit.page.reload()
        visit.page.get_by_role("button", name="Why decision").first.wait_for()  # still logged in
        visit.page.get_by_role("button", name="Log out").click()
        visit.page.get_by_label("Token").wait_for()
        assert visit.page.evaluate("[sessionStorage.length, localStorage.length, document.cookie]") == [
            0,
            0,
            "",
        ]
        assert "farm" not in visit.text("main")
        assert visit.complaints == []


def test_a_chart_moves_while_a_client_posts_outcomes(browser: Browser, running: Running) -> None:
    path = running.create("p")
    for number in range(3):
        running.call("POST", f"{path}/select", {"features": [1.0]})
        running.call("POST", f"{path}/observe", {"decision": number, "runtime": 2.0})
    with Visit(browser, running) as visit:
        visit.open("p")
        line = ".charts path.line.ours"
        before = visit.page.locator(line).get_attribute("d")
        assert visit.text("[data-tile=par10] .value") == "2 s"
        running.call("POST", f"{path}/select", {"features": [1.0], "instance": "late"})
        row = visit.page.get_by_role("row").filter(has_text="late").filter(has_text="Why?")
        row.get_by_text("waiting").wait_for()
        running.call("POST", f"{path}/observe", {"decision": 3, "runtime": 30.0})
        visit.until("([line, d]) => document.querySelector(line).getAttribute('d') !== d", line, before)
        visit.until("() => document.querySelector('[data-tile=par10] .value').textContent === '9 s'")
        row.get_by_text("solved 30 s").wait_for()
        assert visit.text("#connection") == "Live"
        assert visit.complaints == []


def test_a_decision_is_explained(browser: Browser, farm: Running) -> None:
    with Visit(browser, farm) as visit:
        visit.open()
        visit.page.get_by_role("button", name="Why decision 39", exact=True).click()
        window = visit.page.get_by_role("dialog", name="Why decision 39")
        window.get_by_role("table", name="Beliefs").wait_for()
        assert window.locator(".beliefs tbody tr").count() == 3
        assert "for at most 60 s on i39, because" in window.inner_text()
        visit.page.keyboard.press("Escape")
        window.wait_for(state="detached")
        assert visit.page.evaluate("document.activeElement.textContent") == "Why?"
        assert visit.complaints == []


def test_names_of_clients_stay_text(browser: Browser, farm: Running) -> None:
    with Visit(browser, farm) as visit:
        visit.open()
        page = visit.page
        page.get_by_label("Algorithm", exact=True).select_option(HOSTILE)
        visit.until(
            "([name]) => document.querySelector('.pair .chart .chosen bdi').textContent.startsWith(name)",
            HOSTILE,
        )
        assert page.locator("table.shares").get_by_text(HOSTILE, exact=True).count() == 1
        assert page.locator("table.cards").get_by_text(INSTANCE, exact=True).count() == 1
        page.get_by_role("button", name="Why decision 37", exact=True).click()
        page.locator("dialog .beliefs").get_by_text(HOSTILE, exact=True).wait_for()
        assert page.locator("dialog .lead").get_by_text(INSTANCE, exact=True).count() == 1
        assert page.evaluate("document.querySelectorAll('img[src=x], body script, svg[onload]').length") == 0
        assert visit.complaints == []
        # even a mistake in the page could not make HTML of a text: the policy forbids it
        tried = page.evaluate("try { document.body.innerHTML = '<b>x</b>'; 'made' } catch (e) { e.name }")
        assert tried == "TypeError"


def test_everything_can_be_done_by_key(browser: Browser, farm: Running) -> None:
    with Visit(browser, farm) as visit:
        page = visit.page
        keys = page.keyboard

        def walk(label: str) -> None:
            """Press Tab until something with this label or text has the focus, and can be seen to have it."""
            for _ in range(60):
                keys.press("Tab")
                label_or_text = page.evaluate(
                    "[document.activeElement].map((e) => e.ariaLabel ?? e.textContent)[0]"
                )
                if label_or_text.startswith(label):
                    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
                    return
            raise AssertionError(f"Tab never leads to {label!r}")

        page.get_by_label("Token").wait_for()
        keys.type(farm.read_token)  # the field has the focus already
        keys.press("Enter")
        page.get_by_role("link", name="farm").wait_for()
        walk("farm")
        keys.press("Enter")
        page.get_by_role("button", name="Why decision").first.wait_for()
        walk("PAR10: use the arrow keys")
        keys.press("Home")
        assert visit.text(".charts .readout").startswith("after 1 instance:")
        keys.press("ArrowRight")
        assert visit.text(".charts .readout").startswith("after 2 instances:")
        walk("As a table")
        keys.press("Enter")
        page.locator(".charts figure table").first.wait_for()
        walk("Why decision 39")
        keys.press("Enter")
        page.locator("dialog .beliefs").wait_for()
        keys.press("Enter")  # "Close" has the focus
        page.locator("dialog").wait_for(state="detached")
        assert visit.complaints == []


def test_from_an_empty_server_over_a_restart(browser: Browser, tmp_path: Path) -> None:
    with ExitStack() as stack:
        first = stack.enter_context(Running(tmp_path / "state.db"))
        visit = Visit(browser, first)
        page = visit.page
        visit.log_in()
        page.get_by_text("There are no projects yet.").wait_for()
        assert f"{first.address}/v1/projects" in visit.text(".empty pre")
        path = first.create("new")
        page.get_by_role("link", name="new").click()  # it appeared by itself
        page.get_by_text("No decisions yet.").wait_for()
        shown = "([path]) => document.querySelector('.empty pre').textContent.includes(path)"
        visit.until(shown, f"{first.address}{path}/select")
        assert visit.complaints == []
        stack.close()  # the server stops
        page.get_by_text("Not reachable").wait_for()
        with Running(first.path, port=first.port) as second:
            second.call("POST", f"{path}/select", {"features": [1.0]})
            page.get_by_text("Live", exact=True).wait_for()
            visit.until("() => document.querySelector('[data-tile=decisions] .value').textContent === '1'")
            assert not page.locator(".empty").is_visible()
            page.close()


def test_the_files_are_all_listed_small_and_make_no_html_of_texts() -> None:
    """Without a browser."""
    folder = files("tailcut.service") / "page"
    texts = {file.name: file.read_text(encoding="utf-8") for file in folder.iterdir() if file.is_file()}
    assert texts.keys() == {*ASSETS, "index.html"}
    for name, text in texts.items():
        assert text.count("\n") < 400, name
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|style=", text), (
            name
        )
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text), name
        assert set(re.findall(r'from "\./([^"]+)"', text)) <= texts.keys(), name
