"""Figures that take longer than a page should: made one at a time in a thread of their own, kept until the run changes.

While a run grows, a figure rests some times as long as it took before it is made again; pages show the one before and
say so.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jurybox.errors import JuryboxError, StoreError
from jurybox.store import RunReader
from jurybox.web.watching import LEAST_REST, REST, Watch


@dataclass(frozen=True, slots=True)
class Made:
    """A figure, the state of the run that it is of, how many seconds it took, and when it was ready."""

    state: Any
    figure: Any
    took: float
    at: float

    @property
    def rests(self) -> bool:
        """Whether it is too early to make it again; what takes a moment needs no rest."""
        rest = REST * self.took
        return rest > LEAST_REST and time.monotonic() < self.at + rest


class Workshop:
    """Slow figures, each made once for a state of the run. What is wanted again later is asked for again then."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._turn = threading.Lock()
        self._made: dict[str, Made] = {}
        self._waiting: OrderedDict[str, tuple[Any, Callable[[RunReader], Any]]] = OrderedDict()
        self._busy = False

    def get(self, name: str, state: Any, make: Callable[[RunReader], Any], wait: float = 0.1) -> tuple[Any, bool]:
        """The figure (None while there is none; an error of ours is a figure too) and whether it is of this state.

        It is waited for for a moment, unless there is an older one and it took longer than that."""
        with self._turn:
            kept = self._made.get(name)
            if kept is not None and kept.state == state:
                return kept.figure, True
            if kept is None or not kept.rests:
                self._order(name, state, make)
        until = time.monotonic() + (wait if kept is None or kept.took < wait else 0.0)
        while time.monotonic() < until and (kept is None or kept.state != state):
            time.sleep(0.01)
            kept = self._made.get(name)
        return (None, False) if kept is None else (kept.figure, kept.state == state)

    def _order(self, name: str, state: Any, make: Callable[[RunReader], Any]) -> None:
        self._waiting[name] = (state, make)
        if not self._busy:
            self._busy = True
            threading.Thread(target=self._work, daemon=True).start()

    def _work(self) -> None:
        while True:
            with self._turn:
                if not self._waiting:
                    self._busy = False
                    return
                name, (state, make) = next(iter(self._waiting.items()))
            began = time.monotonic()
            figure = self._make(make)
            now = time.monotonic()
            with self._turn:
                self._made[name] = Made(state, figure, now - began, now)
                self._waiting.pop(name, None)  # of whatever state: who still wants a newer one asks again

    def _make(self, make: Callable[[RunReader], Any]) -> Any:
        try:
            with self._watch.reader() as reader:
                return make(reader)
        except JuryboxError as exc:
            return exc
        except Exception as exc:  # a figure that cannot be made must not take the others with it
            return StoreError(f"{self._watch.path}: this figure could not be computed: {exc!r}")
