"""What an annotator is shown next, without knowing whose it is, and how far raters agree so far.

`Queue` is one rater's order of items. It is fixed by seed and name alone, so it survives any restart; what is done is
read from the run each time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from jurybox.data.blind import BlindItem, blind_item, blind_key
from jurybox.data.rating import Catalogue, Key, checked_rater
from jurybox.errors import SetupError, StoreError, unknown_name
from jurybox.report.agree_data import ratings_by_rubric
from jurybox.report.duels import holds_duels
from jurybox.report.estimate import FIRST_LABELS, estimate_run
from jurybox.stats.agreement import krippendorff_alpha
from jurybox.stats.bootstrap import RESAMPLES, SEED
from jurybox.stats.labelling import random_order
from jurybox.store import RunReader, current_ratings, item_keys, rubric_bodies, skips
from jurybox.types import Estimate, Rubric

# Everybody their own order; everybody the same, so that few ratings already overlap; what `estimate` asks for first.
Order = Literal["shuffled", "together", "advice"]
ORDERS: tuple[Order, ...] = get_args(Order)


@dataclass(frozen=True, slots=True)
class Turn:
    """What a rater does next: an item, and the rubrics that are open on it. `again` when they skipped it before;
    `key` is for recording, never for showing."""

    key: Key
    item: BlindItem
    rubrics: tuple[str, ...]
    again: bool


def rated_rubrics(reader: RunReader, names: Iterable[str] = ()) -> tuple[Rubric, ...]:
    """The run's rubrics as people see them, or those that were named."""
    bodies = rubric_bodies(reader)
    for name in names:
        if name not in bodies:
            raise SetupError(f"--rubrics: {unknown_name('rubric', name, bodies)}")
    return tuple(_rubric(name, bodies[name]) for name in tuple(names) or bodies)


def _rubric(name: str, body: Mapping[str, object]) -> Rubric:
    told = {field: str(body.get(field) or "") for field in ("title", "question", "definition")}
    scale, steps = (tuple(map(str, _listed(body.get(field)))) for field in ("scale", "steps"))
    return Rubric(
        name, told["title"] or name, question=told["question"], definition=told["definition"], scale=scale, steps=steps
    )


def _listed(value: object) -> Sequence[object]:
    return value if isinstance(value, list | tuple) else ()


def refuse_duels(reader: RunReader) -> None:
    if holds_duels(reader):
        raise StoreError(f"{reader.path}: holds duels; people rate one summary at a time, which is another run")


def catalogue(reader: RunReader) -> Catalogue:
    """What can be rated in a run."""
    refuse_duels(reader)
    keys = item_keys(reader)
    return Catalogue(tuple(rubric_bodies(reader)), {blind_key(key): key for key in keys}, frozenset(keys))


def blind_view(reader: RunReader, key: Key) -> BlindItem:
    found = reader.item(*key)
    return blind_item(key, found["summary"], found["source"])


def blind_order(keys: Iterable[Key], seed: int = SEED, rater: str = "") -> list[Key]:
    """Shuffled by the hash of seed, rater and item: an item's place beside the others does not change when more come,
    as they do while a run goes on."""
    return sorted(keys, key=lambda key: hashlib.sha256("\0".join((str(seed), rater, *key)).encode()).digest())


def advised_order(reader: RunReader, seed: int = SEED, rater: str = "") -> list[Key]:
    """What `estimate` wants labelled next, then the rest, both in its random order of sources.

    Within a source the systems are shuffled, or their order would tell them apart.
    """
    keys = item_keys(reader)
    place = {source: number for number, source in enumerate(random_order((id_ for id_, _ in keys), seed))}
    ordered = sorted(blind_order(keys, seed, rater), key=lambda key: place[key[0]])
    wanted = _wanted(reader, ordered, seed)
    return sorted(ordered, key=lambda key: key not in wanted)


def _wanted(reader: RunReader, ordered: Sequence[Key], seed: int) -> set[Key]:
    rubrics = rubric_bodies(reader)
    rated = {rating.rubric for rating in current_ratings(reader)}
    wanted: set[Key] = set()
    if rated & rubrics.keys():
        found = estimate_run(reader, seed=seed)
        wanted.update(key for estimates in found.rubrics.values() for key in estimates.next.items)
    if rubrics.keys() - rated:  # a rubric that nobody rated: some items of every system to begin with
        systems = dict.fromkeys(system for _, system in ordered)
        wanted.update(key for system in systems for key in [key for key in ordered if key[1] == system][:FIRST_LABELS])
    return wanted


class Queue:
    """One rater's items in order. Made once; `next` looks at what the run holds by then."""

    def __init__(
        self,
        reader: RunReader,
        rater: str,
        *,
        order: Order = "shuffled",
        seed: int = SEED,
        rubrics: Iterable[str] = (),
    ) -> None:
        if order not in ORDERS:
            raise SetupError(f"--order: {unknown_name('order', order, ORDERS)}")
        refuse_duels(reader)
        try:
            self.rater = checked_rater(rater)
        except ValueError as exc:
            raise SetupError(str(exc)) from exc
        self.rubrics = tuple(rubric.name for rubric in rated_rubrics(reader, tuple(rubrics)))
        self.order, self.seed = order, seed
        self.keys = self._ordered(reader)

    def _ordered(self, reader: RunReader) -> list[Key]:
        if self.order == "advice":
            return advised_order(reader, self.seed, self.rater)
        return blind_order(item_keys(reader), self.seed, self.rater if self.order == "shuffled" else "")

    def next(self, reader: RunReader) -> Turn | None:
        """The first item with something open; then what was skipped, the longest ago first; None when all is rated."""
        scored = {(rating.key, rating.rubric) for rating in current_ratings(reader, self.rater)}
        skipped = {(skip.key, skip.rubric): skip.number for skip in skips(reader, self.rater)}
        seen = scored | skipped.keys()
        for key in self.keys:
            rubrics = tuple(name for name in self.rubrics if (key, name) not in seen)
            if rubrics:
                return Turn(key, blind_view(reader, key), rubrics, again=False)
        waiting = [(number, *place) for place, number in skipped.items() if place not in scored]
        left = sorted(one for one in waiting if one[2] in self.rubrics)
        if not left:
            return None
        key = left[0][1]
        rubrics = tuple(name for name in self.rubrics if any(one[1:] == (key, name) for one in left))
        return Turn(key, blind_view(reader, key), rubrics, again=True)


def rater_agreement(reader: RunReader, *, seed: int = SEED, resamples: int = RESAMPLES) -> dict[str, Estimate]:
    """Krippendorff's alpha (ordinal) between raters as things stand, for each rubric; interval over sources."""
    found = ratings_by_rubric(reader, None)
    return {rubric: _alpha(found.get(rubric, {}), seed, resamples) for rubric in rubric_bodies(reader)}


def _alpha(ratings: Mapping[Key, Mapping[str, float]], seed: int, resamples: int) -> Estimate:
    if not ratings:
        return Estimate(None, None, None, 0, 0, "undefined: nobody rated it")
    raters = dict.fromkeys(rater for given in ratings.values() for rater in given)
    nan = float("nan")
    table = [[given.get(rater, nan) for given in ratings.values()] for rater in raters]
    alpha = krippendorff_alpha(table, [id_ for id_, _ in ratings], seed=seed, resamples=resamples)
    return replace(alpha, method=alpha.method.replace("judges", "raters"))
