"""Rating in a real browser, by keys and through a killed server, and a page that follows a run that grows.

Needs Chromium as `test_browser.py` does: in CI its absence is a failure, elsewhere these tests skip.
"""
# ruff: noqa: F811 (fixtures come from other files by name)

from __future__ import annotations

import re
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from browsing import Serving, made, opened, until  # noqa: F401
from jurybox.store import RunReader, current_ratings, history
from test_browser import browser  # noqa: F401

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture
def rating(made: Path, tmp_path: Path) -> Iterator[Serving]:
    server = Serving(Path(shutil.copy(made, tmp_path / "run.db"))).start()
    yield server
    server.stop()


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


def test_ten_ratings_by_keys_survive_a_kill_of_the_server(browser: Browser, rating: Serving) -> None:
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


def test_a_rating_survives_a_browser_that_dies(browser: Browser, rating: Serving) -> None:
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


def test_a_rating_survives_a_run_file_that_is_away(browser: Browser, rating: Serving, tmp_path: Path) -> None:
    page = opened(browser, f"{rating.url}/annotate?rater=ann")
    away = rating.run.rename(tmp_path / "away.db")
    page.keyboard.press("4")
    page.get_by_text("kept in this browser").wait_for()
    away.rename(rating.run)
    until(page, "document.getElementById('far').textContent.startsWith('1 of')")
    assert mine(rating.run) == [4]
    page.context.close()


def test_skip_undo_and_comment_have_keys(browser: Browser, rating: Serving) -> None:
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


def test_rating_works_without_a_script(browser: Browser, rating: Serving) -> None:
    page = opened(browser, f"{rating.url}/annotate?rater=zoe", java_script_enabled=False)
    page.locator("button.step").nth(2).click()
    page.wait_for_url("**/annotate?rater=zoe**")
    page.get_by_role("button", name="Undo").click()
    page.locator("button.step").nth(4).click()
    with RunReader(rating.run) as reader:
        assert [one.score for one in current_ratings(reader, "zoe")] == [5.0]
    page.context.close()


def test_two_raters_see_their_agreement_while_they_rate(browser: Browser, rating: Serving) -> None:
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


def test_the_page_follows_a_run_that_grows(browser: Browser, rating: Serving) -> None:
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
