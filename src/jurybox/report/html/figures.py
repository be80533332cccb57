"""How figures are written, and where they lie in a drawing. Numbers in, words and numbers out; HTML is the macros'."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jurybox.types import SCALE, Estimate

# Classes of colour in a heat map: four for every step of the scale.
FINENESS = 4
STEPS = FINENESS * (SCALE[-1] - SCALE[0])


def number_text(value: float | None, digits: int = 2) -> str:
    """A minus sign and not a hyphen, no negative zero; a word where there is no number."""
    return "none" if value is None else f"{value:z.{digits}f}".replace("-", "−")


def interval_text(estimate: Estimate, digits: int = 2) -> str:
    """2.54–3.29; with a word between where one end is below zero. Empty where there is no interval."""
    if estimate.low is None or estimate.high is None:
        return ""
    between = "–" if estimate.low >= 0 else " to "
    return f"{number_text(estimate.low, digits)}{between}{number_text(estimate.high, digits)}"


def chance_text(p: float | None) -> str:
    """A p-value: 0.03, 4e-05."""
    return "none" if p is None else f"{p:.2f}" if p >= 0.01 else f"{p:.1g}"


def step_of(value: float | None) -> str:
    """The class of colour of a score: h0 for 1 to h16 for 5; hx where there is none."""
    if value is None:
        return "hx"
    return f"h{min(max(round((value - SCALE[0]) * FINENESS), 0), STEPS)}"


@dataclass(frozen=True, slots=True)
class Axis:
    """A horizontal axis of a drawing: from `low` to `high` over `width` units, with ticks."""

    low: float
    high: float
    width: float
    ticks: tuple[float, ...]

    def at(self, value: float) -> float:
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return round(share * self.width, 1)


SCORES = Axis(SCALE[0], SCALE[-1], 160, tuple(map(float, SCALE)))
CORRELATIONS = Axis(-1, 1, 160, (-1.0, -0.5, 0.0, 0.5, 1.0))
SHARES = Axis(0, 1, 160, (0.0, 0.25, 0.5, 0.75, 1.0))


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar of a small chart: its place and height, and what it counts."""

    x: float
    y: float
    height: float
    step: int
    count: int


BAR_WIDTH, BAR_GAP, BARS_HEIGHT = 11.0, 3.0, 30.0


def bars(counts: Sequence[int]) -> tuple[Bar, ...]:
    """A bar for each step of the scale, the highest one full; a bar that counts something is never invisible."""
    most = max(counts, default=0)
    drawn = []
    for number, (step, count) in enumerate(zip(SCALE, counts, strict=True)):
        height = round(max(BARS_HEIGHT * count / most, 1.5), 1) if count else 0.0
        drawn.append(Bar(number * (BAR_WIDTH + BAR_GAP), round(BARS_HEIGHT - height, 1), height, step, count))
    return tuple(drawn)
