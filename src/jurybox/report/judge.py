"""What one judge said of a run: its table, its losses, and how far its samples differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from jurybox.report.notebooks import InNotebooks
from jurybox.store import NamedCalibration
from jurybox.types import Estimate, Signature, Status

IN_SAMPLE = (
    "On items that a map was fitted on, calibrated scores look better than they are: believe the RMSE on sources left "
    "out. Intervals take the map as known; `jurybox estimate` gives people's means with intervals that hold for any "
    "judge."
)


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
class JudgeSummary(InNotebooks):
    """What one judge said: system -> rubric -> estimate. `samples` has the rubrics with several samples an item,
    `lacks` what its server turned out not to have, each with the server's words, `loss` the first judgment that ended
    without a score (id, system, rubric, why). `distributions` is system -> rubric ->
    how many items have a score nearest to 1, 2, 3, 4, 5.

    `calibration` is the name that was asked for, if any, and `maps` are those that it has for this judge: their rubrics
    are calibrated, the others raw. Of those in `moved` the scores are no longer configured as they were at the fit.
    """

    judge: str
    signatures: Mapping[str, Signature]
    systems: Mapping[str, Mapping[str, Estimate]]
    statuses: Mapping[str, Mapping[Status, int]]
    samples: Mapping[str, SampleSummary] = field(default_factory=dict)
    lacks: Mapping[str, str] = field(default_factory=dict)
    quotes: QuoteCount | None = None
    loss: tuple[str, str, str, str] | None = None
    distributions: Mapping[str, Mapping[str, tuple[int, ...]]] = field(default_factory=dict)
    calibration: str = ""
    maps: Mapping[str, NamedCalibration] = field(default_factory=dict)
    moved: tuple[str, ...] = ()

    @property
    def uncalibrated(self) -> tuple[str, ...]:
        """The rubrics that are raw although a calibration was asked for."""
        return tuple(rubric for rubric in self.signatures if self.calibration and rubric not in self.maps)

    @property
    def signature(self) -> str:
        """One signature for the whole table: the rubrics' labels joined."""
        parts = list(self.signatures.values())
        same = replace(
            parts[0],
            rubric=",".join(part.rubric for part in parts),
            layout=",".join(dict.fromkeys(part.layout for part in parts)),
        )
        return str(recombined(same, ",".join(dict.fromkeys(part.combine for part in parts))))

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
        if self.distributions:
            shown["distributions"] = {
                system: {rubric: list(counts) for rubric, counts in found.items()}
                for system, found in self.distributions.items()
            }
        if self.samples:
            shown["samples"] = {rubric: found.as_dict() for rubric, found in self.samples.items()}
        if self.lacks:
            shown["lacks"] = dict(self.lacks)
        if self.quotes is not None:
            shown["quotes"] = asdict(self.quotes)
        if self.calibration:
            shown["calibration"] = {
                "name": self.calibration,
                "rubrics": {rubric: one.as_dict() for rubric, one in self.maps.items()},
                "uncalibrated": list(self.uncalibrated),
                "moved": list(self.moved),
                "caveat": IN_SAMPLE,
            }
        return shown


def recombined(signature: Signature, combine: str) -> Signature:
    """The signature with another word for how scores were combined; a jury shows its members', so they get it too."""
    changes: dict[str, Any] = {"combine": combine}
    if members := getattr(signature, "members", ()):
        changes["members"] = tuple(replace(member, combine=combine) for member in members)
    return replace(signature, **changes)
