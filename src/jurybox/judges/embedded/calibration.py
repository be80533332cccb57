"""From features to a score on the scale of 1 to 5.

Owns the numbers in `calibration.json`, made by bench/calibrate_embedded.py: mean and spread of each feature (spread
within a source, since between sources it is the material that differs), and for each rubric a map
`1 + 4 / (1 + exp(-(a + b·x)))` with b > 0, by least squares on the people's mean ratings and on damaged
copies that hold the low end. No weight or sign is fitted.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jurybox.judges.embedded.recipes import LIKELIHOOD, OPTIONAL, Recipe

_MOST = 3.0  # standard deviations: one absurd feature must not outvote the others
# Likelihood beyond one standard deviation: above, a text is copied, which makes it no better written, so the rest
# counts a quarter; below, dense prose surprises a small model nearly as much as broken prose, so the rest counts half.
_ABOVE, _BELOW = 0.25, 0.5


@dataclass(frozen=True)
class Calibration:
    """Feature moments and the map of each rubric."""

    moments: Mapping[str, tuple[float, float]]
    maps: Mapping[str, tuple[float, float]]
    about: Mapping[str, Any]

    def standardised(self, features: Mapping[str, float | None]) -> dict[str, float]:
        """Features in standard deviations from the development mean, bounded."""
        found: dict[str, float] = {}
        for name, value in features.items():
            if value is not None and name in self.moments:
                mean, spread = self.moments[name]
                found[name] = _bounded(name, (value - mean) / spread)
        return found

    def composite(self, recipe: Recipe, features: Mapping[str, float | None]) -> float | None:
        """The recipe's weighted mean, or None where a needed feature could not be measured."""
        known = self.standardised(features)
        if any(name not in known and name not in OPTIONAL for name in recipe.features):
            return None
        total = sum(weight * known.get(name, 0.0) for name, weight in recipe.features.items())
        return total / sum(map(abs, recipe.features.values()))

    def score(self, rubric: str, recipe: Recipe, features: Mapping[str, float | None]) -> float | None:
        """1 … 5, continuous."""
        x = self.composite(recipe, features)
        if x is None:
            return None
        a, b = self.maps[rubric]
        return 1.0 + 4.0 / (1.0 + math.exp(-(a + b * x)))


def _bounded(name: str, deviations: float) -> float:
    if name in LIKELIHOOD and abs(deviations) > 1:
        rest = min(deviations, _MOST) - 1 if deviations > 0 else deviations + 1
        deviations = 1 + _ABOVE * rest if deviations > 0 else -1 + _BELOW * rest
    return max(-_MOST, min(_MOST, deviations))


def load_calibration(path: Path) -> Calibration:
    """Reads the file that bench/calibrate_embedded.py wrote."""
    data = json.loads(path.read_text("utf-8"))
    return Calibration(
        {name: (entry["mean"], entry["spread"]) for name, entry in data["features"].items()},
        {name: (entry["a"], entry["b"]) for name, entry in data["rubrics"].items()},
        data["about"],
    )
