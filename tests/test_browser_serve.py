"""`jurybox serve` in a real browser: every page, filters, scripts that must not run, axe, screenshots at three widths.

Needs Chromium as `test_browser.py` does: in CI its absence is a failure, elsewhere these tests skip.
"""
# ruff: noqa: F811 (fixtures come from other files by name)

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from browsing import Serving, made, opened, settled, until  # noqa: F401
from cards import LENGTH, ROUGE, crash_tested
from jurybox.store import RunReader, item_keys
from pages import HOSTILE
from test_browser import SCREENS, WIDTHS, browser, serious_violations  # noqa: F401

if TYPE_CHECKING:
    from playwright.sync_api import Browser


PAGES = {
    "overview": "/",
    "items": "/items?sort=low",
    "items-by-reason": "/items?text=made+of+gold&where=reasons",
    "item": "/items/2",
    "compare": "/versus",
    "side-by-side": "/versus/1/3",
    "failures": "/failures",
    "judge": "/judge",
    "annotate-start": "/annotate",
    "annotate": "/annotate?rater=ann",
    "error": "/nowhere",
}


@pytest.fixture(scope="module")
def tested(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What was found about a judge of the run and another, in words that attack."""
    folder = tmp_path_factory.mktemp("tested")
    with ThreadPoolExecutor(1) as thread:
        document = thread.submit(crash_tested, folder, [ROUGE, LENGTH]).result().as_dict()
    document = json.loads(json.dumps(document).replace(ROUGE, "openai/a"))
    document["judges"][f"openai/{HOSTILE}"] = document["judges"].pop(LENGTH)
    path = folder / "stress.json"
    path.write_text(json.dumps(document), "utf-8")
    return path


@pytest.fixture(scope="module")
def reading(made: Path, tested: Path) -> Iterator[Serving]:
    server = Serving(made, tested).start()
    yield server
    server.stop()


@pytest.mark.parametrize("name", PAGES)
def test_nothing_judged_runs_and_nothing_is_loaded_from_elsewhere(
    browser: Browser,
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
def test_axe_finds_nothing_serious(browser: Browser, reading: Serving, name: str, scheme: str) -> None:
    page = opened(browser, reading.url + PAGES[name], bypass_csp=True, color_scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    settled(page)
    assert serious_violations(page) == []
    page.context.close()


@pytest.mark.parametrize("width", WIDTHS)
def test_every_page_fits_its_window(browser: Browser, reading: Serving, width: int) -> None:
    """Only tables scroll sideways, each in its own place. Leaves screenshots to look at."""
    SCREENS.mkdir(parents=True, exist_ok=True)
    for name, path in PAGES.items():
        page = opened(browser, reading.url + path, width)
        settled(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        page.screenshot(path=SCREENS / f"serve-{name}-{width}.png", full_page=True)
        page.context.close()


def test_pages_lead_to_each_other(browser: Browser, reading: Serving) -> None:
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


def test_filters_work_with_and_without_a_script(browser: Browser, reading: Serving) -> None:
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
        page.get_by_role("searchbox", name="Text").fill("nowhere at all")
        page.get_by_role("button", name="Filter").click()
        page.get_by_text("No item matches").wait_for()
        page.get_by_role("link", name="Show all").click()
        assert page.locator("table.list tbody tr").count() == 24
        page.context.close()


def test_the_run_has_the_items_that_the_pages_show(made: Path) -> None:
    with RunReader(made) as reader:
        assert len(item_keys(reader)) == 24
