"""What a run asks: every call of it, in order, with the key under which its answer is kept. Asks nothing itself."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from jurybox.data import Dataset
from jurybox.judges import Judge
from jurybox.prompts import Sheet
from jurybox.runner.fitting import Fitted, Long, fit
from jurybox.runner.patience import Patience
from jurybox.store import source_json
from jurybox.types import Item, Prompt, Question, Rubric, Sampling

# `--samples auto`: the standard error aimed at, and how many samples an item gets at least and at most.
TARGET_SE = 0.25
LEAST_SAMPLES = 4
MOST_SAMPLES = 20


@dataclass(frozen=True, slots=True)
class Until:
    """`--samples auto`: go on until the standard error of an item's mean is at most `target`, within these numbers."""

    target: float = TARGET_SE
    least: int = LEAST_SAMPLES
    most: int = MOST_SAMPLES

    def __str__(self) -> str:
        return f"auto<={self.most}@{self.target:g}"


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run may take: calls in flight, requests and tokens a minute (of each judge), and money (of the file)."""

    concurrency: int = 16
    rpm: float | None = None
    tpm: float | None = None
    max_cost: float | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """Everything that decides what is asked, and how hard."""

    data: Dataset
    sheets: tuple[Sheet, ...]
    judges: tuple[Judge, ...]
    sampling: Sampling = field(default_factory=Sampling)
    samples: int | Until = 1
    limits: Limits = field(default_factory=Limits)
    patience: Patience = field(default_factory=Patience)
    long: Long = "refuse"

    @property
    def rubrics(self) -> tuple[Rubric, ...]:
        return tuple(rubric for sheet in self.sheets for rubric in sheet.rubrics)

    @property
    def least_samples(self) -> int:
        """Samples that every item gets: with `auto`, some get more."""
        return self.samples.least if isinstance(self.samples, Until) else self.samples

    @property
    def most_samples(self) -> int:
        return self.samples.most if isinstance(self.samples, Until) else self.samples

    @property
    def judgments_an_item(self) -> int:
        """At least so many."""
        return len(self.rubrics) * sum(self.samples_of(judge, least=True) for judge in self.judges)

    @property
    def in_flight(self) -> int:
        """Calls under way at a time. Where none is sent anywhere, enough of them to show a judge its summaries
        together."""
        wished = max(judge.together for judge in self.judges) * len(self.judges) * len(self.sheets)
        asked = self.limits.concurrency
        return max(asked, wished) if all(judge.computed for judge in self.judges) else asked

    def samples_of(self, judge: Judge, *, least: bool = False) -> int:
        """A judge that computes says the same however often it is asked: with `auto`, once is enough."""
        if isinstance(self.samples, Until):
            return 1 if judge.computed else self.samples.least if least else self.samples.most
        return self.samples

    def groups(self, items: Iterable[Item] | None = None) -> Iterator[Sequence[Call]]:
        """Every call, grouped by item, so that prefix caches on the server's side can hit.

        Calls that come together differ in their sample alone: one request may bring them all, and with `auto` each
        decides whether the next is needed.
        """
        for item in self.data if items is None else items:
            for judge in self.judges:
                for sheet in self.sheets:
                    yield from self._calls(judge, sheet, item)

    def calls(self, items: Iterable[Item] | None = None) -> Iterator[Call]:
        """Every call, one by one."""
        return chain.from_iterable(self.groups(items))

    def _calls(self, judge: Judge, sheet: Sheet, item: Item) -> Iterator[Sequence[Call]]:
        fitted = _UNSEEN if judge.computed else fit(judge, sheet, item, self.long, self.sampling)
        digest = _item_digest(item, sheet) if judge.computed else fitted.prompt.digest
        calls = [
            Call(judge, question, digest, call_key(judge, question, digest), fitted)
            for sample in range(1, self.samples_of(judge) + 1)
            for question in (Question(item, sheet.rubrics, fitted.prompt, sheet.answer, self.sampling, sample),)
        ]
        if len(calls) == 1 or isinstance(self.samples, Until) or self.at_once(judge):
            yield calls
        else:
            yield from ([call] for call in calls)

    def at_once(self, judge: Judge) -> bool:
        """Whether one request may bring several samples; each has a seed of its own where seeds are given."""
        return judge.gives_several and "n" not in judge.lacks and self.sampling.seed is None


_UNSEEN = Fitted(Prompt(""))


@dataclass(frozen=True, slots=True)
class Call:
    """A question to a judge, with the key under which its answer is kept, and how its material was made to fit."""

    judge: Judge
    question: Question
    prompt_digest: str
    key: bytes
    fitted: Fitted = _UNSEEN


def call_key(judge: Judge, question: Question, prompt_digest: str) -> bytes:
    """The hash of everything that could change the answer."""
    sampling = question.sampling
    parts = (
        judge.spec,
        repr(sampling.temperature),
        repr(sampling.max_tokens),
        repr(sampling.seed),
        prompt_digest,
        repr(question.sample),
        *(question.item.key if judge.computed else ()),
        *((judge.fingerprint,) if judge.fingerprint else ()),
        *(("digit",) if question.answer == "digit" else ()),  # the prompt alone may not tell
    )
    return hashlib.sha256("\0".join(parts).encode()).digest()


def _item_digest(item: Item, sheet: Sheet) -> str:
    """What stands for a prompt's digest where the judge reads the item itself."""
    hashed = hashlib.sha256(source_json(item))
    for part in (item.summary, *(rubric.label for rubric in sheet.rubrics)):
        hashed.update(b"\0" + part.encode())
    return hashed.hexdigest()
