"""Human ratings: inside an item (`human`), or in a long file with the columns id, system, rubric, rater, score."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jurybox.data.records import read_records
from jurybox.errors import DataError

# (id, system) -> rubric -> rater -> score
Ratings = Mapping[tuple[str, str], Mapping[str, Mapping[str, float]]]
COLUMNS = ("id", "system", "rubric", "rater", "score")


def normalise_human(value: Any) -> dict[str, dict[str, float]]:
    """`{rubric: [4, 5, 4]}`, `{rubric: {"ann": 4}}` or `{rubric: 4}`; raters without a name get numbers."""
    if not isinstance(value, Mapping):
        raise ValueError("should be {rubric: [scores]}")
    return {str(rubric): _by_rater(rubric, scores) for rubric, scores in value.items() if scores is not None}


def _by_rater(rubric: Any, scores: Any) -> dict[str, float]:
    if isinstance(scores, Mapping):
        pairs = [(str(rater), score) for rater, score in scores.items()]
    elif isinstance(scores, list | tuple):
        pairs = [(str(number), score) for number, score in enumerate(scores, 1)]
    else:
        pairs = [("1", scores)]
    return {rater: _score(rubric, score) for rater, score in pairs if score is not None}


def _score(rubric: Any, score: Any) -> float:
    if isinstance(score, bool) or not isinstance(score, int | float | str):
        raise ValueError(f"ratings of '{rubric}' should be numbers, not {score!r}")
    try:
        number = float(score)
    except ValueError:
        raise ValueError(f"ratings of '{rubric}' should be numbers, not {score!r}") from None
    if not math.isfinite(number):
        raise ValueError(f"ratings of '{rubric}' should be numbers, not {score!r}")
    return number


def read_ratings(path: Path) -> Ratings:
    """A long file of human ratings, whole: people rate thousands of items, not millions."""
    ratings: dict[tuple[str, str], dict[str, dict[str, float]]] = {}
    for line, record in read_records(path):
        missing = [column for column in COLUMNS if record.get(column) is None and column != "rater"]
        if missing:
            raise DataError(
                str(path), line, f"is missing; a ratings file has the columns {', '.join(COLUMNS)}", field=missing[0]
            )
        rubric, rater = str(record["rubric"]), str("1" if record.get("rater") is None else record["rater"])
        try:
            score = _score(rubric, record["score"])
        except ValueError as exc:
            raise DataError(str(path), line, str(exc), field="score") from exc
        given = ratings.setdefault((str(record["id"]), str(record["system"])), {}).setdefault(rubric, {})
        if rater in given:
            raise DataError(str(path), line, f"rater '{rater}' has rated this item on '{rubric}' twice", field="rater")
        given[rater] = score
    if not ratings:
        raise DataError(str(path), None, "is empty; a ratings file has at least one rating")
    return ratings
