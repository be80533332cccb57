"""Keys and passwords go to the judge and nowhere else: not to a screen, not into a file, whatever goes wrong."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import server as answers
from conftest import Command, WriteItems, command_line
from server import Answer, JudgeServer

KEY = "sk-very-secret-0f1e2d3c4b5a69788796"
PASSWORD = "hunter2-very-secret"
ENV = {"OPENAI_API_KEY": KEY}


def words(data: Path, base_url: str) -> list[object]:
    job: list[object] = ["run", data, "--rubrics", "fluency", "--judge", "openai/judge-1", "--base-url", base_url]
    return [*job, "--retries", 1, "--out", "run.db"]


def assert_nowhere(secret: str, folder: Path, *said: str) -> None:
    for text in said:
        assert secret not in text
    for path in folder.rglob("*"):
        if path.is_file():
            assert secret.encode() not in path.read_bytes(), path.name


def exported(jurybox: Command, folder: Path) -> list[str]:
    """Everything that the commands which look at a run say, and the rows of a Parquet file, which is compressed."""
    looks = [jurybox("show", "run.db")]
    looks += [jurybox("export", "run.db", "--to", f"out.{ending}") for ending in ("csv", "jsonl", "parquet")]
    assert all(look.returncode == 0 for look in looks)
    table = pq.read_table(folder / "out.parquet").to_pylist()
    return [str(table), *(look.stdout + look.stderr for look in looks)]


FAULTS = [
    pytest.param(None, 0, id="all is well"),
    pytest.param(answers.echo_key(401), 2, id="401 repeats the key"),
    pytest.param(answers.echo_key(400), 2, id="400 repeats the key"),
    pytest.param(answers.echo_key(500), 0, id="500 repeats the key"),
    pytest.param(answers.error(400, f"{KEY} was filtered", "content_filter"), 0, id="the filter repeats the key"),
    pytest.param(answers.error(200, f"{KEY} has no engine"), 0, id="200 repeats the key"),
    pytest.param(answers.body(f"<html>{KEY}</html>", kind="text/html"), 0, id="a page repeats the key"),
    pytest.param(answers.error(503, "x" * 480 + KEY), 0, id="the key is where words are cut"),
    pytest.param(answers.reset, 0, id="reset"),
]


@pytest.mark.parametrize(("fault", "status"), FAULTS)
def test_the_key_is_sent_and_left_nowhere(
    jurybox: Command,
    server: JudgeServer,
    write_items: WriteItems,
    tmp_path: Path,
    fault: Answer | None,
    status: int,
) -> None:
    server.plan = lambda request: fault
    done = jurybox(*words(write_items(2), server.base_url), env=ENV)
    assert done.returncode == status, done.stderr
    assert {request.headers["Authorization"] for request in server.requests} == {f"Bearer {KEY}"}
    assert_nowhere(KEY, tmp_path, done.stdout, done.stderr)
    assert_nowhere("sk-very", tmp_path, done.stdout, done.stderr)


def test_exports_hold_no_key(jurybox: Command, server: JudgeServer, write_items: WriteItems, tmp_path: Path) -> None:
    server.plan = lambda request: answers.echo_key(500) if request.item == 0 else None
    jurybox(*words(write_items(2), server.base_url), env=ENV)
    assert_nowhere(KEY, tmp_path, *exported(jurybox, tmp_path))


def test_a_crash_shows_no_key(server: JudgeServer, write_items: WriteItems, tmp_path: Path) -> None:
    """A bug of ours, with asyncio's debug mode on, which shows more than usual."""
    code = "import jurybox.runner.patience as room; room.read = None; from jurybox.cli import main; main()"
    arguments = [str(word) for word in words(write_items(2), server.base_url)]
    env = {**os.environ, **ENV, "PYTHONASYNCIODEBUG": "1", "PYTHONFAULTHANDLER": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], env=env, capture_output=True, text=True, check=False, timeout=60
    )
    assert "Traceback" in done.stderr
    assert server.requests
    assert_nowhere(KEY, tmp_path, done.stdout, done.stderr)


def test_a_killed_run_leaves_no_key_in_its_files(server: JudgeServer, write_items: WriteItems, tmp_path: Path) -> None:
    server.plan = lambda request: answers.echo_key(500) if request.item < 5 else answers.slow(0.2)
    command = command_line(*words(write_items(60), server.base_url))
    with subprocess.Popen(
        command, env={**os.environ, **ENV}, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        server.wait_for(40)
        process.send_signal(signal.SIGKILL)
        stdout, stderr = process.communicate()
    assert (tmp_path / "run.db-wal").stat().st_size > 0
    assert_nowhere(KEY, tmp_path, stdout.decode(), stderr.decode())


@pytest.mark.parametrize(
    ("fault", "status", "env"),
    [
        pytest.param(None, 0, {}, id="all is well"),
        pytest.param(None, 0, ENV, id="there is a key too"),
        pytest.param(answers.error(401, f"no entry for ann:{PASSWORD}"), 2, ENV, id="401 repeats it"),
        pytest.param(answers.error(500, f"no entry for ann:{PASSWORD}"), 0, {}, id="500 repeats it"),
        pytest.param(answers.reset, 0, {}, id="reset"),
    ],
)
def test_a_password_in_the_address_is_sent_and_left_nowhere(
    jurybox: Command,
    server: JudgeServer,
    write_items: WriteItems,
    tmp_path: Path,
    fault: Answer | None,
    status: int,
    env: dict[str, str],
) -> None:
    server.plan = lambda request: fault
    address = server.base_url.replace("http://", f"http://ann:{PASSWORD}@")
    done = jurybox(*words(write_items(2), address), env=env)
    assert done.returncode == status, done.stderr
    assert all(request.headers["Authorization"].startswith("Basic ") for request in server.requests)
    for secret in (PASSWORD, KEY):
        assert_nowhere(secret, tmp_path, done.stdout, done.stderr)


@pytest.mark.parametrize("address", [f"http://ann:{PASSWORD}@host:99999/v1", f"ann:{PASSWORD}@host/v1"])
def test_a_wrong_address_is_refused_without_its_password(
    jurybox: Command, write_items: WriteItems, tmp_path: Path, address: str
) -> None:
    done = jurybox(*words(write_items(1), address))
    assert done.returncode == 2
    assert "--base-url host" in done.stderr
    assert_nowhere(PASSWORD, tmp_path, done.stdout, done.stderr)


def test_plan_shows_no_secret(jurybox: Command, write_items: WriteItems, tmp_path: Path) -> None:
    job = words(write_items(2), f"http://ann:{PASSWORD}@127.0.0.1:9/v1")
    for more in ([], ["--json"]):
        done = jurybox("plan", *job[1:], *more, env=ENV)
        assert done.returncode == 0
        for secret in (KEY, PASSWORD):
            assert_nowhere(secret, tmp_path, done.stdout, done.stderr)
