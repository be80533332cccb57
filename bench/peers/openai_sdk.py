"""The openai package: AsyncOpenAI as it comes (two retries of its own), a semaphore, a regular expression."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import asyncio
import re

from jobs import MODEL, Job, judge_all, prompt, task
from openai import AsyncOpenAI

SCORE = re.compile(r"<score>(\d)</score>")
work = task()
client = AsyncOpenAI()


async def judge(job: Job) -> float:
    messages = [{"role": "user", "content": prompt(job)}]
    answer = await client.chat.completions.create(model=MODEL, messages=messages, temperature=0.0)
    found = SCORE.search(answer.choices[0].message.content)
    if found is None:
        raise ValueError("no score in the answer")
    return float(found[1])


asyncio.run(judge_all(work, judge))
