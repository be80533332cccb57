"""A kept calibration applied, because somebody named it: to the cells of a summary, or to exported judgments.

A map is of item scores under the mean of samples, and serves the rubric and the judge that it was fitted on, no other.
What it does not serve stays raw, and is told.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from statistics import fmean
from typing import TypeVar

from jurybox.errors import SetupError, unknown_name
from jurybox.report.judge import JudgeSummary, recombined
from jurybox.report.pairing import item_scores
from jurybox.report.summary import Summary
from jurybox.stats import Combine, mean_of_scores
from jurybox.store import NamedCalibration, RunReader, named_calibrations
from jurybox.types import SCALE, Estimate, Judgment

# (rubric, judge) -> map
Maps = Mapping[tuple[str, str], NamedCalibration]
Told = TypeVar("Told", bound=JudgeSummary)
_MIDDLE = (SCALE[0] + SCALE[-1]) / 2


def find_calibration(reader: RunReader, name: str) -> Maps:
    """What a run file holds under a name; refuses a name that it does not hold."""
    found = {(one.rubric, one.judge): one for one in named_calibrations(reader, name)}
    if not found:
        known = {one.name for one in named_calibrations(reader)}
        if not known:
            raise SetupError(
                f"--calibration {name}: {reader.path} holds no calibration; `jurybox calibrate {reader.path} --name "
                f"{name}` fits one"
            )
        raise SetupError(f"--calibration: {unknown_name('calibration', name, known)}")
    return found


def apply_calibration(reader: RunReader, summary: Summary, name: str, combine: Combine = "mean") -> Summary:
    """The same summary with the cells calibrated that the name has a map for; their signatures say so."""
    maps = find_calibration(reader, name)
    if combine != "mean":
        raise SetupError(
            f"--calibration {name}: was fitted on the mean of each item's samples; it cannot serve --combine {combine}"
        )
    judges = tuple(_calibrated(reader, judge, name, maps) for judge in summary.judges)
    jury = None if summary.jury is None else _calibrated(reader, summary.jury, name, maps)
    shown = [*judges, *([] if jury is None else [jury])]
    if not any(judge.maps for judge in shown):
        theirs = ", ".join(dict.fromkeys(judge for _, judge in maps))
        raise SetupError(
            f"--calibration {name}: is of {theirs}; shown here are {', '.join(judge.judge for judge in shown)}"
        )
    return replace(summary, judges=judges, jury=jury)


def _calibrated(reader: RunReader, told: Told, name: str, maps: Maps) -> Told:
    mine = {rubric: maps[rubric, told.judge] for rubric in told.signatures if (rubric, told.judge) in maps}
    systems = {system: dict(estimates) for system, estimates in told.systems.items()}
    distributions = {system: dict(counts) for system, counts in told.distributions.items()}
    for rubric, one in mine.items():
        for system, by_source in item_scores(reader, rubric, told, "mean").items():
            scores = _mapped(one, by_source)
            systems.setdefault(system, {})[rubric] = _mean(one, scores, len(by_source) - len(scores))
            distributions.setdefault(system, {})[rubric] = _steps(scores)
    signatures = {
        rubric: recombined(signature, f"{signature.combine}+{mine[rubric].mark}") if rubric in mine else signature
        for rubric, signature in told.signatures.items()
    }
    return replace(
        told,
        systems=systems,
        signatures=signatures,
        distributions=distributions,
        calibration=name,
        maps=mine,
        moved=tuple(rubric for rubric, one in mine.items() if one.signature != str(told.signatures[rubric])),
    )


def _mapped(one: NamedCalibration, by_source: Mapping[str, float | None]) -> list[float]:
    return [float(score) for score in one.map([score for score in by_source.values() if score is not None])]


def _mean(one: NamedCalibration, scores: Sequence[float], unscored: int) -> Estimate:
    squares = sum((score - _MIDDLE) ** 2 for score in scores)
    found = mean_of_scores(len(scores), sum(scores), squares, unscored)
    if found.value is None:
        return found
    return replace(found, method=f"{found.method}; calibrated by {one.name}, its map taken as known")


def _steps(scores: Sequence[float]) -> tuple[int, ...]:
    """How many scores are nearest to each step of the scale; halves go up."""
    nearest = Counter(int(score + 0.5) for score in scores)
    return tuple(nearest[step] for step in SCALE)


def uncalibrated(reader: RunReader, name: str) -> dict[str, tuple[str, ...]]:
    """Judge -> its rubrics that a name has no map for; refuses a name that serves no single judge of the run."""
    maps = find_calibration(reader, name)
    series = list(reader.signatures())
    if not any(one in maps for one in series):
        theirs = ", ".join(dict.fromkeys(judge for _, judge in maps))
        raise SetupError(
            f"--calibration {name}: is of {theirs}; an export has a row for each judge, and none for a jury"
        )
    missing: dict[str, tuple[str, ...]] = {}
    for rubric, judge in series:
        if (rubric, judge) not in maps:
            missing[judge] = (*missing.get(judge, ()), rubric)
    return missing


def calibrated_judgments(reader: RunReader, name: str) -> Iterator[tuple[Judgment, float | None, str | None]]:
    """Every judgment with its item's calibrated score and the signature of that; None where it has none.

    The map is of the mean over an item's scored samples, so all of them carry the same calibrated score, and means of
    it are those that `show` gives. An unscored judgment has none.
    """
    maps = find_calibration(reader, name)
    signatures = {
        series: str(recombined(signature, f"{signature.combine}+{maps[series].mark}"))
        for series, signature in reader.signatures().items()
        if series in maps
    }
    for key, samples in groupby(reader.judgments(), lambda one: (one.id, one.system, one.rubric, one.judge)):
        told = list(samples)
        series = key[2:]
        scores = [one.verdict.score for one in told if one.verdict.score is not None]
        if series not in maps or not scores:
            yield from ((one, None, None) for one in told)
            continue
        score = float(maps[series].map(fmean(scores)))
        for one in told:
            yield (one, score, signatures[series]) if one.verdict.score is not None else (one, None, None)
