"""Lists of `jurybox serve`: complete, without duplicates, and the same as going through every judgment."""
# ruff: noqa: F811 (fixtures come from `kettles` by name)

from __future__ import annotations

import itertools
import math
import sqlite3
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from jurybox.report.browse_index import read_index
from jurybox.report.browse_tables import judge_tables
from jurybox.report.browsing import SORTS, RunIndex, Wanted
from jurybox.report.paging import Cursor
from jurybox.store import RunReader, item_keys
from jurybox.types import SCALE, Judgment
from kettles import listed, made, reading, run, served  # noqa: F401
from serving import Served

# Lists: complete, without duplicates, and the same as going through every judgment


@pytest.fixture(scope="module")
def index(made: Path) -> RunIndex:
    with RunReader(made) as reader:
        return read_index(reader)


@pytest.fixture(scope="module")
def judgments(made: Path) -> list[Judgment]:
    with RunReader(made) as reader:
        return list(reader.judgments())


@pytest.fixture(scope="module")
def keys(made: Path) -> list[tuple[str, str]]:
    with RunReader(made) as reader:
        return item_keys(reader)


def walked(index: RunIndex, wanted: Wanted, size: int, found: Any = None) -> list[int]:
    places: list[int] = []
    cursor = None
    while True:
        page = index.page(wanted, found, size, after=cursor)
        assert page.first == (len(places) + 1 if page.places else 0)
        places += page.places
        if page.after is None:
            assert page.total == len(places)
            return places
        cursor = Cursor.read(str(page.after))


def by_hand(judgments: list[Judgment], keys: list[tuple[str, str]], wanted: Wanted) -> set[int]:
    cells: dict[tuple[tuple[str, str], str, str], list[Judgment]] = {}
    for one in judgments:
        cells.setdefault(((one.id, one.system), one.rubric, one.judge), []).append(one)
    met = set()
    for (key, rubric, judge), samples in cells.items():
        scores = [one.verdict.score for one in samples if one.verdict.score is not None]
        mean = sum(scores) / len(scores) if scores else math.nan
        if (
            wanted.rubric in ("", rubric)
            and (wanted.judge == judge or (not wanted.judge and not judge.startswith("baseline/")))
            and (not wanted.status or any(one.verdict.status == wanted.status for one in samples))
            and (wanted.low is None or mean >= wanted.low)
            and (wanted.high is None or mean <= wanted.high)
            and wanted.system in ("", key[1])
        ):
            met.add(keys.index(key))
    return met


FILTERS = [
    Wanted(system=system, rubric=rubric, judge=judge, status=status, low=low, high=high)
    for system, rubric, judge, status, (low, high) in itertools.product(
        ("", "altered", "nobody"),
        ("", "fluency", "nothing"),
        ("", "openai/a", "baseline/length"),
        ("", "scored", "refused"),
        ((None, None), (2.0, None), (None, 2.0), (2.5, 3.5)),
    )
]


def test_filters_combine_as_going_through_every_judgment_does(
    index: RunIndex, judgments: list[Judgment], keys: list[tuple[str, str]]
) -> None:
    sizes = set()
    for wanted in FILTERS:
        found = set(walked(index, wanted, 7))
        assert found == by_hand(judgments, keys, wanted), wanted
        sizes.add(len(found))
    assert len(sizes) > 8, "the filters are told apart by what they find"


@pytest.mark.parametrize("sort", SORTS)
@pytest.mark.parametrize("size", [1, 5, 24, 100])
def test_pages_hold_every_item_once_in_every_order(index: RunIndex, sort: Any, size: int) -> None:
    wanted = Wanted(sort=sort)
    places = walked(index, wanted, size)
    assert sorted(places) == list(range(len(index.numbers)))
    scores = index.scores()
    shown = [scores[place] for place in places if not math.isnan(scores[place])]
    if sort in ("low", "high"):
        assert shown == sorted(shown, reverse=sort == "high")
        unscored = [math.isnan(scores[place]) for place in places]
        assert unscored == sorted(unscored), "what has no score comes last"


def test_going_back_shows_the_pages_that_were_there(index: RunIndex) -> None:
    wanted = Wanted(sort="low")
    pages = []
    cursor = None
    while True:
        page = index.page(wanted, None, 5, after=cursor)
        pages.append(page.places)
        if page.after is None:
            break
        cursor = page.after
    back = [pages[-1]]
    while page.before is not None:
        page = index.page(wanted, None, 5, before=page.before)
        back.append(page.places)
    assert [place for found in reversed(back) for place in found] == [place for found in pages for place in found]


def test_a_page_goes_on_where_it_stopped_though_the_run_grows(run: Path) -> None:
    with RunReader(run) as reader:
        before = read_index(reader)
    first = before.page(Wanted(sort="low"), None, 10)
    connection = sqlite3.connect(run)
    connection.execute("INSERT INTO items SELECT item + 1000, id || ' new', system, summary, source, '{}' FROM items")
    connection.execute("INSERT INTO judgments SELECT item + 1000, series, sample, call, score, status FROM judgments")
    connection.commit()
    connection.close()
    with RunReader(run) as reader:
        after = read_index(reader)
    rest = after.page(Wanted(sort="low"), None, 1000, after=first.after)
    seen = {int(before.numbers[place]) for place in first.places}
    later = [int(after.numbers[place]) for place in rest.places]
    assert not seen & set(later)
    assert set(map(int, before.numbers)) <= seen | set(later)


def test_the_tables_are_means_over_items_of_means_over_samples(
    made: Path, index: RunIndex, judgments: list[Judgment]
) -> None:
    with RunReader(made) as reader:
        tables = {one.judge: one for one in judge_tables(index, reader.signatures())}
    items: dict[tuple[str, str, str], dict[str, list[float | None]]] = {}
    for one in judgments:
        items.setdefault((one.judge, one.system, one.rubric), {}).setdefault(one.id, []).append(one.verdict.score)
    for (judge, system, rubric), samples in items.items():
        scored = [[score for score in found if score is not None] for found in samples.values()]
        means = [sum(found) / len(found) for found in scored if found]
        mine = tables[judge].systems[system][rubric]
        assert mine.value == pytest.approx(sum(means) / len(means))
        assert (mine.n, mine.n_unscored) == (len(means), len(scored) - len(means))
        nearest = tuple(sum(math.floor(mean + 0.5) == step for mean in means) for step in SCALE)
        assert tables[judge].distributions[system][rubric] == nearest
    assert sum(len(row) for one in tables.values() for row in one.systems.values()) == len(items)


@pytest.mark.parametrize("text", ["kettle 1", "KETTLE 3", "100%_sure", '"quoted"', "\\ ", "k/4", "nowhere at all", "%"])
def test_text_is_found_in_id_summary_and_source(reading: Served, made: Path, text: str) -> None:
    with RunReader(made) as reader:
        keys = item_keys(reader)
        texts = [(*key[:1], reader.item(*key)["summary"], *_strings(reader.item(*key)["source"])) for key in keys]
    wanted = {place for place, found in enumerate(texts) if any(text.lower() in one.lower() for one in found)}
    index = reading.site.watch.index()
    found = reading.site.searches.in_texts(index, text)
    assert {place for place, hit in enumerate(found) if hit} == wanted


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for one in value.values() for text in _strings(one)]
    return [text for one in value for text in _strings(one)] if isinstance(value, list) else []


def test_the_list_in_the_browser_is_the_list(reading: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jurybox.web.items.ROWS", 5)
    assert len(listed(reading, "/items?sort=low")) == 24
    assert len(listed(reading, "/items?system=altered&text=kettle")) == 6
    assert listed(reading, "/items?text=nowhere+at+all") == []


def test_failures_are_all_there(reading: Served, judgments: list[Judgment], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jurybox.web.failures.ROWS", 3)
    lost = {(one.id, one.system, one.rubric, one.judge) for one in judgments if one.verdict.status != "scored"}
    assert len(listed(reading, "/failures")) == len(lost) > 0
    fluent = [one for one in lost if one[2] == "fluency"]
    assert len(listed(reading, "/failures?rubric=fluency&judge=openai/a")) == len(fluent)
    assert listed(reading, "/failures?judge=openai/b") == []


def test_two_systems_are_compared_on_every_source_of_both(reading: Served, judgments: list[Judgment]) -> None:
    query = urlencode({"a": "careful", "b": "altered", "sort": "first", "rubric": "fluency", "judge": "openai/b"})
    page = reading.get(f"/versus?{query}").page
    shown = [row.all("td")[2].text for row in page.one("tbody").all("tr")]
    scores = {
        (one.id, one.system): one.verdict.score
        for one in judgments
        if (one.rubric, one.judge) == ("fluency", "openai/b")
    }
    ids = {id_ for id_, _ in scores}
    right = sorted(((scores[id_, "careful"] or 0) - (scores[id_, "altered"] or 0) for id_ in ids), reverse=True)
    assert [float(text.replace("−", "-")) for text in shown] == right


# One item


def test_an_item_shows_what_was_quoted_and_flags_what_is_nowhere(reading: Served) -> None:
    page = reading.get("/items/1").page
    assert "boils very fast in the morning" in [one.text for one in page.all("mark")]
    assert "the kettle 0 is made of gold" in [one.text for one in page.all("span", "absent")]
    assert any(one.text == "not in the material" for one in page.all("span", "flag"))


def test_prompt_and_reply_are_there_word_for_word(reading: Served, made: Path) -> None:
    """The prompt is made again and shown only if its digest is the one that was sent."""
    shown = [one.text for one in reading.get("/items/1").page.all("pre")]
    with RunReader(made) as reader:
        key = item_keys(reader)[0]
        replies = [one.reply.text for one in reader.judgments(key) if one.reply and one.judge == "openai/a"]
    assert all(reply in shown for reply in replies)
    assert any("Buyers of kettle 0 like how fast it boils" in text and "A description." in text for text in shown)
    assert "shown no prompt" in reading.get("/items/1").text


def test_a_prompt_that_would_be_worded_differently_is_not_shown(served: Served, run: Path) -> None:
    connection = sqlite3.connect(run)
    connection.execute("UPDATE calls SET prompt_digest = zeroblob(32)")
    connection.commit()
    connection.close()
    text = served.get("/items/1").text
    assert "would word it differently" in text
