"""`jurybox serve` in a real browser: every page, filters, rating by keys through a killed server, scripts that must not
run, axe, and screenshots at three widths.

Needs Chromium as `test_browser.py` does: in CI its absence is a failure, elsewhere these tests skip.
"""

from __future__ import annotations

import json
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from conftest import command_line
from jurybox.store import RunReader, current_ratings, history, item_keys
from test_browser import SCREENS, WIDTHS, browser, serious_violations  # noqa: F401
from test_web import judged_run

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PAGES = {
    "overview": "/",
    "items": "/items?sort=low",
    "item": "/items/2",
    "compare": "/versus",
    "side-by-side": "/versus/1/3",
    "failures": "/failures",
    "judge": "/judge",
    "annotate-start": "/annotate",
    "annotate": "/annotate?rater=ann",
    "error": "/nowhere",
}


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


class Serving:
    """The real command in a process of its own, which can be killed and started again at the same address."""

    def __init__(self, run: Path) -> None:
        self.run, self.port = run, free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> Serving:
        words = command_line("serve", self.run, "--port", self.port, "--json")
        self._process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        told = ""
        while not told.endswith("}\n"):
            line = self._process.stdout.readline()
            assert line, "the server ended before it could be reached"
            told += line
        assert json.loads(told)["url"] == f"{self.url}/"
        return self

    def stop(self, how: int = signal.SIGTERM) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(20)
            assert self._process.stdout is not None
            self._process.stdout.close()
            self._process = None


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # In a thread of its own: Playwright keeps an event loop in this one.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(judged_run, tmp_path_factory.mktemp("serve") / "kettles.run.db").result()


@pytest.fixture(scope="module")
def reading(made: Path) -> Iterator[Serving]:
    server = Serving(made).start()
    yield server
    server.stop()


@pytest.fixture
def rating(made: Path, tmp_path: Path) -> Iterator[Serving]:
    server = Serving(Path(shutil.copy(made, tmp_path / "run.db"))).start()
    yield server
    server.stop()


def opened(browser: Browser, url: str, width: int = 1024, **options: Any) -> Page:  # noqa: F811
    context = browser.new_context(viewport={"width": width, "height": 900}, **options)
    page = context.new_page()
    page.goto(url)
    return page


def until(page: Page, holds: str) -> None:
    """Asked from here: Playwright's own way to wait is `eval`, which the policy of the pages forbids."""
    deadline = time.monotonic() + 20
    while not page.evaluate(holds):
        assert time.monotonic() < deadline, holds
        page.wait_for_timeout(30)


def settled(page: Page) -> None:
    """Until what is computed beside the page has come, and axe can judge it."""
    until(page, "!/[Bb]eing computed/.test(document.body.textContent)")


@pytest.mark.parametrize("name", PAGES)
def test_nothing_judged_runs_and_nothing_is_loaded_from_elsewhere(
    browser: Browser,  # noqa: F811
    reading: Serving,
    name: str,
) -> None:
    context = browser.new_context()
    page = context.new_page()
    told: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: told.append(message.text))
    page.on("pageerror", lambda error: told.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(reading.url + PAGES[name])
    page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    settled(page)
    page.wait_for_timeout(300)
    assert page.evaluate("window.hacked") is None
    assert {url.partition("/static/")[0] for url in asked if "/static/" in url} == {reading.url}
    assert [url for url in asked if not url.startswith(f"{reading.url}/")] == []
    told = [text for text in told if name != "error" or "404" not in text]
    assert told == [], "neither the policy nor a script complains"
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing_serious(browser: Browser, reading: Serving, name: str, scheme: str) -> None:  # noqa: F811
    page = opened(browser, reading.url + PAGES[name], bypass_csp=True, color_scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    settled(page)
    assert serious_violations(page) == []
    page.context.close()


@pytest.mark.parametrize("width", WIDTHS)
def test_every_page_fits_its_window(browser: Browser, reading: Serving, width: int) -> None:  # noqa: F811
    """Only tables scroll sideways, each in its own place. Leaves screenshots to look at."""
    SCREENS.mkdir(parents=True, exist_ok=True)
    for name, path in PAGES.items():
        page = opened(browser, reading.url + path, width)
        settled(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        page.screenshot(path=SCREENS / f"serve-{name}-{width}.png", full_page=True)
        page.context.close()


def test_pages_lead_to_each_other(browser: Browser, reading: Serving) -> None:  # noqa: F811
    """From the overview over a cell to a filtered list, to an item, to a comparison."""
    page = opened(browser, reading.url)
    page.locator("table.heatmap td a").first.click()
    page.wait_for_url("**/items?**")
    assert "sort=low" in page.url
    page.locator("table.list tbody th a").first.click()
    page.wait_for_url("**/items/*")
    assert page.locator("mark").count() > 0
    page.get_by_role("link", name="compare", exact=True).first.click()
    page.wait_for_url("**/versus/*/*")
    assert page.locator("section.card").count() == 3
    for name in ("Overview", "Items", "Compare", "Failures", "Judge", "Annotate"):
        page.get_by_role("navigation", name="Pages").get_by_role("link", name=name).click()
        assert page.locator(f"nav a[aria-current=page]:has-text('{name}')").count() == 1
    page.context.close()


def test_filters_work_with_and_without_a_script(browser: Browser, reading: Serving) -> None:  # noqa: F811
    for scripts in (True, False):
        page = opened(browser, f"{reading.url}/items", java_script_enabled=scripts)
        page.get_by_label("System").select_option("altered")
        page.get_by_label("Rubric").select_option("fluency")
        page.get_by_label("Score at most").fill("3")
        page.get_by_role("button", name="Filter").click()
        page.wait_for_url("**/items?**")
        systems = page.locator("td.system").all_text_contents()
        assert systems
        assert set(systems) == {"altered"}
        assert page.get_by_label("System").input_value() == "altered", "the filter shows what it filters"
        page.get_by_label("Text").fill("nowhere at all")
        page.get_by_role("button", name="Filter").click()
        page.get_by_text("No item matches").wait_for()
        page.get_by_role("link", name="Show all").click()
        assert page.locator("table.list tbody tr").count() == 24
        page.context.close()


def far(page: Page) -> int:
    found = re.match(r"(\d+) of", page.locator("#far").text_content() or "")
    assert found is not None
    return int(found[1])


def rate(page: Page, key: str) -> None:
    before = far(page)
    page.keyboard.press(key)
    until(page, f"document.getElementById('far').textContent.startsWith('{before + 1} of')")


def mine(run: Path, rater: str = "ann") -> list[float]:
    with RunReader(run) as reader:
        return [one.score for one in history(reader, rater) if one.score is not None and one.action == "score"]


def test_ten_ratings_by_keys_survive_a_kill_of_the_server(browser: Browser, rating: Serving) -> None:  # noqa: F811
    """Five, then the server is killed, a sixth is given while it is away, it comes back: all ten are there, once."""
    page = opened(browser, f"{rating.url}/annotate")
    page.get_by_label("Your name").fill("ann")
    page.keyboard.press("Enter")
    page.wait_for_url("**/annotate?**")
    for key in "12345":
        rate(page, key)
    assert mine(rating.run) == [1, 2, 3, 4, 5]
    rating.stop(signal.SIGKILL)
    page.keyboard.press("5")
    page.get_by_text("kept in this browser").wait_for()
    assert mine(rating.run) == [1, 2, 3, 4, 5]
    rating.start()
    until(page, "document.getElementById('far').textContent.startsWith('6 of')")
    for key in "4321":
        rate(page, key)
    assert mine(rating.run) == [1, 2, 3, 4, 5, 5, 4, 3, 2, 1]
    with RunReader(rating.run) as reader:
        assert len(list(current_ratings(reader, "ann"))) == 10
    page.context.close()


def test_a_rating_survives_a_browser_that_dies(browser: Browser, rating: Serving) -> None:  # noqa: F811
    """Given while the server was away, the tab closed: the next visit sends it."""
    page = opened(browser, f"{rating.url}/annotate?rater=ann")
    rate(page, "2")
    rating.stop(signal.SIGKILL)
    page.keyboard.press("4")
    page.get_by_text("kept in this browser").wait_for()
    context = page.context
    page.close()
    rating.start()
    later = context.new_page()
    later.goto(f"{rating.url}/annotate?rater=ann")
    until(later, "document.getElementById('far').textContent.startsWith('2 of')")
    assert mine(rating.run) == [2, 4]
    context.close()


def test_a_rating_survives_a_run_file_that_is_away(browser: Browser, rating: Serving, tmp_path: Path) -> None:  # noqa: F811
    page = opened(browser, f"{rating.url}/annotate?rater=ann")
    away = rating.run.rename(tmp_path / "away.db")
    page.keyboard.press("4")
    page.get_by_text("kept in this browser").wait_for()
    away.rename(rating.run)
    until(page, "document.getElementById('far').textContent.startsWith('1 of')")
    assert mine(rating.run) == [4]
    page.context.close()


def test_skip_undo_and_comment_have_keys(browser: Browser, rating: Serving) -> None:  # noqa: F811
    page = opened(browser, f"{rating.url}/annotate?rater=zoe&rubric=fluency")
    first = page.locator("#desk").get_attribute("data-item")
    page.keyboard.press("s")
    until(page, f"document.getElementById('desk').dataset.item !== '{first}'")
    page.keyboard.press("u")
    until(page, f"document.getElementById('desk').dataset.item === '{first}'")
    page.keyboard.press("c")
    page.keyboard.type("3 good points, 1 bad one")
    page.keyboard.press("Enter")
    rate(page, "4")
    with RunReader(rating.run) as reader:
        (kept,) = current_ratings(reader, "zoe")
        assert (kept.score, kept.comment) == (4.0, "3 good points, 1 bad one")
        assert [one.action for one in history(reader, "zoe")] == ["skip", "undo", "score"]
    page.context.close()


def test_rating_works_without_a_script(browser: Browser, rating: Serving) -> None:  # noqa: F811
    page = opened(browser, f"{rating.url}/annotate?rater=zoe", java_script_enabled=False)
    page.locator("button.step").nth(2).click()
    page.wait_for_url("**/annotate?rater=zoe**")
    page.get_by_role("button", name="Undo").click()
    page.locator("button.step").nth(4).click()
    with RunReader(rating.run) as reader:
        assert [one.score for one in current_ratings(reader, "zoe")] == [5.0]
    page.context.close()


def test_two_raters_see_their_agreement_while_they_rate(browser: Browser, rating: Serving) -> None:  # noqa: F811
    for rater in ("ann", "zoe"):
        page = opened(browser, f"{rating.url}/annotate?rater={rater}&rubric=fluency&order=together")
        for key in "2453":
            rate(page, key)
        if rater == "zoe":
            page.get_by_role("heading", name="Agreement between raters").wait_for()
            page.locator("section.raters th:has-text('zoe')").wait_for()
        page.context.close()
    with RunReader(rating.run) as reader:
        keys = {rater: {one.key for one in current_ratings(reader, rater)} for rater in ("ann", "zoe")}
    assert keys["ann"] == keys["zoe"], "in one order, two raters rate the same"


def test_the_page_follows_a_run_that_grows(browser: Browser, rating: Serving) -> None:  # noqa: F811
    """What another process writes comes into the open page, without a reload."""
    import sqlite3

    connection = sqlite3.connect(rating.run)
    connection.execute("UPDATE series SET expected = expected * 2")
    connection.commit()
    rating.run.with_name(rating.run.name + "-lock").touch()
    page = opened(browser, rating.url)
    before = page.locator("dl.facts dd").nth(2).text_content()
    assert before == "24"
    page.evaluate("window.stayed = true")
    connection.execute("INSERT INTO items SELECT item + 100, id || ' new', system, summary, source, '{}' FROM items")
    connection.execute("INSERT INTO judgments SELECT item + 100, series, sample, call, score, status FROM judgments")
    connection.commit()
    connection.close()
    until(page, "document.querySelectorAll('dl.facts dd')[2].textContent === '48'")
    assert page.evaluate("window.stayed") is True
    page.context.close()


def test_the_run_has_the_items_that_the_pages_show(made: Path) -> None:
    with RunReader(made) as reader:
        assert len(item_keys(reader)) == 24
