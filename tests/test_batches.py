"""Batches bring the same judgments as live calls for half the money, and a kill at any moment pays nothing twice.

Real HTTP, a real disk, and for the kills real processes.
"""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

import batching
import server as answers
from batch_server import BatchServer, Row, Vendor
from batching import Heard
from conftest import Command, WriteItems, assert_right, item
from jurybox import evaluate
from jurybox.errors import JudgeRejection, SetupError
from jurybox.runner import Tally
from jurybox.store import RunReader

JUDGES = ("openai/judge-1", "anthropic/judge-1")
PRICE = (100.0, 1000.0)
LIVE_COST = (100 * PRICE[0] + 20 * PRICE[1]) / 1e6

both = pytest.mark.parametrize("spec", JUDGES)


@pytest.fixture
def batches() -> Iterator[BatchServer]:
    with BatchServer() as running:
        yield running


class Judge:
    """judge(data, spec, …) judges by batches into one file; `said` is what was told the last time."""

    def __init__(self, server: BatchServer, out: Path) -> None:
        self.server, self.out = server, out
        self.heard = Heard()

    def __call__(self, data: Path, *specs: str, **options: Any) -> Tally:
        self.heard = Heard()
        url = self.server.base_url
        return asyncio.run(batching.judge(self.out, data, url, specs, progress=self.heard, **options))

    @property
    def said(self) -> str:
        return "\n".join(self.heard.said)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(self.out)) as connection:
            return connection.execute(query).fetchall()

    def statuses(self) -> Counter[str]:
        with RunReader(self.out) as reader:
            return Counter(judgment.verdict.status for judgment in reader.judgments())

    def reasons(self) -> set[str]:
        with RunReader(self.out) as reader:
            return {judgment.verdict.reason for judgment in reader.judgments()}


@pytest.fixture
def judge(batches: BatchServer, tmp_path: Path) -> Judge:
    return Judge(batches, tmp_path / "run.db")


def paid(server: BatchServer) -> int:
    """How many answers were paid, live or in batches."""
    return sum(server.answered.values()) + len(server.live) + len(server.requests)


def left_over(judge: Judge) -> list[tuple[Any, ...]]:
    """What the book still has to wait for, or to judge."""
    return [*judge.rows("SELECT * FROM batched"), *judge.rows("SELECT * FROM returned")]


# The whole way


@both
def test_every_judgment_comes_back_scored_and_is_paid_once(judge: Judge, write_items: WriteItems, spec: str) -> None:
    tally = judge(write_items(30), spec, rubrics="fluency,coherence")
    assert len(assert_right(judge.out)) == tally.done == tally.total == 60
    assert paid(judge.server) == tally.calls == 60
    assert set(judge.server.answered.values()) == {1}
    assert len(judge.server.batches) == 1
    assert left_over(judge) == []


@both
def test_the_first_question_goes_live_and_the_others_cost_half(
    judge: Judge, write_items: WriteItems, spec: str
) -> None:
    tally = judge(write_items(11), spec, price=PRICE)
    assert sum(judge.server.answered.values()) == 10
    assert tally.cost == pytest.approx(LIVE_COST + 10 * LIVE_COST / 2)
    assert judge.rows("SELECT ROUND(TOTAL(cost), 6) FROM calls") == [(pytest.approx(6 * LIVE_COST),)]


@both
def test_a_second_start_asks_nothing(judge: Judge, write_items: WriteItems, spec: str) -> None:
    data = write_items(5)
    judge(data, spec)
    before = paid(judge.server)
    tally = judge(data, spec)
    assert (tally.done, tally.kept, tally.calls) == (5, 5, 0)
    assert paid(judge.server) == before
    assert len(judge.server.batches) == 1


@both
def test_several_batches_are_made_when_one_is_full(judge: Judge, write_items: WriteItems, spec: str) -> None:
    judge(write_items(24), spec, most=10)
    assert [len(batch.rows) for batch in judge.server.made()] == [10, 10, 3]
    assert len(assert_right(judge.out)) == 24


def test_two_vendors_are_asked_side_by_side(judge: Judge, write_items: WriteItems) -> None:
    judge(write_items(6), *JUDGES)
    assert [len(judge.server.made(vendor)) for vendor in ("openai", "anthropic")] == [1, 1]
    assert len(assert_right(judge.out)) == 12
    assert "2 batches are out, 0 of 10 questions answered" in judge.said


@both
def test_the_same_prompt_about_two_items_is_asked_once(judge: Judge, write_items: WriteItems, spec: str) -> None:
    twins = [item(number, id=f"p{number}", system=system) for number in range(4) for system in ("base", "copy")]
    judge(write_items(twins), spec)
    assert len(assert_right(judge.out)) == 8
    assert paid(judge.server) == 4


@both
def test_samples_are_questions_of_their_own(judge: Judge, write_items: WriteItems, spec: str) -> None:
    judge(write_items(3), spec, samples=4, temperature=0.7)
    assert len(assert_right(judge.out)) == paid(judge.server) == 12


@both
@pytest.mark.parametrize(("layout", "answer"), [("form", "form"), ("form", "json"), ("shared", "json")])
def test_every_layout_and_answer_goes_through(
    judge: Judge, write_items: WriteItems, spec: str, layout: str, answer: str
) -> None:
    judge(write_items(4), spec, rubrics="fluency,coherence", layout=layout, answer=answer)
    assert len(assert_right(judge.out)) == 8


# What fails


@both
def test_expired_and_failed_questions_are_asked_again(judge: Judge, write_items: WriteItems, spec: str) -> None:
    def fate(row: Row, nth: int) -> Any:
        return {0: "expired", 1: "missing"}.get(int(row.name, 16) % 4) if nth == 1 else None

    judge.server.fate = fate
    judge.server.first(answers.error(500))
    tally = judge(write_items(40), spec)
    assert len(assert_right(judge.out)) == 40
    assert set(judge.server.answered.values()) == {1}
    assert len(judge.server.batches) == 2
    tried = dict(judge.rows("SELECT key, attempts FROM calls"))
    assert tally.retried == sum(tried.values()) - 40 > 30
    errors = {error for (error,) in judge.rows("SELECT error FROM attempts")}
    assert len(errors) == 3, errors
    assert left_over(judge) == []


@both
def test_unread_answers_are_asked_again_and_every_attempt_is_kept(
    judge: Judge, write_items: WriteItems, spec: str
) -> None:
    judge.server.first(answers.completion("Nice kettle."))
    tally = judge(write_items(8), spec, price=PRICE)
    assert len(assert_right(judge.out)) == 8
    assert judge.rows("SELECT COUNT(*) FROM attempts WHERE text = 'Nice kettle.'") == [(9,)]
    # The first question is unread live and once more in the batch; then all eight are asked again.
    assert tally.cost == pytest.approx(LIVE_COST * (1 + 8 / 2 + 8 / 2))


@both
def test_patience_with_unread_answers_ends(judge: Judge, write_items: WriteItems, spec: str) -> None:
    judge.server.always(answers.completion("Nice kettle."))
    judge(write_items(4), spec, reasks=2)
    assert judge.statuses() == {"unparsed": 4}
    assert paid(judge.server) == 4 * 3
    judge(write_items(4), spec, reasks=2)
    assert paid(judge.server) == 4 * 3, "an answer that could not be read is an answer"


@both
def test_patience_with_failures_ends_and_the_next_start_asks_again(
    judge: Judge, write_items: WriteItems, spec: str
) -> None:
    judge.server.plan = lambda request: answers.error(500, "out of order") if request.item == 3 else None
    judge(write_items(5), spec, retries=2)
    assert judge.statuses() == {"scored": 4, "failed": 1}
    assert any("out of order" in reason for reason in judge.reasons())
    assert len(judge.server.batches) == 3
    judge.server.plan = None
    judge(write_items(5), spec, retries=2)
    assert len(assert_right(judge.out)) == 5
    assert judge.rows("SELECT COUNT(*) FROM attempts WHERE error LIKE '%out of order%'") == [(3,)]


@both
def test_a_failure_that_no_retry_mends_is_not_retried(judge: Judge, write_items: WriteItems, spec: str) -> None:
    judge.server.plan = lambda request: answers.error(400, "this prompt is odd") if request.item == 3 else None
    judge(write_items(5), spec)
    assert judge.statuses() == {"scored": 4, "failed": 1}
    assert len(judge.server.batches) == 1


@both
def test_a_prompt_that_is_too_long_is_the_items_own_trouble(judge: Judge, write_items: WriteItems, spec: str) -> None:
    said = "prompt is too long: 210000 tokens > 200000 maximum"
    judge.server.plan = lambda request: answers.error(400, said) if request.item == 3 else None
    judge(write_items(5), spec)
    assert judge.statuses() == {"scored": 4, "unsupported": 1}
    assert any(said in reason for reason in judge.reasons())


@both
def test_a_parameter_that_the_model_does_not_take_is_found_out_before_the_batch(
    judge: Judge, write_items: WriteItems, spec: str
) -> None:
    judge.server.refuses = {"temperature": "`temperature` is deprecated for this model."}
    judge.server.plan = lambda request: (
        answers.error(400, "Unsupported parameter: 'temperature' is not supported with this model.")
        if "temperature" in request.body
        else None
    )
    judge(write_items(6), spec)
    (batch,) = judge.server.made()
    assert all("temperature" not in row.body for row in batch.rows)
    assert len(assert_right(judge.out)) == 6
    assert f"{spec} has no temperature" in judge.said


def test_a_crowded_server_gets_smaller_batches_one_at_a_time(judge: Judge, write_items: WriteItems) -> None:
    judge.server.waiting_limit = 10
    judge(write_items(31), "openai/judge-1")
    assert len(assert_right(judge.out)) == 31
    taken = [len(batch.rows) for batch in judge.server.made() if not batch.errors]
    assert max(taken) <= 10
    assert sum(taken) == 30
    assert "Enqueued token limit reached" in judge.said
    assert judge.rows("SELECT MAX(attempts) FROM calls") == [(1,)], "waiting is no failure"


def test_a_refused_batch_stops_the_run_with_the_servers_words(judge: Judge, write_items: WriteItems) -> None:
    judge.server.invalid = "the model has no batches"
    with pytest.raises(JudgeRejection, match="the model has no batches"):
        judge(write_items(5), "openai/judge-1")
    judge.server.invalid = ""
    judge(write_items(5), "openai/judge-1")
    assert len(assert_right(judge.out)) == paid(judge.server) == 5


@both
def test_a_batch_that_the_server_lost_is_sent_again(judge: Judge, write_items: WriteItems, spec: str) -> None:
    stop_after_sending(judge, write_items(5), spec)
    judge.server.batches.clear()
    judge.server.looks = 1
    judge(write_items(5), spec)
    assert "is lost" in judge.said
    assert len(assert_right(judge.out)) == 5


@both
def test_a_cancelled_batch_keeps_what_it_has_and_stops_the_run(
    judge: Judge, write_items: WriteItems, spec: str
) -> None:
    data = write_items(9)
    stop_after_sending(judge, data, spec)
    (batch,) = judge.server.made()
    asyncio.run(judge.server._work(batch))
    for row in batch.rows[3:]:  # five were cancelled before they were asked
        judge.server.answered[row.name] -= row.status == 200
        row.status, row.answer = 0, {}
    batch.cancelled = True
    with pytest.raises(JudgeRejection, match="was cancelled at the server"):
        judge(data, spec)
    assert len(assert_right(judge.out)) == 4
    judge.server.looks = 1
    judge(data, spec)
    assert len(assert_right(judge.out)) == 9
    assert paid(judge.server) == 9


# What is refused


@both
def test_a_wrong_key_stops_the_run_at_once(
    judge: Judge, write_items: WriteItems, spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge.server.key = "sk-right"
    variable = "OPENAI_API_KEY" if spec.startswith("openai") else "ANTHROPIC_API_KEY"
    monkeypatch.setenv(variable, "sk-wrong")
    with pytest.raises(JudgeRejection, match=f"401.*{variable}") as caught:
        judge(write_items(5), spec)
    assert "sk-wrong" not in str(caught.value)
    monkeypatch.setenv(variable, "sk-right")
    judge(write_items(5), spec)
    assert len(assert_right(judge.out)) == 5


@both
def test_a_key_that_goes_bad_while_a_batch_is_out_loses_nothing(
    judge: Judge, write_items: WriteItems, spec: str
) -> None:
    stop_after_sending(judge, write_items(5), spec)
    judge.server.key, judge.server.looks = "sk-right", 1
    with pytest.raises(JudgeRejection, match="401"):
        judge(write_items(5), spec)
    judge.server.key = ""
    judge(write_items(5), spec)
    assert len(assert_right(judge.out)) == paid(judge.server) == 5


def test_judges_without_batches_are_refused_before_anything_is_sent(judge: Judge, write_items: WriteItems) -> None:
    with pytest.raises(SetupError, match="baseline/length has no batch API"):
        judge(write_items(3), "openai/judge-1", "baseline/length")
    assert paid(judge.server) == 0


def test_samples_auto_are_refused(judge: Judge, write_items: WriteItems) -> None:
    with pytest.raises(SetupError, match="--samples auto"):
        judge(write_items(3), "openai/judge-1", samples="auto")
    assert paid(judge.server) == 0


# Stopping, money


@both
def test_a_stop_leaves_the_batch_at_the_server_and_the_next_start_fetches_it(
    judge: Judge, write_items: WriteItems, spec: str
) -> None:
    tally = stop_after_sending(judge, write_items(6), spec)
    assert tally.done == 1, "the one that went live"
    assert "1 batch goes on at the server; the same command fetches the answers" in judge.said
    judge.server.looks = 1
    judge(write_items(6), spec)
    assert len(assert_right(judge.out)) == paid(judge.server) == 6
    assert len(judge.server.batches) == 1


@both
def test_a_batch_that_might_pass_the_budget_is_not_sent(judge: Judge, write_items: WriteItems, spec: str) -> None:
    """A dollar for a token out, 20 at most: one live call may cost $20, four in a batch $40 together."""
    money: dict[str, Any] = {"price": (0.0, 1e6), "max_tokens": 20, "max_cost": 70.0}
    tally = judge(write_items(10), spec, most=4, **money)
    assert tally.done == len(assert_right(judge.out)) == paid(judge.server) == 5
    assert tally.stopped == "--max-cost 70: a batch of 4 might pass it"
    judge(write_items(10), spec, most=4, **{**money, "max_cost": 1000.0})
    assert len(assert_right(judge.out)) == paid(judge.server) == 10


@both
def test_answers_of_earlier_runs_are_not_asked_again(
    judge: Judge, write_items: WriteItems, spec: str, tmp_path: Path
) -> None:
    cache = tmp_path / "shared.db"
    judge(write_items(5), spec, cache=cache)
    judge.out = judge.out.with_name("second.db")
    tally = judge(write_items(8), spec, cache=cache)
    assert len(assert_right(judge.out)) == tally.done == 8
    assert paid(judge.server) == 8


def stop_after_sending(judge: Judge, data: Path, spec: str) -> Tally:
    """A start that is stopped while its batch is at work."""
    judge.server.looks = None
    stop = asyncio.Event()

    class Stopper(Heard):
        def say(self, text: str) -> None:
            super().say(text)
            if "is at the server" in text:
                stop.set()

    judge.heard = Stopper()
    url = judge.server.base_url
    return asyncio.run(batching.judge(judge.out, data, url, [spec], progress=judge.heard, stop=stop))


# Broken connections and kills


@both
def test_a_connection_that_breaks_after_the_batch_was_made_does_not_make_it_twice(
    judge: Judge, write_items: WriteItems, spec: str
) -> None:
    judge.server.break_after_making = 1
    judge(write_items(6), spec)
    assert len(judge.server.batches) == 1
    assert len(assert_right(judge.out)) == paid(judge.server) == 6


@contextmanager
def started(judge: Judge, data: Path, spec: str) -> Iterator[subprocess.Popen[str]]:
    words = [sys.executable, batching.__file__, str(judge.out), str(data), judge.server.base_url, spec]
    process = subprocess.Popen(words, env=os.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def killed_when(judge: Judge, data: Path, spec: str, is_time: Callable[[], bool]) -> None:
    """Start a run in a process of its own and SIGKILL it when it is time."""
    ends = time.monotonic() + 60
    with started(judge, data, spec) as process:
        while not is_time():
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < ends, "its time never came"
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL


def copied(judge: Judge, query: str) -> list[tuple[Any, ...]]:
    """What a reader would find after a crash right now, in a copy, so that looking changes nothing."""
    aside = judge.out.parent / "aside"
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir()
    for path in judge.out.parent.glob(judge.out.name + "*"):
        if not path.name.endswith(("-shm", "-lock")):
            shutil.copy(path, aside)
    with closing(sqlite3.connect(aside / judge.out.name)) as connection:
        return connection.execute(query).fetchall()


def finished(judge: Judge, data: Path, spec: str, count: int, batches: int = 1) -> None:
    """The next start ends with every judgment scored once and nothing paid twice."""
    with started(judge, data, spec) as process:
        said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    assert len(assert_right(judge.out)) == count
    assert set(judge.server.answered.values()) == {1}
    assert paid(judge.server) == count
    assert len(judge.server.batches) == batches
    assert left_over(judge) == []


@both
def test_sigkill_between_sending_and_noting_the_id(judge: Judge, write_items: WriteItems, spec: str) -> None:
    data = write_items(20)
    judge.server.hang_after_making = True
    killed_when(judge, data, spec, lambda: bool(judge.server.batches))
    assert judge.rows("SELECT remote FROM batches") == [(None,)]
    judge.server.hang_after_making = False
    finished(judge, data, spec, 20)


@both
def test_sigkill_before_the_server_made_the_batch(judge: Judge, write_items: WriteItems, spec: str) -> None:
    data = write_items(20)
    judge.server.hang_after_making = True
    killed_when(judge, data, spec, lambda: bool(judge.server.batches))
    judge.server.batches.clear()
    judge.server.hang_after_making = False
    finished(judge, data, spec, 20)


@both
def test_sigkill_while_the_batch_is_at_work(judge: Judge, write_items: WriteItems, spec: str) -> None:
    data = write_items(20)
    judge.server.looks = None
    killed_when(judge, data, spec, lambda: any(batch.looks for batch in judge.server.made()))
    judge.server.looks = 1
    finished(judge, data, spec, 20)


@both
def test_sigkill_in_the_middle_of_fetching(judge: Judge, write_items: WriteItems, spec: str) -> None:
    data = write_items(450)
    judge.server.hang_after_lines = 300

    def half_is_home() -> bool:
        return judge.server.lines_sent >= 300 and copied(judge, "SELECT COUNT(*) FROM returned") == [(200,)]

    killed_when(judge, data, spec, half_is_home)
    assert judge.rows("SELECT COUNT(*) FROM judgments") == [(1,)]
    judge.server.hang_after_lines = None
    finished(judge, data, spec, 450)


@both
def test_sigkill_at_random_moments_while_answers_are_fetched_and_judged(
    judge: Judge, write_items: WriteItems, spec: str
) -> None:
    rng = random.Random(4)
    data = write_items(600)
    killed: list[int] = []
    for kill in range(6):
        before = judge.server.lines_sent
        with started(judge, data, spec) as process:
            while judge.server.lines_sent == before and process.poll() is None:
                time.sleep(0.001)
            time.sleep(rng.uniform(0, 0.1) if kill else 0.0)
            process.send_signal(signal.SIGKILL)
            if process.wait() == -signal.SIGKILL:
                killed.append(kill)
    assert 0 in killed, "the first kill comes with the first line"
    finished(judge, data, spec, 600)


def test_a_foreign_batch_of_the_same_size_is_not_taken_for_ours(judge: Judge, write_items: WriteItems) -> None:
    """Anthropic's batches carry no label: while ours cannot be told from another's, the guess is checked by the names
    in its results."""
    data, spec = write_items(20), "anthropic/judge-1"
    judge.server.hang_after_making = True
    killed_when(judge, data, spec, lambda: bool(judge.server.batches))
    ours = judge.server.made()[0]
    strangers = [Row(f"{number:064x}", row.body) for number, row in enumerate(ours.rows)]
    judge.server._make("anthropic", strangers)
    judge.server.hang_after_making = False
    with started(judge, data, spec) as process:
        said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    assert len(assert_right(judge.out)) == 20
    assert all(judge.server.answered[row.name] == 1 for row in ours.rows)
    assert len(judge.server.batches) == 2


@pytest.mark.parametrize("vendor", ["openai", "anthropic"])
def test_a_batch_is_found_on_a_later_page(judge: Judge, write_items: WriteItems, vendor: Vendor) -> None:
    data, spec = write_items(20), f"{vendor}/judge-1"
    judge.server.hang_after_making, judge.server.page = True, 2
    killed_when(judge, data, spec, lambda: bool(judge.server.batches))
    (ours,) = judge.server.made()
    for number in range(5):
        judge.server._make(vendor, [Row(f"other-{number}", ours.rows[0].body)])
    judge.server.hang_after_making = False
    judge(data, spec)
    assert len(assert_right(judge.out)) == 20
    assert len(judge.server.batches) == 6
    assert [batch.looks for batch in judge.server.made() if batch is not ours] == [0] * 5, "of another size or label"


# Through the front door


def test_batch_from_the_command_line(
    jurybox: Command, batches: BatchServer, write_items: WriteItems, tmp_path: Path
) -> None:
    words = ["run", write_items(4), "--rubrics", "fluency", "--judge", "openai/judge-1", "--base-url", batches.base_url]
    done = jurybox(*words, "--batch", "--out", tmp_path / "run.db", "--json")
    assert done.returncode == 0, done.stderr
    assert len(assert_right(tmp_path / "run.db")) == 4
    assert sum(batches.answered.values()) == 3


def test_batch_from_python(batches: BatchServer, write_items: WriteItems, tmp_path: Path) -> None:
    options: dict[str, Any] = {"base_url": batches.base_url, "rubrics": "fluency", "judge": "anthropic/judge-1"}
    run = evaluate(write_items(4), out=tmp_path / "run.db", batch=True, **options)
    assert run.complete
    assert len(assert_right(tmp_path / "run.db")) == 4
    assert sum(batches.answered.values()) == 3
