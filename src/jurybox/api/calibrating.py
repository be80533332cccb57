"""`calibrate`: fit a judge to people and keep the map with the run under a name; `calibrations`: what a run holds.

Kept is not applied: `show` and `export` take the name where it is wanted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace as changed
from pathlib import Path

from jurybox.api.looking import Run, path_of
from jurybox.data import read_ratings
from jurybox.errors import StoreError, refuse_unknown_choice
from jurybox.report.calibrate import THE_RUN, Fit, KeptCalibrations, fit_calibrations, refuse_bad_name
from jurybox.report.calibrated import uncalibrated as uncalibrated_series
from jurybox.report.duels import holds_duels
from jurybox.stats import CALIBRATION_CHOICES, CalibrationChoice
from jurybox.store import CalibrationBook, RunReader, named_calibrations


def calibrate(
    run: str | Path | Run,
    *,
    name: str,
    kind: CalibrationChoice = "best",
    human: str | Path | None = None,
    judge: str | None = None,
    rubrics: str | Sequence[str] = (),
    replace: bool = False,
) -> Fit:
    """Fit maps from the judge's scores to people's, rubric by rubric, and keep them in the run file under a name.

    `kind` is `linear`, `isotonic`, `ordinal`, or the `best` of them by rubric. `human` is a long file of ratings in the
    place of those in the run. `judge` is the jury or the only judge unless named. What the name holds already is
    changed only with `replace`. Nothing is applied: `show` and `export` take the name.
    """
    refuse_bad_name(name)
    refuse_unknown_choice("kind", kind, CALIBRATION_CHOICES)
    names = [one.strip() for one in rubrics.split(",")] if isinstance(rubrics, str) else list(rubrics)
    ratings = None if human is None else read_ratings(Path(human))
    # Held from before the fit, so that a run that is still going on is refused at once.
    with CalibrationBook(path_of(run)) as book:
        with RunReader(book.path) as reader:
            if holds_duels(reader):
                raise StoreError(f"{reader.path}: holds duels, which are no scores; there is nothing to calibrate")
            fit = fit_calibrations(
                reader,
                name,
                kind,
                ratings,
                human=THE_RUN if human is None else str(human),
                judge=judge,
                rubrics=[one for one in names if one],
            )
        decided = book.keep(list(fit.rubrics.values()), instead=replace)
    return changed(
        fit,
        rubrics={one.rubric: one for one, _ in decided},
        kept={one.rubric: kept for one, kept in decided},
    )


def calibrations(run: str | Path | Run) -> KeptCalibrations:
    """Every calibration that a run file holds, by name, judge and rubric."""
    with RunReader(path_of(run)) as reader:
        return KeptCalibrations(str(reader.path), tuple(named_calibrations(reader)))


def uncalibrated(run: str | Path | Run, name: str) -> Mapping[str, tuple[str, ...]]:
    """Judge -> those of its rubrics that a calibration has no map for."""
    with RunReader(path_of(run)) as reader:
        return uncalibrated_series(reader, name)
