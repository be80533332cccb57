"""The judge card in a real browser: fits its window, axe finds nothing serious, nothing runs, it prints."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import test_browser
from cards import agreed_and_tested, with_hostile_names

if TYPE_CHECKING:
    from playwright.sync_api import Browser

browser = test_browser.browser  # the same fixture


@pytest.fixture(scope="module")
def card_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The card of a judge with everything: stress, people, several samples' worth of words."""
    with ThreadPoolExecutor(1) as thread:  # Playwright keeps an event loop in this one
        return thread.submit(agreed_and_tested, tmp_path_factory.mktemp("card")).result()


@pytest.fixture(scope="module")
def cards_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two cards side by side, with text that attacks wherever a document may hold text."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(with_hostile_names, tmp_path_factory.mktemp("cards")).result()


@pytest.mark.parametrize("scheme", test_browser.SCHEMES)
@pytest.mark.parametrize("which", ["card_file", "cards_file"])
def test_axe_finds_nothing_serious(browser: Browser, which: str, scheme: str, request: pytest.FixtureRequest) -> None:
    page = test_browser.opened(browser, request.getfixturevalue(which), scheme=scheme, bypass_csp=True)
    assert test_browser.serious_violations(page) == []
    page.context.close()


@pytest.mark.parametrize("width", test_browser.WIDTHS)
@pytest.mark.parametrize("scheme", test_browser.SCHEMES)
@pytest.mark.parametrize("which", ["card_file", "cards_file"])
def test_the_page_fits_its_window(
    browser: Browser, which: str, width: int, scheme: str, request: pytest.FixtureRequest
) -> None:
    """Only tables scroll sideways. Leaves a screenshot to look at."""
    page = test_browser.opened(browser, request.getfixturevalue(which), width, scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    test_browser.SCREENS.mkdir(parents=True, exist_ok=True)
    shot = test_browser.SCREENS / f"{which.removesuffix('_file')}-{width}-{scheme}.png"
    page.screenshot(path=shot, full_page=True)
    page.context.close()


def test_nothing_runs_and_nothing_is_loaded(browser: Browser, cards_file: Path) -> None:
    context = browser.new_context()
    page = context.new_page()
    told: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: told.append(message.text))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(cards_file.as_uri())
    assert page.evaluate("window.hacked") is None
    assert asked == [cards_file.as_uri()]
    assert told == []
    context.close()


def test_it_prints_on_light_paper(browser: Browser, card_file: Path) -> None:
    page = test_browser.opened(browser, card_file, scheme="dark")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(23, 32, 42)"
    printed = page.pdf(path=test_browser.SCREENS / "card.pdf", prefer_css_page_size=True, print_background=True)
    assert printed.startswith(b"%PDF")
    page.context.close()
