"""The floor: an aiohttp loop without retries, nothing kept until its end."""

from __future__ import annotations

import asyncio
import re

import aiohttp
import orjson
from jobs import MODEL, Job, Task, prompt, task

SCORE = re.compile(r"<score>(\d)</score>")


def body(job: Job) -> bytes:
    return orjson.dumps({"model": MODEL, "messages": [{"role": "user", "content": prompt(job)}], "temperature": 0.0})


async def main(work: Task) -> None:
    found: list[tuple[str, float]] = []
    waiting = iter(work.jobs)

    async def worker(session: aiohttp.ClientSession) -> None:
        for job in waiting:
            try:
                async with session.post(f"{work.base_url}/chat/completions", data=body(job)) as response:
                    answer = orjson.loads(await response.read())
                    text = answer["choices"][0]["message"]["content"]
                    found.extend((job.id, float(score)) for score in SCORE.findall(text))
            except (aiohttp.ClientError, KeyError, OSError):
                continue

    headers = {"Content-Type": "application/json"}
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), headers=headers) as session:
        await asyncio.gather(*(worker(session) for _ in range(work.concurrency)))
    work.write(found)


asyncio.run(main(task()))
