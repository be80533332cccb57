"""Judges that compute scores duel by comparing them, whatever the order."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from jurybox.data import Dataset, PairedDataset
from jurybox.errors import JudgeFailure
from jurybox.judges import Judge, Settings, make_judge
from jurybox.judges.paired import Paired
from jurybox.rubrics import builtin
from jurybox.types import FIRST, NEITHER, SECOND, Item, Prompt, Question, Reply, Rubric, Verdict

FLUENCY = builtin()["fluency"]


class Fixed(Judge):
    """Gives each summary the score that it consists of; none to one that is no number."""

    computed = True

    def __init__(self, spec: str = "baseline/fixed") -> None:
        self.spec = self.model = spec
        self.asked: list[str] = []
        self.closed = self.prepared = False

    async def prepare(self) -> None:
        self.prepared = True

    async def ask(self, question: Question) -> Reply:
        summary = question.item.summary
        self.asked.append(question.item.system)
        if summary == "break":
            raise JudgeFailure("it broke", retry=False)
        known = summary.replace(".", "").isdigit()
        verdict = Verdict("scored", float(summary)) if known else Verdict("unsupported", reason="no number")
        return Reply(summary, verdicts={rubric.name: verdict for rubric in question.rubrics})

    async def close(self) -> None:
        self.closed = True


def pair(first: str, second: str) -> Item:
    data = PairedDataset(Dataset([{"id": "p1", "summaries": {"a": first, "b": second}}]), ["a", "b"])
    data.check((FLUENCY,))
    return next(iter(data))


def verdict(judge: Judge, first: str, second: str, rubric: Rubric = FLUENCY) -> Verdict:
    reply = asyncio.run(Paired(judge).ask(Question(pair(first, second), (rubric,), Prompt(""), "choice")))
    assert reply.verdicts is not None
    return reply.verdicts["fluency"]


@pytest.mark.parametrize(
    ("first", "second", "preference"),
    [
        ("4", "2", FIRST),
        ("2", "4", SECOND),
        ("3", "3", NEITHER),
        ("3.0001", "3", FIRST),
        ("3.0000000001", "3", NEITHER),
    ],
)
def test_the_higher_score_is_better(first: str, second: str, preference: float) -> None:
    assert verdict(Fixed(), first, second).score == preference


def test_where_less_is_better_the_lower_score_is() -> None:
    assert verdict(Fixed(), "4", "2", replace(FLUENCY, target=1)).score == SECOND


@pytest.mark.parametrize(
    ("second", "preference"), [("3.04", NEITHER), ("3.06", SECOND), ("2.96", NEITHER), ("2.94", FIRST)]
)
def test_the_embedded_judge_has_a_margin(second: str, preference: float) -> None:
    assert verdict(Fixed("embedded"), "3", second).score == preference


@pytest.mark.parametrize(("first", "second", "which"), [("x", "3", "first"), ("3", "x", "second")])
def test_a_summary_without_a_score_leaves_the_pair_unscored(first: str, second: str, which: str) -> None:
    found = verdict(Fixed(), first, second)
    assert (found.status, found.reason) == ("unsupported", f"the {which} summary: no number")


def test_the_reason_names_both_scores() -> None:
    assert verdict(Fixed(), "4", "2.5").reason == "first 4.00, second 2.50"


def test_a_failed_call_stays_a_failed_call() -> None:
    with pytest.raises(JudgeFailure, match="it broke"):
        verdict(Fixed(), "3", "break")


def test_each_summary_is_asked_about_under_its_own_system() -> None:
    judge = Fixed()
    verdict(judge, "1", "2")
    assert sorted(judge.asked) == ["a", "b"]


def test_what_the_judge_needs_is_passed_on() -> None:
    judge = Fixed()
    paired = Paired(judge)
    asyncio.run(paired.prepare())
    asyncio.run(paired.close())
    assert judge.prepared
    assert judge.closed
    assert paired.spec == "duel/baseline/fixed"
    assert paired.cost(Reply("")) == 0.0


def test_another_margin_is_another_judge() -> None:
    """The fingerprint is part of every key, so no verdict under one margin is taken for one under another."""
    assert Paired(Fixed("embedded")).fingerprint != Paired(Fixed()).fingerprint


def test_baseline_system_knows_nothing_of_a_pair() -> None:
    """Ratings are of single summaries and do not come with a pair; it says so instead of guessing."""
    judge = Paired(make_judge("baseline/system", Settings()))
    item = pair("one", "two")
    judge.observe(item)
    reply = asyncio.run(judge.ask(Question(item, (FLUENCY,), Prompt(""), "choice")))
    assert reply.verdicts is not None
    assert reply.verdicts["fluency"].status == "unsupported"
