"""jurybox: judges of summaries that you can trust.

Importing this costs nothing: every name below is loaded when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from jurybox.api.agreeing import agree
    from jurybox.api.annotating import export_ratings, import_ratings
    from jurybox.api.calibrating import calibrate, calibrations
    from jurybox.api.carding import judge_card
    from jurybox.api.comparing import compare
    from jurybox.api.duels import aduel, duel
    from jurybox.api.estimating import estimate
    from jurybox.api.judging import aevaluate, evaluate, plan
    from jurybox.api.looking import Run, export, show
    from jurybox.api.reporting import report
    from jurybox.api.stressing import astress, stress
    from jurybox.errors import (
        DataError,
        JudgeFailure,
        JudgeRejection,
        JudgeSpecError,
        JuryboxError,
        RubricError,
        SetupError,
        StoreError,
        WeightsError,
    )
    from jurybox.types import Estimate, Item, Judgment, Reply, Review, Rubric, Verdict
    from jurybox.web import serve

_ROOMS = {
    "jurybox.api.agreeing": ("agree",),
    "jurybox.api.annotating": ("export_ratings", "import_ratings"),
    "jurybox.api.calibrating": ("calibrate", "calibrations"),
    "jurybox.api.carding": ("judge_card",),
    "jurybox.api.comparing": ("compare",),
    "jurybox.api.duels": ("aduel", "duel"),
    "jurybox.api.estimating": ("estimate",),
    "jurybox.api.judging": ("aevaluate", "evaluate", "plan"),
    "jurybox.api.looking": ("Run", "export", "show"),
    "jurybox.api.reporting": ("report",),
    "jurybox.api.stressing": ("astress", "stress"),
    "jurybox.errors": (
        "DataError",
        "JudgeFailure",
        "JudgeRejection",
        "JudgeSpecError",
        "JuryboxError",
        "RubricError",
        "SetupError",
        "StoreError",
        "WeightsError",
    ),
    "jurybox.types": ("Estimate", "Item", "Judgment", "Reply", "Review", "Rubric", "Verdict"),
    "jurybox.web": ("serve",),
}
_ROOM_OF = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = [
    "DataError",
    "Estimate",
    "Item",
    "JudgeFailure",
    "JudgeRejection",
    "JudgeSpecError",
    "Judgment",
    "JuryboxError",
    "Reply",
    "Review",
    "Rubric",
    "RubricError",
    "Run",
    "SetupError",
    "StoreError",
    "Verdict",
    "WeightsError",
    "__version__",
    "aduel",
    "aevaluate",
    "agree",
    "astress",
    "calibrate",
    "calibrations",
    "compare",
    "duel",
    "estimate",
    "evaluate",
    "export",
    "export_ratings",
    "import_ratings",
    "judge_card",
    "plan",
    "report",
    "serve",
    "show",
    "stress",
]


def __getattr__(name: str) -> Any:
    if name not in _ROOM_OF:
        raise AttributeError(f"module 'jurybox' has no attribute '{name}'")
    return getattr(importlib.import_module(_ROOM_OF[name]), name)


def __dir__() -> list[str]:
    return __all__
