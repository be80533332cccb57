"""The replies of an earlier run, given again: same prompt, same sample, same words, nothing paid."""

from __future__ import annotations

from jurybox.errors import JudgeFailure, JudgeSpecError
from jurybox.judges.base import Judge, ReplyLookup, Settings
from jurybox.types import ANSWERS, Question, Reply


def make(spec: str, path: str, settings: Settings) -> Judge:
    if settings.replies is None:
        raise JudgeSpecError(f"--judge {spec}: no store of earlier replies was given")
    return Replay(spec, settings.replies(path))


class Replay(Judge):
    answers = frozenset(ANSWERS)  # whatever was answered then

    def __init__(self, spec: str, find: ReplyLookup) -> None:
        self.spec = self.model = spec
        self._find = find

    async def ask(self, question: Question) -> Reply:
        reply = self._find(question.prompt.digest, question.sample)
        if reply is None:
            raise JudgeFailure(
                f"{self.spec} holds no reply to this prompt (sample {question.sample}); it answers only what was asked "
                "then: same data, rubrics, layout and way to answer",
                retry=False,
            )
        return reply

    async def close(self) -> None:
        self._find.close()

    def cost(self, reply: Reply) -> float | None:
        return 0.0
