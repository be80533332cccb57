"""Limits as a person meets them: money that is never passed, a server that says slow down, what it lacks, quotes."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from conftest import Command, Evaluate, WriteItems, assert_right, item
from jurybox.errors import JudgeRejection, SetupError
from jurybox.store import RunReader
from server import Answer, JudgeServer, Request, completion, error, slow


def run_words(server: JudgeServer, data: Path, *more: object) -> tuple[object, ...]:
    words = ("run", data, "--rubrics", "fluency", "--judge", "openai/m", "--base-url", server.base_url, "--no-cache")
    return (*words, *more)


def test_money_is_never_passed_and_more_of_it_goes_on(
    jurybox: Command, server: JudgeServer, write_items: WriteItems
) -> None:
    """Every answer has 100 tokens in and 20 out: $0.12 at a dollar for a thousand."""
    words = run_words(server, write_items(20), "--price", "1000,1000", "--max-tokens", 20)
    done = jurybox(*words, "--max-cost", 2.5)
    assert done.returncode == 1
    assert "--max-cost 2.5: $" in done.stderr
    assert "a higher --max-cost goes on" in done.stderr
    paid = len(server.requests)
    assert 0 < paid < 20
    assert 0.12 * paid <= 2.5
    again = jurybox(*words, "--max-cost", 2.5)
    assert (again.returncode, len(server.requests)) == (1, paid), "what the file cost before counts"
    assert jurybox(*words, "--max-cost", 100).returncode == 0
    assert len(server.requests) == 20


def test_a_limit_on_money_needs_a_price(evaluate: Evaluate, write_items: WriteItems) -> None:
    with pytest.raises(SetupError, match=r"--max-cost: the price of openai/judge-1 is not known; give it with --price"):
        evaluate(write_items(1), max_cost=1.0)
    assert evaluate.server.requests == []


@pytest.mark.parametrize("option", ["rpm", "tpm", "max_cost"])
def test_a_limit_of_nothing_is_refused(evaluate: Evaluate, write_items: WriteItems, option: str) -> None:
    with pytest.raises(SetupError, match=f"--{option.replace('_', '-')} 0: should be more than 0"):
        evaluate(write_items(1), **{option: 0.0})  # type: ignore[arg-type]


def test_a_server_that_takes_four_at_a_time_is_asked_four_at_a_time_and_nothing_is_lost(evaluate: Evaluate) -> None:
    server = evaluate.server

    def plan(request: Request) -> Answer:
        return error(429, "slow down", Retry_After="0") if server.in_flight > 4 else slow(0.01)

    server.plan = plan
    run = evaluate([item(n) for n in range(120)], concurrency=32, retries=20)
    assert len(assert_right(run.path)) == 120
    refused = len(server.requests) - 120
    assert refused < 120, f"{refused} refusals: without halving every fourth call would pass and the others come back"


def test_requests_a_minute_hold_over_a_whole_run(evaluate: Evaluate) -> None:
    arrived: list[float] = []

    def plan(request: Request) -> None:
        arrived.append(time.monotonic())

    evaluate.server.plan = plan
    evaluate([item(n) for n in range(8)], concurrency=8, rpm=1200)
    assert arrived[-1] - arrived[0] >= 7 * 0.05 * 0.8, "one every 50 ms, whatever the concurrency"


def test_a_server_that_dies_ends_the_run_and_what_was_paid_is_kept(evaluate: Evaluate) -> None:
    evaluate.server.plan = lambda request: error(503, "on fire") if request.item >= 10 else None
    with pytest.raises(JudgeRejection, match="on fire"):
        evaluate([item(n) for n in range(60)], concurrency=4, retries=0)
    with RunReader(evaluate.out) as reader:
        assert sum(judgment.verdict.status == "scored" for judgment in reader.judgments()) == 10


def test_a_server_that_comes_back_is_waited_for_and_nothing_is_lost(evaluate: Evaluate) -> None:
    """It refuses everything for a while; calls that wait do not use up the one retry that they have."""
    server = evaluate.server
    began = time.monotonic()
    server.plan = lambda request: error(503, "starting") if time.monotonic() - began < 4 else None
    run = evaluate([item(n) for n in range(40)], concurrency=16, retries=4)
    assert len(assert_right(run.path)) == 40
    assert len(server.requests) < 40 + 16 + 30, "most calls were parked, not sent in vain"


def test_what_a_server_lacks_is_said_once_and_stands_in_the_signature(
    jurybox: Command, server: JudgeServer, write_items: WriteItems, tmp_path: Path
) -> None:
    refusal = error(400, "Unsupported value: 'temperature' does not support 0 with this model.", "unsupported_value")
    server.plan = lambda request: refusal if "temperature" in request.body else None
    done = jurybox(*run_words(server, write_items(5), "--out", "r.db"))
    assert done.returncode == 0
    assert done.stderr.count("openai/m has no temperature") == 1
    assert "|t:default|" in done.stdout
    assert_right(tmp_path / "r.db")
    again = jurybox(*run_words(server, write_items(6), "--out", "r.db"))
    assert again.returncode == 0, "and the run goes on"
    shown = json.loads(jurybox("show", "r.db", "--json").stdout)
    assert "temperature" in shown["judges"]["openai/m"]["lacks"]


def test_quotes_are_located_and_false_ones_counted(
    jurybox: Command, server: JudgeServer, write_items: WriteItems, tmp_path: Path
) -> None:
    said = 'The reviews say "The lid sticks." and also "it exploded in my kitchen".\nScore- <score>2</score>'
    server.always(completion(said))
    assert jurybox(*run_words(server, write_items(2), "--out", "r.db")).returncode == 0
    with RunReader(tmp_path / "r.db") as reader:
        true, false = next(reader.judgments()).quotes
    assert (true.field, true.index, true.start, true.end) == ("reviews", 1, 0, 15)
    assert true.similarity == 100
    assert (false.text, false.field) == ("it exploded in my kitchen", None)
    shown = jurybox("show", "r.db")
    assert "2 of 4 quotes are not in the material" in shown.stdout
    assert json.loads(jurybox("show", "r.db", "--json").stdout)["judges"]["openai/m"]["quotes"] == {
        "quotes": 4,
        "absent": 2,
    }
