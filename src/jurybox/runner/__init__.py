"""The runner joins the rooms: items, sheets and judges become judgments in the store, or a plan of them.

The only room with concurrency, retries and clocks.
"""

from __future__ import annotations

from jurybox.runner.job import Job
from jurybox.runner.patience import Patience
from jurybox.runner.plan import Plan, make_plan
from jurybox.runner.progress import Progress, Silent, Tally
from jurybox.runner.run import execute

__all__ = ["Job", "Patience", "Plan", "Progress", "Silent", "Tally", "execute", "make_plan"]
