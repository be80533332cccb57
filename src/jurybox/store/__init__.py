"""One SQLite file a run: every item, call, attempt, verdict and rating. The only room that speaks SQL.

`RunFile` is for writing a run, `RunReader` for everything that looks at one.
"""

from __future__ import annotations

from jurybox.store.annotated import Progress, current_ratings, history, item_keys, progress, skips
from jurybox.store.annotations import Annotation, AnnotationLog, Taken
from jurybox.store.cache import ReplyCache, default_path
from jurybox.store.calibrations import CalibrationBook, Kept, NamedCalibration, named_calibrations
from jurybox.store.kind import RunStore
from jurybox.store.picking import (
    Extent,
    Failure,
    Gap,
    Panels,
    Ranked,
    extent,
    failure_counts,
    failures,
    gaps_between_judges,
    gaps_between_samples,
    gaps_to_people,
    ranked_items,
    ratings_of,
    rubric_bodies,
)
from jurybox.store.reader import RunReader
from jurybox.store.replayed import EarlierReplies
from jurybox.store.runfile import Entry, RunFile, source_json
from jurybox.store.series import Series
from jurybox.store.spending import spending

__all__ = [
    "Annotation",
    "AnnotationLog",
    "CalibrationBook",
    "EarlierReplies",
    "Entry",
    "Extent",
    "Failure",
    "Gap",
    "Kept",
    "NamedCalibration",
    "Panels",
    "Progress",
    "Ranked",
    "ReplyCache",
    "RunFile",
    "RunReader",
    "RunStore",
    "Series",
    "Taken",
    "current_ratings",
    "default_path",
    "extent",
    "failure_counts",
    "failures",
    "gaps_between_judges",
    "gaps_between_samples",
    "gaps_to_people",
    "history",
    "item_keys",
    "named_calibrations",
    "progress",
    "ranked_items",
    "ratings_of",
    "rubric_bodies",
    "skips",
    "source_json",
    "spending",
]
