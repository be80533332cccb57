"""A run that is killed loses nothing that was counted and repeats only what was in flight; Ctrl-C ends it cleanly.

Real processes, a real server, a real disk.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

import server as answers
from conftest import WriteItems, assert_right, command_line
from jurybox.rubrics import builtin
from jurybox.store import RunReader
from server import JudgeServer

KILLS = 20
CONCURRENCY = 8
RUBRICS = ("fluency", "coherence")
ITEMS = 220
TITLES = {builtin()[name].title: name for name in RUBRICS}

Key = tuple[str, str]


@contextmanager
def started(*words: object) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        command_line(*words), env=os.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def run_words(data: Path, server: JudgeServer, out: Path, *more: object) -> list[object]:
    words = ["run", data, "--rubrics", ",".join(RUBRICS), "--judge", "openai/judge-1", "--base-url", server.base_url]
    return [*words, "--out", out, "--concurrency", CONCURRENCY, *more]


def durable(out: Path, aside: Path) -> set[Key]:
    """What a reader finds after a crash, in a copy, so that looking mends nothing. The copy must be sound."""
    aside.mkdir()
    for path in out.parent.glob(out.name + "*"):
        if not path.name.endswith(("-shm", "-lock")):
            shutil.copy(path, aside)
    with closing(sqlite3.connect(aside / out.name)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        query = "SELECT id, rubric FROM judgments JOIN items USING (item) JOIN series USING (series)"
        rows: list[Key] = connection.execute(query).fetchall()
    assert len(rows) == len(set(rows)), "one row a judgment"
    return set(rows)


def asked(server: JudgeServer, since: int = 0) -> list[Key]:
    """What the server was asked, in the words of the store."""
    return [(f"p{request.item}", TITLES[request.titles[0]]) for request in server.requests[since:]]


def wait_for(server: JudgeServer, process: subprocess.Popen[str], requests: int) -> None:
    """Return when so many requests have arrived; a process that ends before says why."""
    ends = time.monotonic() + 60
    while len(server.requests) < requests:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < ends, f"{len(server.requests)} of {requests} requests came"
        time.sleep(0.001)


def settled(server: JudgeServer) -> int:
    """The number of requests once those of a dead client have all been seen."""
    count = -1
    while count != len(server.requests) or server.in_flight:
        count = len(server.requests)
        time.sleep(0.05)
    return count


def test_sigkill_at_20_random_moments_loses_nothing_and_repeats_at_most_those_in_flight(
    server: JudgeServer, write_items: WriteItems, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    rng = random.Random(20)
    server.latency = 0.015
    # The last answers are held back until the last kill, so that no run is over before it is killed.
    server.plan = lambda request: answers.slow(60) if request.item >= ITEMS - CONCURRENCY // len(RUBRICS) else None
    words = run_words(write_items(ITEMS), server, out := tmp_path / "run.db")
    total = ITEMS * len(RUBRICS)
    kept: set[Key] = set()
    repeats: list[int] = []
    progress: list[int] = []
    before = 0
    for kill in range(KILLS):
        left = total - len(kept)
        most = min(2 * left // (KILLS - kill + 1) + CONCURRENCY, left)
        with started(*words) as process:
            wait_for(server, process, before + rng.randint(1, most))
            time.sleep(rng.uniform(0, 0.015))
            process.send_signal(signal.SIGKILL)
            assert process.wait() == -signal.SIGKILL
        after = settled(server)
        again = asked(server, before)
        assert not kept.intersection(again), "what was durable is never asked again"
        repeats.append(len(set(again) & set(asked(server)[:before])))
        now = durable(out, tmp_path / f"after-{kill}")
        assert kept <= now, "what was durable stays"
        assert len(set(asked(server)) - now) <= CONCURRENCY, "only what was in flight is lost"
        assert max(repeats) <= CONCURRENCY
        kept, before = now, after
        progress.append(len(kept))
    server.plan = None
    with started(*words) as process:
        said = process.communicate()
    assert process.returncode == 0, said
    again = asked(server, before)
    repeats.append(len(set(again) & set(asked(server)[:before])))
    assert not kept.intersection(again)
    assert max(repeats) <= CONCURRENCY
    assert len(assert_right(out)) == len(server.seen) == total
    assert sum(server.seen.values()) - total <= KILLS * CONCURRENCY
    assert len(set(progress)) > KILLS // 2, "the kills are spread over the run"
    record_property("repeats per kill", repeats[1:])
    print(f"durable at each kill: {progress} of {total}\nrepeats per kill: {repeats[1:]}, {sum(repeats)} in all")


def test_looking_at_a_run_that_is_then_killed_takes_nothing_from_it(
    server: JudgeServer, write_items: WriteItems, tmp_path: Path
) -> None:
    """A reader that ends while the writer goes on must not take the writer's WAL away with it."""
    server.latency = 0.01
    with started(*run_words(write_items(ITEMS), server, out := tmp_path / "run.db")) as process:
        for requests in (40, 80, 120):
            wait_for(server, process, requests)
            with RunReader(out) as reader:
                seen = sum(1 for _ in reader.judgments())
            assert seen >= requests - 2 * CONCURRENCY, "a reader sees what is durable"
        wait_for(server, process, 200)
        process.send_signal(signal.SIGKILL)
        process.wait()
    settled(server)
    assert len(set(asked(server)) - durable(out, tmp_path / "aside")) <= CONCURRENCY


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_one_interrupt_lets_calls_under_way_end_and_the_same_command_goes_on(
    server: JudgeServer, write_items: WriteItems, tmp_path: Path, number: signal.Signals
) -> None:
    server.latency = 0.1
    words = run_words(write_items(30), server, out := tmp_path / "run.db", "--json")
    with started(*words) as process:
        wait_for(server, process, 20)
        process.send_signal(number)
        stdout, stderr = process.communicate(timeout=30)
    assert process.returncode == 130, stderr
    made = settled(server)
    assert 20 <= made < 60
    assert stdout == ""
    assert f"{made} of 60 judgments" in stderr
    assert f"kept in {out}. Go on with the same command." in stderr
    assert "Traceback" not in stderr
    assert durable(out, tmp_path / "aside") == set(asked(server))
    with started(*words) as process:
        process.communicate(timeout=30)
    assert process.returncode == 0
    assert len(server.requests) == 60
    assert len(assert_right(out)) == 60


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_a_second_interrupt_stops_at_once_and_keeps_what_was_finished(
    server: JudgeServer, write_items: WriteItems, tmp_path: Path, number: signal.Signals
) -> None:
    server.plan = lambda request: answers.slow(60) if request.item >= 5 else None
    words = run_words(write_items(30), server, out := tmp_path / "run.db")
    with started(*words) as process:
        wait_for(server, process, 10 + CONCURRENCY)
        process.send_signal(number)
        assert process.stderr is not None
        assert f"waiting for {CONCURRENCY} answers under way" in process.stderr.readline()
        process.send_signal(number)
        _, stderr = process.communicate(timeout=8)  # calls under way would be given 10 s, and need 60
    assert process.returncode == 130, stderr
    assert f"kept in {out}" in stderr
    assert "same command" in stderr
    assert "Traceback" not in stderr
    finished = {(f"p{number}", rubric) for number in range(5) for rubric in RUBRICS}
    assert durable(out, tmp_path / "aside") == finished
    server.plan = None
    with started(*words) as process:
        process.communicate(timeout=30)
    assert process.returncode == 0
    assert len(assert_right(out)) == 60
    assert max(server.seen.values()) == 2


def test_a_killed_writer_does_not_lock_the_file_for_the_next(
    server: JudgeServer, write_items: WriteItems, tmp_path: Path
) -> None:
    server.always(answers.slow(60))
    words = run_words(write_items(4), server, out := tmp_path / "run.db")
    with started(*words) as first:
        wait_for(server, first, 1)
        second = subprocess.run(command_line(*words), env=os.environ, capture_output=True, text=True, check=False)
        assert second.returncode == 2
        assert "another jurybox is writing to it" in second.stderr
        assert first.poll() is None
        first.kill()
    server.plan = None
    third = subprocess.run(command_line(*words), env=os.environ, capture_output=True, text=True, check=False)
    assert third.returncode == 0, third.stderr
    assert len(assert_right(out)) == 8
