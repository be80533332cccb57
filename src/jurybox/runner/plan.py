"""What a run would ask, cost and take, and what the store already has. Sends nothing."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from jurybox.judges import Judge
from jurybox.runner.fitting import tokens_of
from jurybox.runner.job import Call, Job
from jurybox.runner.preparing import check
from jurybox.store import ReplyCache, RunReader
from jurybox.types import Reply

# Assumed until a run of this judge has been measured: a reasoned answer, a hosted model's pace, and for a model in this
# process what one core does with 135 million parameters.
TOKENS_OUT_A_RUBRIC = 350
SECONDS_A_CALL = 8.0
LOCAL_TOKENS_IN_A_SECOND = 150.0
LOCAL_TOKENS_OUT_A_SECOND = 30.0
MINUTE = 60.0


@dataclass(slots=True)
class JudgePlan:
    """The calls to one judge. Cost is None where no price is known; `batch_cost` is None where it has no batches.

    `stored` are calls that the run file has, `reused` those that the cache of earlier runs has, `too_long` those that
    would be refused because the judge cannot hold the prompt. `prices` says where the price comes from, and
    `seconds_a_call` is measured, in the run that would be continued, or None.
    """

    calls: int = 0
    stored: int = 0
    reused: int = 0
    too_long: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float | None = 0.0
    batch_cost: float | None = None
    seconds: float = 0.0
    prices: str = ""
    seconds_a_call: float | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    items: int
    systems: int
    judgments: int
    judges: dict[str, JudgePlan]
    assumptions: dict[str, float]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def make_plan(job: Job, earlier: RunReader | None = None, cache: ReplyCache | None = None, workers: int = 1) -> Plan:
    """Walk all calls without sending any; `earlier` is the run file that would be continued. Every worker of a cluster
    has `concurrency` calls in flight; limits on requests, tokens and money are of all together."""
    census = check(job)
    assumptions = {
        "tokens_out_a_rubric": float(TOKENS_OUT_A_RUBRIC),
        "seconds_a_call": SECONDS_A_CALL,
        "concurrency": float(job.limits.concurrency),
        "workers": float(workers),
    }
    judges = {judge.spec: JudgePlan(prices=judge.prices) for judge in job.judges}
    seen: set[int] = set()
    for call in job.calls():
        fingerprint = hash(call.key)
        # The same prompt about another item: one answer serves both. With `auto`, the least that is asked.
        if fingerprint in seen or call.question.sample > job.samples_of(call.judge, least=True):
            continue
        seen.add(fingerprint)
        _add(judges[call.judge.spec], call, earlier, cache)
    for judge in job.judges:
        measured = None if earlier is None else earlier.spent(judge.spec)["seconds_a_call"]
        _sum_up(judges[judge.spec], judge, job, measured, workers)
    return Plan(census.items, len(census.systems), census.items * job.judgments_an_item, judges, assumptions)


def _add(plan: JudgePlan, call: Call, earlier: RunReader | None, cache: ReplyCache | None) -> None:
    judge, question = call.judge, call.question
    if earlier is not None and judge.kept and earlier.has_call(call.key):
        plan.stored += 1
    elif call.fitted.too_long:
        plan.too_long += 1
    elif cache is not None and judge.cached and cache.has(call.key, judge.address):
        plan.reused += 1
    else:
        plan.calls += 1
        if not judge.computed:
            plan.tokens_in += tokens_of(question.prompt)
            plan.tokens_out += TOKENS_OUT_A_RUBRIC * len(question.rubrics)


def _sum_up(plan: JudgePlan, judge: Judge, job: Job, measured: float | None, workers: int) -> None:
    """Money and time of all calls together; `measured` is what one of its calls took in the run so far."""
    plan.seconds_a_call = measured
    plan.cost = judge.cost(Reply("", tokens_in=plan.tokens_in, tokens_out=plan.tokens_out))
    if judge.batches is not None and plan.cost is not None:
        plan.batch_cost = plan.cost * judge.batches.price
    if judge.computed:
        return
    if judge.in_process:
        alone = plan.tokens_in / LOCAL_TOKENS_IN_A_SECOND + plan.tokens_out / LOCAL_TOKENS_OUT_A_SECOND
        plan.seconds = alone / workers
        return
    together = workers * min(job.limits.concurrency, judge.most_at_once or job.limits.concurrency)
    each = measured or SECONDS_A_CALL
    plan.seconds = max(plan.calls * each / together, each if plan.calls else 0.0)  # nothing is done before one call is
    if job.limits.rpm is not None:
        plan.seconds = max(plan.seconds, plan.calls * MINUTE / job.limits.rpm)
    if job.limits.tpm is not None:
        plan.seconds = max(plan.seconds, (plan.tokens_in + plan.tokens_out) * MINUTE / job.limits.tpm)
