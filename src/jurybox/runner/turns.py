"""Requests and tokens a minute, as an even line in which each call takes the next place.

`Turns` is what a pace asks. One process has its own; the workers of a cluster share one (`cluster/governor.py`).
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Protocol

MINUTE = 60.0


class Turns(Protocol):
    async def wait(self, tokens: int) -> float:
        """Seconds until a call of so many tokens may go; its place is taken."""

    def correct(self, tokens: int) -> None:
        """So many tokens more (or less) were used than reserved."""


@dataclass(slots=True)
class Line:
    """An even line: each takes the next place, so any minute holds at most what it may."""

    seconds_each: float
    free_at: float = 0.0

    def place(self, amount: float, now: float) -> float:
        """When the next may go; the line is longer by its amount from then on."""
        start = max(self.free_at, now)
        self.free_at = start + amount * self.seconds_each
        return start

    def correct(self, amount: float) -> None:
        """What was reserved was not what was used."""
        self.free_at += amount * self.seconds_each


class OwnTurns:
    """The turns of one judge where nobody else asks it."""

    def __init__(self, rpm: float | None, tpm: float | None) -> None:
        self._requests = None if rpm is None else Line(MINUTE / rpm)
        self._tokens = None if tpm is None else Line(MINUTE / tpm)

    async def wait(self, tokens: int) -> float:
        return self.place(tokens)

    def place(self, tokens: int) -> float:
        start = now = time.monotonic()
        if self._requests is not None:
            start = max(start, self._requests.place(1, now))
        if self._tokens is not None:
            start = max(start, self._tokens.place(tokens, now))
        return start - now

    def correct(self, tokens: int) -> None:
        if self._tokens is not None:
            self._tokens.correct(tokens)
