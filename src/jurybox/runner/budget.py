"""Money: what was spent, what calls under way may still cost, and whether there is enough for one more.

`--max-cost` is a promise: a call is only sent when the most that it is expected to cost still fits below it. With
`--max-tokens` that most is exact for the answer; without, it is twice the longest answer so far.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from jurybox.errors import JuryboxError
from jurybox.judges import Judge
from jurybox.runner.fitting import tokens_of
from jurybox.types import Question, Reply

# Until answers have been seen: several times a usual reasoned one.
TOKENS_OUT_A_RUBRIC = 1000
# Estimates of prompt tokens are off by a tenth or so, and writing to a provider's cache costs a quarter more.
CAUTION = 1.4


class OverBudget(JuryboxError):
    """There is no money left for the next call."""


class Account(Protocol):
    """Money that calls share: what is spent and what is set aside, each under the token of its call."""

    limit: float | None

    async def reserve(self, token: int, most: float) -> bool:
        """Set money aside. False when calls under way were in its way and one of them is over: ask again. Raises
        `OverBudget` when nobody is in its way and it is too much all the same."""

    def settle(self, token: int, cost: float) -> None:
        """A call is over: what it cost takes the place of what was set aside."""


@dataclass(slots=True)
class OwnAccount:
    """The money of one process."""

    limit: float | None = None
    spent: float = 0.0
    under_way: dict[int, float] = field(default_factory=dict)
    _change: asyncio.Future[None] | None = None

    @property
    def reserved(self) -> float:
        return sum(self.under_way.values())

    async def reserve(self, token: int, most: float) -> bool:
        if self.limit is None or self.spent + self.reserved + most <= self.limit:
            self.under_way[token] = most
            return True
        if not self.under_way:
            raise OverBudget(
                f"--max-cost {self.limit:g}: ${self.spent:.4f} is spent, and the next call may cost ${most:.4f}"
            )
        self._change = self._change or asyncio.get_running_loop().create_future()
        await asyncio.shield(self._change)
        return False

    def settle(self, token: int, cost: float) -> None:
        self.under_way.pop(token, None)
        self.spent += cost
        if self._change is not None:
            self._change.set_result(None)
            self._change = None


class Budget:
    """USD of one run file. `spent` begins with what it cost before; `account` is one that others share."""

    def __init__(self, limit: float | None = None, spent: float = 0.0, account: Account | None = None) -> None:
        self._own = OwnAccount(limit, spent)
        self._account: Account = account or self._own
        self.limit = self._account.limit
        self._longest: dict[str, int] = {}

    @property
    def spent(self) -> float:
        return self._own.spent

    @property
    def reserved(self) -> float:
        """Set aside for calls under way."""
        return self._own.reserved

    async def reserve(self, judge: Judge, question: Question, samples: int = 1) -> None:
        """Set aside what a call may cost; where only calls under way are in its way, wait for what they leave."""
        if self.limit is None or judge.computed:
            return
        while not await self._account.reserve(id(question), self._most(judge, question, samples)):
            pass

    def take(self, calls: Iterable[tuple[Judge, Question]], price: float) -> bool:
        """Set aside, for good, what a batch may cost at a share of the live price; False when there is not so much."""
        if self.limit is None:
            return True
        most = price * sum(self._most(judge, question, 1) for judge, question in calls)
        if self.spent + self.reserved + most > self.limit:
            return False
        self._own.spent += most
        return True

    def settle(self, judge: Judge, question: Question, samples: int, replies: Sequence[Reply]) -> None:
        """A call is over: what it cost takes the place of what was set aside."""
        if self.limit is None or judge.computed:
            return
        for reply in replies:
            a_rubric = -(-(reply.tokens_out or 0) // len(question.rubrics))
            self._longest[judge.spec] = max(self._longest.get(judge.spec, 0), a_rubric)
        self._account.settle(id(question), sum(judge.cost(reply) or 0.0 for reply in replies))

    def tokens(self, question: Question, samples: int = 1) -> int:
        """Tokens that a call is expected to take, in and out; for the tokens a minute."""
        return _tokens_in(question) + samples * (question.sampling.max_tokens or 350 * len(question.rubrics))

    def _most(self, judge: Judge, question: Question, samples: int) -> float:
        seen = self._longest.get(judge.spec)
        out = question.sampling.max_tokens
        if out is None:
            out = len(question.rubrics) * (TOKENS_OUT_A_RUBRIC if seen is None else 2 * seen)
        tokens_in = round(_tokens_in(question) * CAUTION)
        return judge.cost(Reply("", tokens_in=tokens_in, tokens_out=out * samples)) or 0.0


def _tokens_in(question: Question) -> int:
    return tokens_of(question.prompt)
