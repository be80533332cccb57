"""Systems x rubrics, judge by judge: every cell an `Estimate`, every table with its signatures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from jurybox.stats import mean_of_scores
from jurybox.store import RunReader
from jurybox.types import Estimate, Signature, Status


@dataclass(frozen=True, slots=True)
class JudgeSummary:
    """What one judge said: system -> rubric -> estimate."""

    judge: str
    signatures: Mapping[str, Signature]
    systems: Mapping[str, Mapping[str, Estimate]]
    statuses: Mapping[str, Mapping[Status, int]]

    @property
    def signature(self) -> str:
        """One signature for the whole table: the rubrics' labels joined."""
        parts = list(self.signatures.values())
        same = replace(
            parts[0],
            rubric=",".join(part.rubric for part in parts),
            layout=",".join(dict.fromkeys(part.layout for part in parts)),
        )
        return str(same)

    def as_dict(self) -> dict[str, Any]:
        return {
            "signature": self.signature,
            "systems": {
                system: {
                    rubric: {**estimate.as_dict(), "signature": str(self.signatures[rubric])}
                    for rubric, estimate in estimates.items()
                }
                for system, estimates in self.systems.items()
            },
            "statuses": {rubric: dict(counts) for rubric, counts in self.statuses.items()},
        }


@dataclass(frozen=True, slots=True)
class Summary:
    """A whole run. `missing` counts judgments that the run set out for and has not made yet."""

    path: str
    judges: tuple[JudgeSummary, ...]
    missing: int
    spent: Mapping[str, Any]

    @property
    def main(self) -> JudgeSummary:
        """The judge that the run is about: the first that is no baseline."""
        real = [judge for judge in self.judges if not judge.judge.startswith("baseline/")]
        return (real or list(self.judges))[0]

    @property
    def unscored(self) -> int:
        return sum(
            count
            for judge in self.judges
            for counts in judge.statuses.values()
            for status, count in counts.items()
            if status != "scored"
        )

    def as_dict(self) -> dict[str, Any]:
        return {
            "run": self.path,
            "judge": self.main.judge,
            **self.main.as_dict(),
            "judges": {judge.judge: judge.as_dict() for judge in self.judges},
            "missing": self.missing,
            "spent": dict(self.spent),
        }


def summarise(reader: RunReader) -> Summary:
    """Read a run's tallies into estimates."""
    signatures, statuses = reader.signatures(), reader.statuses()
    systems: dict[str, dict[str, dict[str, Estimate]]] = {}
    for tally in reader.tallies():
        estimate = mean_of_scores(tally.scored, tally.total, tally.total_of_squares, tally.items - tally.scored)
        systems.setdefault(tally.judge, {}).setdefault(tally.system, {})[tally.rubric] = estimate
    judges = tuple(
        JudgeSummary(
            judge,
            {rubric: signature for (rubric, by), signature in signatures.items() if by == judge},
            systems.get(judge, {}),
            {rubric: counts for (rubric, by), counts in statuses.items() if by == judge},
        )
        for judge in dict.fromkeys(judge for _, judge in signatures)
    )
    missing = sum(
        max(expected - sum(statuses.get(series, {}).values()), 0) for series, expected in reader.expected().items()
    )
    return Summary(str(reader.path), judges, missing, reader.spent())
