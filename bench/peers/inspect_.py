"""Inspect AI: model_graded_qa over a data set whose outputs are there already; unfinished logs are retried."""

# mypy: disable-error-code="import-not-found, untyped-decorator"

from __future__ import annotations

import sys
from pathlib import Path

import inspect_ai
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import EvalLog, list_eval_logs
from inspect_ai.model import ModelOutput, get_model
from inspect_ai.scorer import model_graded_qa
from inspect_ai.solver import Generate, TaskState, solver
from jobs import CRITERIA, MODEL, Task, task


@solver
def given():  # type: ignore[no-untyped-def]
    """The summary is the output; nothing is generated."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        state.output = ModelOutput.from_content("given", state.metadata["summary"])
        return state

    return solve


@inspect_ai.task
def judging(data: str):  # type: ignore[no-untyped-def]
    samples = [
        Sample(input=job.material, target=CRITERIA, id=job.id, metadata={"summary": job.summary}) for job in work.jobs
    ]
    grader = get_model(f"openai/{MODEL}", base_url=work.base_url, api_key="mock", responses_api=False)
    scorer = model_graded_qa(
        instructions="End with GRADE: and a digit from 1 to 5.", grade_pattern=r"GRADE: (\d)", model=grader
    )
    return inspect_ai.Task(dataset=MemoryDataset(samples), solver=given(), scorer=scorer)


def evaluate(work: Task) -> EvalLog:
    folder = Path(f"{work.out}.logs")
    bounds = {"max_connections": work.concurrency, "max_samples": work.concurrency, "display": "none"}
    earlier = list_eval_logs(str(folder)) if folder.exists() else []
    if earlier:
        return inspect_ai.eval_retry(earlier[0], log_dir=str(folder), **bounds)[0]
    return inspect_ai.eval(judging(str(work.out)), model="mockllm/model", log_dir=str(folder), **bounds)[0]


work = task()
log = evaluate(work)
scored = [(sample.id, next(iter((sample.scores or {}).values()), None)) for sample in log.samples or []]
work.write((str(name), float(score.value)) for name, score in scored if score and str(score.value) in "12345")
print(log.status, log.error and log.error.message, file=sys.stderr)
