"""`jurybox stress` as people call it: a real process, a real server, a real kill."""

from __future__ import annotations

import json
import os
import subprocess
import time
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

import server as answers
from conftest import Command, WriteItems, command_line, item
from server import JudgeServer, Request

SMALL = ("--items", 3, "--no-attacks", "--kinds", "swap_number,generic,drop_aspects")
WORDS = ("--rubrics", "faithfulness", "--judge", "baseline/length", "--system", "careful")


@pytest.fixture
def products(tmp_path: Path) -> Path:
    path = tmp_path / "products.jsonl"
    path.write_text(files("jurybox.examples").joinpath("products.jsonl").read_text("utf-8"), "utf-8")
    return path


def test_the_table_says_what_is_missed_and_how_many_calls_are_made(jurybox: Command, products: Path) -> None:
    done = jurybox("stress", products, *WORDS, *SMALL)
    assert done.returncode == 0, done.stderr
    assert "3 good summaries" in done.stderr
    assert "calls to make" in done.stderr
    assert "Judge baseline/length" in done.stdout
    assert "misses swap_number" in done.stdout
    assert "[0]" in done.stdout
    assert (products.parent / "products.stress.db").exists()
    assert [line for line in done.stdout.splitlines() if len(line) > 80 and "jurybox" not in line] == []


def test_gates_decide_the_exit_status(jurybox: Command, products: Path) -> None:
    failed = jurybox("stress", products, *WORDS, *SMALL, "--json", "--fail-under", "detection=0.8")
    assert failed.returncode == 1, failed.stderr
    assert "gate failed: detection of faithfulness is 0.000" in failed.stderr
    found = json.loads(failed.stdout)["rubrics"]["faithfulness"]
    assert found["detection"]["value"] == 0
    assert found["attacks"]["value"] is None
    over = jurybox("stress", products, *WORDS, *SMALL, "--fail-over", "faithfulness.false_alarms=0.05")
    assert over.returncode == 1
    assert "false_alarms of faithfulness is 0." in over.stderr
    passed = jurybox(
        *("stress", products, *WORDS, *SMALL, "--fail-over", "false_alarms=1", "--fail-under", "detection=0")
    )
    assert passed.returncode == 0, passed.stderr


def test_strict_wants_every_score(jurybox: Command, products: Path) -> None:
    """`baseline/system` has no ratings to go by, so nothing is scored; that alone is no failure."""
    words = ("--rubrics", "faithfulness", "--judge", "baseline/system", "--system", "careful")
    done = jurybox("stress", products, *words, *SMALL)
    assert done.returncode == 0, done.stderr
    assert "no grade (nothing was scored)" in " ".join(done.stdout.split())
    strict = jurybox("stress", products, *words, *SMALL, "--strict")
    assert strict.returncode == 3
    assert "judgments ended unscored" in strict.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--kinds", "swap_numbr"), "unknown kind of damage 'swap_numbr'. Did you mean 'swap_number'?"),
        (("--fail-under", "detektion=0.8"), "unknown figure 'detektion'. Did you mean 'detection'?"),
        (("--fail-under", "detection=much"), "'much' is not a number"),
        (("--fail-over", "fluency.attack=0.1"), "unknown rubric 'fluency'"),
        (("--fail-over", "attack=0.1", "--no-attacks"), "--no-attacks leaves nothing to measure it by"),
        (("--system", "nobody"), "unknown system 'nobody'"),
        (("--judge", "nobody/x"), "unknown judge 'nobody'"),
        (("--items", "0"), "0"),
    ],
)
def test_wrong_use_is_one_message_and_leaves_no_file(
    jurybox: Command, products: Path, words: tuple[str, ...], told: str
) -> None:
    done = jurybox("stress", products, "--rubrics", "faithfulness", "--judge", "baseline/length", *words)
    assert done.returncode == 2, done.stdout
    assert told in done.stderr
    assert "Traceback" not in done.stderr
    assert not (products.parent / "products.stress.db").exists()


def test_data_and_rubrics_are_asked_for(jurybox: Command, products: Path, tmp_path: Path) -> None:
    for words, told in ((("stress",), "Missing DATA"), (("stress", products), "Missing --rubrics")):
        done = jurybox(*words)
        assert done.returncode == 2
        assert told in done.stderr
    unknown = jurybox("stress", products, "--rubrics", "faithfulnes")
    assert unknown.returncode == 2
    assert "Did you mean 'faithfulness'?" in unknown.stderr
    (tmp_path / "one.jsonl").write_text(products.read_text("utf-8").splitlines()[0], "utf-8")
    alone = jurybox("stress", "one.jsonl", *WORDS)
    assert alone.returncode == 2
    assert "has one source only" in alone.stderr


def test_two_judges_are_compared_from_their_documents(jurybox: Command, products: Path, tmp_path: Path) -> None:
    for judge, seed in (("length", 0), ("rouge", 0), ("constant", 1)):
        words = ("--rubrics", "faithfulness", "--judge", f"baseline/{judge}", "--system", "careful", "--seed", seed)
        done = jurybox("stress", products, *words, *SMALL, "--json", "--out", f"{judge}.db")
        assert done.returncode == 0, done.stderr
        (tmp_path / f"{judge}.json").write_text(done.stdout, "utf-8")
    done = jurybox("stress", "--compare", "length.json", "rouge.json", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["judges"] == ["baseline/length", "baseline/rouge"]
    assert found["unlike"] == []
    one = found["rubrics"]["faithfulness"]["false_alarms"]
    assert one["difference"]["value"] == pytest.approx(one["second"]["value"] - one["first"]["value"])
    text = jurybox("stress", "--compare", "length.json", "rouge.json").stdout
    assert "second less first" in text
    assert [line for line in text.splitlines() if len(line) > 80] == []
    unlike = jurybox("stress", "--compare", "length.json", "constant.json").stdout
    assert "Not like for like: the trials differ" in unlike


def test_what_is_no_document_is_not_compared(jurybox: Command, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"rubrics": {"fluency": {"mean": 3}}}')
    (tmp_path / "b.json").write_text("{")
    for words, told in (
        (("a.json", "a.json"), "is not what `jurybox stress --json` prints"),
        (("b.json", "a.json"), "is no JSON"),
        (("c.json", "a.json"), "cannot be read"),
    ):
        done = jurybox("stress", "--compare", *words)
        assert done.returncode == 2
        assert told in done.stderr


def test_a_plan_asks_nobody(jurybox: Command, products: Path, server: JudgeServer) -> None:
    words = ("--rubrics", "faithfulness", "--judge", "openai/m", "--base-url", server.base_url, "--system", "careful")
    done = jurybox("stress", products, *words, *SMALL, "--plan", "--json", "--price", "1,2")
    assert done.returncode == 0, done.stderr
    planned = json.loads(done.stdout)
    assert planned["judges"]["openai/m"]["calls"] > 20
    assert planned["judges"]["openai/m"]["cost"] > 0
    assert server.requests == []


def test_what_will_get_no_grade_is_said_before_anybody_is_asked(
    jurybox: Command, write_items: WriteItems, server: JudgeServer
) -> None:
    german = "Der Wasserkocher ist schnell, aber der Deckel klemmt."
    data = write_items([item(n, summary=german, reviews=["Sehr schnell.", "Der Deckel klemmt."]) for n in range(2)])
    words: tuple[Any, ...] = ("stress", data, "--rubrics", "faithfulness", "--judge", "openai/m", "--plan")
    planned = jurybox(*words, "--base-url", server.base_url)
    assert planned.returncode == 0, planned.stderr
    assert "there will be no grade on faithfulness: no damage made here" in planned.stderr
    assert server.requests == []


def test_a_killed_exam_goes_on_where_it_was(jurybox: Command, products: Path, server: JudgeServer) -> None:
    """Only what was in flight is asked twice, and the report is that of an exam that was never killed."""
    server.latency = 0.02
    server.plan = _by_length
    words: tuple[Any, ...] = ("stress", products, "--rubrics", "faithfulness,fluency", "--judge", "openai/m", *SMALL)
    words += ("--base-url", server.base_url, "--system", "careful", "--concurrency", 4, "--no-cache", "--json")
    process = subprocess.Popen(
        command_line(*words, "--out", "killed.db"), env=os.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    ends = time.monotonic() + 60
    while len(server.requests) < 30:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < ends
        time.sleep(0.005)
    process.kill()
    process.communicate()
    server.latency = 0.0
    done = jurybox(*words, "--out", "killed.db")
    assert done.returncode == 0, done.stderr
    assert "answered before" in done.stderr
    asked = len(server.requests)
    assert asked <= len(server.seen) + 4, "no more than was in flight is asked twice"
    whole = jurybox(*words, "--out", "whole.db")
    one, two = (json.loads(run.stdout) for run in (done, whole))
    assert one["rubrics"] == two["rubrics"]
    assert one["missing"] == 0
    again = jurybox(*words, "--out", "killed.db")
    assert again.returncode == 0
    assert "0 calls to make" in again.stderr


def _by_length(request: Request) -> answers.Answer:
    """A judge that goes by the length of what it is shown."""
    return answers.completion(f"Score- <score>{1 + len(request.user) % 5}</score>")


def test_money_stops_it_and_more_money_goes_on(jurybox: Command, products: Path, server: JudgeServer) -> None:
    server.plan = _by_length
    words: tuple[Any, ...] = ("stress", products, "--rubrics", "faithfulness", "--judge", "openai/m", *SMALL)
    words += ("--base-url", server.base_url, "--system", "careful", "--no-cache", "--price", "10,10")
    stopped = jurybox(*words, "--max-cost", "0.03", "--concurrency", 1)
    assert stopped.returncode == 1
    assert "a higher --max-cost goes on" in stopped.stderr
    assert jurybox(*words, "--max-cost", "10").returncode == 0
