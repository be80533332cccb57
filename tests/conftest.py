"""What the tests share: a clean environment, a server that judges, items it knows, and the real command line."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from jurybox.api.jobs import Data
from jurybox.api.judging import evaluate as jurybox_evaluate
from jurybox.api.looking import Run
from jurybox.rubrics import builtin
from jurybox.store import RunReader
from jurybox.types import Rubric
from server import JudgeServer, mark, right_score

_OURS = (
    *("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORGANIZATION", "OPENAI_PROJECT", "OLLAMA_HOST"),
    *("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "JURYBOX_PRICES"),
    *("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"),
)

Command = Callable[..., "subprocess.CompletedProcess[str]"]
WriteItems = Callable[..., Path]


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No test depends on the keys or the directory of whoever runs it."""
    for name in _OURS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("JURYBOX_REPLIES", f"{tmp_path}-replies.db")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def server() -> Iterator[JudgeServer]:
    with JudgeServer() as running:
        yield running


def item(number: int, **more: Any) -> dict[str, Any]:
    """An item whose scores the server knows."""
    return {
        "id": f"p{number}",
        "system": "base",
        "summary": f"Buyers like the kettle. {mark(number)}",
        "reviews": ["Boils fast.", {"text": "The lid sticks.", "rating": 3}],
        **more,
    }


@pytest.fixture
def write_items(tmp_path: Path) -> WriteItems:
    """write_items(3) or write_items([record, …]) makes a JSONL file and returns its path."""

    def write(items: int | list[dict[str, Any]], name: str = "data.jsonl") -> Path:
        records = [item(number) for number in range(items)] if isinstance(items, int) else items
        path = tmp_path / name
        path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
        return path

    return write


def command_line(*words: object) -> list[str]:
    return [sys.executable, "-m", "jurybox", *map(str, words)]


@pytest.fixture
def jurybox(tmp_path: Path) -> Command:
    """jurybox("run", …, env={…}) runs the real command in a process of its own."""

    def run(*words: object, env: dict[str, str] | None = None, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command_line(*words),
            cwd=tmp_path,
            env={**os.environ, **(env or {})},
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return run


class Evaluate:
    """evaluate(data, rubrics=…, …) judges into one run file with the test's server as the judge."""

    def __init__(self, server: JudgeServer, out: Path) -> None:
        self.server, self.out = server, out

    def __call__(
        self,
        data: Data,
        rubrics: str | Sequence[str | Rubric] = "fluency",
        judge: Any = "openai/judge-1",
        **options: Any,
    ) -> Run:
        options = {"base_url": self.server.base_url, "out": self.out, **options}
        return jurybox_evaluate(data, rubrics=rubrics, judge=judge, **options)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """What the run file holds, read with SQLite itself."""
        connection = sqlite3.connect(self.out)
        try:
            return connection.execute(query).fetchall()
        finally:
            connection.close()


@pytest.fixture
def evaluate(server: JudgeServer, tmp_path: Path) -> Evaluate:
    return Evaluate(server, tmp_path / "run.db")


def assert_right(path: Path) -> dict[tuple[str, str, str, str, int], float | None]:
    """Every judgment of a run is scored, and as the server knows it; returns them by key."""
    found: dict[tuple[str, str, str, str, int], float | None] = {}
    with RunReader(path) as reader:
        for judgment in reader.judgments():
            key = (judgment.id, judgment.system, judgment.rubric, judgment.judge, judgment.sample)
            assert key not in found, "one row a judgment"
            found[key] = judgment.verdict.score
            assert judgment.verdict.status == "scored", f"{key}: {judgment.verdict}"
            assert judgment.verdict.score == right_score(int(judgment.id[1:]), builtin()[judgment.rubric].title), key
    return found
