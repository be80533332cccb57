"""A judge that computes scores, made to duel: both summaries are scored, and the better score is preferred.

Such a judge does not see the two side by side, so the order cannot sway it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace

from jurybox.judges.base import Judge
from jurybox.types import DUEL, FIRST, NEITHER, SECOND, Item, Question, Reply, Rubric, Verdict, rivals

# Scores that differ by no more are a tie. The embedded judge's scores are calibrated from a few hundred examples: what
# differs in the second decimal alone is no preference. Every other one is taken at its word.
MARGINS: Mapping[str, float] = {"embedded": 0.05}
EXACT = 1e-9


class Paired(Judge):
    """Asks `judge` about each summary of a pair by itself."""

    computed = True

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._margin = MARGINS.get(judge.spec, EXACT)
        self.spec, self.model = f"{DUEL}/{judge.spec}", judge.model
        self.address, self.kept, self.most_at_once = judge.address, judge.kept, judge.most_at_once
        self.fingerprint = f"{judge.fingerprint}/{self._margin:g}"

    def observe(self, item: Item) -> None:
        for single in rivals(item):
            self._judge.observe(single)

    async def prepare(self) -> None:
        await self._judge.prepare()

    async def ask(self, question: Question) -> Reply:
        first, second = await asyncio.gather(
            *(self._judge.ask(replace(question, item=single)) for single in rivals(question.item))
        )
        verdicts = {rubric.name: self._compare(rubric, first, second) for rubric in question.rubrics}
        text = f"First summary\n{first.text}\n\nSecond summary\n{second.text}"
        seconds = max(first.seconds, second.seconds)
        return Reply(text, model=self.model, tokens_in=0, tokens_out=0, seconds=seconds, verdicts=verdicts)

    def _compare(self, rubric: Rubric, first: Reply, second: Reply) -> Verdict:
        given = [(reply.verdicts or {}).get(rubric.name) for reply in (first, second)]
        scores = []
        for which, verdict in zip(("first", "second"), given, strict=True):
            if verdict is None or verdict.score is None:
                status = "unsupported" if verdict is None else verdict.status
                return Verdict(status, reason=f"the {which} summary: {verdict.reason if verdict else 'no verdict'}")
            scores.append(verdict.score)
        ahead = scores[0] - scores[1] if rubric.target > NEITHER else scores[1] - scores[0]
        better = NEITHER if abs(ahead) <= self._margin else FIRST if ahead > 0 else SECOND
        return Verdict("scored", better, f"first {scores[0]:.2f}, second {scores[1]:.2f}")

    def cost(self, reply: Reply) -> float | None:
        return self._judge.cost(reply)

    async def close(self) -> None:
        await self._judge.close()
