"""Calibrations of a run's judge, rubric by rubric: fitted on the items that people rated, with what each is worth.

An item's human score is the mean of its raters, its judge's score that of its samples; of a jury, of the whole panel.
Fitting stores and applies nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from jurybox import __version__
from jurybox.data import Ratings
from jurybox.errors import SetupError, unknown_name
from jurybox.report.agree_data import Key, chosen_judge, ratings_by_rubric
from jurybox.report.judge import JudgeSummary
from jurybox.report.jury import LEAST_LABELLED, LEAST_SOURCES
from jurybox.report.pairing import item_scores
from jurybox.report.summary import Summary, summarise
from jurybox.stats.calibrate import CalibrationChoice, calibrate, check_calibration, choose_calibration
from jurybox.store import Kept, NamedCalibration, RunReader

THE_RUN = "the run"
# A name stands in signatures, between their bars and colons.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True)
class Fit:
    """The calibrations of one judge under one name, and why the other rubrics have none. `foreign` rated items are not
    in the run; `kept` says what became of each calibration where it was stored."""

    run: str
    name: str
    judge: str
    human: str
    rubrics: Mapping[str, NamedCalibration]
    skipped: Mapping[str, str]
    foreign: int = 0
    kept: Mapping[str, Kept] | None = None

    def as_dict(self) -> dict[str, Any]:
        kept = self.kept or {}
        return {
            "run": self.run,
            "name": self.name,
            "judge": self.judge,
            "human": self.human,
            "rubrics": {rubric: {**one.as_dict(), "kept": kept.get(rubric)} for rubric, one in self.rubrics.items()},
            "skipped": dict(self.skipped),
            "foreign": self.foreign,
        }


@dataclass(frozen=True, slots=True)
class KeptCalibrations:
    """Everything that a run file holds, by name, judge and rubric."""

    run: str
    found: tuple[NamedCalibration, ...]

    def as_dict(self) -> dict[str, Any]:
        names: dict[str, dict[str, dict[str, Any]]] = {}
        for one in self.found:
            names.setdefault(one.name, {}).setdefault(one.judge, {})[one.rubric] = one.as_dict()
        return {"run": self.run, "calibrations": names}


def refuse_bad_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise SetupError(
            f"--name: '{name}' cannot stand in a signature; a name is up to 64 letters, digits, '.', '_' and '-', and "
            "begins with a letter or a digit"
        )


def fit_calibrations(
    reader: RunReader,
    name: str,
    kind: CalibrationChoice,
    ratings: Ratings | None = None,
    *,
    human: str = THE_RUN,
    judge: str | None = None,
    rubrics: Sequence[str] = (),
) -> Fit:
    """Fit every rubric of the judge that people rated enough items of, on the run's ratings or on those of a file."""
    told = _judge(summarise(reader), judge)
    for rubric in rubrics:
        if rubric not in told.signatures:
            raise SetupError(f"--rubrics: {unknown_name('rubric', rubric, told.signatures)}")
    by_rubric = ratings_by_rubric(reader, ratings)
    found: dict[str, NamedCalibration] = {}
    skipped: dict[str, str] = {}
    foreign: set[Key] = set()
    for rubric in rubrics or told.signatures:
        given = by_rubric.get(rubric, {})
        labels = {item: fmean(raters.values()) for item, raters in given.items() if raters}
        scores = _scores(reader, rubric, told)
        both = {item: (scores[item], label) for item, label in labels.items() if item in scores}
        foreign.update(labels.keys() - both.keys())
        if why := _too_few(labels, both):
            skipped[rubric] = why
        else:
            found[rubric] = _fitted(name, rubric, told, kind, both, human)
    if not found:
        reasons = "; ".join(f"{rubric}: {why}" for rubric, why in skipped.items())
        raise SetupError(
            f"{reader.path}: nothing to calibrate {told.judge} on with the ratings of {human}. {reasons}. A map takes "
            f"{LEAST_LABELLED} items of {LEAST_SOURCES} sources with a rating and a score; give ratings with --human "
            "FILE (columns id, system, rubric, rater, score)"
        )
    return Fit(str(reader.path), name, told.judge, human, found, skipped, len(foreign))


def _judge(summary: Summary, judge: str | None) -> JudgeSummary:
    subject = chosen_judge(summary, judge)
    return next(found for found in (summary.main, *summary.judges) if found.judge == subject)


def _scores(reader: RunReader, rubric: str, told: JudgeSummary) -> dict[Key, float]:
    """Item -> score, nan where there is none."""
    return {
        (id_, system): math.nan if score is None else score
        for system, by_source in item_scores(reader, rubric, told, "mean").items()
        for id_, score in by_source.items()
    }


def _too_few(labels: Mapping[Key, float], both: Mapping[Key, tuple[float, float]]) -> str:
    """What there is to learn from, when it is not enough."""
    if not labels:
        return "nobody rated it"
    if not both:
        (id_, system), *_ = labels
        return f"none of {len(labels):,} rated items is in the run (the first is id '{id_}', system '{system}')"
    scored = [item for item, (score, _) in both.items() if not math.isnan(score)]
    sources = len({id_ for id_, _ in scored})
    if len(scored) < LEAST_LABELLED or sources < LEAST_SOURCES:
        return f"{len(scored):,} rated and scored items of {sources:,} sources are too few"
    return ""


def _fitted(
    name: str,
    rubric: str,
    told: JudgeSummary,
    kind: CalibrationChoice,
    both: Mapping[Key, tuple[float, float]],
    human: str,
) -> NamedCalibration:
    judge, people = [score for score, _ in both.values()], [label for _, label in both.values()]
    sources = [id_ for id_, _ in both]
    chosen = choose_calibration(judge, people, sources) if kind == "best" else kind
    return NamedCalibration(
        name,
        rubric,
        told.judge,
        calibrate(judge, people, chosen),
        check_calibration(judge, people, sources, kind),
        len({id_ for (id_, _), (score, _) in both.items() if not math.isnan(score)}),
        human,
        str(told.signatures[rubric]),
        __version__,
    )
