"""What a run would ask, cost and take, and what the store already has. Sends nothing."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from jurybox.runner.job import Job
from jurybox.runner.run import check
from jurybox.store import RunReader
from jurybox.types import Reply

# Assumed until a run of this judge has been measured: English prose, a reasoned answer, a hosted model's pace.
CHARACTERS_A_TOKEN = 4.0
TOKENS_OUT_A_RUBRIC = 350
SECONDS_A_CALL = 8.0


@dataclass(slots=True)
class JudgePlan:
    """The calls to one judge. Cost is None where no price is known."""

    calls: int = 0
    stored: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float | None = 0.0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Plan:
    items: int
    systems: int
    judgments: int
    judges: dict[str, JudgePlan]
    assumptions: dict[str, float]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def make_plan(job: Job, earlier: RunReader | None = None) -> Plan:
    """Walk all calls without sending any; `earlier` is the run file that would be continued."""
    census = check(job)
    assumptions = {
        "characters_a_token": CHARACTERS_A_TOKEN,
        "tokens_out_a_rubric": float(TOKENS_OUT_A_RUBRIC),
        "seconds_a_call": _measured_seconds(earlier) or SECONDS_A_CALL,
        "concurrency": float(job.concurrency),
    }
    judges = {judge.spec: JudgePlan() for judge in job.judges}
    seen: set[int] = set()
    for call in job.calls():
        plan = judges[call.judge.spec]
        fingerprint = hash(call.key)
        if fingerprint in seen:  # the same prompt about another item: one answer serves both
            continue
        seen.add(fingerprint)
        if earlier is not None and call.judge.kept and earlier.has_call(call.key):
            plan.stored += 1
            continue
        if call.judge.computed:
            plan.calls += 1
            continue
        prompt = call.question.prompt
        tokens_in = round((len(prompt.system) + len(prompt.user)) / CHARACTERS_A_TOKEN)
        tokens_out = TOKENS_OUT_A_RUBRIC * len(call.question.rubrics)
        plan.calls += 1
        plan.tokens_in += tokens_in
        plan.tokens_out += tokens_out
        plan.seconds += assumptions["seconds_a_call"] / min(job.concurrency, call.judge.most_at_once or job.concurrency)
        cost = call.judge.cost(Reply("", tokens_in=tokens_in, tokens_out=tokens_out))
        plan.cost = None if cost is None or plan.cost is None else plan.cost + cost
    return Plan(census.items, len(census.systems), census.items * job.judgments_an_item, judges, assumptions)


def _measured_seconds(earlier: RunReader | None) -> float | None:
    """Seconds a call took in the run so far, if any did."""
    return None if earlier is None else earlier.spent()["seconds_a_call"] or None
