"""What the peers' scripts share: the arguments, the jobs, a bounded loop for libraries that bring none, the scores.

    python NAME.py DATA BASE_URL CONCURRENCY OUT

Runs in a peer's own environment, so it imports the standard library only. A judgment that raises is left out, as a
careful user would: it is lost, and the others are not.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

MODEL = "gpt-4o-mini"  # known to every peer's own tables
CRITERIA = "How far is every statement of the summary supported by the reviews? 1: not at all. 5: every one is."


@dataclass(frozen=True)
class Job:
    id: str
    material: str
    summary: str


@dataclass(frozen=True)
class Task:
    jobs: list[Job]
    base_url: str
    concurrency: int
    out: Path

    def write(self, scores: Iterable[tuple[str, float]]) -> None:
        self.out.write_text("".join(f"{name} {score:g}\n" for name, score in scores))


def task() -> Task:
    data, base_url, concurrency, out = sys.argv[1:]
    os.environ["OPENAI_BASE_URL"] = base_url
    records = [json.loads(line) for line in Path(data).read_text("utf-8").splitlines()]
    jobs = [Job(record["id"], "\n".join(record["reviews"]), record["summary"]) for record in records]
    return Task(jobs, base_url, int(concurrency), Path(out))


def prompt(job: Job) -> str:
    return f"{CRITERIA}\n\nReviews:\n{job.material}\n\nSummary:\n{job.summary}"


async def judge_all(work: Task, judge: Callable[[Job], Awaitable[float]]) -> None:
    """At most `concurrency` judgments at a time, as the libraries' own examples do it."""
    limit = asyncio.Semaphore(work.concurrency)
    errors: list[Exception] = []

    async def one(job: Job) -> tuple[str, float] | None:
        async with limit:
            try:
                return job.id, await judge(job)
            except Exception as exc:
                errors.append(exc)
                return None

    found: Sequence[tuple[str, float] | None] = await asyncio.gather(*(one(job) for job in work.jobs))
    work.write(pair for pair in found if pair is not None)
    if errors:
        print(f"{len(errors)} judgments raised; the first: {errors[0]!r}", file=sys.stderr)
