"""OpenEvals: create_async_llm_as_judge with five choices, a semaphore around it."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import asyncio

from jobs import CRITERIA, MODEL, Job, judge_all, task
from openevals.llm import create_async_llm_as_judge

work = task()
ask = create_async_llm_as_judge(
    prompt=CRITERIA + "\n\nReviews:\n{inputs}\n\nSummary:\n{outputs}",
    model=f"openai:{MODEL}",
    choices=[1.0, 2.0, 3.0, 4.0, 5.0],
    feedback_key="faithfulness",
)


async def judge(job: Job) -> float:
    result = await ask(inputs=job.material, outputs=job.summary)
    return float(result["score"])


asyncio.run(judge_all(work, judge))
