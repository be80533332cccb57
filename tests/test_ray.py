"""The same run on a real Ray with two workers and a real server: same scores, same keys, nothing paid twice, even when
a worker or the driver is killed. Requests are counted on the server's side.

One Ray for all of these tests, started here and ended here; nobody else's is touched.
"""

from __future__ import annotations

import asyncio
import importlib.util
import logging
import os
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import WriteItems, assert_right, command_line, item
from jurybox.api.judging import aevaluate, evaluate
from jurybox.api.looking import Run, path_of
from jurybox.errors import JudgeRejection, StoreError
from jurybox.runner.cluster.writer import JUDGMENTS_A_PART
from jurybox.store import RunReader
from server import Answer, JudgeServer, Request, chat, error

# Not imported here: Ray reads its environment when it is. In CI its absence is an error, for the dev group installs it.
if not os.environ.get("CI") and importlib.util.find_spec("ray") is None:
    pytest.skip("Ray is not installed", allow_module_level=True)

WORKERS, CONCURRENCY = 2, 8
RUBRICS = "fluency,coherence"
# What a killed worker may cost: its calls in flight, one part that was filling and one that was being written.
A_WORKER = CONCURRENCY + 2 * JUDGMENTS_A_PART

pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own


@pytest.fixture(scope="module")
def ray_address() -> Iterator[str]:
    from jurybox.runner.cluster.starting import ray_module

    ray = ray_module(None)

    ray.init(
        address="local",
        num_cpus=2 * WORKERS + 2,  # a killed worker keeps its place for a moment
        include_dashboard=False,
        _node_ip_address="127.0.0.1",
        object_store_memory=128 * 2**20,
        log_to_driver=False,
        logging_level=logging.ERROR,
    )
    try:
        address: str = ray.get_runtime_context().gcs_address
        assert address.startswith("127.0.0.1:"), "loopback alone"
        yield address
    finally:
        ray.shutdown()


def on_ray(data: Any, server: JudgeServer, out: Path | str, **options: Any) -> Run:
    given = {"rubrics": RUBRICS, "judge": "openai/judge-1", "concurrency": CONCURRENCY, **options}
    return evaluate(data, base_url=server.base_url, out=out, engine="ray", workers=WORKERS, **given)


def workers_now(below: int) -> set[int]:
    """Processes of workers below a process of ours."""
    import psutil

    found = set()
    for process in psutil.Process(below).children(recursive=True):
        try:
            if "MapWorker" in " ".join(process.cmdline()):
                found.add(process.pid)
        except psutil.Error:
            continue
    return found


def repeats(server: JudgeServer) -> int:
    return sum(count - 1 for count in server.seen.values())


def calls(path: Path) -> Counter[tuple[Any, ...]]:
    """Every judgment with the key of its call, as a reader of any run finds it."""
    with RunReader(path) as reader:
        query = """SELECT id, system, rubric, judge, judgments.sample, score, status,
                          hex(key), hex(prompt_digest), reasons
                   FROM judgments JOIN items USING (item) JOIN series USING (series) JOIN calls USING (call)"""
        return Counter(reader._rows(query).fetchall())


def test_the_same_scores_keys_and_signatures_as_the_local_engine(
    ray_address: str, server: JudgeServer, write_items: WriteItems, tmp_path: Path
) -> None:
    records = [item(number, human={"fluency": [4, 5]}, colour="red") for number in range(12)]
    records += [{**record, "id": f"copy of {record['id']}"} for record in records]  # the same prompts once more
    data, out = write_items(records), tmp_path / "out.run"
    local = evaluate(data, rubrics=RUBRICS, judge=["openai/judge-1", "baseline/system"], base_url=server.base_url)
    before = len(server.requests)
    run = on_ray(data, server, out, judge=["openai/judge-1", "baseline/system"])
    assert len(server.requests) - before == 24
    assert run.complete
    assert calls(path_of(run)) == calls(path_of(local))
    there, here = run.show().as_dict(), local.show().as_dict()
    assert there["judges"].keys() == here["judges"].keys()
    for judge, table in here["judges"].items():
        assert there["judges"][judge]["systems"] == table["systems"]
        assert there["judges"][judge]["signature"] == table["signature"]
    with RunReader(path_of(run)) as theirs, RunReader(path_of(local)) as ours:
        assert sorted(theirs.ratings()) == sorted(ours.ratings())
        assert theirs.item("p3", "base") == ours.item("p3", "base")
        assert theirs.spent()["tokens_in"] == ours.spent()["tokens_in"]
    assert run.agree().as_dict()["rubrics"].keys() == local.agree().as_dict()["rubrics"].keys()
    # Once more: everything is stored, so nobody is asked; the same question under other settings is refused.
    again = on_ray(data, server, out, judge=["openai/judge-1", "baseline/system"])
    assert len(server.requests) - before == 24
    assert again.complete
    with pytest.raises(StoreError, match="temperature"):
        on_ray(data, server, out, temperature=1.0)


def test_a_killed_worker_costs_no_more_than_what_it_had_in_hand(
    ray_address: str, server: JudgeServer, write_items: WriteItems, tmp_path: Path
) -> None:
    server.latency = 0.1
    data, out = write_items(300), tmp_path / "out.run"
    done: list[Run] = []
    running = threading.Thread(target=lambda: done.append(on_ray(data, server, out)))
    running.start()
    server.wait_for(250, 60)
    os.kill(min(workers_now(os.getpid())), signal.SIGKILL)
    running.join(90)
    assert done, "the run must end although a worker was killed"
    assert done[0].complete
    assert len(assert_right(path_of(done[0]))) == 600
    print(f"worker killed: {repeats(server)} of 600 requests repeated")
    assert repeats(server) <= A_WORKER
    assert len(server.seen) == 600


def test_a_killed_driver_costs_no_more_and_the_next_start_goes_on(
    ray_address: str, server: JudgeServer, write_items: WriteItems, tmp_path: Path
) -> None:
    server.latency = 0.1
    data, out = write_items(300), tmp_path / "out.run"
    words = ["run", data, "--rubrics", RUBRICS, "--judge", "openai/judge-1", "--base-url", server.base_url]
    words += ["--out", out, "--engine", "ray", "--workers", WORKERS, "--concurrency", CONCURRENCY]
    driver = subprocess.Popen(
        command_line(*words, "--ray-address", ray_address), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        server.wait_for(250, 60)
    finally:
        driver.kill()
        driver.wait()
    until = time.monotonic() + 30
    while workers_now(os.getpid()) and time.monotonic() < until:  # Ray ends them when their driver is gone
        time.sleep(0.1)
    before = len(server.requests)
    assert before < 600
    run = on_ray(data, server, out)
    assert run.complete
    assert run.tally is not None
    assert run.tally.kept >= before - WORKERS * A_WORKER
    assert len(assert_right(path_of(run))) == 600
    print(f"driver killed after {before} requests: {repeats(server)} repeated")
    assert repeats(server) <= WORKERS * A_WORKER
    assert len(server.seen) == 600


def test_money_is_counted_over_all_workers(
    ray_address: str, server: JudgeServer, write_items: WriteItems, tmp_path: Path
) -> None:
    """A call costs 120 tokens at $1,000 a million; $3 is enough for 25, whichever worker asks."""
    out = tmp_path / "out.run"
    options: dict[str, Any] = {"rubrics": "fluency", "price": (1000.0, 1000.0), "max_tokens": 20}
    run = on_ray(write_items(60), server, out, max_cost=3.0, rpm=6000, **options)
    assert run.tally is not None
    assert "--max-cost" in run.tally.stopped
    assert 0 < run.tally.cost <= 3.0
    assert len(server.requests) == run.tally.calls <= 25


def test_tokens_a_minute_are_counted_over_all_workers(
    ray_address: str, server: JudgeServer, write_items: WriteItems, tmp_path: Path
) -> None:
    """The server says of every call that it took as many tokens as were expected, so the line is as long as they all
    are together. Two lines, one for each worker, would be over in half the time."""
    arrived: list[tuple[float, int]] = []

    def answer(request: Request) -> Answer:
        prompt = sum(len(message["content"]) for message in request.body["messages"]) // 4
        arrived.append((time.monotonic(), prompt + 20))
        return chat("Score- <score>3</score>", more={"usage": {"prompt_tokens": prompt, "completion_tokens": 20}})

    server.plan, tpm = answer, 240_000
    assert on_ray(write_items(24), server, tmp_path / "out.run", rubrics="fluency", tpm=tpm, max_tokens=20).complete
    took = arrived[-1][0] - arrived[0][0]
    line = sum(tokens for _, tokens in arrived[1:]) / tpm * 60
    print(f"{len(arrived)} calls, {line:.1f} s at {tpm:,} tokens a minute, took {took:.1f} s")
    assert took >= 0.75 * line


def test_a_judge_that_refuses_every_call_ends_the_run(
    ray_address: str, server: JudgeServer, write_items: WriteItems, tmp_path: Path
) -> None:
    server.always(error(401, "no such key"))
    with pytest.raises(JudgeRejection, match="no such key"):
        on_ray(write_items(20), server, tmp_path / "out.run")


def test_files_behind_an_address_into_a_folder_behind_an_address(
    ray_address: str, server: JudgeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three Parquet files through fsspec, the first seven items of them, each item on one worker; then one more."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "items").mkdir()
    for part in range(3):
        records = [{**item(3 * part + number), "reviews": ["Boils fast."]} for number in range(3)]
        pq.write_table(pa.Table.from_pylist(records), tmp_path / "items" / f"{part}.parquet")
    data, out = f"file://{tmp_path}/items/*.parquet", f"file://{tmp_path}/out.run"
    for limit in (7, 8):
        run = on_ray(data, server, out, rubrics="product-opinion", layout="shared", limit=limit)
        assert run.complete
        assert len(assert_right(path_of(run))) == len(server.requests) == 7 * limit
    homes: dict[str, set[str]] = {}
    for path in (tmp_path / "out.run").rglob("*.parquet"):
        for id_ in pq.read_table(path, columns=["id"]).column("id").to_pylist():
            homes.setdefault(str(id_), set()).add(path.name.rpartition("-")[0])
    assert {len(workers) for workers in homes.values()} == {1}, "all calls about an item come from one worker"


def test_a_stop_keeps_what_was_judged_and_the_next_start_goes_on(
    ray_address: str, server: JudgeServer, write_items: WriteItems, tmp_path: Path
) -> None:
    async def stopped() -> Run:
        stop = asyncio.Event()
        running = asyncio.create_task(
            aevaluate(
                data,
                rubrics=RUBRICS,
                judge="openai/judge-1",
                base_url=server.base_url,
                out=out,
                engine="ray",
                workers=WORKERS,
                concurrency=CONCURRENCY,
                stop=stop,
            )
        )
        await asyncio.to_thread(server.wait_for, 40, 60)
        stop.set()
        return await running

    server.latency = 0.2
    data, out = write_items(100), tmp_path / "out.run"
    run = asyncio.run(stopped())
    assert not run.complete
    assert run.tally is not None
    assert run.tally.done == run.tally.calls == len(server.requests), "calls under way were waited for and kept"
    server.latency = 0.0
    again = on_ray(data, server, out)
    assert again.complete
    assert len(server.requests) == len(server.seen) == 200
