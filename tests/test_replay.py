"""Judges that ask nobody: the replies of an earlier run, and (what they compute is in test_baselines.py) baselines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import server as answers
from conftest import Evaluate, WriteItems, assert_right, item
from jurybox.api.looking import Run
from jurybox.errors import StoreError
from jurybox.types import Verdict


def verdicts(run: Run) -> dict[tuple[str, str, int], Verdict]:
    return {(judgment.id, judgment.rubric, judgment.sample): judgment.verdict for judgment in run.judgments()}


# Replay


def test_replay_gives_the_same_verdicts_at_no_request(evaluate: Evaluate, write_items: WriteItems) -> None:
    evaluate.server.plan = lambda request: answers.completion("Nice kettle.") if request.item == 0 else None
    data = write_items(4)
    first = evaluate(data, "fluency,coherence", samples=2)
    asked = len(evaluate.server.requests)
    replayed = evaluate(
        data, "fluency,coherence", f"replay/{evaluate.out}", samples=2, out=evaluate.out.with_name("second.db")
    )
    assert verdicts(replayed) == verdicts(first)
    assert len(evaluate.server.requests) == asked
    assert replayed.tally is not None
    assert replayed.tally.cost == replayed.tally.unpriced == 0


def test_replay_can_be_read_anew_with_other_patience(evaluate: Evaluate) -> None:
    """The model that answered is still named; only the judge is another."""
    evaluate([item(0)])
    run = evaluate([item(0)], judge=f"replay/{evaluate.out}", out=evaluate.out.with_name("second.db"), reasks=0)
    (judgment,) = run.judgments()
    assert judgment.reply is not None
    assert judgment.reply.model == "judge-1"
    assert judgment.judge == f"replay/{evaluate.out}"


def test_a_prompt_that_was_never_asked_is_failed_with_the_reason(evaluate: Evaluate) -> None:
    evaluate([item(0)])
    run = evaluate([item(0), item(1)], judge=f"replay/{evaluate.out}", out=evaluate.out.with_name("second.db"))
    found = verdicts(run)
    assert found["p0", "fluency", 1].status == "scored"
    assert found["p1", "fluency", 1].status == "failed"
    assert "holds no reply to this prompt (sample 1)" in found["p1", "fluency", 1].reason


def test_a_call_that_failed_then_is_no_reply_now(evaluate: Evaluate) -> None:
    evaluate.server.always(answers.error(500))
    evaluate([item(0)], retries=0)
    run = evaluate([item(0)], judge=f"replay/{evaluate.out}", out=evaluate.out.with_name("second.db"))
    assert [verdict.status for verdict in verdicts(run).values()] == ["failed"]


def test_of_several_judges_one_must_be_named(evaluate: Evaluate) -> None:
    evaluate([item(0)], judge=["openai/judge-1", "openai/judge-2", "baseline/length"])
    second: dict[str, Any] = {"out": evaluate.out.with_name("second.db")}
    with pytest.raises(StoreError, match=r"replies of 2 judges; name one with replay/.*#JUDGE.*openai/judge-2"):
        evaluate([item(0)], judge=f"replay/{evaluate.out}", **second)
    with pytest.raises(StoreError, match="Did you mean 'openai/judge-2'"):
        evaluate([item(0)], judge=f"replay/{evaluate.out}#openai/judge-3", **second)
    evaluate([item(0)], judge=f"replay/{evaluate.out}#openai/judge-2", **second)
    assert len(assert_right(second["out"])) == 1


def test_a_baseline_beside_the_judge_needs_no_name(evaluate: Evaluate) -> None:
    evaluate([item(0)], judge=["baseline/length", "openai/judge-1"])
    evaluate([item(0)], judge=f"replay/{evaluate.out}", out=evaluate.out.with_name("second.db"))
    assert len(assert_right(evaluate.out.with_name("second.db"))) == 1


def test_replay_needs_a_run_file(evaluate: Evaluate, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no such run file"):
        evaluate([item(0)], judge=f"replay/{tmp_path / 'none.db'}")
    assert not evaluate.out.exists()


# Baselines


def test_baselines_are_judged_anew_and_ask_nobody(evaluate: Evaluate, write_items: WriteItems) -> None:
    names = ["length", "constant", "rouge", "system"]
    for _ in range(2):
        run = evaluate(write_items(3), judge=[f"baseline/{name}" for name in names])
    statuses = {judgment.judge: judgment.verdict.status for judgment in run.judgments()}
    assert statuses == {
        "baseline/length": "scored",
        "baseline/constant": "scored",
        "baseline/rouge": "scored",
        "baseline/system": "unsupported",
    }
    assert len(list(run.judgments())) == 12
    assert not evaluate.server.requests
