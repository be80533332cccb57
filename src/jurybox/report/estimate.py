"""System means from few human and many judge scores, per rubric of a run, and which items to label next.

An item's human score is the mean of its raters, its judge's score that of its samples; of a jury, the mean of a panel
that scored it completely. Labels must be a random sample of a system's items: where the judge sees a difference
between labelled items and the rest, that is said.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from jurybox.data import Ratings
from jurybox.errors import SetupError, unknown_name
from jurybox.report.agree_data import Key, ratings_by_rubric
from jurybox.report.judge import JudgeSummary
from jurybox.report.jury import JurySummary
from jurybox.report.notebooks import InNotebooks
from jurybox.report.summary import Summary, summarise
from jurybox.stats.bootstrap import SEED
from jurybox.stats.calibrate import CALIBRATION_KINDS, CalibrationCheck, CalibrationKind, check_calibration
from jurybox.stats.labelling import Needed, Shift, expected_half_width, labelled_shift, labels_needed, random_order
from jurybox.stats.ppi import Powered, ppi_means
from jurybox.store import RunReader
from jurybox.types import SCALE

# What to begin with where a system has no interval to halve.
FIRST_LABELS = 10
RANDOM = (
    "Drawn at random among the items without a label, because PPI++ needs labels that are a random sample: the oddest "
    "or the worst items would bias every mean. All systems follow one random order of sources, so they stay comparable."
)


@dataclass(frozen=True, slots=True)
class SystemEstimate:
    """One system on one rubric. `needed` is None where there is no interval to halve."""

    found: Powered
    items: int
    needed: Needed | None

    @property
    def labelled(self) -> int:
        return self.found.human.n

    @property
    def labels_to_halve(self) -> int:
        """Labels to ask for: as many as halve the interval, all there are if they do not, some to begin with."""
        if self.needed is None:
            return min(FIRST_LABELS, self.items - self.labelled) if self.found.ppi.low is None else 0
        return self.needed.available if self.needed.labels is None else self.needed.labels

    def as_dict(self) -> dict[str, Any]:
        return {
            "ppi": self.found.ppi.as_dict(),
            "human": self.found.human.as_dict(),
            "judge": self.found.judge.as_dict(),
            "lambda": self.found.weight,
            "effective_n": self.found.effective_n,
            "n_labelled": self.labelled,
            "n_items": self.items,
            "needed": None if self.needed is None else self.needed.as_dict(),
        }


@dataclass(frozen=True, slots=True)
class Next:
    """Items to label next, in the order to label them, and the half width to hope for after that, by system."""

    items: tuple[Key, ...]
    expected: Mapping[str, float | None]
    why: str
    seed: int

    def as_dict(self) -> dict[str, Any]:
        return {
            "n": len(self.items),
            "why": self.why,
            "reason": RANDOM,
            "seed": self.seed,
            "items": [{"id": id_, "system": system} for id_, system in self.items],
            "expected_half_width": dict(self.expected),
        }


@dataclass(frozen=True, slots=True)
class RubricEstimates:
    """One rubric: its systems, whether labelled items look like the rest, what to label next, and what calibrating the
    judge on the labels of all systems would be worth. No figure here is calibrated."""

    signature: str
    systems: Mapping[str, SystemEstimate]
    shift: Shift
    next: Next
    calibration: Mapping[CalibrationKind, CalibrationCheck]

    def as_dict(self) -> dict[str, Any]:
        return {
            "signature": self.signature,
            "systems": {system: found.as_dict() for system, found in self.systems.items()},
            "labelled": self.shift.as_dict(),
            "next": self.next.as_dict(),
            "calibration": {kind: check.as_dict() for kind, check in self.calibration.items()},
        }


@dataclass(frozen=True, slots=True)
class Estimates(InNotebooks):
    """A run's estimates. `unrated` rubrics have no human rating; `foreign` rated items are not in the run."""

    run: str
    judge: str
    signature: str
    human: str
    rubrics: Mapping[str, RubricEstimates]
    unrated: tuple[str, ...]
    foreign: int

    def as_dict(self) -> dict[str, Any]:
        return {
            "run": self.run,
            "judge": self.judge,
            "signature": self.signature,
            "human": self.human,
            "rubrics": {rubric: found.as_dict() for rubric, found in self.rubrics.items()},
            "unrated": list(self.unrated),
            "foreign": self.foreign,
        }


def estimate_run(
    reader: RunReader,
    ratings: Ratings | None = None,
    *,
    source: str = "",
    judge: str | None = None,
    rubrics: Sequence[str] = (),
    next_labels: int | None = None,
    seed: int = SEED,
) -> Estimates:
    """Read a run's scores and its ratings, or those of a file called `source` in their place."""
    told = _judge(summarise(reader), judge)
    for rubric in rubrics:
        if rubric not in told.signatures:
            raise SetupError(f"--rubrics: {unknown_name('rubric', rubric, told.signatures)}")
    where = source or str(reader.path)
    wanted = list(rubrics or told.signatures)
    # Every single rating must be on the scale: a mean of raters may hide one that is not.
    labels = {
        rubric: {item: fmean(raters.values()) for item, raters in items.items()}
        for rubric, items in ratings_by_rubric(reader, ratings, where).items()
    }
    rated = [rubric for rubric in wanted if rubric in labels]
    if not rated:
        raise SetupError(
            f"{where}: has no human ratings of {', '.join(wanted)}; rate some items, chosen at random, and give them "
            "with --human FILE (columns id, system, rubric, rater, score)"
        )
    scores = {rubric: _scores(reader, rubric, told) for rubric in rated}
    foreign = _refuse_strangers(labels, scores, where)
    return Estimates(
        str(reader.path),
        told.judge,
        replace(told, signatures={rubric: told.signatures[rubric] for rubric in rated}).signature,
        where,
        {
            rubric: _estimated(scores[rubric], labels[rubric], str(told.signatures[rubric]), next_labels, seed)
            for rubric in rated
        },
        tuple(rubric for rubric in wanted if rubric not in labels),
        foreign,
    )


def _judge(summary: Summary, judge: str | None) -> JudgeSummary:
    """The run's main judge, or the one that was named."""
    known = {found.judge: found for found in (summary.main, *summary.judges)}
    if judge is None:
        return summary.main
    if judge not in known:
        raise SetupError(f"--judge: {unknown_name('judge', judge, known)}")
    return known[judge]


def _refuse_strangers(
    labels: Mapping[str, Mapping[Key, float]], scores: Mapping[str, Mapping[Key, float]], where: str
) -> int:
    """How many rated items the run does not have; refuses ratings of other items altogether."""
    foreign: set[Key] = set()
    for rubric, scored in scores.items():
        strangers = [item for item in labels[rubric] if item not in scored]
        if len(strangers) == len(labels[rubric]):
            mine, theirs = next(iter(scored), ("-", "-")), strangers[0]
            raise SetupError(
                f"{where}: no rated item of '{rubric}' is in the run; rated is id '{theirs[0]}', system '{theirs[1]}', "
                f"judged is id '{mine[0]}', system '{mine[1]}'"
            )
        foreign.update(strangers)
    return len(foreign)


def _scores(reader: RunReader, rubric: str, told: JudgeSummary) -> dict[Key, float]:
    """Item -> score of the judge or the whole panel, nan where there is none."""
    panel = told.panels[rubric] if isinstance(told, JurySummary) else (told.judge,)
    found: dict[Key, list[float]] = {}
    for judge, id_, system, score in reader.scores(rubric):
        if judge in panel:
            found.setdefault((id_, system), []).append(math.nan if score is None else score)
    return {item: fmean(given) if len(given) == len(panel) else math.nan for item, given in found.items()}


def _estimated(
    scores: Mapping[Key, float], labels: Mapping[Key, float], signature: str, next_labels: int | None, seed: int
) -> RubricEstimates:
    systems = {system: _system(system, scores, labels) for system in dict.fromkeys(system for _, system in scores)}
    items = list(scores)
    shift = labelled_shift(
        list(scores.values()), [item in labels for item in items], [item[1] for item in items], [i[0] for i in items]
    )
    upcoming = _next(systems, scores, labels, next_labels, seed)
    return RubricEstimates(signature, systems, shift, upcoming, _calibration(scores, labels))


def _calibration(scores: Mapping[Key, float], labels: Mapping[Key, float]) -> dict[CalibrationKind, CalibrationCheck]:
    both = [item for item in scores if item in labels]
    judge, human, sources = [scores[item] for item in both], [labels[item] for item in both], [id_ for id_, _ in both]
    return {kind: check_calibration(judge, human, sources, kind) for kind in CALIBRATION_KINDS}


def _system(system: str, scores: Mapping[Key, float], labels: Mapping[Key, float]) -> SystemEstimate:
    mine = [item for item in scores if item[1] == system]
    labelled, rest = [item for item in mine if item in labels], [item for item in mine if item not in labels]
    found = ppi_means(
        [labels[item] for item in labelled],
        [scores[item] for item in labelled],
        [scores[item] for item in rest],
        [id_ for id_, _ in labelled],
        [id_ for id_, _ in rest],
        ends=(SCALE[0], SCALE[-1]),
    )
    return SystemEstimate(found, len(mine), labels_needed(found, len(rest)))


def _next(
    systems: Mapping[str, SystemEstimate],
    scores: Mapping[Key, float],
    labels: Mapping[Key, float],
    count: int | None,
    seed: int,
) -> Next:
    """The first items without a label in one random order of sources: `count` of them, or what halves each interval."""
    open_items = scores.keys() - labels.keys()
    order = random_order((id_ for id_, _ in scores), seed)
    waiting = [(id_, system) for id_ in order for system in systems if (id_, system) in open_items]
    if count is None:
        left = {system: found.labels_to_halve for system, found in systems.items()}
        chosen = tuple(_taken(waiting, left))
        why = "as many as halve each system's interval, all where even those do not"
    else:
        chosen, why = tuple(waiting[:count]), "as many as were asked for"
    given = {system: sum(1 for _, by in chosen if by == system) for system in systems}
    expected = {
        system: expected_half_width(found.found, found.items - found.labelled, given[system])
        for system, found in systems.items()
    }
    return Next(chosen, expected, why, seed)


def _taken(waiting: Iterable[Key], left: dict[str, int]) -> Iterable[Key]:
    for item in waiting:
        if left[item[1]] > 0:
            left[item[1]] -= 1
            yield item
