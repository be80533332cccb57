"""`--batch`: the same judgments through the judges' batch APIs, for half the money and some hours of patience.

The calls are walked again and again. Each walk judges what came back and sends what is still to be asked; between two
walks the batches are waited for (`post.py`). All that is known about a call is in the store under its key, so a start
after a kill does just the same, and no prompt is held longer than its batch is being sent.

A judge's first question goes live, at the full price: a wrong key, a wrong model or a parameter that the model does not
take is known in a second instead of a night, and the batches leave out what the server lacks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from jurybox.errors import JudgeFailure, JudgeRejection, SetupError
from jurybox.judges import Judge
from jurybox.parsing import read
from jurybox.runner.budget import Budget
from jurybox.runner.job import Call, Job
from jurybox.runner.keeping import Keeper
from jurybox.runner.patience import Outcome
from jurybox.runner.post import Polling, Post, to_returned
from jurybox.runner.tries import cost_of, decide, same_for_all
from jurybox.store import Entry, RunFile
from jurybox.store.batches import LIVE, BatchBook
from jurybox.types import Attempt, Verdict

# Judgments made durable together, and calls walked before others may have the event loop.
GROUP = 256


def refuse_unbatched(judges: Sequence[Judge], samples: object = 1) -> None:
    """Batches need a judge that has them, and to know beforehand how many samples there are."""
    for judge in judges:
        if judge.batches is None:
            raise SetupError(
                f"--batch: {judge.spec} has no batch API; leave it out, and add it to the same --out with a second "
                "command without --batch"
            )
    if not isinstance(samples, int):
        raise SetupError("--batch: --samples auto needs each answer before the next question; give a number")


async def execute_batches(
    job: Job,
    keeper: Keeper,
    budget: Budget,
    stop: asyncio.Event,
    *,
    polling: Polling | None = None,
    probe: bool = True,
) -> None:
    """Judge everything that is not judged yet through batches. Returns early once `stop` is set; what is at the server
    then goes on there, and the next start fetches it. Once the budget has no room for a batch nothing more is sent to
    its judge, and what is out is still fetched."""
    refuse_unbatched(job.judges, job.samples)
    await _Batching(job, keeper, budget, polling or Polling(), probe).work(stop)


class _Basket:
    """The calls of one judge's next batch, each key once."""

    def __init__(self) -> None:
        self.calls: dict[bytes, Call] = {}
        self.bytes = 0


class _Batching:
    """The state of one invocation."""

    def __init__(self, job: Job, keeper: Keeper, budget: Budget, polling: Polling, probe: bool) -> None:
        assert isinstance(keeper.store, RunFile), "batches are kept in a run file"
        self._job, self._store, self._keeper, self._budget = job, keeper.store, keeper, budget
        self._probe = probe
        self._book = BatchBook(keeper.store)
        self._post = Post(job.judges, self._book, keeper.progress, job.patience, polling)
        self._first_walk = True
        self._probed: set[str] = set()
        self._forbidden: set[str] = set()
        # Calls that ended without an answer in this very start: they are not asked again before the next.
        self._given_up: dict[bytes, Verdict] = {}
        self._group: list[tuple[Call, Outcome, Entry]] = []
        self._group_keys: set[bytes] = set()

    async def work(self, stop: asyncio.Event) -> None:
        await self._post.recover()
        while True:
            await self._walk(stop)
            if self._post.halted:
                raise JudgeRejection(self._post.halted)
            out = len(self._post.out())
            if out and stop.is_set():
                go_on = "1 batch goes on" if out == 1 else f"{out} batches go on"
                self._keeper.progress.say(f"{go_on} at the server; the same command fetches the answers")
            if stop.is_set() or not out:
                return
            await self._post.wait(stop)

    async def _walk(self, stop: asyncio.Event) -> None:
        """Judge what came back, and send what is still to be asked."""
        baskets = {judge.spec: _Basket() for judge in self._job.judges}
        for number, call in enumerate(self._job.calls()):
            if stop.is_set():
                break
            if number % GROUP == 0:
                await asyncio.sleep(0)
            if not self._settle(call) and self._is_to_be_asked(call):
                await self._put(baskets[call.judge.spec], call)
        self._flush()
        if not stop.is_set():
            for judge in self._job.judges:
                await self._send(judge, baskets[judge.spec])
            self._first_walk = False

    # What is known of a call

    def _settle(self, call: Call) -> bool:
        """Whether a call's judgments are made, now or before."""
        if self._is_judged(call):
            return True
        if call.key in self._group_keys:
            self._flush()
        outcome, cost = self._outcome(call)
        if outcome is None:
            return False
        if outcome.attempts and outcome.attempts[outcome.decisive].reply is None:
            self._given_up[call.key] = next(iter(outcome.verdicts.values()))
        self._group.append((call, outcome, self._keeper.entry(call, outcome, cost)))
        self._group_keys.add(call.key)
        if len(self._group) >= GROUP:
            self._flush()
        return True

    def _is_judged(self, call: Call) -> bool:
        """Whether the judgments are in the store; those of earlier starts are counted on the first walk."""
        ends = self._keeper.judged(call, even_open=call.key in self._given_up)
        if ends is None:
            return False
        if self._first_walk:
            self._keeper.count_kept(ends)
        return True

    def _outcome(self, call: Call) -> tuple[Outcome | None, float | None]:
        """How a call ended, with its cost, as far as it has."""
        question = call.question
        if call.fitted.too_long:
            attempt = Attempt(None, call.fitted.too_long, too_long=True)
            return same_for_all(question, (attempt,), Verdict("unsupported", reason=call.fitted.too_long)), 0.0
        if call.key in self._given_up:  # the same prompt about another item
            return same_for_all(question, (), self._given_up[call.key]), 0.0
        reply = self._store.find_reply(call.key)
        if reply is not None:
            return Outcome((), 0, read(reply, question.rubrics, question.answer)), 0.0
        came = self._book.returned(call.key)
        if came:
            return decide(question, came, self._job.patience), cost_of(came)
        return self._keeper.reused(call), 0.0

    def _flush(self) -> None:
        """Make durable what was judged, then count it."""
        if not self._group:
            return
        group, self._group = self._group, []
        self._store.write([entry for _, _, entry in group])
        self._book.forget(self._group_keys)
        self._store.commit()
        self._group_keys = set()
        for call, outcome, entry in group:
            self._keeper.count(call, outcome, entry.cost)

    # What is to be asked

    def _is_to_be_asked(self, call: Call) -> bool:
        stopped = self._post.halted or call.judge.spec in self._forbidden
        return not stopped and not self._book.is_out(call.key)

    async def _put(self, basket: _Basket, call: Call) -> None:
        """Into the next batch with a call; a batch that is full is sent."""
        judge = call.judge
        if self._probe and judge.spec not in self._probed:
            self._probed.add(judge.spec)
            await self._ask_live(call)
            if self._settle(call):
                return
        most = self._post.most(judge)
        assert judge.batches is not None, "such judges are refused"
        try:
            size = judge.batches.size(call.key.hex(), call.question)
        except JudgeFailure as failure:
            self._book.keep(LIVE, [(call.key, to_returned(judge, failure, 0.0))])
            self._settle(call)
            return
        full = len(basket.calls) >= most or basket.bytes + size > judge.batches.most_bytes
        if full and basket.calls:
            await self._send(judge, basket)
            most = self._post.most(judge)
        if most and call.key not in basket.calls:
            basket.calls[call.key] = call
            basket.bytes += size

    async def _ask_live(self, call: Call) -> None:
        """The first question, to find out at once what would spoil a whole batch."""
        if not self._is_allowed([call], 1.0):
            return
        try:
            async with asyncio.timeout(self._job.patience.deadline):
                came = to_returned(call.judge, await call.judge.ask(call.question), 1.0)
        except TimeoutError:
            return
        except JudgeFailure as failure:
            if failure.retry:
                return  # busy now; a batch has time
            came = to_returned(call.judge, failure, 1.0)
        self._flush()
        self._book.keep(LIVE, [(call.key, came)])
        self._keeper.note_lacks(call.judge)

    async def _send(self, judge: Judge, basket: _Basket) -> None:
        self._flush()
        calls, basket.calls, basket.bytes = basket.calls, {}, 0
        assert judge.batches is not None, "such judges are refused"
        if not calls or not self._is_allowed(list(calls.values()), judge.batches.price):
            return
        await self._post.send(judge, {key: call.question for key, call in calls.items()})

    def _is_allowed(self, calls: Sequence[Call], price: float) -> bool:
        spec = calls[0].judge.spec
        if spec not in self._forbidden and not self._budget.take(((one.judge, one.question) for one in calls), price):
            self._forbidden.add(spec)
            self._keeper.tally.stopped = f"--max-cost {self._budget.limit:g}: a batch of {len(calls):,} might pass it"
        return spec not in self._forbidden
