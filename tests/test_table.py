"""A table shows every mean with its n and its losses, and fits a terminal."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from jurybox.report.judge import JudgeSummary
from jurybox.report.plans import plan_text
from jurybox.report.summary import Summary
from jurybox.report.table import sparkline, summary_text
from jurybox.rubrics import packs
from jurybox.runner import Plan
from jurybox.runner.plan import JudgePlan
from jurybox.stats import mean_of_scores
from jurybox.types import STATUSES, Estimate, Signature, Status

RUBRICS = [rubric.name for rubric in packs()["product-opinion"]]
LONG_NAME = "meta-llama/Llama-3.1-405B-Instruct-Turbo-with-a-prompt-of-our-own-{}"
SOME = mean_of_scores(1234, 1234 * 3.5, 1234 * 0.5, 1)
NONE = mean_of_scores(0, 0, 0, 9)


def summary(systems: Mapping[str, Estimate], missing: int = 0, lost: Mapping[Status, int] | None = None) -> Summary:
    signatures = {
        name: Signature(f"{name}@1:3f2a9c", "classic", "openai/m", 1, 0.2, "mean", "0.1.0") for name in RUBRICS
    }
    judge = JudgeSummary(
        "openai/m",
        signatures,
        {system: dict.fromkeys(RUBRICS, estimate) for system, estimate in systems.items()},
        {name: {"scored": 5, **(lost or {})} for name in RUBRICS},
    )
    return Summary("run.db", (judge,), missing, {})


def table_lines(text: str) -> list[str]:
    """All but the signatures, each of which is one word to be copied whole."""
    return [line for line in text.splitlines() if not line.strip().startswith("jurybox|")]


@pytest.mark.parametrize("count", [1, 4, 13])
@pytest.mark.parametrize("name", ["s{}", "gpt-4o-mini-{}", LONG_NAME])
def test_the_table_fits_80_columns_and_leaves_nobody_out(count: int, name: str) -> None:
    names = [name.format(number) for number in range(count)]
    text = summary_text(summary(dict.fromkeys(names, SOME), missing=12_345, lost=dict.fromkeys(STATUSES[1:], 99_999)))
    lines = table_lines(text)
    assert max(map(len, lines)) <= 80
    assert text.count("3.50 n=1,234 -1") == count * len(RUBRICS)
    letters = re.sub(r"\s", "", text)
    assert all(name in letters for name in names) or name == LONG_NAME


def test_a_long_name_goes_on_below_and_keeps_its_end() -> None:
    """Names of models differ at their ends, so none is cut off."""
    lines = summary_text(summary({LONG_NAME.format(1): SOME})).splitlines()
    head = lines[3 : next(number for number, line in enumerate(lines) if line.startswith(RUBRICS[0]))]
    assert "".join(line.strip() for line in head) == LONG_NAME.format(1)


def test_short_names_stand_on_the_line_above_their_figures() -> None:
    lines = summary_text(summary({LONG_NAME.format(1): SOME, "b": SOME})).splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith(RUBRICS[0]))
    assert lines[first - 1].endswith(" b")


def test_every_line_of_a_column_begins_at_the_same_place() -> None:
    lines = summary_text(summary({"a": SOME, "b": SOME})).splitlines()
    start = lines[3].index("b")
    assert all(line[start - 1] == " " and line[start] != " " for line in lines[3 : 4 + 2 * len(RUBRICS)])


def test_nothing_scored_is_none_and_never_a_number() -> None:
    text = summary_text(summary({"a": NONE}))
    assert "none n=0 -9" in text
    assert "nan" not in text.lower()
    assert "0.00" not in text


def test_one_item_has_no_interval() -> None:
    text = summary_text(summary({"a": mean_of_scores(1, 4.0, 1.0, 0)}))
    assert "4.00 n=1" in text
    assert "4.00-" not in text


def test_losses_are_told_by_their_reason() -> None:
    text = summary_text(summary({"a": SOME}, lost={"refused": 1200, "truncated": 3}))
    assert f"{RUBRICS[0]}: 1,200 refused, 3 truncated" in text
    assert "Unscored: none" not in text
    assert "Unscored: none" in summary_text(summary({"a": SOME}))


def test_a_system_that_was_never_judged_on_a_rubric_has_a_dash() -> None:
    whole = summary({"a": SOME, "b": SOME})
    judge = whole.judges[0]
    part = replace(judge, systems={"a": judge.systems["a"], "b": {RUBRICS[0]: SOME}})
    text = summary_text(replace(whole, judges=(part,)))
    assert len(re.findall(r" -$", text, re.MULTILINE)) == len(RUBRICS) - 1


def test_an_unfinished_run_says_so() -> None:
    assert "Unfinished: 12,345 judgments are still to be made" in summary_text(summary({"a": SOME}, missing=12_345))
    assert "Unfinished" not in summary_text(summary({"a": SOME}))


def test_every_signature_stands_below_the_table() -> None:
    text = summary_text(summary({"a": SOME}))
    for name in RUBRICS:
        assert f"  jurybox|{name}@1:3f2a9c|classic|openai/m|n:1|t:0.2|mean|0.1.0" in text.splitlines()


def test_a_plan_fits_80_columns_and_says_when_a_price_is_unknown() -> None:
    prices = "prices of 2025-08-07"
    known = JudgePlan(1_000_000, 5, 7, 9, 10**9, 10**9, 12345.678, 6172.839, 1e6, prices)
    unknown = replace(known, cost=None, batch_cost=None)
    assumed = {"tokens_out_a_rubric": 350.0, "seconds_a_call": 8.123, "concurrency": 64.0}
    text = plan_text(Plan(10, 2, 70, {"openai/a": known, "openai/b": unknown}, assumed))
    assert max(map(len, text.splitlines())) <= 80
    assert "$12,345.68 (prices of 2025-08-07)" in text
    assert "$6,172.84" in text, "half, with --batch"
    assert "unknown (give --price IN,OUT)" in text
    assert "Nothing was sent." in text


@pytest.mark.parametrize(
    ("counts", "bars"),
    [
        ((0, 0, 0, 0, 0), "·····"),
        ((1, 0, 0, 0, 1000), "▁···█"),
        ((1, 2, 3, 4, 8), "▁▂▃▄█"),
        ((7, 7, 7, 7, 7), "█████"),
        ((), ""),
    ],
)
def test_a_sparkline_shows_whatever_is_there(counts: tuple[int, ...], bars: str) -> None:
    """The highest bar is full; one item among a thousand is seen, and no item is a dot."""
    assert sparkline(counts) == bars


def test_distributions_stand_below_the_intervals_and_fit_80_columns() -> None:
    systems = [f"gpt-4o-mini-{number}" for number in range(13)]
    whole = summary(dict.fromkeys(systems, SOME))
    bars = {system: dict.fromkeys(RUBRICS, (1, 2, 3, 4, 8)) for system in systems[:-1]}
    text = summary_text(replace(whole, judges=(replace(whole.judges[0], distributions=bars),)))
    lines = table_lines(text)
    assert max(map(len, lines)) <= 80
    assert text.count("▁▂▃▄█") == 12 * len(RUBRICS)
    first = next(number for number, line in enumerate(lines) if line.startswith(RUBRICS[0]))
    column = lines[first].index("3.50")
    assert lines[first + 1][column : column + 4].startswith("3.")
    assert lines[first + 2][column : column + 5] == "▁▂▃▄█"
    assert lines[first + 3].startswith(RUBRICS[1])
    assert "bars: how many" in text
    assert "bars" not in summary_text(whole)


TERMINAL = {"TERM": "xterm-256color", "COLUMNS": "80", "NO_COLOR": ""}


def on_a_terminal(folder: Path, *words: str, **environment: str) -> str:
    """What the real command writes when standard output is a terminal."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "jurybox", *words]
    with subprocess.Popen(command, cwd=folder, stdout=theirs, env={**os.environ, **TERMINAL, **environment}) as process:
        os.close(theirs)
        written = b""
        with contextlib.suppress(OSError):  # Linux says EIO when the other side is closed
            while part := os.read(ours, 65536):
                written += part
        assert process.wait() == 0
    os.close(ours)
    return written.decode()


@pytest.mark.usefixtures("shown")
def test_colour_is_for_terminals_and_says_nothing_of_its_own(tmp_path: Path) -> None:
    coloured = on_a_terminal(tmp_path, "show", "run.db")
    assert "\x1b[1mJudge baseline/length\x1b[0m" in coloured
    plain = re.sub(r"\x1b\[[\d;]*m", "", coloured)
    assert plain == on_a_terminal(tmp_path, "show", "run.db", NO_COLOR="1")
    assert plain == on_a_terminal(tmp_path, "show", "run.db", TERM="dumb")
    piped = subprocess.run(
        [sys.executable, "-m", "jurybox", "show", "run.db"], cwd=tmp_path, check=True, capture_output=True
    )
    assert piped.stdout.decode() == plain.replace("\r\n", "\n")


@pytest.mark.usefixtures("shown")
def test_bars_are_digits_where_the_encoding_has_none(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "jurybox", "show", "run.db"]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, env=environment)
    assert re.search(r"^ +[1-8.]{5}( |$)", done.stdout.decode("ascii"), re.MULTILINE)


ESTIMATE = {"value", "low", "high", "n", "n_unscored", "method", "seed"}


def jurybox_json(folder: Path, *words: str) -> Any:
    command = [sys.executable, "-m", "jurybox", *words, "--json"]
    return json.loads(subprocess.run(command, cwd=folder, check=True, capture_output=True).stdout)


@pytest.fixture
def shown(tmp_path: Path) -> Any:
    """`show --json` of a run in which one judge could judge and the other could not."""
    records = [{"id": n, "system": s, "summary": "word " * n, "reviews": ["r"]} for n in (1, 2, 3) for s in ("a", "b")]
    (tmp_path / "d.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    judges = ("--judge", "baseline/length", "--judge", "baseline/system")
    jurybox_json(tmp_path, "run", "d.jsonl", "--rubrics", "fluency,faithfulness", *judges, "--out", "run.db")
    return jurybox_json(tmp_path, "show", "run.db")


def test_show_json_has_the_shape_that_other_programs_rely_on(shown: Any) -> None:
    assert {field.name for field in fields(Estimate)} == ESTIMATE
    assert set(shown["systems"]) == {"a", "b"}
    for rubrics in shown["systems"].values():
        assert set(rubrics) == {"fluency", "faithfulness"}
        for estimate in rubrics.values():
            assert set(estimate) >= ESTIMATE
            assert (estimate["n"], estimate["n_unscored"], estimate["seed"]) == (3, 0, None)
            assert 1 <= estimate["low"] <= estimate["value"] <= estimate["high"] <= 5
    assert re.fullmatch(
        r"jurybox\|fluency@1:\w{6},faithfulness@1:\w{6}\|direct\|baseline/length\|n:1\|t:0\|mean\|.+",
        shown["signature"],
    )


def test_show_json_says_null_where_nothing_is_scored(shown: Any) -> None:
    estimate = shown["judges"]["baseline/system"]["systems"]["a"]["fluency"]
    assert {key: estimate[key] for key in ("value", "low", "high", "n", "n_unscored")} == {
        "value": None,
        "low": None,
        "high": None,
        "n": 0,
        "n_unscored": 3,
    }
    assert shown["judges"]["baseline/system"]["statuses"]["fluency"] == {"unsupported": 6}
