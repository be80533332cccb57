"""Pages in a real browser: nothing runs that should not, nothing overflows, axe finds nothing serious, it prints.

Needs Chromium (`CHROMIUM_PATH`, or where Debian puts it). In CI its absence is a failure; elsewhere these tests skip.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from jurybox.api import judging, reporting
from pages import HOSTILE, record, scoring
from server import JudgeServer

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ROOT = Path(__file__).parent.parent
SCREENS = ROOT / "build" / "screens"
AXE = Path(__file__).parent / "vendor" / "axe.min.js"
CHROMIUM = Path(os.environ.get("CHROMIUM_PATH", "/usr/bin/chromium"))
ARGUMENTS = (
    *("--no-sandbox", "--headless", "--disable-gpu", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
)
WIDTHS = (390, 1024, 1600)
SCHEMES = ("light", "dark")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if not CHROMIUM.exists():
        message = f"there is no Chromium at {CHROMIUM}; install it, or set CHROMIUM_PATH"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a run that has everything: a jury, a baseline, people, failures, and text that attacks."""
    folder = tmp_path_factory.mktemp("page")
    systems = ("careful", "lead-of-the-description", "altered", f"hostile {HOSTILE}")
    scores: dict[str, list[int | None]] = {"a": [], "b": []}
    records: list[dict[str, Any]] = []
    for source in range(6):
        for place, system in enumerate(systems):
            number = len(records)
            rated = {"fluency": {"ann": 1 + (source + place) % 5, "bob": 1 + (source + 2 * place) % 5}}
            records.append({**record(number, system, human=rated), "id": f"kettle-{source}"})
            scores["a"].append(None if number == 7 else max(5 - place, 1 + source % 3))
            scores["b"].append(1 + (number * 3) % 5)
    records[0]["reviews"].append(f"A review. {HOSTILE}")

    def judged(server: JudgeServer) -> Path:
        run = judging.evaluate(
            records,
            rubrics="fluency,aspect_coverage",
            judge=["openai/a", "openai/b", "baseline/length"],
            base_url=server.base_url,
            out=folder / "kettles.run.db",
            cache=False,
            reasks=0,
        )
        return reporting.report(run, folder / "report.html")

    # In a thread of its own: Playwright keeps an event loop in this one.
    with JudgeServer() as server, ThreadPoolExecutor(1) as thread:
        server.plan = scoring(scores)
        return thread.submit(judged, server).result()


def opened(browser: Browser, file: Path, width: int = 1024, scheme: Any = "light", **options: Any) -> Page:
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, **options)
    page = context.new_page()
    page.goto(file.as_uri())
    return page


def test_nothing_that_was_judged_runs_and_nothing_is_loaded(browser: Browser, page_file: Path) -> None:
    context = browser.new_context()
    page = context.new_page()
    told: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: told.append(message.text))
    page.on("pageerror", lambda error: told.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(page_file.as_uri())
    assert page.evaluate("window.hacked") is None
    assert asked == [page_file.as_uri()], "the page is one file"
    assert told == [], "neither the policy nor the script complains"
    context.close()


def test_the_policy_stops_what_escaping_would_let_through(browser: Browser, page_file: Path, tmp_path: Path) -> None:
    """Markup put into the page on purpose: the second line of defence holds by itself."""
    attack = "<img src=x onerror='window.hacked=1'><script>window.hacked=1</script><p style='color:red' id=styled>x</p>"
    broken = tmp_path / "broken.html"
    broken.write_text(page_file.read_text("utf-8").replace("</main>", f"{attack}</main>"), "utf-8")
    page = opened(browser, broken)
    page.wait_for_timeout(100)
    assert page.evaluate("window.hacked") is None
    assert page.evaluate("getComputedStyle(document.getElementById('styled')).color") != "rgb(255, 0, 0)"
    page.context.close()


def serious_violations(page: Page) -> list[str]:
    """What axe-core calls serious or critical; the page must let its script in (`bypass_csp`)."""
    page.add_script_tag(path=AXE)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{one['id']}: {one['help']} ({one['nodes'][0]['html'][:160]})"
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_axe_finds_nothing_serious(browser: Browser, page_file: Path, scheme: str) -> None:
    page = opened(browser, page_file, scheme=scheme, bypass_csp=True)
    page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    assert serious_violations(page) == []
    page.context.close()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_page_fits_its_window(browser: Browser, page_file: Path, width: int, scheme: str) -> None:
    """Only tables scroll sideways, each in its own place. Leaves a screenshot to look at."""
    page = opened(browser, page_file, width, scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    SCREENS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENS / f"report-{width}-{scheme}.png", full_page=True)
    page.context.close()


def test_dark_and_light_are_different_and_follow_the_machine(browser: Browser, page_file: Path) -> None:
    grounds = set()
    for scheme in SCHEMES:
        page = opened(browser, page_file, scheme=scheme)
        grounds.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        page.context.close()
    assert len(grounds) == 2


def test_a_table_sorts_by_keyboard_and_comes_back(browser: Browser, page_file: Path) -> None:
    page = opened(browser, page_file)
    first = "document.querySelector('table.heatmap').tBodies[0].rows[0].cells[0].textContent"
    values = "[...document.querySelector('table.heatmap').tBodies[0].rows].map((row) => row.cells[1].dataset.value)"
    before = page.evaluate(first)
    button = page.locator("table.heatmap thead button").nth(1)
    button.focus()
    page.keyboard.press("Enter")
    shown = [float(value) for value in page.evaluate(values)]
    assert shown == sorted(shown, reverse=True)
    assert page.locator("table.heatmap th[aria-sort=descending]").count() == 1
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    assert page.evaluate(first) == before
    page.context.close()


def test_everything_is_there_without_a_script(browser: Browser, page_file: Path) -> None:
    page = opened(browser, page_file, java_script_enabled=False)
    closed = page.locator("details.item:not([open])").first
    closed.locator("summary").click()
    assert page.locator("table.heatmap").first.is_visible()
    assert page.locator("section.source").first.is_visible()
    page.context.close()


def test_it_prints_light_whatever_the_screen_is(browser: Browser, page_file: Path) -> None:
    page = opened(browser, page_file, scheme="dark")
    page.emulate_media(media="print")
    ink = page.evaluate("getComputedStyle(document.body).color")
    assert ink == "rgb(23, 32, 42)"
    SCREENS.mkdir(parents=True, exist_ok=True)
    printed = page.pdf(path=SCREENS / "report.pdf", prefer_css_page_size=True, print_background=True)
    assert printed.startswith(b"%PDF")
    page.context.close()
