"""Trivial judges beside a real one: word count, a constant, which system wrote it, ROUGE against the source.

What each knows is little, and each must be beaten by a judge that reads. A judge beats one when PERM-BOTH and
PERM-SYSTEMS say so at summary level and the interval of the difference, drawn over sources and systems, lies above 0.
PERM-BOTH alone is not enough: it swaps summaries one by one, and a judge's liking for a system is no matter of single
summaries (docs/design/agree.md has the measurement). Where systems are too few to be drawn they are not swapped either.
A constant has no correlation: there the judge's own must be above 0.
`similar` is the figure among systems of similar length: median words within a factor of 1.5 of the median system's.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from jurybox.report.agree_data import Facts, Grid, system_identity
from jurybox.stats.correlation import Coefficient
from jurybox.stats.figures import Draws, Figure
from jurybox.stats.levels import summary_level, system_level
from jurybox.stats.pairwise import PairwiseAccuracy, pairwise_accuracy
from jurybox.stats.placing import partial_summary_level
from jurybox.stats.significance import Lead, perm_both, perm_systems, williams
from jurybox.types import SCALE, Estimate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

HEADLINE: Coefficient = "spearman"
CONSTANT = "constant"
# How far a system's median length may be from the median system's, as a factor.
SIMILAR = 1.5
LEAST_SIMILAR = 3
# What it takes to beat a trivial judge, for those who read --json.
NEEDS = (
    "p below 0.05 by perm_both and by perm_systems (constant: by bootstrap), and an interval of judge_minus_baseline "
    "above 0. perm_both alone is no proof: it finds leads that are not there when a judge likes some systems"
)
NEEDS_OF_FEW = (
    "p below 0.05 by perm_both (constant: by bootstrap), and an interval of judge_minus_baseline above 0; both are of "
    "these systems only. perm_both alone is no proof: it finds leads that are not there when a judge likes some systems"
)


@dataclass(frozen=True, slots=True)
class Trivial:
    """The judge against each trivial judge, by name. `leads` are PERM-BOTH at summary level, `system_leads` are
    PERM-SYSTEMS, `williams` tests at system level; `differences` are judge less trivial judge. `partial` holds length
    still."""

    baselines: Mapping[str, Estimate]
    system_level: Mapping[str, Estimate]
    differences: Mapping[str, Estimate]
    leads: Mapping[str, Lead]
    system_leads: Mapping[str, Lead]
    williams: Mapping[str, Lead]
    partial: Estimate
    similar: Mapping[str, Estimate]
    similar_systems: tuple[str, ...]
    pairwise: Mapping[str, PairwiseAccuracy]

    @property
    def beaten(self) -> dict[str, bool]:
        """By every test, and by the interval of the difference: PERM-BOTH alone finds leads that are not there."""
        return {name: self._tested(name) and self._clear(name) for name in self.leads}

    def _tested(self, name: str) -> bool:
        return all(leads[name].ahead for leads in (self.leads, self.system_leads) if name in leads)

    def p(self, name: str) -> float | None:
        """The larger p of the tests that must be passed."""
        found = [leads[name].p for leads in (self.leads, self.system_leads) if name in leads]
        known = [p for p in found if p is not None]
        return max(known) if len(known) == len(found) else None

    def _clear(self, name: str) -> bool:
        if name == CONSTANT:
            return True
        low = self.differences[name].low
        return low is not None and low > 0

    @property
    def all_beaten(self) -> bool:
        return bool(self.leads) and all(self.beaten.values())

    def as_dict(self) -> dict[str, Any]:
        return {
            "baselines": {name: found.as_dict() for name, found in self.baselines.items()},
            "baselines_system_level": {name: found.as_dict() for name, found in self.system_level.items()},
            "judge_minus_baseline": {name: found.as_dict() for name, found in self.differences.items()},
            "beats": self.beaten,
            "beats_needs": NEEDS if self.system_leads else NEEDS_OF_FEW,
            "tests": {name: self._tests(name) for name in self.leads},
            "partial_length": self.partial.as_dict(),
            "similar_length": {
                "systems": list(self.similar_systems),
                **{name: found.as_dict() for name, found in self.similar.items()},
            },
        }

    def _tests(self, name: str) -> dict[str, Any]:
        systems = self.system_leads.get(name)
        return {
            "bootstrap" if name == CONSTANT else "perm_both": self.leads[name].as_dict(),
            **({} if systems is None else {"perm_systems": systems.as_dict()}),
            "p": self.p(name),
            "williams": self.williams[name].as_dict(),
        }


def against_trivial(judged: Floats, people: Floats, grid: Grid, facts: Facts, draws: Draws) -> Trivial:
    """Every comparison on the items that both the judge and people have scored."""
    import numpy as np

    missing = np.isnan(judged) | np.isnan(people)
    words = np.where(missing, np.nan, grid.table(facts.words))
    tables = {
        "length": words,
        CONSTANT: np.where(missing, np.nan, float(SCALE[len(SCALE) // 2])),
        "system": np.where(missing, np.nan, system_identity(people)),
        "rouge": np.where(missing, np.nan, grid.table(facts.rouge)),
        "rouge_l": np.where(missing, np.nan, grid.table(facts.rouge_l)),
    }
    tables = {name: table for name, table in tables.items() if not np.isnan(table).all()}
    own = summary_level(judged, people, HEADLINE, draws)
    figures = {name: summary_level(table, people, HEADLINE, draws) for name, table in tables.items()}
    similar, systems = _similar(judged, people, words, grid, draws)
    return Trivial(
        {name: _named(figure, name).estimate() for name, figure in figures.items()},
        {name: system_level(table, people, HEADLINE, draws).estimate() for name, table in tables.items()},
        {
            name: own.minus(figure, f"judge less {name}, summary-level Spearman's rho").estimate()
            for name, figure in figures.items()
            if name != CONSTANT
        },
        {name: _lead(name, own, judged, table, people, draws.seed) for name, table in tables.items()},
        {
            name: perm_systems(judged, table, people, HEADLINE, seed=draws.seed)
            for name, table in tables.items()
            if name != CONSTANT and draws.over == "both"
        },
        {name: _williams(name, judged, table, people, draws) for name, table in tables.items()},
        partial_summary_level(judged, people, words, HEADLINE, draws).estimate(),
        similar,
        systems,
        {name: pairwise_accuracy(table, people, draws) for name, table in tables.items()},
    )


def _named(figure: Figure, name: str) -> Figure:
    return replace(figure, why="a constant judge orders nothing") if name == CONSTANT else figure


def _lead(name: str, own: Figure, judged: Floats, table: Floats, people: Floats, seed: int) -> Lead:
    if name != CONSTANT:
        return perm_both(judged, table, people, HEADLINE, seed=seed)
    shown = own.estimate()
    if shown.value is None or shown.low is None:
        return Lead(shown.value, None, f"undefined: {own.why if shown.value is None else 'there is no interval'}")
    # A constant orders nothing, which counts as 0: the judge is ahead when hardly any resample is at or below that.
    resampled = own.resampled[own.over]
    below = int((resampled <= 0).sum())
    return Lead(shown.value, (below + 1) / (len(resampled) + 1), "bootstrap: share of resamples not above 0", seed=seed)


def _williams(name: str, judged: Floats, table: Floats, people: Floats, draws: Draws) -> Lead:
    if name == "system":
        return Lead(None, None, "undefined: this one is made of people's means of the systems")
    none = Draws.of(people.shape[0], people.shape[1], 1, draws.seed)
    pairs = ((judged, people), (table, people), (judged, table))
    first, second, between = (system_level(x, y, "pearson", none) for x, y in pairs)
    return williams(first.value, second.value, between.value, first.n)


def _similar(
    judged: Floats, people: Floats, words: Floats, grid: Grid, draws: Draws
) -> tuple[dict[str, Estimate], tuple[str, ...]]:
    """The judge and word count among systems of similar length."""
    import numpy as np

    known = [column[~np.isnan(column)] for column in words.T]
    medians = np.array([np.median(column) if len(column) else np.nan for column in known])
    middle = float(np.nanmedian(medians)) if (~np.isnan(medians)).any() else math.nan
    kept = (medians >= middle / SIMILAR) & (medians <= middle * SIMILAR)
    names = tuple(name for name, near in zip(grid.systems, kept, strict=True) if near)
    if len(names) < LEAST_SIMILAR:
        why = f"undefined: {len(names)} systems of similar length; {LEAST_SIMILAR} are needed"
        nothing = Estimate(None, None, None, 0, len(grid.sources), why)
        return {"judge": nothing, "length": nothing}, names
    among = Draws(draws.sources, Draws.of(1, len(names), len(draws.systems), draws.seed).systems, draws.seed)
    return {
        "judge": summary_level(judged[:, kept], people[:, kept], HEADLINE, among).estimate(),
        "length": summary_level(words[:, kept], people[:, kept], HEADLINE, among).estimate(),
    }, names
