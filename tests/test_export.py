"""Every judgment leaves the run file whole, and says the same in Parquet, CSV and JSONL."""

from __future__ import annotations

import asyncio
import csv
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import jurybox
from jurybox.data import Dataset
from jurybox.errors import JudgeFailure, SetupError
from jurybox.judges import Judge
from jurybox.prompts import sheets
from jurybox.report.export import COLUMNS, FORMATS
from jurybox.rubrics import load
from jurybox.runner import Job, Patience, execute
from jurybox.store import RunFile
from jurybox.types import Item, Question, Reply, Sampling, Status, Verdict

# DESIGN.md: shapes other programs rely on.
DESIGNED = {
    *("id", "system", "rubric", "judge", "sample", "score", "status", "reason", "model", "prompt_digest"),
    *("tokens_in", "tokens_out", "cost", "seconds", "signature"),
}
REASONS = {
    "formula": '=HYPERLINK("http://x","y")+1',
    "lines": "first, “quoted”\nsecond\r\nthird\rlast;\ttab",
    "quote": '"',
    "zeros": "007",
    "none": "None",
    "unicode": "日本語 🎉 \u2028 é",
    "long": "x" * 200_000,
}
NUMBERS = {"sample": int, "score": float, "tokens_in": int, "tokens_out": int, "tokens_cached": int}
NUMBERS |= {"cost": float, "seconds": float}


def verdicts() -> dict[str, Verdict]:
    scored = {
        name: Verdict("scored", 1 + number % 5 + 1 / 3 * (number % 5 < 4), reason)
        for number, (name, reason) in enumerate(REASONS.items())
    }
    lost: tuple[Status, ...] = ("unparsed", "off_scale", "refused", "truncated", "unsupported", "failed")
    return {**scored, **{status: Verdict(status, reason=f"why {status}") for status in lost}}


class Clerk(Judge):
    """Gives each item the verdict that is written down for its id."""

    spec = model = "clerk/x|y:z"
    computed = True

    async def ask(self, question: Question) -> Reply:
        number = list(verdicts()).index(question.item.id)
        verdict = verdicts()[question.item.id]
        if verdict.status == "failed":
            raise JudgeFailure(verdict.reason, retry=False)
        text, seconds = f"reply {question.item.id}", 0.1 * number
        return Reply(text, model="x-1", tokens_in=10, tokens_out=number, seconds=seconds, verdicts={"fluency": verdict})

    def cost(self, reply: Reply) -> float | None:
        return 1e-7 * (reply.tokens_out or 0)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run file with every status and reasons of every kind."""
    path = tmp_path / "run.db"
    job = Job(
        Dataset([Item(name, "sys", f"summary {name}", {}) for name in verdicts()]),
        sheets(load(["fluency"])),
        (Clerk(),),
        sampling=Sampling(temperature=0.5),
        patience=Patience(reasks=0),
    )
    store = RunFile(path)
    asyncio.run(execute(job, store, version="0.1.0"))
    store.close()
    return path


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").split("\n")[:-1]]


def read_csv(path: Path) -> list[dict[str, Any]]:
    """CSV has no types: numbers are read back by column, and an empty cell of a number is null."""
    csv.field_size_limit(2**24)
    with path.open(encoding="utf-8", newline="") as file:
        return [
            {name: (NUMBERS[name](cell) if cell else None) if name in NUMBERS else cell for name, cell in row.items()}
            for row in csv.DictReader(file)
        ]


def read_parquet(path: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(path).to_pylist()
    return rows


READERS: dict[str, Callable[[Path], list[dict[str, Any]]]] = {
    ".parquet": read_parquet,
    ".csv": read_csv,
    ".jsonl": read_jsonl,
}


@pytest.fixture(params=READERS)
def exported(request: pytest.FixtureRequest, run: Path, tmp_path: Path) -> list[dict[str, Any]]:
    to = tmp_path / f"rows{request.param}"
    assert jurybox.export(run, to) == len(verdicts())
    return READERS[request.param](to)


def test_every_format_is_tested() -> None:
    assert set(READERS) == set(FORMATS)


def test_columns_are_those_that_other_programs_rely_on(exported: list[dict[str, Any]]) -> None:
    assert set(COLUMNS) >= DESIGNED
    assert all(list(row) == list(COLUMNS) for row in exported)


def test_every_judgment_is_one_row_with_its_own_verdict(exported: list[dict[str, Any]]) -> None:
    found = {row["id"]: (row["status"], row["score"], row["reason"]) for row in exported}
    assert found == {name: (verdict.status, verdict.score, verdict.reason) for name, verdict in verdicts().items()}
    assert len(exported) == len(found)


def test_an_unscored_row_has_no_score(exported: list[dict[str, Any]]) -> None:
    unscored = [row for row in exported if row["status"] != "scored"]
    assert len(unscored) == 6
    assert all(row["score"] is None for row in unscored)


def test_a_row_carries_its_origin(exported: list[dict[str, Any]]) -> None:
    row = next(row for row in exported if row["id"] == "quote")
    (rubric,) = load(["fluency"])
    assert row["signature"] == f"jurybox|{rubric.label}|direct|clerk/x|y:z|n:1|t:0.5|mean|0.1.0"
    assert (row["system"], row["rubric"], row["judge"], row["sample"]) == ("sys", "fluency", "clerk/x|y:z", 1)
    assert (row["model"], row["reply"]) == ("x-1", "reply quote")
    assert re.fullmatch("[0-9a-f]{64}", row["prompt_digest"])
    assert (row["tokens_in"], row["tokens_out"], row["tokens_cached"]) == (10, 2, None)
    assert (row["cost"], row["seconds"]) == (2e-7, 0.2)


def test_all_formats_say_the_same(run: Path, tmp_path: Path) -> None:
    found = {}
    for ending, read in READERS.items():
        jurybox.export(run, tmp_path / f"r{ending}")
        # Text that is not there and text that is empty look alike in CSV.
        found[ending] = [
            {name: "" if value is None and name not in NUMBERS else value for name, value in row.items()}
            for row in read(tmp_path / f"r{ending}")
        ]
    assert found[".parquet"] == found[".csv"] == found[".jsonl"]


def test_parquet_keeps_its_types_where_a_column_is_empty(tmp_path: Path) -> None:
    store = RunFile(tmp_path / "empty.db")
    store.close()
    assert jurybox.export(tmp_path / "empty.db", tmp_path / "rows.parquet") == 0
    schema = pq.read_schema(tmp_path / "rows.parquet")
    assert schema.names == list(COLUMNS)
    assert str(schema.field("score").type) == "double"


def test_data_frames_hold_the_same_rows(run: Path, tmp_path: Path) -> None:
    jurybox.export(run, tmp_path / "r.jsonl")
    rows = read_jsonl(tmp_path / "r.jsonl")
    assert jurybox.Run(run).to_polars().to_dicts() == rows
    pandas = jurybox.Run(run).to_pandas()
    assert list(pandas.columns) == list(COLUMNS)
    assert list(pandas["reason"]) == [row["reason"] for row in rows]


@pytest.mark.parametrize("to", ["rows.xlsx", "rows", "absent/rows.csv", "folder.jsonl", "absent/rows.parquet"])
def test_what_cannot_be_written_is_an_error_of_the_user(to: str, run: Path, tmp_path: Path) -> None:
    (tmp_path / "folder.jsonl").mkdir()
    with pytest.raises(SetupError, match=f"--to .*{to}: (unknown ending|cannot be written)"):
        jurybox.export(run, tmp_path / to)
    assert not (tmp_path / to).is_file()


def command(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "jurybox", "export", *map(str, words)], capture_output=True, text=True, check=False
    )


def test_an_unknown_ending_is_exit_status_2(run: Path, tmp_path: Path) -> None:
    done = command(run, "--to", tmp_path / "rows.xlsx")
    assert (done.returncode, done.stdout) == (2, "")
    assert "unknown ending '.xlsx'; known: .parquet, .csv, .jsonl" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_command_writes_what_the_function_writes(run: Path, tmp_path: Path) -> None:
    done = command(run, "--to", tmp_path / "a.csv", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["judgments"] == len(verdicts())
    jurybox.export(run, tmp_path / "b.csv")
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
