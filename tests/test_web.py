"""`jurybox serve`: what it lets in, that nothing judged runs, and that lists are complete and right."""

from __future__ import annotations

import http.client
import itertools
import json
import math
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from conftest import Command, Evaluate, command_line
from jurybox import api
from jurybox.errors import SetupError
from jurybox.report.annotating import ORDERS
from jurybox.report.browse_index import read_index
from jurybox.report.browse_tables import judge_tables
from jurybox.report.browsing import SORTS, RunIndex, Wanted
from jurybox.report.paging import Cursor
from jurybox.store import AnnotationLog, RunReader, current_ratings, history, item_keys
from jurybox.types import SCALE, STATUSES, Judgment
from jurybox.web.app import READ
from jurybox.web.security import Guard, refuse_open_door
from jurybox.web.serving import serve
from pages import HOSTILE, judging, record
from server import JudgeServer
from serving import Served

TOKEN = "correct horse battery"


def judged_run(out: Path) -> Path:
    """Two judges, a baseline, two samples, failures, people, and text that attacks in every field."""
    systems = ("careful", f"hostile {HOSTILE}", "altered", "short")
    scores: dict[str, list[int | None]] = {"a": [], "b": []}
    records: list[dict[str, Any]] = []
    for source, (place, system) in itertools.product(range(6), enumerate(systems)):
        number = len(records)
        human = {"fluency": {f"ann {HOSTILE}": 1 + (source + place) % 5, "bob": 3}} if source < 3 else {}
        made = {
            **record(number, system, human=human),
            "id": f"kettle {source} {HOSTILE}" if source == 1 else f"k/{source}",
        }
        made["product_title"] += HOSTILE if source == 2 else ""
        made["description"] = f"A description. {HOSTILE}"
        made[f"column {HOSTILE}"] = HOSTILE
        made["summary"] += f" {HOSTILE}" if number % 3 == 0 else ""
        made["reviews"].append(f'A review, 100%_sure \\ "quoted". {HOSTILE}')
        records.append(made)
        scores["a"].append(None if number % 7 == 5 else 1 + number % 5)
        scores["b"].append(1 + (number * 3) % 5)
    with JudgeServer() as server:
        server.plan = judging(scores)
        api.evaluate(
            records,
            rubrics="fluency,aspect_coverage",
            judge=["openai/a", "openai/b", "baseline/length"],
            base_url=server.base_url,
            out=out,
            cache=False,
            reasks=0,
            samples=2,
        )
    return out


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return judged_run(tmp_path_factory.mktemp("web") / "kettles.run.db")


@pytest.fixture
def run(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(made, tmp_path / "run.db"))


@pytest.fixture
def served(run: Path) -> Iterator[Served]:
    with Served(run) as server:
        yield server


@pytest.fixture(scope="module")
def reading(made: Path) -> Iterator[Served]:
    """For tests that write nothing."""
    with Served(made) as server:
        yield server


ADDRESSES = (
    *("/", "/items", "/items?rubric=fluency&sort=low", "/items/1", "/items/2", "/versus", "/versus/1/3", "/failures"),
    *("/judge", "/annotate", "/annotate?rater=ann", "/live/pace", "/live/overview", "/live/judge", "/live/raters"),
)


# The door


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "", "[::2]:{port}"]
)
def test_another_host_in_the_header_is_refused(reading: Served, host: str) -> None:
    """A page of evil.example whose name points at 127.0.0.1 reads nothing (DNS rebinding)."""
    answer = reading.get("/items", host=host.format(port=reading.port))
    assert answer.status == 421
    assert "kettle" not in answer.text


@pytest.mark.parametrize("host", ["127.0.0.1:{port}", "localhost:{port}", "LOCALHOST:{port}", "[::1]:{port}"])
def test_this_machine_by_any_of_its_names_is_let_in(reading: Served, host: str) -> None:
    assert reading.get("/", host=host.format(port=reading.port)).status == 200


@pytest.mark.parametrize("path", ADDRESSES)
def test_every_page_carries_the_policy(reading: Served, path: str) -> None:
    headers = reading.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert headers["cache-control"] == "no-store"


def test_errors_carry_the_policy_too(reading: Served) -> None:
    for path in ("/nowhere", "/items/99999", "/static/nothing.css"):
        answer = reading.get(path)
        assert answer.status == 404
        assert "default-src 'none'" in answer.headers["content-security-policy"]


def rating(served: Served, **changes: str) -> dict[str, str]:
    page = served.get("/annotate?rater=ann").page
    fields = {one.attributes["name"]: one.attributes["value"] for one in page.by_id("rate").all("input")}
    return {**fields, "act": "4", **changes}


def recorded(run: Path) -> int:
    with RunReader(run) as reader:
        return len(history(reader))


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": None},
        {"origin": None, "referer": "http://evil.example/127.0.0.1"},
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"},
    ],
)
def test_a_form_of_another_site_is_refused(served: Served, run: Path, headers: dict[str, str | None]) -> None:
    answer = served.post("/annotate", rating(served), **headers)
    assert answer.status == 403
    assert recorded(run) == 0


def test_an_old_browser_that_says_only_where_it_comes_from_is_taken(served: Served, run: Path) -> None:
    headers = {"origin": None, "referer": f"http://{served.host}/annotate"}
    assert served.post("/annotate", rating(served), **headers).status == 303
    assert recorded(run) == 1


@pytest.mark.parametrize("word", ["", "0" * 64, "é"])
def test_a_form_without_the_right_word_is_refused(served: Served, run: Path, word: str) -> None:
    assert served.post("/annotate", rating(served, csrf=word)).status == 403
    assert recorded(run) == 0


def test_the_word_is_worth_nothing_with_another_session(served: Served, run: Path) -> None:
    form = rating(served)
    served.jar = dict.fromkeys(served.jar, "other")
    assert served.post("/annotate", form).status == 403
    served.jar = {}
    assert served.post("/annotate", form).status == 403
    assert recorded(run) == 0


@pytest.mark.parametrize("kind", ["application/json", "text/plain", "multipart/form-data; boundary=x", ""])
def test_only_forms_are_taken(served: Served, run: Path, kind: str) -> None:
    assert served.post("/annotate", rating(served), content_type=kind).status == 415
    assert recorded(run) == 0


def test_a_form_of_a_megabyte_is_refused(served: Served) -> None:
    assert served.post("/annotate", rating(served, comment="x" * 1_000_000)).status == 413


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS"])
def test_other_methods_are_refused(reading: Served, method: str) -> None:
    assert reading.ask(method, "/annotate", "").status == 405


def test_cookies_are_for_this_server_alone(reading: Served) -> None:
    reading.jar.clear()
    (cookie,) = reading.get("/").cookies
    assert cookie.startswith(f"jurybox_session_{reading.port}=")
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie


# The token


@pytest.fixture
def locked(run: Path) -> Iterator[Served]:
    with Served(run, token=TOKEN) as server:
        yield server


@pytest.mark.parametrize("path", [path.format(number=1, first=1, second=3) for path in READ])
def test_without_the_token_no_page_says_anything(locked: Served, path: str) -> None:
    answer = locked.get(path)
    assert answer.status == 401
    assert "kettle" not in answer.text.lower()
    assert "careful" not in answer.text


def test_the_token_comes_once_and_leaves_the_address(locked: Served) -> None:
    answer = locked.get(f"/items?sort=low&{urlencode({'token': TOKEN})}")
    assert answer.status == 303
    assert answer.headers["location"] == "/items?sort=low"
    door = next(cookie for cookie in answer.cookies if "door" in cookie)
    assert TOKEN not in door
    assert "HttpOnly; SameSite=Strict" in door
    assert locked.get("/items?sort=low").status == 200
    again = locked.get(f"/?{urlencode({'token': TOKEN})}")
    assert (again.status, again.headers["location"]) == (303, "/")


def test_the_token_goes_in_by_a_form(locked: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jurybox.web.gate.WRONG_TOKEN", 0.0)
    word = locked.csrf("/")
    assert locked.post("/login", {"token": "wrong", "csrf": word}).status == 401
    assert locked.get("/").status == 401
    right = locked.post("/login", {"token": TOKEN, "csrf": word})
    assert (right.status, right.headers["location"]) == (303, "/")
    assert locked.get("/").status == 200


def test_a_write_without_the_token_is_refused(locked: Served, run: Path) -> None:
    fields = {"csrf": locked.csrf("/"), "rater": "ann", "act": "undo"}
    assert locked.post("/annotate", fields).status == 401
    assert recorded(run) == 0


def test_a_door_cookie_of_another_start_is_void(locked: Served) -> None:
    locked.jar[locked.guard.door_cookie] = Guard("127.0.0.1", locked.port, TOKEN).door_key
    assert locked.get("/").status == 401


def test_a_path_that_looks_like_another_host_stays_here(locked: Served) -> None:
    answer = locked.get(f"//evil.example/?{urlencode({'token': TOKEN})}")
    assert answer.status == 303
    assert answer.headers["location"] == "/evil.example/"


def test_the_token_is_in_no_log(run: Path) -> None:
    words = command_line("serve", run, "--port", "0", "--json", "--token", TOKEN)
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        told = ""
        while not told.endswith("}\n"):
            told += process.stdout.readline()
        host = json.loads(told[: told.rindex("}") + 1])["url"].removeprefix("http://").strip("/")
        for path in (f"/?{urlencode({'token': TOKEN})}", f"/nowhere?{urlencode({'token': TOKEN})}"):
            connection = http.client.HTTPConnection(host, timeout=20)
            connection.request("GET", path)
            assert connection.getresponse().status == 303
            connection.close()
        process.terminate()
        told += process.stdout.read()
    assert TOKEN not in told
    assert urlencode({"token": TOKEN}) not in told


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.7", "::", "example.org"])
def test_other_addresses_demand_a_token(run: Path, host: str) -> None:
    with pytest.raises(SetupError, match="--token"):
        refuse_open_door(host, None)
    refuse_open_door(host, TOKEN)
    with pytest.raises(SetupError, match="at least 12"):
        refuse_open_door(host, "short")


def test_the_command_refuses_an_open_door(jurybox: Command, run: Path) -> None:
    done = jurybox("serve", run, "--host", "0.0.0.0")
    assert done.returncode == 2
    assert "--token" in done.stderr


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.8.8.8"])
def test_loopback_needs_no_token(host: str) -> None:
    refuse_open_door(host, None)


# Nothing judged runs, and no path reaches the file system


@pytest.mark.parametrize("path", ADDRESSES)
def test_everything_judged_is_escaped(reading: Served, path: str) -> None:
    """The page parses strictly, and holds no element that the templates do not write."""
    html = reading.get(path).text
    page = reading.get(path).page
    assert "<script>" not in html
    assert "<img" not in html
    assert all(script.attributes["src"].startswith("/static/") for script in page.all("script"))
    assert not any(name.startswith("on") or name == "style" for one in page.all() for name in one.attributes)


def test_the_attack_is_shown_as_the_text_that_it_is(reading: Served) -> None:
    numbers = [int(number) for number in re.findall(r'href="/items/(\d+)"', reading.get("/items").text)]
    shown = [reading.get(f"/items/{number}").page.text for number in numbers]
    assert all(HOSTILE in text for text in shown)


@pytest.mark.parametrize("text", [HOSTILE, "'; DROP TABLE items; --", "%", "_", "\\", '"quoted"', "\0", "é" * 300])
def test_what_is_typed_into_a_filter_is_escaped_and_harmless(reading: Served, text: str) -> None:
    names = ("text", "system", "rubric", "judge", "status", "low", "high", "sort", "after", "before", "a", "b", "rater")
    for path in ("/items", "/failures", "/versus", "/annotate"):
        for name in names:
            answer = reading.get(f"{path}?{urlencode({name: text})}")
            assert answer.status in (200, 400), (path, name)
            assert "<img" not in answer.text
            answer.page  # noqa: B018


@pytest.mark.parametrize(
    "name", ["../app.py", "..%2fapp.py", "%2e%2e/%2e%2e/etc/passwd", "..\\app.py", "/etc/passwd", "serve.css%00.js", ""]
)
@pytest.mark.parametrize("before", ["/static/", "/items/", "/versus/1/", "/"])
def test_no_path_leads_out(reading: Served, before: str, name: str) -> None:
    answer = reading.get(before + name)
    assert answer.status in (200, 307, 404)
    assert answer.status != 200 or before + name in ("/",)
    assert "root:" not in answer.text
    assert "import" not in answer.text


@pytest.mark.parametrize(
    "path",
    [
        *("/items/0", "/items/-1", "/items/x", "/items/99999999999999999999999999", "/items/1.5", "/items/١"),
        *("/versus/1/99999", "/versus/1/5", "/versus/x/y", "/nope", "/items/1/2", "/live/", "/static/"),
    ],
)
def test_what_is_not_there_is_a_page_that_says_so(reading: Served, path: str) -> None:
    from urllib.parse import quote

    answer = reading.get(quote(path))
    if path == "/items/١":  # Python reads it as 1: the item is there
        assert answer.status == 200
        return
    assert answer.status == 404
    assert "Traceback" not in answer.text
    assert answer.page.one("h1").text


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
    found = reading.site.watch.find(index, text)
    assert {place for place, hit in enumerate(found) if hit} == wanted


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for one in value.values() for text in _strings(one)]
    return [text for one in value for text in _strings(one)] if isinstance(value, list) else []


def listed(served: Served, path: str) -> list[str]:
    """The items of all pages of a list, by following its links."""
    found: list[str] = []
    while path:
        page = served.get(path).page
        found += [row.one("th").one("a").text for body in page.all("tbody") for row in body.all("tr")]
        links = [one for one in page.all("a") if one.attributes.get("rel") == "next"]
        path = links[0].attributes["href"] if links else ""
    return found


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


# Annotating


def test_a_rating_is_on_the_disk_when_the_page_moves_on(served: Served, run: Path) -> None:
    form = rating(served, comment="clear, and short")
    assert served.post("/annotate", form).status == 303
    with RunReader(run) as reader:
        (mine,) = [one for one in current_ratings(reader) if one.rater == "ann"]
    assert (mine.score, mine.comment, mine.rubric) == (4.0, "clear, and short", form["on"])
    assert rating(served)["on"] != form["on"], "the next rubric of the same summary"
    assert rating(served)["item"] == form["item"]


def test_skip_undo_and_the_order_survive_a_restart(run: Path) -> None:
    with Served(run) as first:
        one = rating(first, rater="zoe", act="skip")
        first.post("/annotate", one)
        two = {**rating(first), "rater": "zoe"}
        first.post("/annotate", two)
    with Served(run) as second:
        assert second.post("/annotate", {"rater": "zoe", "act": "undo", "csrf": second.csrf()}).status == 303
    with RunReader(run) as reader:
        assert [one.action for one in history(reader, "zoe")] == ["skip", "score", "undo"]
        assert list(current_ratings(reader, "zoe")) == []


def test_a_form_that_was_sent_again_counts_once(served: Served, run: Path) -> None:
    form = rating(served)
    served.post("/annotate", form)
    served.post("/annotate", {**form, "again": "1"})
    assert recorded(run) == 1


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"act": "6"}, 400),
        ({"act": ""}, 400),
        ({"act": "nan"}, 400),
        ({"item": "0" * 16}, 404),
        ({"item": "../../x"}, 404),
        ({"on": "nothing"}, 400),
        ({"rater": ""}, 400),
        ({"rater": "x" * 200}, 400),
        ({"comment": "x" * 10_001}, 400),
    ],
)
def test_what_is_no_rating_is_refused_in_words(served: Served, run: Path, changes: dict[str, str], status: int) -> None:
    answer = served.post("/annotate", rating(served, **changes))
    assert answer.status == status
    assert answer.page.one("p", "lead").text
    assert recorded(run) == 0


def test_annotating_is_blind(served: Served, made: Path) -> None:
    """Neither the system nor the id is anywhere in the page, nor a judge's score."""
    text = served.get("/annotate?rater=ann").text
    with RunReader(made) as reader:
        systems = {system for _, system in item_keys(reader)}
    assert not any(f">{system}<" in text or f'"{system}"' in text for system in systems)
    assert "k/" not in text
    assert "openai" not in text


def first_item(served: Served, **query: str) -> str:
    return served.get(f"/annotate?{urlencode({'rater': 'ann', **query})}").page.by_id("desk").attributes["data-item"]


def test_the_order_is_of_the_raters_choosing(served: Served) -> None:
    """By seed and name, the same for all, or as `estimate` advises; each the same whenever it is asked for."""
    for order in ORDERS:
        assert first_item(served, order=order) == first_item(served, order=order)
    assert len({first_item(served, seed=str(seed)) for seed in range(8)}) > 1
    assert len({first_item(served, rater=name) for name in "abcdefgh"}) > 1
    assert len({first_item(served, rater=name, order="together") for name in "abcdefgh"}) == 1


def test_a_rubric_that_the_run_lacks_is_refused_in_words(served: Served) -> None:
    answer = served.get("/annotate?rater=ann&rubric=fluensy")
    assert answer.status == 400
    assert "Did you mean" in answer.text


def test_agree_sees_ratings_at_once(served: Served, run: Path) -> None:
    for _ in range(8):
        served.post("/annotate", rating(served, rater="ann", act="3"))
    with RunReader(run) as reader:
        mine = {one.rubric for one in current_ratings(reader, "ann")}
    assert mine == {"fluency", "aspect_coverage"}
    assert set(api.agree(run).rubrics) == mine


def test_ratings_go_in_beside_a_run_that_writes(served: Served, run: Path) -> None:
    """Another process holds the file for a moment; the rating waits and goes in."""
    form = rating(served)
    with AnnotationLog(run) as other:
        other.record(("k/0", "careful"), "fluency", "bob", 2)
        assert served.post("/annotate", form).status == 303
    assert recorded(run) == 2


# Runs that are empty, growing, gone, or not runs at all


def test_a_run_is_followed_while_it_grows(evaluate: Evaluate) -> None:
    evaluate([record(number, "base") for number in range(2)])
    with Served(evaluate.out) as server:
        assert server.get("/items").page.one("main").text.count("Buyers of kettle") == 2
        evaluate([record(number, "base") for number in range(5)])
        assert server.get("/items").page.one("main").text.count("Buyers of kettle") == 5
        assert "5 judgments" in server.get("/live/pace").text


def test_a_run_that_says_it_is_under_way_is_asked_for_again(run: Path) -> None:
    connection = sqlite3.connect(run)
    connection.execute("UPDATE series SET expected = expected + 10")
    connection.commit()
    connection.close()
    run.with_name(run.name + "-lock").touch()
    with Served(run) as server:
        answer = server.get("/live/overview")
        assert answer.headers["x-live"] == "1"
        assert 'data-live="/live/overview"' in server.get("/").text
        assert "under way" in server.get("/live/pace").text
        run.with_name(run.name + "-lock").unlink()
        assert "stopped" in server.get("/live/pace").text


def test_an_empty_run_has_pages(tmp_path: Path) -> None:
    from jurybox.store import RunFile

    RunFile(tmp_path / "empty.db").close()
    with Served(tmp_path / "empty.db") as server:
        for path in (
            "/",
            "/items",
            "/versus",
            "/failures",
            "/judge",
            "/annotate",
            "/annotate?rater=ann",
            "/live/raters",
        ):
            answer = server.get(path)
            assert answer.status == 200, path
            answer.page  # noqa: B018


def test_a_run_file_that_is_deleted_is_said_to_be_gone_and_comes_back(run: Path, tmp_path: Path) -> None:
    kept = Path(shutil.copy(run, tmp_path / "kept.db"))
    with Served(run) as server:
        assert server.get("/items").status == 200
        run.unlink()
        for path in ("/", "/items", "/items/1", "/annotate?rater=ann", "/live/pace"):
            answer = server.get(path)
            assert answer.status == 503, path
            assert "gone" in answer.text
            assert "Traceback" not in answer.text
        kept.rename(run)
        assert server.get("/items").status == 200


def test_duels_are_shown_as_duels(tmp_path: Path) -> None:
    rows = [{**record(number, system), "id": f"k{number}"} for number in range(3) for system in ("long one", "b")]
    found = api.duel(rows, ["long one", "b"], rubrics="fluency", judge="baseline/length", out=tmp_path / "duels.db")
    assert found is not None
    with Served(tmp_path / "duels.db") as server:
        import time

        until = time.monotonic() + 10
        while "Win rate" not in (text := server.get("/").text) and time.monotonic() < until:
            time.sleep(0.05)
        assert "Win rate" in text
        assert "preferences, no scores" in text
        assert "another run" in server.get("/annotate").text
        assert server.get("/judge").status == 200
        assert server.get("/items/1").status == 200


def test_what_is_no_run_file_is_refused_before_anything_listens(jurybox: Command, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    for name, words in (("notes.txt", "not a run file"), ("nothing.db", "no such run file")):
        done = jurybox("serve", name, "--port", "0")
        assert done.returncode == 2
        assert words in done.stderr


def test_without_the_extra_one_command_is_named(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(SetupError, match=r"pip install 'jurybox\[web\]'"):
        serve(run, port=0)


def test_the_command_says_where_it_serves_and_ends_with_ctrl_c(run: Path) -> None:
    with subprocess.Popen(
        command_line("serve", run, "--port", "0", "--json"), stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        told = ""
        while not told.endswith("}\n"):
            told += process.stdout.readline()
        url = json.loads(told)["url"]
        connection = http.client.HTTPConnection(url.removeprefix("http://").strip("/"), timeout=20)
        connection.request("GET", "/")
        assert connection.getresponse().status == 200
        connection.close()
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0


def test_every_status_can_be_filtered_by(reading: Served) -> None:
    for status in STATUSES:
        assert reading.get(f"/items?status={status}").status == 200
