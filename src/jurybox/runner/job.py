"""What a run asks: every call of it, in order, with the key under which its answer is kept. Asks nothing itself."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from jurybox.data import Dataset
from jurybox.judges import Judge
from jurybox.prompts import Sheet, render
from jurybox.runner.patience import Patience
from jurybox.store import source_json
from jurybox.types import Item, Prompt, Question, Rubric, Sampling


@dataclass(frozen=True, slots=True)
class Job:
    """Everything that decides what is asked."""

    data: Dataset
    sheets: tuple[Sheet, ...]
    judges: tuple[Judge, ...]
    sampling: Sampling = field(default_factory=Sampling)
    samples: int = 1
    concurrency: int = 16
    patience: Patience = field(default_factory=Patience)

    @property
    def rubrics(self) -> tuple[Rubric, ...]:
        return tuple(rubric for sheet in self.sheets for rubric in sheet.rubrics)

    @property
    def calls_an_item(self) -> int:
        return len(self.sheets) * len(self.judges) * self.samples

    @property
    def judgments_an_item(self) -> int:
        return len(self.rubrics) * len(self.judges) * self.samples

    def calls(self, items: Iterable[Item] | None = None) -> Iterator[Call]:
        """Every call, grouped by item, so that prefix caches on the server's side can hit."""
        for item in self.data if items is None else items:
            for judge in self.judges:
                for sheet in self.sheets:
                    prompt = Prompt("") if judge.computed else render(sheet, item)
                    digest = _item_digest(item, sheet) if judge.computed else prompt.digest
                    for sample in range(1, self.samples + 1):
                        question = Question(item, sheet.rubrics, prompt, sheet.answer, self.sampling, sample)
                        yield Call(judge, question, digest, call_key(judge, question, digest))


@dataclass(frozen=True, slots=True)
class Call:
    """A question to a judge, with the key under which its answer is kept."""

    judge: Judge
    question: Question
    prompt_digest: str
    key: bytes


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
    )
    return hashlib.sha256("\0".join(parts).encode()).digest()


def _item_digest(item: Item, sheet: Sheet) -> str:
    """What stands for a prompt's digest where the judge reads the item itself."""
    hashed = hashlib.sha256(source_json(item))
    for part in (item.summary, *(rubric.label for rubric in sheet.rubrics)):
        hashed.update(b"\0" + part.encode())
    return hashed.hexdigest()
