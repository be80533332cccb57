"""`jurybox serve`: who is let in, and that nothing judged runs."""
# ruff: noqa: F811 (fixtures come from `kettles` by name)

from __future__ import annotations

import http.client
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest

from conftest import Command, command_line
from jurybox.errors import SetupError
from jurybox.web.app import READ
from jurybox.web.security import Guard, refuse_open_door
from kettles import made, rating, reading, recorded, run, served  # noqa: F401
from pages import HOSTILE
from serving import Served

TOKEN = "correct horse battery"

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
