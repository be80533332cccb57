"""What one judge said of a run: its table, its losses, and how far its samples differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from jurybox.types import Estimate, Signature, Status


@dataclass(frozen=True, slots=True)
class SampleSummary:
    """How far samples of one item differ on one rubric, and how many scored ones an item has."""

    spread: Estimate
    agreement: Estimate
    least: int
    mean: float
    most: int

    def as_dict(self) -> dict[str, Any]:
        return {
            "spread": self.spread.as_dict(),
            "agreement": self.agreement.as_dict(),
            "samples": {"min": self.least, "mean": self.mean, "max": self.most},
        }


@dataclass(frozen=True, slots=True)
class QuoteCount:
    """Passages that a judge quoted in its reasons, and how many of them the material lacks."""

    quotes: int
    absent: int


@dataclass(frozen=True, slots=True)
class JudgeSummary:
    """What one judge said: system -> rubric -> estimate. `samples` has the rubrics with several samples an item,
    `lacks` what its server turned out not to have, each with the server's words."""

    judge: str
    signatures: Mapping[str, Signature]
    systems: Mapping[str, Mapping[str, Estimate]]
    statuses: Mapping[str, Mapping[Status, int]]
    samples: Mapping[str, SampleSummary] = field(default_factory=dict)
    lacks: Mapping[str, str] = field(default_factory=dict)
    quotes: QuoteCount | None = None

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
        shown: dict[str, Any] = {
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
        if self.samples:
            shown["samples"] = {rubric: found.as_dict() for rubric, found in self.samples.items()}
        if self.lacks:
            shown["lacks"] = dict(self.lacks)
        if self.quotes is not None:
            shown["quotes"] = asdict(self.quotes)
        return shown
