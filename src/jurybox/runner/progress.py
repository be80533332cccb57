"""What a run reports while it goes on. Showing it is the command line's business."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from jurybox.runner.patience import Outcome


@dataclass(slots=True)
class Tally:
    """Counts of judgments. `done` includes `kept`, those that the store already had, and `reused`, those whose answers
    earlier runs paid for; cost is of this start alone. `stopped` says why a run ended before it was done."""

    total: int = 0
    done: int = 0
    kept: int = 0
    unscored: int = 0
    calls: int = 0
    retried: int = 0
    cost: float = 0.0
    unpriced: int = 0
    reused: int = 0
    stopped: str = ""

    def add(self, outcome: Outcome, cost: float | None) -> None:
        """Count one call."""
        paid = bool(outcome.attempts) and not outcome.reused
        self.calls += paid
        self.kept += 0 if outcome.attempts else len(outcome.verdicts)
        self.reused += len(outcome.verdicts) if outcome.reused else 0
        self.retried += max(len(outcome.attempts) - 1, 0)
        self.cost += cost or 0.0
        self.unpriced += cost is None


class Progress(Protocol):
    def update(self, tally: Tally) -> None:
        """Called whenever judgments have become durable."""

    def stopping(self, under_way: int) -> None:
        """Called once when a stop was asked for and calls are still under way."""

    def say(self, text: str) -> None:
        """Called with what a person should know."""


class Silent:
    """Progress for nobody."""

    def update(self, tally: Tally) -> None:
        pass

    def stopping(self, under_way: int) -> None:
        pass

    def say(self, text: str) -> None:
        pass
