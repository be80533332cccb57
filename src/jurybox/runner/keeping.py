"""What becomes of an outcome: an entry for the store, a share for later runs, a count. The live and the batched way to
ask both keep their judgments through here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from jurybox.evidence import find_quotes, locate, rubric_texts
from jurybox.fields import entries
from jurybox.judges import Judge
from jurybox.parsing import read
from jurybox.runner.job import Call
from jurybox.runner.patience import Outcome
from jurybox.runner.progress import Progress, Tally
from jurybox.store import Entry, ReplyCache, RunStore
from jurybox.types import Attempt, Quote, Status, Verdict

Judged = tuple[Status, float | None]


class Keeper:
    """Knows the store, the cache of earlier runs and the tally of one invocation. `series` is (rubric, judge) -> its
    number in the store."""

    def __init__(
        self,
        store: RunStore,
        series: Mapping[tuple[str, str], int],
        tally: Tally,
        progress: Progress,
        cache: ReplyCache | None,
    ) -> None:
        self.store, self.tally, self.progress = store, tally, progress
        self._series, self._cache = series, cache
        self._lacks: dict[str, int] = {}

    def judged(self, call: Call, *, even_open: bool = False) -> list[Judged] | None:
        """How a call's judgments ended, if they all did and none is to be made again."""
        item, sample = call.question.item, call.question.sample
        ends = [self.store.judged(number, item, sample) for number in self._numbers(call)]
        found = [end for end in ends if end is not None]
        is_open = not even_open and any(_is_open(call, status) for status, _ in found)
        return None if len(found) < len(ends) or is_open else found

    def reused(self, call: Call) -> Outcome | None:
        """The outcome of a call that an earlier run paid for."""
        if self._cache is None or not call.judge.cached:
            return None
        reply = self._cache.find(call.key, call.judge.address)
        if reply is None:
            return None
        verdicts = read(reply, call.question.rubrics, call.question.answer)
        return Outcome((Attempt(reply),), 0, verdicts, reused=True)

    def _share(self, call: Call, outcome: Outcome) -> None:
        """Into the cache with an answer that was paid and could be read."""
        if self._cache is None or not call.judge.cached or outcome.reused or not outcome.attempts:
            return
        reply = outcome.attempts[outcome.decisive].reply
        if reply is not None and all(verdict.status == "scored" for verdict in outcome.verdicts.values()):
            self._cache.keep(call.key, call.judge.address, reply)

    def entry(self, call: Call, outcome: Outcome, cost: float | None) -> Entry:
        shown = call.fitted.shown
        return Entry(
            item=call.question.item,
            sample=call.question.sample,
            key=call.key,
            prompt_digest=bytes.fromhex(call.prompt_digest),
            attempts=outcome.attempts,
            decisive=outcome.decisive,
            verdicts=dict(zip(self._numbers(call), outcome.verdicts.values(), strict=True)),
            cost=0.0 if outcome.reused else cost,
            reused=outcome.reused,
            sent=not call.fitted.too_long,
            shown=None if shown is None else shown.as_dict(),
            quotes={} if call.judge.computed else _quotes(call, outcome.verdicts),
        )

    def note_lacks(self, judge: Judge) -> None:
        """What a server turned out to lack is known before its first judgment is kept; its figures say so."""
        if len(judge.lacks) == self._lacks.get(judge.spec, 0):
            return
        self._lacks[judge.spec] = len(judge.lacks)
        numbers = [number for (_, spec), number in self._series.items() if spec == judge.spec]
        self.store.note_lacks(numbers, judge.lacks)
        for feature, said in judge.lacks.items():
            self.progress.say(f"{judge.spec} has no {feature}: {said}")

    def count_kept(self, ends: Sequence[Judged]) -> None:
        self.tally.kept += len(ends)
        self._count([status for status, _ in ends])

    def count(self, call: Call, outcome: Outcome, cost: float | None) -> None:
        """Count what is durable now, and share it."""
        self.tally.add(outcome, cost)
        self._count([verdict.status for verdict in outcome.verdicts.values()])
        self._share(call, outcome)

    def _count(self, statuses: Sequence[Status]) -> None:
        self.tally.done += len(statuses)
        self.tally.unscored += sum(status != "scored" for status in statuses)
        self.progress.update(self.tally)

    def _numbers(self, call: Call) -> list[int]:
        """The series that a call answers."""
        return [self._series[rubric.name, call.judge.spec] for rubric in call.question.rubrics]


def _is_open(call: Call, status: Status) -> bool:
    """Whether a judgment of an earlier start is made again: it failed, or was too long and now is not."""
    too_long = status == "unsupported" and not call.judge.computed
    return status == "failed" or (too_long and not call.fitted.too_long)


def _quotes(call: Call, verdicts: Mapping[str, Verdict]) -> dict[str, Sequence[Quote]]:
    """The passages quoted in each reason, located in the item."""
    found: dict[str, Sequence[Quote]] = {}
    for rubric in call.question.rubrics:
        quoted = find_quotes(verdicts[rubric.name].reason)
        if quoted:
            found[rubric.name] = locate(quoted, call.question.item, (*rubric_texts(rubric), *_our_words(call)))
    return found


def _our_words(call: Call) -> Iterator[str]:
    """What the judge was shown in our words, where the material was shortened: a table of counts, a note."""
    shown, less = call.fitted.shown, call.fitted.item
    if shown is not None and less is not None:
        yield shown.note
        yield from (text for field in shown.parts for text in entries(less.source.get(field, ())))
