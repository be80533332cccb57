"""Samples of one judgment become one score in the way that was named, and how far they differ is shown."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from scipy import stats as scipy_stats

from conftest import Command, Evaluate, WriteItems
from jurybox.api import looking
from jurybox.errors import SetupError
from jurybox.report.browse_index import read_index
from jurybox.report.browse_tables import judge_tables
from jurybox.report.plain_table import plain_table
from jurybox.report.table import summary_text
from jurybox.stats import COMBINING, Combine, mean_agreement, mean_spread
from jurybox.store import RunReader
from jurybox.types import Estimate
from server import Answer, Plan, Request

# Scores of each item's three samples; None is an answer that cannot be read.
SAMPLES: Mapping[int, Sequence[int | None]] = {0: (1, 4, 4), 1: (2, 2, 5), 2: (3, 3, 3)}


def drawn(samples: Mapping[int, Sequence[int | None]] = SAMPLES) -> Plan:
    """A server that gives an item's k-th score to the k-th time it is asked, or the first n where n are asked for."""

    def choices(request: Request) -> Sequence[int | None]:
        scores = samples[request.item]
        return scores[: request.body["n"]] if request.body.get("n", 1) > 1 else (scores[(request.nth - 1) % 3],)

    def plan(request: Request) -> Answer:
        async def answer(_: web.Request, request: Request) -> web.StreamResponse:
            texts = ["I cannot say." if score is None else f"<score>{score}</score>" for score in choices(request)]
            return web.json_response(
                {
                    "model": "judge-1",
                    "choices": [
                        {"index": k, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
                        for k, text in enumerate(texts)
                    ],
                    "usage": {"prompt_tokens": 100, "completion_tokens": 20},
                }
            )

        return answer

    return plan


def shown(evaluate: Evaluate, data: Path, combine: Combine = "mean") -> dict[str, Any]:
    evaluate.server.plan = drawn()
    return evaluate(data, samples=3, reasks=0).show(combine=combine).as_dict()


@pytest.mark.parametrize(
    ("scores", "mean", "median", "mode"),
    [
        ([4], 4, 4, 4),
        ([1, 4, 4], 3, 4, 4),
        ([2, 2, 5], 3, 2, 2),
        ([1, 2, 4, 5], 3, 3, 3),  # four modes: their mean
        ([1, 1, 2, 5, 5], 2.8, 2, 3),  # two modes: their mean, a score that nobody gave
        ([1, 1, 4, 4, 5], 3, 4, 2.5),
    ],
)
def test_samples_become_one_score(scores: list[float], mean: float, median: float, mode: float) -> None:
    found = {name: combining(scores) for name, combining in COMBINING.items()}
    assert found == pytest.approx({"mean": mean, "median": median, "mode": mode})


@pytest.mark.parametrize(("combine", "value"), [("mean", 3), ("median", (4 + 2 + 3) / 3), ("mode", (4 + 2 + 3) / 3)])
def test_a_run_is_shown_with_the_score_that_was_named(
    evaluate: Evaluate, write_items: WriteItems, combine: Combine, value: float
) -> None:
    found = shown(evaluate, write_items(3), combine)
    estimate = found["systems"]["base"]["fluency"]
    assert estimate["value"] == pytest.approx(value)
    assert (estimate["n"], estimate["n_unscored"]) == (3, 0)
    for signature in (found["signature"], estimate["signature"]):
        assert f"|n:3|t:0.7|{combine}|" in signature


def test_a_lost_sample_is_not_part_of_the_score(evaluate: Evaluate, write_items: WriteItems) -> None:
    evaluate.server.plan = drawn({0: (1, None, 4), 1: (None, None, None)})
    run = evaluate(write_items(2), samples=3, reasks=0)
    for combine in COMBINING:
        estimate = run.show(combine=combine).main.systems["base"]["fluency"]
        assert (estimate.value, estimate.n, estimate.n_unscored) == (2.5, 1, 1)


def test_spread_and_agreement_are_those_worked_out_by_hand(evaluate: Evaluate, write_items: WriteItems) -> None:
    """Standard deviations: (1, 4, 4) and (2, 2, 5) have sqrt(3), (3, 3, 3) has 0. Equal pairs: 1, 1 and 3 of 3."""
    samples = shown(evaluate, write_items(3))["judges"]["openai/judge-1"]["samples"]["fluency"]
    for name, values in (("spread", [math.sqrt(3), math.sqrt(3), 0]), ("agreement", [1 / 3, 1 / 3, 1])):
        found = samples[name]
        low, high = scipy_stats.t.interval(0.95, 2, sum(values) / 3, scipy_stats.sem(values))
        assert found["value"] == pytest.approx(sum(values) / 3)
        assert found["low"] == pytest.approx(max(low, 0))
        assert found["high"] == pytest.approx(min(high, 1 if name == "agreement" else math.sqrt(8)))
        assert (found["n"], found["n_unscored"]) == (3, 0)
        assert "within items; 95 % t interval over items" in found["method"]
    assert samples["samples"] == {"min": 3, "mean": 3, "max": 3}


def test_an_item_with_one_scored_sample_has_no_spread_and_is_counted(
    evaluate: Evaluate, write_items: WriteItems
) -> None:
    evaluate.server.plan = drawn({**SAMPLES, 2: (3, None, None)})
    samples = evaluate(write_items(3), samples=3, reasks=0).show().main.samples["fluency"]
    assert samples.spread.value == pytest.approx(math.sqrt(3))
    assert (samples.spread.n, samples.spread.n_unscored) == (2, 1)
    assert (samples.agreement.n, samples.agreement.n_unscored) == (2, 1)
    assert (samples.least, samples.most) == (1, 3)
    assert samples.mean == pytest.approx(7 / 3)


def test_one_sample_has_nothing_to_differ_from(evaluate: Evaluate, write_items: WriteItems) -> None:
    summary = evaluate(write_items(3)).show()
    assert "samples" not in summary.as_dict()
    assert "samples" not in summary.as_dict()["judges"]["openai/judge-1"]
    assert "Between samples" not in summary_text(summary)


def test_equal_samples_are_not_certain_to_be_equal_for_ever() -> None:
    """As with means of scores: the exact interval for the share of items that could still differ."""
    share = scipy_stats.binomtest(0, 10).proportion_ci(method="exact").high
    agreement, spread = mean_agreement(10, 10.0, 10.0, 0), mean_spread(10, 0.0, 0.0, 0)
    assert (agreement.value, agreement.high) == (1, 1)
    assert agreement.low == pytest.approx(1 - share)
    assert (spread.value, spread.low) == (0, 0)
    assert spread.high == pytest.approx(share * math.sqrt(8))


def test_no_pair_of_samples_has_no_figure() -> None:
    why = "undefined: no item has two scored samples"
    assert mean_spread(0, 0, 0, 4) == mean_agreement(0, 0, 0, 4) == Estimate(None, None, None, 0, 4, why)


def test_the_table_shows_spread_and_agreement_in_80_columns(evaluate: Evaluate, write_items: WriteItems) -> None:
    evaluate.server.plan = drawn()
    judges = ["openai/judge-1", "baseline/length"]
    text = summary_text(evaluate(write_items(3), judge=judges, samples=3, reasks=0).show())
    assert max(len(line) for line in text.splitlines() if "jurybox|" not in line) <= 80
    assert text.count("Between samples of one item (3 scored)") == 1, "a baseline says the same each time"
    assert "1.15 n=3" in text
    assert "0.56 n=3" in text


def test_the_command_line_takes_the_same_words(jurybox: Command, evaluate: Evaluate, write_items: WriteItems) -> None:
    shown(evaluate, write_items(3))
    done = jurybox("show", evaluate.out, "--combine", "mode")
    assert done.returncode == 0, done.stderr
    assert "|n:3|t:0.7|mode|" in done.stdout
    wrong = jurybox("show", evaluate.out, "--combine", "best")
    assert wrong.returncode == 2
    assert "'mean', 'median', 'mode'" in wrong.stderr
    with pytest.raises(SetupError, match="unknown combine 'medain'"):
        looking.show(evaluate.out, combine="medain")  # type: ignore[arg-type]


# What was spent


def test_the_cached_share_is_of_the_tokens_sent_and_each_call_counts_once(
    evaluate: Evaluate, write_items: WriteItems
) -> None:
    """The server says 40 of 100 tokens came from its cache; one call of a form gives two judgments."""
    judges = ["openai/judge-1", "baseline/length"]
    run = evaluate(write_items(3), rubrics="fluency,coherence", judge=judges, layout="form", price=(1.0, 1.0))
    spent = run.show().as_dict()["spent"]
    judge, baseline = spent["judges"]["openai/judge-1"], spent["judges"]["baseline/length"]
    assert (judge["calls"], judge["tokens_in"], judge["tokens_cached"], judge["cached_share"]) == (3, 300, 120, 0.4)
    assert judge["cost"] > 0
    assert (baseline["tokens_in"], baseline["cached_share"]) == (0, None)
    assert (spent["calls"], spent["cached_share"]) == (3 + baseline["calls"], 0.4)


def test_calls_that_do_not_tell_their_cache_are_not_taken_for_uncached(
    evaluate: Evaluate, write_items: WriteItems
) -> None:
    evaluate.server.plan = lambda request: drawn()(request) if request.item == 0 else None
    run = evaluate(write_items(3))
    with RunReader(run.path) as reader:
        spent = reader.spent()
    assert (spent["tokens_in"], spent["tokens_cached"], spent["cached_share"]) == (300, 80, 0.4)


def test_the_table_ends_with_what_was_spent(evaluate: Evaluate, write_items: WriteItems) -> None:
    free = summary_text(evaluate(write_items(3)).show())
    assert free.splitlines()[-1] == "Spent: 3 calls, 300 tokens in (40 % from cache), 60 out, cost unknown"


def test_the_table_is_the_same_with_numpy_and_without(evaluate: Evaluate, write_items: WriteItems) -> None:
    run = evaluate(write_items(30))
    with RunReader(run.path) as reader:
        signatures = reader.signatures()
        (with_arrays,) = judge_tables(read_index(reader), signatures)
        assert plain_table(reader, signatures) == with_arrays


def test_one_judge_and_one_sample_are_shown_without_numpy(evaluate: Evaluate, write_items: WriteItems) -> None:
    run = evaluate(write_items(3))
    code = f"import sys, jurybox; jurybox.show({str(run.path)!r}); print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
