"""jurybox from Python: each command's function under the command's own name.

Async once: `aevaluate` does the work, `evaluate` is its synchronous door.
"""

from __future__ import annotations

from jurybox.api.agreeing import agree
from jurybox.api.comparing import compare
from jurybox.api.duels import aduel, duel, refuse_beside_duels, show_duels
from jurybox.api.estimating import estimate
from jurybox.api.jobs import DEFAULT_JUDGE, Data, find_rubrics, make_job
from jurybox.api.judging import aevaluate, default_out, evaluate, plan
from jurybox.api.looking import Run, export, show

__all__ = [
    "DEFAULT_JUDGE",
    "Data",
    "Run",
    "aduel",
    "aevaluate",
    "agree",
    "compare",
    "default_out",
    "duel",
    "estimate",
    "evaluate",
    "export",
    "find_rubrics",
    "make_job",
    "plan",
    "refuse_beside_duels",
    "show",
    "show_duels",
]
