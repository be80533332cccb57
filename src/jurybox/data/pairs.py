"""Duels as data: every source with the summaries of two systems becomes two items, one for each order of showing.

What an item is stays what it was, so a duel is judged, kept, resumed and exported like any other run. Between a
source's first and last line only its summaries are held, never its material.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from jurybox.data.dataset import Census, Dataset
from jurybox.errors import DataError, SetupError, unknown_name
from jurybox.types import RIVALS, Item, Rubric

Pair = tuple[str, str]


def label(first: str, second: str) -> str:
    """What a paired item calls its system."""
    return f"{first} vs {second}"


class PairedDataset(Dataset):
    """The duels of the named systems in a dataset. `limit` counts sources.

    `missing` says, once `check` has walked the data, for how many sources a pair lacks one summary or both.
    """

    def __init__(self, dataset: Dataset, systems: Sequence[str], limit: int | None = None) -> None:
        super().__init__(())
        self.name = dataset.name
        self.systems = tuple(systems)
        self.pairs: tuple[Pair, ...] = tuple(combinations(self.systems, 2))
        self.missing: Mapping[Pair, int] = {}
        self._dataset, self._most = dataset, limit
        self._written: dict[str, int] = {}  # id -> how many of the systems wrote about it
        _refuse_few(self.systems)
        if limit is not None and limit < 1:
            raise SetupError(f"--limit {limit}: should be 1 or more")

    def check(self, rubrics: Iterable[Rubric], observe: Callable[[Item], None] | None = None) -> Census:
        """Walk everything twice, refusing what could not be compared: nothing has been paid yet."""
        writers = _Writers(self._dataset.name, self.systems)
        found = self._dataset.check(rubrics, writers.see)
        for system in self.systems:
            if system not in found.systems:
                raise SetupError(f"{self.name}: {unknown_name('system', system, found.systems)}")
        self._written = {id_: len(systems) for id_, systems in writers.systems.items()}
        chosen = list(writers.systems.values())
        self.missing = {pair: sum(not systems.issuperset(pair) for systems in chosen) for pair in self.pairs}
        if all(self.missing[pair] == len(chosen) for pair in self.pairs):
            raise DataError(
                self.name,
                None,
                f"no id has summaries by two of {', '.join(self.systems)}; a duel needs two summaries of one source "
                "under one id",
            )
        return self._count(observe)

    def _count(self, observe: Callable[[Item], None] | None) -> Census:
        count, systems = 0, dict[str, None]()
        for _, item in self.located():
            systems[item.system] = None
            count += 1
            if observe is not None:
                observe(item)
        return Census(count, tuple(systems), 0, 0)

    def located(self) -> Iterator[tuple[int, Item]]:
        """Both orders of every pair, when the last summary of their source is read."""
        waiting: dict[str, dict[str, str]] = {}
        done = 0
        for line, item in self._dataset.located():
            if item.system not in self.systems:
                continue
            summaries = waiting.setdefault(item.id, {})
            summaries[item.system] = item.summary
            if len(summaries) < self._written[item.id]:
                continue
            duels = list(self._duels(item, waiting.pop(item.id)))
            yield from ((line, duel) for duel in duels)
            done += bool(duels)
            if done == self._most:
                return

    def _duels(self, last: Item, summaries: Mapping[str, str]) -> Iterator[Item]:
        for pair in self.pairs:
            if not summaries.keys() >= set(pair):
                continue
            # One mapping for both orders: the store keeps it once.
            source = {**last.source, RIVALS: {system: summaries[system] for system in pair}}
            for first, second in (pair, pair[::-1]):
                told = {"first": first, "second": second}
                yield Item(last.id, label(first, second), _both(summaries, first, second), source, metadata=told)


def _both(summaries: Mapping[str, str], first: str, second: str) -> str:
    """What is judged is both; and either order is as long as the other, so that it leaves as much room for material."""
    return f"First summary: {summaries[first]}\n\nSecond summary: {summaries[second]}"


class _Writers:
    """Which of the systems wrote about which source; refuses one id with two different sources."""

    def __init__(self, name: str, systems: Sequence[str]) -> None:
        self.systems: dict[str, frozenset[str]] = {}
        self._name, self._wanted = name, frozenset(systems)
        self._digests: dict[str, bytes] = {}
        self._last: tuple[Any, bytes] = (None, b"")
        # Every id shares one of few sets.
        self._sets: dict[frozenset[str], frozenset[str]] = {}

    def see(self, item: Item) -> None:
        if item.system not in self._wanted:
            return
        digest = self._digest(item)
        if self._digests.setdefault(item.id, digest) != digest:
            raise DataError(
                self._name,
                None,
                f"id '{item.id}': the summary by '{item.system}' has another source than the one before; a duel "
                "compares summaries of one source",
            )
        grown = self.systems.get(item.id, frozenset()) | {item.system}
        self.systems[item.id] = self._sets.setdefault(grown, grown)

    def _digest(self, item: Item) -> bytes:
        """Summaries on one line share their source, so it is hashed once."""
        if self._last[0] is not item.source:
            text = repr(sorted(item.source.items()))
            hashed = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
            self._last = (item.source, hashed)
        return self._last[1]


def _refuse_few(systems: Sequence[str]) -> None:
    if len(systems) < 2:
        raise SetupError("a duel needs two systems or more: jurybox duel DATA A B")
    twice = [system for number, system in enumerate(systems) if system in systems[:number]]
    if twice:
        raise SetupError(f"system '{twice[0]}' is named twice; a duel takes each one once")
