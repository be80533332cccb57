"""What the judge was shown of an item's material."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Policy = Literal["whole", "sample", "extract"]
Way = Literal["sample", "passages", "counts", "passages and counts", "nothing"]


@dataclass(frozen=True, slots=True)
class Part:
    """What was shown of one field that was too long.

    `shown` counts the entries from 0 that the judge saw, whole or in passages. `of` is how many there are. A table of
    counts is made from all `of` entries, whatever it quotes. `error` is half the width of the 95 % interval around a
    share of one half, for samples alone.
    """

    way: Way
    shown: tuple[int, ...]
    of: int
    error: float | None = None
    seed: int | None = None

    def as_dict(self) -> dict[str, Any]:
        return {"way": self.way, "shown": list(self.shown), "of": self.of, "error": self.error, "seed": self.seed}


@dataclass(frozen=True, slots=True)
class Shown:
    """How an item's material was made to fit. `note` tells the judge; it is empty where all was shown."""

    policy: Policy
    parts: Mapping[str, Part] = field(default_factory=dict)
    note: str = ""

    def as_dict(self) -> dict[str, Any]:
        parts = {name: part.as_dict() for name, part in self.parts.items()}
        return {"policy": self.policy, "parts": parts, "note": self.note}


WHOLE = Shown("whole")
