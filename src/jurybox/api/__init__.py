"""jurybox from Python: each command's function under the command's own name.

Async once: `aevaluate` does the work, `evaluate` is its synchronous door.
"""

from __future__ import annotations

from jurybox.api.agreeing import agree
from jurybox.api.annotating import Imported, export_ratings, import_ratings
from jurybox.api.calibrating import calibrate, calibrations, uncalibrated
from jurybox.api.carding import judge_card, refuse_card
from jurybox.api.comparing import compare
from jurybox.api.duels import aduel, duel, refuse_beside_duels, show_duels
from jurybox.api.estimating import estimate
from jurybox.api.jobs import DEFAULT_JUDGE, Data, find_rubrics, make_job
from jurybox.api.judging import aevaluate, default_out, evaluate, plan
from jurybox.api.looking import Run, export, show
from jurybox.api.reporting import report
from jurybox.api.stressing import Stressing, astress, compare_stress_files, prepare_stress, show_stress, stress

__all__ = [
    "DEFAULT_JUDGE",
    "Data",
    "Imported",
    "Run",
    "Stressing",
    "aduel",
    "aevaluate",
    "agree",
    "astress",
    "calibrate",
    "calibrations",
    "compare",
    "compare_stress_files",
    "default_out",
    "duel",
    "estimate",
    "evaluate",
    "export",
    "export_ratings",
    "find_rubrics",
    "import_ratings",
    "judge_card",
    "make_job",
    "plan",
    "prepare_stress",
    "refuse_beside_duels",
    "refuse_card",
    "report",
    "show",
    "show_duels",
    "show_stress",
    "stress",
    "uncalibrated",
]
