"""DeepEval: `evaluate` with one GEval metric, its steps given, so that one judgment is one call."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import sys

from deepeval import evaluate
from deepeval.evaluate import AsyncConfig, DisplayConfig
from deepeval.metrics import GEval
from deepeval.models import GPTModel
from deepeval.test_case import LLMTestCase, SingleTurnParams
from jobs import CRITERIA, MODEL, task

work = task()
metric = GEval(
    name="faithfulness",
    evaluation_steps=["Read the reviews.", "Read the summary.", CRITERIA],
    evaluation_params=[SingleTurnParams.INPUT, SingleTurnParams.ACTUAL_OUTPUT],
    model=GPTModel(model=MODEL, base_url=work.base_url, api_key="mock"),
)
cases = [LLMTestCase(name=job.id, input=job.material, actual_output=job.summary) for job in work.jobs]
result = evaluate(
    cases,
    [metric],
    async_config=AsyncConfig(max_concurrent=work.concurrency),
    display_config=DisplayConfig(show_indicator=False, print_results=False, inspect_after_run=False),
)
found = [(case.name, case.metrics_data[0].score) for case in result.test_results if case.metrics_data]
work.write((name, 10 * score) for name, score in found if score is not None)
print(f"{len(found)} results", file=sys.stderr)
