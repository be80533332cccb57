"""The command line: one JSON document on standard output, messages on standard error, and an exit status to rely on."""

from __future__ import annotations

import csv
import json
import os
import pty
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

import server as answers
from conftest import Command, WriteItems, assert_right, command_line, item
from jurybox.cli import main
from server import JudgeServer

EXPORTED = {"id", "system", "rubric", "judge", "sample", "score", "status", "reason", "model", "prompt_digest"}
EXPORTED |= {"tokens_in", "tokens_out", "cost", "seconds", "signature"}
ESTIMATE = {"value", "low", "high", "n", "n_unscored", "method", "seed"}


def job(data: Path | str, server: JudgeServer, *more: object) -> Sequence[object]:
    return (data, "--rubrics", "fluency", "--judge", "openai/judge-1", "--base-url", server.base_url, *more)


def document(done: subprocess.CompletedProcess[str]) -> Any:
    """The one JSON document that standard output is; more or less than that does not parse."""
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def assert_refused(done: subprocess.CompletedProcess[str], *said: str) -> None:
    """Wrong use: status 2, nothing on standard output, a message and no traceback."""
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    for words in said:
        assert words in done.stderr


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Command:
    """The command line in this process: for the many ways of wrong use, a process each is too slow."""

    def run(*words: object) -> subprocess.CompletedProcess[str]:
        monkeypatch.setattr(sys, "argv", ["jurybox", *map(str, words)])
        with pytest.raises(SystemExit) as exited:
            main()
        said = capfd.readouterr()
        assert isinstance(exited.value.code, int)
        return subprocess.CompletedProcess([str(word) for word in words], exited.value.code, said.out, said.err)

    return run


# One JSON document


def test_run_show_and_export_print_one_json_document(
    jurybox: Command, server: JudgeServer, write_items: WriteItems, tmp_path: Path
) -> None:
    ran = document(jurybox("run", *job(write_items(4), server, "--json")))
    assert ran["judge"] == "openai/judge-1"
    assert ran["signature"].startswith("jurybox|fluency@1:")
    estimate = ran["systems"]["base"]["fluency"]
    assert set(estimate) >= ESTIMATE
    assert (estimate["n"], estimate["n_unscored"], ran["missing"]) == (4, 0, 0)
    assert len(assert_right(tmp_path / "data.run.db")) == 4

    shown = document(jurybox("show", "data.run.db", "--json"))
    assert shown == ran

    for ending in ("csv", "jsonl", "parquet"):
        exported = document(jurybox("export", "data.run.db", "--to", f"out.{ending}", "--json"))
        assert exported == {"run": "data.run.db", "to": f"out.{ending}", "judgments": 4}
    with (tmp_path / "out.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert set(rows[0]) >= EXPORTED
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [float(row["score"]) for row in rows] == [line["score"] for line in lines]


@pytest.mark.parametrize("pack", ["product-opinion", "health-perspective"])
def test_demo_prints_one_json_document(jurybox: Command, pack: str) -> None:
    done = jurybox("demo", "--pack", pack, "--judge", "baseline/length", "--json")
    assert document(done)["judge"] == "baseline/length"


def test_demo_without_weights_says_that_its_judge_is_no_judge(jurybox: Command, tmp_path: Path) -> None:
    """Nothing in the cache and no index to take it from: the demo still runs, and hides nothing."""
    done = jurybox("demo", env={"JURYBOX_CACHE": str(tmp_path / "empty"), "PIP_NO_INDEX": "1"})
    assert done.returncode == 0, done.stderr
    assert "Judge baseline/length" in done.stdout
    assert "jurybox models get smollm2-135m-instruct" in done.stderr
    assert "only counts words and is no judgment of quality" in done.stderr


def test_rubrics_print_one_json_document(jurybox: Command, tmp_path: Path) -> None:
    listed = document(jurybox("rubrics", "list", "--json"))
    assert {len(rubrics) for rubrics in listed.values()} == {7}
    assert document(jurybox("rubrics", "show", "fluency", "--json"))["name"] == "fluency"
    text = files("jurybox.rubrics").joinpath("builtin/fluency.toml").read_text("utf-8")
    (tmp_path / "mine.toml").write_text(text)
    assert list(document(jurybox("rubrics", "check", "mine.toml", "--json"))) == ["mine.toml"]


def test_the_table_goes_to_standard_output_and_progress_to_standard_error(
    jurybox: Command, server: JudgeServer, write_items: WriteItems
) -> None:
    done = jurybox("run", *job(write_items(4), server))
    assert done.returncode == 0
    assert "Judge openai/judge-1" in done.stdout
    assert "n=4" in done.stdout
    assert "jurybox show data.run.db" in done.stdout
    assert "4 of 4 judgments" in done.stderr
    assert "0 unscored" in done.stderr


def read_terminal(descriptor: int) -> str:
    """All that was written to a terminal, until its last writer is gone: Linux says EIO then."""
    seen = b""
    with os.fdopen(descriptor, "rb", buffering=0) as terminal, suppress(OSError):
        while more := terminal.read(65536):
            seen += more
    return seen.decode()


def test_a_terminal_gets_a_bar(server: JudgeServer, write_items: WriteItems) -> None:
    """With its count, the cost and the unscored; on standard error, so that --json stays one document."""
    ours, theirs = pty.openpty()
    words = command_line("run", *job(write_items(4), server, "--price", "1,1", "--json"))
    with subprocess.Popen(
        words, env={**os.environ, "COLUMNS": "120"}, stdout=subprocess.PIPE, stderr=theirs
    ) as process:
        os.close(theirs)
        seen = read_terminal(ours)
        stdout, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    assert json.loads(stdout)["missing"] == 0
    for words_seen in ("judging", "4/4", "$0.0005", "0 unscored"):
        assert words_seen in seen


def test_items_can_come_from_standard_input(jurybox: Command, server: JudgeServer, tmp_path: Path) -> None:
    lines = "".join(json.dumps(item(number)) + "\n" for number in range(3))
    document(jurybox("run", *job("-", server, "--json"), stdin=lines))
    assert len(assert_right(tmp_path / "jurybox.run.db")) == 3


# Plan


def test_plan_sends_nothing_writes_nothing_and_knows_what_the_store_has(
    jurybox: Command, server: JudgeServer, write_items: WriteItems, tmp_path: Path
) -> None:
    data = write_items(5)
    planned = document(jurybox("plan", *job(data, server, "--json", "--price", "1,1")))
    assert (planned["items"], planned["judgments"]) == (5, 5)
    judge = planned["judges"]["openai/judge-1"]
    assert (judge["calls"], judge["stored"]) == (5, 0)
    assert judge["cost"] > 0
    assert [path.name for path in tmp_path.iterdir()] == ["data.jsonl"]
    assert not server.requests

    document(jurybox("run", *job(data, server, "--json", "--limit", 3)))
    before = (tmp_path / "data.run.db").read_bytes()
    judge = document(jurybox("plan", *job(data, server, "--json")))["judges"]["openai/judge-1"]
    assert (judge["calls"], judge["stored"], judge["cost"]) == (2, 3, None)
    assert (tmp_path / "data.run.db").read_bytes() == before
    assert len(server.requests) == 3

    text = jurybox("plan", *job(data, server))
    assert "Nothing was sent." in text.stdout
    assert len(server.requests) == 3


# Exit status


def test_a_gate_that_fails_is_status_1(jurybox: Command, server: JudgeServer, write_items: WriteItems) -> None:
    server.always(answers.completion("Score- <score>3</score>"))
    data = write_items(3)
    failed = jurybox("run", *job(data, server, "--fail-under", "fluency=3.5", "--json"))
    assert failed.returncode == 1
    assert json.loads(failed.stdout)["systems"]["base"]["fluency"]["value"] == 3
    assert "gate failed: fluency of base is 3.000, below 3.5" in failed.stderr
    assert jurybox("run", *job(data, server, "--fail-under", "fluency=3")).returncode == 0
    assert jurybox("show", "data.run.db", "--fail-under", "fluency=3.1").returncode == 1
    unknown = jurybox("show", "data.run.db", "--fail-under", "fluensy=3")
    assert unknown.returncode == 2
    assert "Did you mean 'fluency'?" in unknown.stderr


def test_a_gate_without_a_score_fails(jurybox: Command, server: JudgeServer, write_items: WriteItems) -> None:
    server.always(answers.completion("Nice kettle."))
    done = jurybox("run", *job(write_items(1), server, "--fail-under", "fluency=1"))
    assert done.returncode == 1
    assert "has no score" in done.stderr


def test_of_what_has_no_score_one_is_told_with_its_cause(
    jurybox: Command, write_items: WriteItems, server: JudgeServer
) -> None:
    server.plan = lambda request: answers.completion("Nice kettle.") if request.item == 1 else None
    data = write_items(3)
    for done in (jurybox("run", *job(data, server)), jurybox("show", data.with_suffix(".run.db"))):
        assert "  fluency: 1 unparsed\n  the first, p1 by base, fluency: " in done.stdout
        assert "Nice kettle" not in done.stdout, "the cause, not the reply"


def test_strict_with_unscored_judgments_is_status_3(
    jurybox: Command, server: JudgeServer, write_items: WriteItems
) -> None:
    server.plan = lambda request: answers.completion("Nice kettle.") if request.item == 0 else None
    data = write_items(3)
    done = jurybox("run", *job(data, server, "--strict", "--json"))
    assert done.returncode == 3
    assert json.loads(done.stdout)["statuses"]["fluency"] == {"scored": 2, "unparsed": 1}
    assert "--strict: 1 judgments ended unscored" in done.stderr
    assert jurybox("run", *job(data, server)).returncode == 0


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        pytest.param(answers.error(401, "Incorrect API key"), "answered 401: Incorrect API key", id="401"),
        pytest.param(
            answers.error(404, "The model does not exist"), "answered 404: The model does not exist", id="404"
        ),
        pytest.param(answers.error(400, "Unsupported value"), "answered 400: Unsupported value", id="400"),
    ],
)
def test_a_rejection_is_status_2_with_the_servers_own_message(
    jurybox: Command, server: JudgeServer, write_items: WriteItems, fault: answers.Answer, said: str
) -> None:
    server.always(fault)
    done = jurybox("run", *job(write_items(50), server, "--json"))
    assert_refused(done, said, "What was judged is kept in data.run.db; the same command goes on.")
    assert len([request for request in server.requests if request.path.endswith("/completions")]) <= 16


def test_a_dead_server_is_status_2_with_one_message(jurybox: Command, write_items: WriteItems) -> None:
    words = (
        write_items(30),
        "--rubrics",
        "fluency",
        "--judge",
        "openai/judge-1",
        "--base-url",
        "http://127.0.0.1:9/v1",
    )
    done = jurybox("run", *words, "--retries", 0, "--json")
    assert_refused(done, "calls in a row failed", "http://127.0.0.1:9/v1: no connection (Connection refused)")
    assert done.stderr.count("no connection") == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param(("--rubrics", "fluensy"), "unknown rubric 'fluensy'. Did you mean 'fluency'?", id="rubric"),
        pytest.param(("--judge", "opnai/gpt"), "unknown judge 'opnai'. Did you mean 'openai'?", id="judge"),
        pytest.param(("--judge", "baseline/lenght"), "Did you mean 'length'?", id="baseline"),
        pytest.param(("--judge", "openai"), "name what stands behind the slash", id="no model"),
        pytest.param(("--judge", "openai/gpt-4o"), "OPENAI_API_KEY is not set", id="no key"),
        pytest.param(("--judge", "replay/none.db"), "there is no such run file", id="replay"),
        pytest.param(("--map", "sumary=text"), "Did you mean 'summary'?", id="map"),
        pytest.param(("--map", "summary"), "should be two words with = between them", id="half a map"),
        pytest.param(("--rubrcs", "fluency"), "Did you mean '--rubrics'?", id="option"),
        pytest.param(("--layout", "clasic"), "'clasic' is not one of", id="layout"),
        pytest.param(("--samples", "0"), "--samples 0: should be 1 or more", id="samples"),
        pytest.param(("--price", "cheap"), "should be two numbers", id="price"),
        pytest.param(("--base-url", "localhost", "--judge", "openai/m"), "should be an address", id="address"),
        pytest.param(("--out", "../"), "is a directory", id="out"),
    ],
)
def test_wrong_use_is_status_2_with_a_hint(
    here: Command, write_items: WriteItems, tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    given = {"--rubrics": "fluency", "--judge": "baseline/length"}
    given.update(zip(words[::2], words[1::2], strict=True))
    data = write_items(1)
    assert_refused(here("run", data, *(word for pair in given.items() for word in pair)), said)
    assert [path.name for path in tmp_path.iterdir()] == ["data.jsonl"]


def test_an_unknown_command_has_a_hint(here: Command) -> None:
    assert_refused(here("rnu"), "Did you mean 'run'?")


def test_wrong_data_is_status_2_before_any_call_and_leaves_no_file(
    jurybox: Command, server: JudgeServer, write_items: WriteItems, tmp_path: Path
) -> None:
    data = write_items([item(0), item(1), {"id": "p2"}])
    assert_refused(jurybox("run", *job(data, server)), "data.jsonl, line 3, field 'summary'")
    assert not server.requests
    assert [path.name for path in tmp_path.iterdir()] == ["data.jsonl"]


def test_a_changed_configuration_is_status_2_before_any_call(
    jurybox: Command, server: JudgeServer, write_items: WriteItems
) -> None:
    data = write_items(2)
    assert jurybox("run", *job(data, server)).returncode == 0
    assert_refused(jurybox("run", *job(data, server, "--temperature", 1)), "give another --out")
    assert len(server.requests) == 2


@pytest.mark.parametrize("gate", ["fluensy=4", "fluency=high"])
def test_a_gate_that_cannot_be_is_refused_before_any_call(
    here: Command, server: JudgeServer, write_items: WriteItems, gate: str
) -> None:
    assert_refused(here("run", *job(write_items(2), server, "--fail-under", gate)))
    assert not server.requests


@pytest.mark.parametrize("out", [".", "data.jsonl/run.db", "data.jsonl/folder/run.db"])
def test_a_run_file_that_cannot_be_made_is_status_2(here: Command, write_items: WriteItems, out: str) -> None:
    done = here("run", write_items(1), "--rubrics", "fluency", "--judge", "baseline/length", "--out", out)
    assert_refused(done, "--out")


def test_a_system_name_cannot_steer_the_terminal(jurybox: Command, tmp_path: Path) -> None:
    """Names come from data; an escape sequence in one is shown, not obeyed."""
    record = {"id": "1", "system": "\x1b[2Jgone", "summary": "Fine."}
    (tmp_path / "data.jsonl").write_text(json.dumps(record))
    done = jurybox("run", "data.jsonl", "--rubrics", "fluency", "--judge", "baseline/length")
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout
    assert "[2Jgone" in done.stdout
