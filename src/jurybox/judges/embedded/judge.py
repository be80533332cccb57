"""The embedded judge as the runner knows it: weights on first use, one thread, questions answered together.

The thread takes whatever questions wait and examines all summaries of one source at once, because reading the source is
the dear part and a batch of summaries costs less than each by itself. Refuses rubrics that it has no evidence for
(`unsupported`): nothing is made up.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from jurybox.errors import JudgeFailure, JudgeSpecError, JuryboxError
from jurybox.judges.base import Judge, Settings
from jurybox.types import Item, Question, Reply, Review, Verdict
from jurybox.weights import find, get, local_path

if TYPE_CHECKING:
    from jurybox.judges.embedded.examiner import Examiner

LANGUAGE_MODEL = "smollm2-135m-instruct"
ENCODER = "all-minilm-l6-v2"
NEEDS = ("numpy", "tokenizers", "threadpoolctl")
INSTALL = "pip install 'jurybox[embedded]'"
# Raised whenever the same text gives other features, so that no reply of before is taken from a cache.
_READING = 4
# The verdicts and the evidence for them, both by rubric.
Examined = tuple[dict[str, Verdict], dict[str, Any]]


def make(spec: str, rest: str, settings: Settings) -> Judge:
    missing = [name for name in NEEDS if importlib.util.find_spec(name) is None]
    if missing:
        raise JudgeSpecError(f"--judge {spec}: {' and '.join(missing)} not installed: {INSTALL}")
    return Embedded(settings)


class Embedded(Judge):
    spec = model = "embedded"
    computed = True
    together = 8  # of one source they take half the time each, and more bring little

    def __init__(self, settings: Settings) -> None:
        self.fingerprint = _fingerprint()
        self._threads = settings.threads
        self._report = settings.report or _unseen
        self._thread = ThreadPoolExecutor(1, "jurybox-embedded")
        self._examiner: Examiner | None = None
        self._waiting: list[tuple[Question, asyncio.Future[Examined]]] = []
        self._working: asyncio.Task[None] | None = None

    async def prepare(self) -> None:
        """Fetch what is lacking and load it; a machine that cannot is told so before anything is judged."""
        if self._examiner is None:
            loop = asyncio.get_running_loop()
            self._examiner = await loop.run_in_executor(self._thread, self._load)

    def _load(self) -> Examiner:
        from jurybox.judges.embedded.examiner import Examiner, load_models

        return Examiner(load_models(self._weights(LANGUAGE_MODEL), self._weights(ENCODER)), threads=self._threads)

    def _weights(self, name: str) -> Path:
        return local_path(name) or get(name, report=partial(self._report, name))

    async def ask(self, question: Question) -> Reply:
        started = time.perf_counter()
        answer: asyncio.Future[Examined] = asyncio.get_running_loop().create_future()
        self._waiting.append((question, answer))
        if self._working is None:
            self._working = asyncio.create_task(self._work())
        verdicts, evidence = await answer
        return Reply(
            orjson.dumps(evidence).decode(),
            model=self.model,
            tokens_in=0,
            tokens_out=0,
            seconds=time.perf_counter() - started,
            verdicts=verdicts,
        )

    async def _work(self) -> None:
        """Examined what waits, source by source, until nothing does."""
        while self._waiting:
            first = self._waiting[0][0].item.source
            together = [pair for pair in self._waiting if pair[0].item.source == first]
            self._waiting = [pair for pair in self._waiting if pair[0].item.source != first]
            await self._answer_together(together)
        self._working = None

    async def _answer_together(self, together: list[tuple[Question, asyncio.Future[Examined]]]) -> None:
        questions = [question for question, _ in together]
        failure: Exception | None = None
        answers: list[Examined] = []
        try:
            await self.prepare()
            answers = await asyncio.get_running_loop().run_in_executor(self._thread, self._examine, questions)
        except JuryboxError as exc:
            failure = exc
        except Exception as exc:  # whatever numpy or a tokenizer says of one text is that call's failure, not the run's
            failure = JudgeFailure(f"the embedded judge failed: {type(exc).__name__}: {exc}", retry=False)
        for number, (_, waiting) in enumerate(together):
            if waiting.done():
                continue
            if failure is None:
                waiting.set_result(answers[number])
            else:
                waiting.set_exception(failure)

    def _examine(self, questions: list[Question]) -> list[Examined]:
        assert self._examiner is not None, "prepared before the first question"
        source = _plain_source(questions[0].item)
        self._examiner.look_at(source, [q.item.summary for q in questions])
        return [self._answer(source, question) for question in questions]

    def _answer(self, source: Mapping[str, Any], question: Question) -> Examined:
        assert self._examiner is not None, "prepared before the first question"
        verdicts, evidence = {}, {}
        for rubric in question.rubrics:
            score, status, found = self._examiner.judge(source, question.item.summary, rubric.name)
            if status == "scored":
                verdicts[rubric.name] = Verdict("scored", score, found["reason"])
            else:
                verdicts[rubric.name] = Verdict("unsupported", reason=found["reason"])
            evidence[rubric.name] = found
        return verdicts, evidence

    def cost(self, reply: Reply) -> float | None:
        return 0.0

    async def close(self) -> None:
        if self._working is not None:
            self._working.cancel()
        self._thread.shutdown(wait=False, cancel_futures=True)


def _unseen(name: str, done: int, whole: int) -> None:
    """Progress that nobody watches."""


def _plain_source(item: Item) -> dict[str, Any]:
    """The source as plain data: what the evidence modules read."""
    plain = dict(item.source)
    reviews: tuple[Review, ...] = plain.get("reviews", ())
    if reviews:
        plain["reviews"] = [{"text": review.text, "rating": review.rating} for review in reviews]
    if "specifications" in plain:
        plain["specifications"] = dict(plain["specifications"])
    return plain


def _fingerprint() -> str:
    """What decides a score beside the item: how it is read, weights, recipes, calibration, tables."""
    from jurybox.judges.embedded.recipes import RECIPES

    hashed = hashlib.sha256(f"{_READING} {RECIPES!r}".encode())
    for table in ("calibration.json", "tables.npz"):
        hashed.update(Path(__file__).with_name(table).read_bytes())
    for name in (LANGUAGE_MODEL, ENCODER):
        for file in find(name).files:
            hashed.update(file.sha256.encode())
    return hashed.hexdigest()[:16]
