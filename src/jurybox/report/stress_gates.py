"""Gates on a judge under stress: figures that must not lie below or above a bound, for every rubric or for one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from jurybox.errors import SetupError, unknown_name
from jurybox.report.stress import Stress
from jurybox.types import Estimate

# What a person may ask for -> the figure of a rubric.
FIGURES: Mapping[str, str] = {
    "detection": "detection",
    "discrimination": "discrimination",
    "attack": "attacks",
    "attacks": "attacks",
    "false_alarms": "false_alarms",
    "false_falls": "false_falls",
    "spilled": "spilled",
    "dose_response": "dose_response",
}
Bounds = Mapping[str, float]


def refuse_odd_gates(option: str, bounds: Bounds, rubrics: Iterable[str]) -> None:
    """Names are FIGURE or RUBRIC.FIGURE, and every figure is a share or a difference of two."""
    known = list(rubrics)
    for name, bound in bounds.items():
        if not -1 <= bound <= 1:
            raise SetupError(f"{option} {name}={bound:g}: should be a share, from 0 to 1")
        rubric, _, figure = name.rpartition(".")
        if figure not in FIGURES:
            raise SetupError(f"{option} {name}: {unknown_name('figure', figure, FIGURES)}")
        if rubric and rubric not in known:
            raise SetupError(f"{option} {name}: {unknown_name('rubric', rubric, known)}")


def failed_gates(found: Stress, at_least: Bounds, at_most: Bounds) -> list[str]:
    """One line for each figure of the main judge on the wrong side of its bound, or without a value at all."""
    return [
        line
        for bounds, floor in ((at_least, True), (at_most, False))
        for name, bound in bounds.items()
        for line in _failed(found, name, bound, floor)
    ]


def _failed(found: Stress, name: str, bound: float, floor: bool) -> list[str]:
    only, _, figure = name.rpartition(".")
    lines = []
    for rubric, one in found.main.rubrics.items():
        if only in ("", rubric):
            estimate: Estimate = getattr(one, FIGURES[figure])
            told = _wrong(estimate, bound, floor)
            lines += [f"{figure} of {rubric} {told}"] if told else []
    return lines


def _wrong(estimate: Estimate, bound: float, floor: bool) -> str:
    wanted = f"{'at least' if floor else 'at most'} {bound:g} was asked for"
    if estimate.value is None:
        return f"has no value ({estimate.method.removeprefix('undefined: ')}); {wanted}"
    if estimate.value >= bound if floor else estimate.value <= bound:
        return ""
    interval = "" if estimate.low is None else f" ({estimate.low:.3f} to {estimate.high:.3f})"
    lost = f", {estimate.n_unscored:,} unscored" if estimate.n_unscored else ""
    return f"is {estimate.value:.3f}{interval}, n={estimate.n:,}{lost}; {wanted}"
