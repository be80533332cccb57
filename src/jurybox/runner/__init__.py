"""The runner joins the rooms: items, sheets and judges become judgments in the store, or a plan of them.

The only room with concurrency, retries and clocks.
"""

from __future__ import annotations

from jurybox.runner.fitting import LONGS, Long
from jurybox.runner.job import LEAST_SAMPLES, MOST_SAMPLES, TARGET_SE, Job, Limits, Until
from jurybox.runner.patience import Patience
from jurybox.runner.plan import JudgePlan, Plan, make_plan
from jurybox.runner.progress import Progress, Silent, Tally
from jurybox.runner.run import execute

__all__ = [
    "LEAST_SAMPLES",
    "LONGS",
    "MOST_SAMPLES",
    "TARGET_SE",
    "Job",
    "JudgePlan",
    "Limits",
    "Long",
    "Patience",
    "Plan",
    "Progress",
    "Silent",
    "Tally",
    "Until",
    "execute",
    "make_plan",
]
