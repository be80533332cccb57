"""What the runner needs of a store while it asks: a run file has it, and so has a result folder of a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from jurybox.store.series import Series
from jurybox.types import Item, Reply, Status


class RunStore(Protocol):
    @property
    def resumed(self) -> bool:
        """Whether it held calls when it was opened."""

    def open_series(self, series: Series) -> int:
        """The number of a series; an existing one must have been made under the same settings."""

    def note_lacks(self, numbers: Iterable[int], lacks: Mapping[str, str]) -> None:
        """What these series' server turned out not to have: their signatures say so."""

    def spent(self) -> float:
        """USD that its calls have cost so far, as far as their prices are known."""

    def refuse_changed(self, item: Item) -> None:
        """An item that was judged before must still be the same item."""

    def find_reply(self, key: bytes) -> Reply | None:
        """The reply to a call with this key, if it was ever answered."""

    def judged(self, series: int, item: Item, sample: int) -> tuple[Status, float | None] | None:
        """How a judgment ended, with its score, if it is there."""
