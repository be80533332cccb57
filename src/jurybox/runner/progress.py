"""What a run reports while it goes on. Showing it is the command line's business."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(slots=True)
class Tally:
    """Counts of judgments. `done` includes `kept`, those that the store already had; cost is of this start alone."""

    total: int = 0
    done: int = 0
    kept: int = 0
    unscored: int = 0
    calls: int = 0
    retried: int = 0
    cost: float = 0.0
    unpriced: int = 0


class Progress(Protocol):
    def update(self, tally: Tally) -> None:
        """Called whenever judgments have become durable."""

    def stopping(self, under_way: int) -> None:
        """Called once when a stop was asked for and calls are still under way."""


class Silent:
    """Progress for nobody."""

    def update(self, tally: Tally) -> None:
        pass

    def stopping(self, under_way: int) -> None:
        pass
