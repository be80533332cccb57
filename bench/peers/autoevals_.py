"""autoevals: LLMClassifier with five choices, a semaphore around it."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import asyncio

from autoevals.llm import LLMClassifier
from jobs import CRITERIA, MODEL, Job, judge_all, task
from openai import AsyncOpenAI

work = task()
classifier = LLMClassifier(
    name="faithfulness",
    prompt_template=CRITERIA + "\n\nReviews:\n{{input}}\n\nSummary:\n{{output}}",
    choice_scores={str(step): (step - 1) / 4 for step in range(1, 6)},
    model=MODEL,
    client=AsyncOpenAI(),
)


async def judge(job: Job) -> float:
    result = await classifier.eval_async(output=job.summary, input=job.material)
    if result.score is None:
        raise ValueError(result.error)
    return float(1 + 4 * result.score)


asyncio.run(judge_all(work, judge))
