"""prometheus-eval: absolute grading through its asynchronous litellm client.

Its default of 100 requests a minute would take 20 minutes and measure nothing else, so that bound is lifted here.
"""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

from jobs import CRITERIA, MODEL, task
from prometheus_eval import PrometheusEval
from prometheus_eval.litellm import AsyncLiteLLM

work = task()
model = AsyncLiteLLM(
    f"openai/{MODEL}", batch_size=work.concurrency, requests_per_minute=10_000_000, api_base=work.base_url
)
_, scores = PrometheusEval(model=model).absolute_grade(
    instructions=[job.material for job in work.jobs],
    responses=[job.summary for job in work.jobs],
    rubric=[CRITERIA for _ in work.jobs],
)
work.write((job.id, score) for job, score in zip(work.jobs, scores, strict=True) if score is not None)
