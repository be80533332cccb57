"""Asking: workers that share one stream of calls, each answer kept before its worker takes the next call.

What is asked is the job's, how fast the pace's, how often patience's, what becomes of an answer the keeper's.
"""

from __future__ import annotations

import asyncio
import copy
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from jurybox.errors import JudgeRejection
from jurybox.judges import Judge
from jurybox.parsing import read
from jurybox.runner.budget import Budget, OverBudget
from jurybox.runner.job import Call, Job, Until
from jurybox.runner.keeping import Judged, Keeper
from jurybox.runner.pace import FAILURES_IN_A_ROW, Pace
from jurybox.runner.patience import Asking, Outcome
from jurybox.runner.samples import enough
from jurybox.runner.turns import Turns
from jurybox.runner.writer import Writing
from jurybox.types import Attempt, Item, Verdict

# Seconds that calls under way are given when a stop is asked for: they are paid already.
GRACE = 10.0
ITEMS_AHEAD = 16
KEYS_REMEMBERED = 1_000_000


class Session:
    """The state of one invocation, or of one worker of a cluster: `work` may be called with one part of the data after
    another, and for several at a time. `turns` are of judges whose rate others share."""

    def __init__(
        self, job: Job, keeper: Keeper, budget: Budget, writer: Writing, turns: Mapping[str, Turns] | None = None
    ) -> None:
        self._job, self._store, self._keeper = job, keeper.store, keeper
        self._tally, self._progress = keeper.tally, keeper.progress
        self._writer = writer
        # The calls under way, each with whoever waits for its answer.
        self._under_way: dict[bytes, list[asyncio.Future[None]]] = {}
        limits = job.limits
        self._paces = {judge.spec: Pace(judge, job.in_flight, budget, limits.rpm, limits.tpm) for judge in job.judges}
        for spec, shared in (turns or {}).items():
            self._paces[spec].share(shared)
        self._rng = random.Random()  # noqa: S311  jitter, not secrets
        self._failed_in_a_row = 0
        self._asked: set[int] = set()

    def counting(self, keeper: Keeper) -> Session:
        """The same session, with the same paces and calls under way, that counts for another keeper."""
        other = copy.copy(self)
        other._keeper, other._tally, other._progress = keeper, keeper.tally, keeper.progress
        return other

    async def work(self, data: Iterable[Item], stop: asyncio.Event) -> None:
        groups = self._job.groups(self._ahead(data))
        workers = [asyncio.create_task(self._worker(groups, stop)) for _ in range(self._job.in_flight)]
        stopped = asyncio.create_task(stop.wait())
        finished = asyncio.gather(*workers)
        try:
            await asyncio.wait((finished, stopped), return_when=asyncio.FIRST_COMPLETED)
            if not finished.done():
                self._progress.stopping(len(self._under_way))
                await asyncio.wait((finished,), timeout=GRACE)
            if finished.done():
                await finished
        finally:
            stopped.cancel()
            for worker in workers:
                worker.cancel()
            await asyncio.gather(finished, *workers, return_exceptions=True)

    def _ahead(self, data: Iterable[Item]) -> Iterator[Item]:
        """The data, read a little ahead, so that items reach the store in groups."""
        items = iter(data)
        while group := list(islice(items, ITEMS_AHEAD)):
            self._writer.expect(group)
            yield from group

    async def _worker(self, groups: Iterator[Sequence[Call]], stop: asyncio.Event) -> None:
        for group in groups:
            if stop.is_set() or self._tally.stopped:
                return
            try:
                await (self._settle(group) if len(group) == 1 else self._settle_samples(group, stop))
            except OverBudget as exc:
                self._tally.stopped = str(exc)

    async def _settle_samples(self, group: Sequence[Call], stop: asyncio.Event) -> None:
        """The samples of one question: all of them, or as many as it takes until their mean is known well enough."""
        scores: list[Sequence[Judged]] = []
        rule = self._job.samples
        at = 0
        while at < len(group) and not stop.is_set():
            if isinstance(rule, Until):
                if enough(scores, rule):
                    return
                due = max(rule.least - at, 1)
                self._tally.total += len(group[0].question.rubrics) if at >= rule.least else 0
            else:
                due = len(group) - at
            settled = await self._settle(group[at : at + due])
            scores += settled
            at += len(settled)

    async def _settle(self, calls: Sequence[Call]) -> list[Sequence[Judged]]:
        """Bring the judgments of calls into the store, asking only for what was never answered. The calls differ in
        their sample alone; returns how those ended that are settled, the first ones, at least one."""
        while busy := next((call.key for call in calls if call.key in self._under_way), None):
            over = asyncio.get_running_loop().create_future()  # the same prompt about another item serves both
            self._under_way[busy].append(over)
            await over
        if kept := self._kept(calls):
            return kept
        for call in calls:
            self._under_way[call.key] = []
        try:
            outcomes = self._known(calls[0])
            if outcomes is None:
                outcomes = await self._ask(calls)
            await self._keep(calls, outcomes)
        finally:
            for call in calls:
                for waiting in self._under_way.pop(call.key):
                    if not waiting.cancelled():
                        waiting.set_result(None)
        if not calls[0].judge.computed:  # a baseline's success says nothing about a server
            self._stop_when_gone(outcomes)
        return [_ends(outcome.verdicts.values()) for outcome in outcomes]

    async def _ask(self, calls: Sequence[Call]) -> list[Outcome]:
        call = calls[0]
        if call.fitted.too_long:
            verdict = Verdict("unsupported", reason=call.fitted.too_long)
            verdicts = {rubric.name: verdict for rubric in call.question.rubrics}
            return [Outcome((Attempt(None, verdict.reason, too_long=True),), 0, verdicts)]
        asking = Asking(self._paces[call.judge.spec], self._job.patience, self._rng)
        if len(calls) > 1 and self._job.at_once(call.judge):
            return await asking.several(call.question, len(calls))
        return [await asking.one(call.question)]

    def _kept(self, calls: Sequence[Call]) -> list[Sequence[Judged]]:
        """The judgments of the first calls that an earlier start left in the store, counted."""
        if not self._store.resumed or not calls[0].judge.kept:
            return []
        found: list[Sequence[Judged]] = []
        for call in calls:
            ends = self._keeper.judged(call)
            if ends is None:
                break
            self._keeper.count_kept(ends)
            found.append(ends)
        return found

    def _known(self, call: Call) -> list[Outcome] | None:
        """The outcome of a call that was paid before: in this file for this item or another, or in an earlier run."""
        if call.judge.computed or call.fitted.too_long:
            return None
        question = call.question
        reply = self._store.find_reply(call.key) if self._may_be_known(call.key) else None
        if reply is not None:
            return [Outcome((), 0, read(reply, question.rubrics, question.answer))]
        outcome = self._keeper.reused(call)
        return None if outcome is None else [outcome]

    def _may_be_known(self, key: bytes) -> bool:
        """False spares a look-up: this file was new, and the key was not asked since. A long run stops remembering."""
        if self._store.resumed or len(self._asked) >= KEYS_REMEMBERED:
            return True
        before = len(self._asked)
        self._asked.add(hash(key))
        return len(self._asked) == before

    async def _keep(self, calls: Sequence[Call], outcomes: Sequence[Outcome]) -> None:
        judge = calls[0].judge
        self._keeper.note_lacks(judge)
        costs = [_cost(judge, outcome.attempts) for outcome in outcomes]
        kept = list(zip(calls, outcomes, costs, strict=False))
        await self._writer.put([self._keeper.entry(*one) for one in kept])
        for call, outcome, cost in kept:
            self._keeper.count(call, outcome, 0.0 if outcome.reused else cost)

    def _stop_when_gone(self, outcomes: Sequence[Outcome]) -> None:
        """A server that fails every call for good is gone; going on would only fill the store with failures."""
        last = outcomes[-1]
        failed = bool(last.attempts) and all(
            attempt.reply is None and not attempt.too_long for attempt in last.attempts
        )
        self._failed_in_a_row = self._failed_in_a_row + 1 if failed else 0
        if self._failed_in_a_row >= max(self._job.limits.concurrency, FAILURES_IN_A_ROW):
            raise JudgeRejection(
                f"{self._failed_in_a_row} calls in a row failed, each after every retry; the last: "
                f"{last.attempts[-1].error}"
            )


def _ends(verdicts: Iterable[Verdict]) -> list[Judged]:
    return [(verdict.status, verdict.score) for verdict in verdicts]


def _cost(judge: Judge, attempts: Sequence[Attempt]) -> float | None:
    """What all attempts together cost; None when any price is unknown."""
    costs = [judge.cost(attempt.reply) for attempt in attempts if attempt.reply is not None]
    return None if None in costs else sum(cost for cost in costs if cost is not None)
