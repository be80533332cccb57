"""The log of annotations loses nothing, undoes cleanly, and is seen at once by everything that reads ratings."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import krippendorff
import numpy as np
import pytest

from conftest import Command, Evaluate, WriteItems, command_line
from conftest import item as an_item
from jurybox.data.rating import Rating
from jurybox.errors import SetupError, StoreError
from jurybox.report.annotating import ORDERS, Queue, Turn, advised_order, blind_order, rater_agreement
from jurybox.report.estimate import estimate_run
from jurybox.store import AnnotationLog, RunReader, current_ratings, extent, history, item_keys, progress, skips
from server import JudgeServer

SYSTEMS = ("base", "secret-model-x")
RUBRICS = ("fluency", "coherence")
FIRST = ("p0", "base")


def records(sources: int, **more: Any) -> list[dict[str, Any]]:
    return [an_item(number, system=system, **more) for number in range(sources) for system in SYSTEMS]


@pytest.fixture
def run(evaluate: Evaluate) -> Path:
    evaluate(records(6), rubrics=",".join(RUBRICS))
    return evaluate.out


@pytest.fixture
def log(run: Path) -> Iterator[AnnotationLog]:
    with AnnotationLog(run) as opened:
        yield opened


def now(run: Path) -> dict[tuple[str, str, str, str], float | None]:
    with RunReader(run) as reader:
        return {(r.id, r.system, r.rubric, r.rater): r.score for r in current_ratings(reader)}


def test_a_score_is_there_when_the_call_returns_for_any_reader(run: Path, log: AnnotationLog) -> None:
    given = log.record(FIRST, "fluency", "ann", 4, " reads well ")
    assert (given.number, given.action, given.score, given.comment) == (1, "score", 4.0, "reads well")
    with closing(sqlite3.connect(run)) as connection:
        rows = connection.execute("SELECT number, rubric, rater, action, score, comment FROM annotations").fetchall()
    assert rows == [(1, "fluency", "ann", "score", 4.0, "reads well")]
    assert log._connection.execute("PRAGMA synchronous").fetchone() == (2,), "FULL"
    assert log._connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_the_latest_score_counts_and_undo_brings_back_the_one_before(run: Path, log: AnnotationLog) -> None:
    place = (*FIRST, "fluency", "ann")
    for score in (2, 5):
        log.record(FIRST, "fluency", "ann", score)
    assert now(run) == {place: 5}
    undone = log.undo("ann")
    assert undone is not None
    assert (undone.score, undone.number) == (5, 2)
    assert now(run) == {place: 2}
    log.undo("ann")
    assert now(run) == {}
    assert log.undo("ann") is None
    with RunReader(run) as reader:
        told = [(one.action, one.takes_back) for one in history(reader, "ann")]
    assert told == [("score", None), ("score", None), ("undo", 2), ("undo", 1)], "nothing is ever changed"


def test_undo_is_the_raters_own(run: Path, log: AnnotationLog) -> None:
    log.record(FIRST, "fluency", "ann", 4)
    log.record(FIRST, "fluency", "bob", 3)
    log.undo("ann")
    assert now(run) == {(*FIRST, "fluency", "bob"): 3}


def test_a_skip_takes_the_place_of_a_score_and_can_be_undone(run: Path, log: AnnotationLog) -> None:
    log.record(FIRST, "fluency", "ann", 4)
    log.skip(FIRST, "fluency", "ann")
    assert now(run) == {}
    with RunReader(run) as reader:
        assert [skip.key for skip in skips(reader, "ann")] == [FIRST]
    log.undo("ann")
    assert now(run) == {(*FIRST, "fluency", "ann"): 4}


@pytest.mark.parametrize(
    ("rubric", "rater", "score", "said"),
    [
        ("fluency", "", 3, "the rater has no name"),
        ("fluency", "  ", 3, "the rater has no name"),
        ("fluency", "a\x1bb", 3, "cannot be printed"),
        ("fluency", "a\nb", 3, "cannot be printed"),
        ("fluency", "a" * 101, 3, "at most 100"),
        ("fluency", "ann", 0, "score 0 is off the scale 1-5"),
        ("fluency", "ann", 5.5, "score 5.5 is off the scale 1-5"),
        ("fluency", "ann", float("nan"), "should be a number 1-5"),
        ("fluency", "ann", True, "should be a number 1-5"),
        ("fluensy", "ann", 3, "unknown rubric 'fluensy'. Did you mean 'fluency'?"),
    ],
)
def test_what_is_no_rating_is_refused_and_nothing_recorded(
    run: Path, log: AnnotationLog, rubric: str, rater: str, score: float, said: str
) -> None:
    with pytest.raises(StoreError, match="nothing was recorded") as caught:
        log.record(FIRST, rubric, rater, score)
    assert said in str(caught.value)
    with pytest.raises(StoreError, match="no item id 'p9'"):
        log.record(("p9", "base"), "fluency", "ann", 3)
    assert now(run) == {}


def test_names_are_one_name_however_they_are_typed(run: Path, log: AnnotationLog) -> None:
    log.record(FIRST, "fluency", " Zo\u0065\u0308 ", 4)
    log.record(FIRST, "fluency", "Zo\u00eb", 2)
    assert now(run) == {(*FIRST, "fluency", "Zo\u00eb"): 2}


def test_an_annotation_stands_over_the_same_raters_rating_from_the_data(evaluate: Evaluate) -> None:
    evaluate(records(2, human={"fluency": {"ann": 1, "bob": 2}}))
    place = (*FIRST, "fluency")
    with AnnotationLog(evaluate.out) as log:
        log.record(FIRST, "fluency", "ann", 5, "changed my mind")
        found = now(evaluate.out)
        assert (found[*place, "ann"], found[*place, "bob"], len(found)) == (5, 2, 8)
        log.skip(FIRST, "fluency", "bob")
        assert now(evaluate.out)[*place, "bob"] == 2, "a skip says nothing against what came with the data"
        log.undo("ann")
    assert now(evaluate.out)[*place, "ann"] == 1
    with RunReader(evaluate.out) as reader:
        assert extent(reader).raters == 2


def test_a_file_that_nobody_annotated_has_no_table_and_is_read(run: Path) -> None:
    with RunReader(run) as reader:
        assert (list(current_ratings(reader)), history(reader), skips(reader), progress(reader)) == ([], [], [], [])
        assert not reader.has_table("annotations")
    with AnnotationLog(run) as log:
        pass
    with RunReader(run) as reader:
        assert not reader.has_table("annotations"), "opening alone makes nothing"
        with AnnotationLog(run) as log:
            log.record(FIRST, "fluency", "ann", 3)
        assert len(list(reader.ratings())) == 1, "a reader that was open before sees the first one"


def test_what_is_no_run_file_is_refused_and_left_alone(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no such run file"):
        AnnotationLog(tmp_path / "none.db")
    assert not (tmp_path / "none.db").exists()
    (tmp_path / "empty.db").write_bytes(b"")
    with pytest.raises(StoreError):
        AnnotationLog(tmp_path / "empty.db")
    assert (tmp_path / "empty.db").read_bytes() == b""


def test_progress_counts_items_times_rubrics(run: Path, log: AnnotationLog) -> None:
    log.record(FIRST, "fluency", "ann", 3)
    log.record(FIRST, "coherence", "ann", 3)
    log.skip(("p1", "base"), "fluency", "ann")
    log.skip(("p1", "base"), "fluency", "bob")
    with RunReader(run) as reader:
        ann, bob = progress(reader)
    assert (ann.rater, ann.scored, ann.skipped, ann.total) == ("ann", 2, 1, 24)
    assert (bob.rater, bob.scored, bob.skipped, bob.total) == ("bob", 0, 1, 24)
    assert ann.last.startswith("20")


def test_agree_and_estimate_see_annotations_at_once(run: Path, jurybox: Command) -> None:
    before = jurybox("agree", run, "--json")
    assert before.returncode == 2, "no ratings yet"
    rng = random.Random(0)
    with AnnotationLog(run) as log, RunReader(run) as reader:
        for key in item_keys(reader):
            for rater in ("ann", "bob"):
                log.record(key, "fluency", rater, rng.randint(1, 5))
        after = jurybox("agree", run, "--json")  # while the log is open
    assert after.returncode == 0, after.stderr
    told = json.loads(after.stdout)
    assert told["rubrics"]["fluency"]["pooled"]["spearman"]["n"] == 12
    with AnnotationLog(run) as log:
        log.undo("bob")
    again = json.loads(jurybox("agree", run, "--json").stdout)
    assert again != told
    guessed = jurybox("estimate", run, "--json")
    assert guessed.returncode == 0, guessed.stderr
    systems = json.loads(guessed.stdout)["rubrics"]["fluency"]["systems"]
    assert [found["n_labelled"] for found in systems.values()] == [6, 6]


LOOP = """
import sys
from jurybox.store import AnnotationLog
run, rater = sys.argv[1:]
with AnnotationLog(run) as log:
    for turn in range(100_000):
        given = log.record((f"p{turn % 6}", "base"), "fluency", rater, 1 + turn % 5, f"turn {turn}")
        print(given.number, turn, flush=True)
        if turn % 7 == 6:
            print(log.undo(rater).number, "undone", flush=True)
"""


def test_sigkill_loses_nothing_that_a_call_returned_for(run: Path) -> None:
    rng, told = random.Random(4), dict[int, str]()
    for _ in range(6):
        with subprocess.Popen(
            [sys.executable, "-c", LOOP, str(run), "ann"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            lines = [process.stdout.readline() for _ in range(rng.randint(1, 40))]
            time.sleep(rng.uniform(0, 0.01))
            process.send_signal(signal.SIGKILL)
            rest = process.stdout.read()
            assert process.wait() == -signal.SIGKILL, process.stderr and process.stderr.read()
        for line in [line for line in "".join([*lines, rest]).splitlines(keepends=True) if line.endswith("\n")]:
            told[int(line.split()[0])] = line.split()[1]
        with closing(sqlite3.connect(run)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        with RunReader(run) as reader:
            log = {one.number: one for one in history(reader)}
            taken_back = {one.takes_back for one in log.values()}
        for number, what in told.items():
            if what == "undone":
                assert number in taken_back
            else:
                assert log[number].comment == f"turn {what}"
    assert len(told) > 12


def test_several_processes_and_threads_annotate_one_file(run: Path) -> None:
    program = LOOP.replace("100_000", "60")
    names = ("ann", "bob", "cyd")
    processes = [subprocess.Popen([sys.executable, "-c", program, str(run), name], stdout=-1) for name in names]
    with AnnotationLog(run) as log:
        threads = [
            threading.Thread(target=lambda name=name: [log.record(FIRST, "fluency", name, 3) for _ in range(40)])
            for name in ("dan", "eve")
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [process.communicate() and process.returncode for process in processes] == [0, 0, 0]
    with RunReader(run) as reader:
        log_of = {name: history(reader, name) for name in (*names, "dan", "eve")}
    assert [len(log_of[name]) for name in names] == [60 + 8] * 3
    assert [len(log_of[name]) for name in ("dan", "eve")] == [40, 40]


def test_annotating_beside_a_running_run_loses_neither(
    server: JudgeServer, write_items: WriteItems, tmp_path: Path
) -> None:
    server.latency = 0.02
    out, data = tmp_path / "run.db", write_items(60)
    words = ["run", data, "--rubrics", ",".join(RUBRICS), "--judge", "openai/judge-1", "--base-url", server.base_url]
    with subprocess.Popen(command_line(*words, "--out", out, "--concurrency", 4), env=os.environ, stderr=-1) as process:
        while len(server.requests) < 10:
            assert process.poll() is None
            time.sleep(0.01)
        given = 0
        with AnnotationLog(out) as log:
            while process.poll() is None:
                log.record(("p0", "base"), "fluency", "ann", 1 + given % 5)
                given += 1
                time.sleep(0.01)  # a rater much faster than any: without a pause SQLite lets the run wait for seconds
        assert process.returncode == 0, process.stderr and process.stderr.read()
    assert given > 5
    with RunReader(out) as reader:
        assert len(history(reader)) == given
        assert sum(1 for _ in reader.judgments()) == 120


def test_ratings_from_elsewhere_are_taken_once_and_never_over_newer_ones(run: Path, log: AnnotationLog) -> None:
    old = Rating(*FIRST, "fluency", "ann", 2, at="2020-01-01T00:00:00.000+00:00")
    assert (log.take([old]).new, log.take([old]).there) == (1, 1)
    log.record(FIRST, "fluency", "ann", 5)
    assert log.take([old]).older == 1
    assert now(run) == {(*FIRST, "fluency", "ann"): 5}
    taken = log.take([Rating(*FIRST, "fluency", "ann", 3), Rating(*FIRST, "coherence", "ann", None)])
    assert (taken.replaced, taken.skipped, taken.taken) == (1, 1, 2)
    with pytest.raises(StoreError, match="no item"):
        log.take([Rating(*FIRST, "fluency", "bob", 3), Rating("p77", "base", "fluency", "bob", 3)])
    assert now(run) == {(*FIRST, "fluency", "ann"): 3}, "all or nothing"


def finished(run: Path, queue: Queue, log: AnnotationLog) -> list[Turn]:
    turns = []
    with RunReader(run) as reader:
        while turn := queue.next(reader):
            turns.append(turn)
            for rubric in turn.rubrics:
                log.record(turn.key, rubric, queue.rater, 3)
    return turns


@pytest.mark.parametrize("order", ORDERS)
def test_a_queue_shows_every_item_once_and_is_the_same_after_a_restart(
    run: Path, log: AnnotationLog, order: Any
) -> None:
    with RunReader(run) as reader:
        queue, again = (Queue(reader, "ann", order=order, seed=5) for _ in range(2))
        assert queue.keys == again.keys
        assert queue.keys != Queue(reader, "ann", order=order, seed=6).keys
        assert sorted(queue.keys) == sorted(item_keys(reader))
        bobs = Queue(reader, "bob", order=order, seed=5).keys
    assert (bobs == queue.keys) == (order == "together")
    assert [turn.key for turn in finished(run, queue, log)] == queue.keys


def test_an_items_place_does_not_change_when_more_come(run: Path) -> None:
    with RunReader(run) as reader:
        keys = item_keys(reader)
    few = blind_order(keys[:5], 1, "ann")
    assert [key for key in blind_order(keys, 1, "ann") if key in keys[:5]] == few


def test_what_was_skipped_comes_back_at_the_end_longest_ago_first(run: Path, log: AnnotationLog) -> None:
    with RunReader(run) as reader:
        queue = Queue(reader, "ann", rubrics=["fluency"])
        for key in queue.keys[:2]:
            log.skip(key, "fluency", "ann")
    turns = finished(run, queue, log)
    assert [turn.key for turn in turns] == [*queue.keys[2:], *queue.keys[:2]]
    assert [turn.again for turn in turns[-3:]] == [False, True, True]


def test_a_turn_has_only_what_is_open(run: Path, log: AnnotationLog) -> None:
    with RunReader(run) as reader:
        queue = Queue(reader, "ann")
        log.record(queue.keys[0], "fluency", "ann", 3)
        turn = queue.next(reader)
    assert turn is not None
    assert (turn.key, turn.rubrics) == (queue.keys[0], ("coherence",))


def test_a_rater_is_not_shown_the_system_nor_any_score(evaluate: Evaluate) -> None:
    hidden = {"metadata_model": "secret-model-x", "human": {"fluency": [4.25]}}
    evaluate([an_item(0, system="secret-model-x", specifications={"Weight": "100 g"}, **hidden)])
    with RunReader(evaluate.out) as reader:
        turn = Queue(reader, "ann").next(reader)
        assert turn is not None
        shown = repr(turn.item)
        (judged,) = (judgment.verdict.score for judgment in reader.judgments())
    assert "secret-model-x" not in shown
    assert "4.25" not in shown
    assert not hasattr(turn.item, "score"), judged
    titles = {passage.title: passage.text for passage in turn.item.material}
    assert titles == {
        "Specifications": "1. Weight: 100 g",
        "Reviews": "1. Boils fast.\n2. (rating 3) The lid sticks.",
    }


def test_advice_begins_with_what_estimate_asks_for(run: Path, log: AnnotationLog) -> None:
    with RunReader(run) as reader:
        for number, key in enumerate(item_keys(reader)[:6]):
            for rubric in RUBRICS:
                log.record(key, rubric, "ann", 1 + number % 5)
        wanted = {key for found in estimate_run(reader, seed=3).rubrics.values() for key in found.next.items}
        order = advised_order(reader, 3, "bob")
        assert 0 < len(wanted) < 12
        assert set(order[: len(wanted)]) == wanted
        assert len({tuple(system for _, system in advised_order(reader, 3, rater)) for rater in "abcdef"}) > 1, (
            "systems of a source come in no fixed order, or their places would tell them apart"
        )


def test_live_agreement_is_krippendorffs_alpha_of_what_stands(run: Path, log: AnnotationLog) -> None:
    """Against the package `krippendorff`."""
    rng = random.Random(2)
    table = np.full((3, 12), np.nan)
    with RunReader(run) as reader:
        keys = item_keys(reader)
        assert rater_agreement(reader)["fluency"].method == "undefined: nobody rated it"
        for rater in range(3):
            for place, key in enumerate(keys):
                if rng.random() < 0.7:
                    table[rater, place] = rng.randint(1, 5)
                    log.record(key, "fluency", f"rater {rater}", table[rater, place])
        log.record(keys[0], "coherence", "ann", 3)
        found = rater_agreement(reader, resamples=50)
    expected = krippendorff.alpha(reliability_data=table, level_of_measurement="ordinal")
    assert found["fluency"].value == pytest.approx(expected)
    assert found["fluency"].n == int((~np.isnan(table)).sum(axis=0).__ge__(2).sum())
    assert found["coherence"].value is None
    assert found["coherence"].method == "undefined: no item was scored by two raters"


def test_a_queue_refuses_what_it_cannot_serve(run: Path) -> None:
    with RunReader(run) as reader:
        with pytest.raises(SetupError, match="unknown order 'random'"):
            Queue(reader, "ann", order="random")  # type: ignore[arg-type]
        with pytest.raises(SetupError, match="no name"):
            Queue(reader, " ")
        with pytest.raises(SetupError, match="Did you mean 'fluency'"):
            Queue(reader, "ann", rubrics=["fluensy"])
