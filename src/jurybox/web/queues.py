"""Whose turn it is at the annotator's desk: every rater's order of items, kept between their ratings.

An order of 70,000 items takes a fifth of a second to make. While a run grows, a rater goes on with the one they have
for a while; its items keep their places among those that come (`blind_order`). All orders share the items' keys.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass

from jurybox.data.blind import blind_key
from jurybox.report.annotating import ORDERS, Order, Queue, Turn
from jurybox.store import RunReader, item_keys
from jurybox.store.browsing import rated_state
from jurybox.web.addresses import link

# The advice is asked for anew after so many ratings.
ADVICE_EVERY = 20
QUEUES = 16
# Seconds that an order of a growing run serves, if it took longer than a moment to make.
SERVES, MOMENT = 30.0, 0.05

Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Desk:
    """Whose turn it is, and how they want it; all of it is in the address, so a restart loses nothing."""

    rater: str
    order: Order
    rubric: str
    seed: int

    @classmethod
    def of(cls, given: Mapping[str, str]) -> Desk:
        order = next((known for known in ORDERS if known == given.get("order")), ORDERS[0])
        seed = given.get("seed", "")
        number = int(seed) if seed.isascii() and seed.isdigit() and len(seed) < 10 else 0
        return cls(given.get("rater", "").strip(), order, given.get("rubric", ""), number)

    @property
    def address(self) -> str:
        own = {"order": self.order if self.order != ORDERS[0] else "", "seed": self.seed or ""}
        return link("/annotate", rater=self.rater, rubric=self.rubric, **own)


@dataclass(frozen=True, slots=True)
class Ordered:
    """A rater's queue: of how many items and which advice it was made, when, and how many seconds that took."""

    queue: Queue
    items: int
    advice: int
    at: float
    took: float

    def serves(self, items: int, advice: int) -> bool:
        if advice != self.advice:
            return False
        return items == self.items or (self.took > MOMENT and time.monotonic() < self.at + SERVES)


class Queues:
    """The queues of all raters of one run."""

    def __init__(self) -> None:
        self._ordered: OrderedDict[Desk, Ordered] = OrderedDict()
        self._blind: tuple[int, Mapping[str, Key]] = (-1, {})

    def turn(self, reader: RunReader, desk: Desk, items: int) -> Turn | None:
        """What the rater is shown next; None when all is rated. `items` is the number of the run's last item."""
        known = self._of(reader, desk, items)
        found = known.queue.next(reader)
        if found is None and known.items != items:  # there are more by now
            self._ordered.pop(desk, None)
            found = self._of(reader, desk, items).queue.next(reader)
        return found

    def key(self, reader: RunReader, blind: str, items: int) -> Key | None:
        """The item that a form means. Items are never taken away, so those that are known stay right."""
        if blind not in self._blind[1] and self._blind[0] != items:
            self._blind = (items, {blind_key(key): key for key in item_keys(reader)})
        return self._blind[1].get(blind)

    def _of(self, reader: RunReader, desk: Desk, items: int) -> Ordered:
        advice = rated_state(reader)[1] // ADVICE_EVERY if desk.order == "advice" else 0
        known = self._ordered.get(desk)
        if known is None or not known.serves(items, advice):
            began = time.monotonic()
            rubrics = (desk.rubric,) if desk.rubric else ()
            queue = Queue(reader, desk.rater, order=desk.order, seed=desk.seed, rubrics=rubrics)
            other = next(iter(self._ordered.values()), None)
            if other is not None:
                same = {key: key for key in other.queue.keys}
                queue.keys = [same.get(key, key) for key in queue.keys]
            known = Ordered(queue, items, advice, time.monotonic(), time.monotonic() - began)
            self._ordered[desk] = known
            while len(self._ordered) > QUEUES:
                self._ordered.popitem(last=False)
        return known
