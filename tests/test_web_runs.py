"""`jurybox serve` on runs that are empty, growing, gone, or not runs at all."""
# ruff: noqa: F811 (fixtures come from `kettles` by name)

from __future__ import annotations

import dataclasses
import http.client
import json
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from conftest import Command, Evaluate, command_line
from jurybox.api import duels
from jurybox.errors import SetupError
from jurybox.report.browse_index import read_index, renew_index
from jurybox.store import RunReader
from jurybox.types import STATUSES
from jurybox.web.serving import serve
from kettles import made, reading, run, served  # noqa: F401
from pages import record
from serving import Served

# Runs that are empty, growing, gone, or not runs at all


def test_a_run_is_followed_while_it_grows(evaluate: Evaluate) -> None:
    evaluate([record(number, "base") for number in range(2)])
    with Served(evaluate.out) as server:
        assert server.get("/items").page.one("main").text.count("Buyers of kettle") == 2
        evaluate([record(number, "base") for number in range(5)])
        assert server.get("/items").page.one("main").text.count("Buyers of kettle") == 5
        assert "5 judgments" in server.get("/live/pace").text


GROWTH = {
    "new items": (
        "INSERT INTO items SELECT item + 1000, id || ' new', system, summary, source, '{}' FROM items",
        "INSERT INTO calls SELECT call + 1000, key || call, prompt_digest, sample, attempts, error, text, reasoning, "
        "refusal, finish, model, tokens_in, tokens_out, tokens_cached, seconds, cost, at, scale, reasons, reused, "
        "shown FROM calls",
        "INSERT INTO judgments SELECT item + 1000, series, sample, call + 1000, score, status FROM judgments",
    ),
    "new samples": (
        "INSERT INTO calls SELECT call + 1000, key || call, prompt_digest, sample, attempts, error, text, reasoning, "
        "refusal, finish, model, tokens_in, tokens_out, tokens_cached, seconds, cost, at, scale, reasons, reused, "
        "shown FROM calls WHERE call % 3 = 0",
        "INSERT INTO judgments SELECT item, series, 3, call + 1000, 1, 'scored' FROM judgments "
        "WHERE call % 3 = 0 AND sample = 1",
    ),
    "an older answer": (
        "INSERT INTO items SELECT item + 1000, id || ' new', system, summary, source, '{}' FROM items WHERE item = 2",
        "INSERT INTO judgments SELECT item + 1000, series, sample, call, score, status FROM judgments WHERE item = 2",
    ),
    "a call tried again": (
        "UPDATE judgments SET score = 5, status = 'scored' WHERE status != 'scored'",
        "INSERT INTO attempts (call, attempt) VALUES (1, 1)",
    ),
}


@pytest.mark.parametrize("kind", GROWTH)
def test_an_index_that_is_renewed_is_the_one_that_is_read(run: Path, kind: str) -> None:
    """Whatever a run adds, and though only what is new is read."""
    with RunReader(run) as reader:
        known = read_index(reader)
    connection = sqlite3.connect(run)
    for statement in GROWTH[kind]:
        connection.execute(statement)
    connection.commit()
    connection.close()
    with RunReader(run) as reader:
        renewed, read = renew_index(reader, known), read_index(reader)
    assert renewed.judgments >= known.judgments
    for field in dataclasses.fields(read):
        if field.name != "_scores":
            np.testing.assert_array_equal(getattr(renewed, field.name), getattr(read, field.name), field.name)
    assert renewed.judgments != known.judgments or renewed.unscored != known.unscored


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
    found = duels.duel(rows, ["long one", "b"], rubrics="fluency", judge="baseline/length", out=tmp_path / "duels.db")
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
