"""Looking for a text in judges' reasons: the same as reading every one of them, also while a run grows."""
# ruff: noqa: F811 (fixtures come from `kettles` by name)

from __future__ import annotations

import itertools
import json
import sqlite3
import time
from pathlib import Path
from urllib.parse import urlencode

import pytest

from jurybox.report.browse_index import read_index
from jurybox.report.browsing import Found, Wanted
from jurybox.store import RunReader, item_keys
from jurybox.types import Judgment
from jurybox.web.searching import Searches
from jurybox.web.watching import Watch
from kettles import listed, made, reading, run, served  # noqa: F401
from pages import HOSTILE
from serving import Served


def changed(run: Path, *statements: str) -> None:
    connection = sqlite3.connect(run)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


def found_in_reasons(searches: Searches, run: Path, text: str, wanted: Wanted) -> set[tuple[str, str]]:
    """The items that have this text in a wanted reason, when all were looked through."""
    with RunReader(run) as reader:
        index, keys = read_index(reader), item_keys(reader)
    until = time.monotonic() + 20
    while True:
        cells, share = searches.in_reasons(index, text)
        if share == 1:
            break
        assert time.monotonic() < until, "the search ends"
    hits = index.select(wanted, Found(None, cells))
    return {key for key, hit in zip(keys, hits, strict=True) if hit}


def by_reading(run: Path, text: str, wanted: Wanted) -> set[tuple[str, str]]:
    def meant(one: Judgment) -> bool:
        judge = wanted.judge == one.judge or (not wanted.judge and not one.judge.startswith("baseline/"))
        return judge and wanted.rubric in ("", one.rubric) and wanted.system in ("", one.system)

    with RunReader(run) as reader:
        every = list(reader.judgments())
    return {(one.id, one.system) for one in every if meant(one) and text.lower() in one.verdict.reason.lower()}


TEXTS = ["kettle 1", "MADE OF GOLD", 'say "boils', "nowhere at all", "fluency", "%", "no one says", "\\"]
FILTERS = [
    Wanted(system=system, rubric=rubric, judge=judge)
    for system, rubric, judge in itertools.product(
        ("", "altered"), ("", "fluency"), ("", "openai/b", "baseline/length")
    )
]


@pytest.mark.parametrize("text", TEXTS)
def test_reasons_are_found_as_by_reading_each(made: Path, text: str) -> None:
    """The name of a rubric stands beside its reason in the file, and is not found for it."""
    searches = Searches(Watch(made))
    for wanted in FILTERS:
        assert found_in_reasons(searches, made, text, wanted) == by_reading(made, text, wanted), wanted


def test_a_reason_counts_for_its_own_rubric(run: Path) -> None:
    """Two rubrics that one call answered have reasons of their own."""
    both = json.dumps({"fluency": "It limps.", "aspect_coverage": 'It "forgets"\nthe lid.'})
    changed(run, f"UPDATE calls SET reasons = '{both}' WHERE call IN (SELECT call FROM judgments WHERE item = 3)")
    searches = Searches(Watch(run))
    for text, rubric in itertools.product(("limps", "forgets", '"forgets"\nthe'), ("fluency", "aspect_coverage")):
        wanted = Wanted(rubric=rubric)
        assert found_in_reasons(searches, run, text, wanted) == by_reading(run, text, wanted)
        assert bool(by_reading(run, text, wanted)) == ((text == "limps") == (rubric == "fluency"))


def test_what_is_judged_later_is_found_too(run: Path) -> None:
    """New items, new samples of known ones, an answer that serves another item; then a call that was tried again."""
    searches = Searches(Watch(run))
    before = found_in_reasons(searches, run, "gold", Wanted())
    more = "call + 5000, zeroblob(8) || call, prompt_digest, sample, attempts, error, text, reasoning, refusal, finish"
    rest = "model, tokens_in, tokens_out, tokens_cached, seconds, cost, at, scale"
    changed(
        run,
        "INSERT INTO items SELECT item + 100, id || ' new', system, summary, source, '{}' FROM items WHERE item < 5",
        f"INSERT INTO calls SELECT {more}, {rest}, replace(reasons, 'gold', 'gold and tin'), reused, shown FROM calls",
        "INSERT INTO judgments SELECT item + 100, series, sample, call, score, status FROM judgments WHERE item < 3",
        "INSERT INTO judgments SELECT item + 100, series, sample, call + 5000, score, status FROM judgments "
        "WHERE item IN (3, 4)",
        "INSERT INTO judgments SELECT item, series, 3, call + 5000, score, status FROM judgments "
        "WHERE item = 6 AND sample = 1",
    )
    for text in ("gold", "tin"):
        assert found_in_reasons(searches, run, text, Wanted()) == by_reading(run, text, Wanted())
    assert len(found_in_reasons(searches, run, "gold", Wanted())) > len(before)
    changed(
        run,
        "UPDATE calls SET reasons = replace(reasons, 'gold', 'brass') WHERE call < 20",
        "INSERT INTO attempts (call, attempt) VALUES (1, 1)",
    )
    for text in ("gold", "brass"):
        assert found_in_reasons(searches, run, text, Wanted()) == by_reading(run, text, Wanted())


def test_the_list_shows_the_reason_that_has_the_text(reading: Served, made: Path) -> None:
    query = urlencode({"text": "kettle 3 is made of gold", "where": "reasons"})
    until = time.monotonic() + 20
    while "Still looking" in reading.get(f"/items?{query}").text:
        assert time.monotonic() < until
    page = reading.get(f"/items?{query}").page
    (row,) = page.one("tbody").all("tr")
    assert row.one("mark").text == "kettle 3 is made of gold"
    assert 'but no one says "the ' in row.one("q").text
    assert listed(reading, f"/items?{query}&judge=baseline/length") == []
    assert listed(reading, "/items?" + urlencode({"text": "made of gold", "where": "texts"})) == []
    assert len(listed(reading, "/items?" + urlencode({"text": "made of gold"}))) == len(
        by_reading(made, "made of gold", Wanted())
    )


def test_a_page_that_is_still_looking_says_so_and_asks_again(reading: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = reading.site.searches.in_reasons
    monkeypatch.setattr(Searches, "in_reasons", lambda self, index, text: (whole(index, text)[0], 0.4))
    query = urlencode({"text": HOSTILE, "sort": "low"})
    page = reading.get(f"/items?{query}").page
    assert "40 % so far" in page.one("main").text
    (part,) = [one for one in page.all("div") if "data-live" in one.attributes]
    assert part.attributes["data-live"] == f"/live/items?{query}"
    answer = reading.get(part.attributes["data-live"])
    assert answer.headers["x-live"] == "1"
    assert HOSTILE in answer.page.text


def test_pages_say_what_they_cost(served: Served) -> None:
    assert served.get("/items").headers["server-timing"].startswith("cpu;dur=")
