"""One rubric's scores of an exam, made into figures: the step between the run file and `stress`'s report.

A trial is measured against the original of its own summary, an attack against its control. Whatever lacks one of its
two scores is counted as unscored, never as noticed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jurybox.perturb.exam import Exam, Key, Trial
from jurybox.stats import stress as figures
from jurybox.stats.bootstrap import numbered
from jurybox.types import Estimate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Scores = Mapping[Key, float | None]


@dataclass(frozen=True, slots=True)
class Effect:
    """What one kind of change does: how often the score falls, how often it moves either way, and by how much it falls
    on average."""

    rate: Estimate
    moved: Estimate
    mean_drop: Estimate


@dataclass(frozen=True, slots=True)
class Measured:
    """Differences of scores in pairs that have both, whose sources they come from, and how many pairs lack one."""

    drops: NDArray[np.float64]
    sources: NDArray[np.intp]
    lost: int

    def effect(self, what: str) -> Effect:
        return Effect(
            self.fallen(f"share of {what} after which the score falls"),
            figures.share(figures.moved(self.drops), self.sources, self.lost, f"share of {what} that move the score"),
            figures.mean_drop(self.drops, self.sources, self.lost, f"mean drop after {what}"),
        )

    def fallen(self, what: str) -> Estimate:
        told = f"{what} by more than {figures.MOVED:g}"
        return figures.share(figures.fallen(self.drops), self.sources, self.lost, told)


class Sheet:
    """The scores that one judge gave on one rubric to the trials of an exam. `target` is the rubric's best score."""

    def __init__(self, exam: Exam, scores: Scores, target: int) -> None:
        self.exam, self.target = exam, target
        self._scores = scores
        self._originals = {trial.base: trial.item.key for trial in exam.trials if trial.role == "original"}

    def measured(self, trials: Iterable[Trial]) -> Measured:
        """Each trial against the original."""
        return self._differences((self._originals.get(trial.base), trial.item.key, trial.source) for trial in trials)

    def pairs(self, pairs: Iterable[tuple[Trial, Trial]]) -> Measured:
        """How far the second of each pair is worse than the first."""
        return self._differences((first.item.key, second.item.key, first.source) for first, second in pairs)

    def _differences(self, pairs: Iterable[tuple[Key | None, Key, str]]) -> Measured:
        import numpy as np

        before, after, sources, lost = list[float](), list[float](), list[str](), 0
        for first, second, source in pairs:
            start = None if first is None else self._scores.get(first)
            end = self._scores.get(second)
            if start is None or end is None:
                lost += 1
                continue
            before.append(start)
            after.append(end)
            sources.append(source)
        dropped = figures.drops(np.array(before, dtype=float), np.array(after, dtype=float), self.target)
        return Measured(dropped, numbered(sources)[0], lost)

    def attacks(self, pairs: Sequence[tuple[Trial, Trial]]) -> tuple[Estimate, int]:
        """The share of (attack, control) pairs in which the attack lifts the score, and how many had no room for it."""
        import numpy as np

        controls = np.array([self._score(control) for _, control in pairs], dtype=float)
        # An unscored control is lost below, not without room.
        room = figures.with_room(controls, self.target) | np.isnan(controls)
        found = self.pairs(pair for pair, able in zip(pairs, room, strict=True) if able)
        cramped = int(len(pairs) - room.sum())
        if cramped == len(pairs) and pairs:
            return figures.nothing(0, "every control already has the score that the attack wants"), cramped
        what = f"share of attacks that lift the score by {figures.FOOLED:g} or more above the control"
        return figures.share(figures.fooled(found.drops), found.sources, found.lost, what), cramped

    def _score(self, trial: Trial) -> float:
        score = self._scores.get(trial.item.key)
        return math.nan if score is None else score

    def ladders(self, kinds: Iterable[str]) -> Estimate:
        """The share of summaries and kinds of damage, of those with two doses or more, with a dose response."""
        import numpy as np

        climbed: dict[tuple[Key, str], dict[int, Trial]] = {}
        wanted = set(kinds)
        for trial in self.exam.trials:
            if trial.role == "damage" and trial.kind in wanted:
                climbed.setdefault((trial.base, trial.kind), {})[trial.dose] = trial
        rising, sources, lost = list[bool](), list[str](), 0
        for (base, _), rungs in climbed.items():
            if len(rungs) < 2:
                continue
            found = self.measured(rungs[dose] for dose in sorted(rungs))
            if found.lost:
                lost += 1
                continue
            rising.append(bool(figures.rises_with_dose(found.drops[np.newaxis, :])[0]))
            sources.append(base[0])
        what = f"share of ladders of doses on which the score falls and no rung lifts it by more than {figures.MOVED:g}"
        if not rising and not lost:
            return figures.nothing(0, "no kind of damage has two doses here")
        return figures.share(np.array(rising, dtype=bool), numbered(sources)[0], lost, what)


def grouped(trials: Iterable[Trial], by: Callable[[Trial], str]) -> dict[str, list[Trial]]:
    """Trials by what a function says of them, in order of appearance."""
    groups: dict[str, list[Trial]] = {}
    for trial in trials:
        groups.setdefault(by(trial), []).append(trial)
    return groups


def attack_pairs(exam: Exam, target: int) -> list[tuple[Trial, Trial]]:
    """Every attack that wants this score, with its control."""
    sides = {
        (trial.base, trial.kind, trial.place, trial.role): trial
        for trial in exam.trials
        if trial.role in ("attack", "control") and trial.wanted == target
    }
    return [
        (trial, sides[(base, kind, place, "control")])
        for (base, kind, place, role), trial in sides.items()
        if role == "attack"
    ]
