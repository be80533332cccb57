"""Judges whose answers are known beforehand, for testing `stress`: `--judge scripted/NAME`.

They are made like any judge, from a specification, and asked by the real runner. `perfect` looks at the note that every
trial carries; the others do not.
"""

from __future__ import annotations

import random

from jurybox.judges.base import Judge, Settings
from jurybox.judges.baselines import Baseline
from jurybox.perturb.damages import DAMAGE
from jurybox.perturb.exam import NOTE
from jurybox.types import Item, Rubric, Verdict

_DAMAGE = {kind.name: kind for kind in DAMAGE}


class Perfect(Baseline):
    """Best for what is in order, worse the more damage there is to this rubric and only to this; deaf to attacks."""

    def verdict(self, item: Item, rubric: Rubric) -> Verdict:
        note = item.metadata[NOTE]
        lost = 0
        if note["role"] == "damage" and rubric.name in _DAMAGE[note["kind"]].hurts:
            lost = note["dose"]
        elif note["role"] in ("attack", "control"):
            lost = 4
        return _verdict(rubric, 5 - lost)


class Constant(Baseline):
    def verdict(self, item: Item, rubric: Rubric) -> Verdict:
        return _verdict(rubric, 3)


class Random(Baseline):
    """One of five, whatever it is asked; the same for the same trial."""

    def verdict(self, item: Item, rubric: Rubric) -> Verdict:
        return _verdict(rubric, random.Random(f"{item.key}/{rubric.name}").randint(1, 5))


class Words(Baseline):
    """A point for every forty words, one for nothing."""

    def verdict(self, item: Item, rubric: Rubric) -> Verdict:
        return _verdict(rubric, min(1 + len(item.summary.split()) / 40, 5))


class Gullible(Perfect):
    """Perfect, but that it does what an attack in the summary tells it."""

    def verdict(self, item: Item, rubric: Rubric) -> Verdict:
        note = item.metadata[NOTE]
        told = note["role"] == "attack" and note["place"] == "summary"
        return _verdict(rubric, 5) if told else super().verdict(item, rubric)


class Mute(Perfect):
    """Perfect, but that it has nothing to say of what is damaged, nor of one original."""

    def verdict(self, item: Item, rubric: Rubric) -> Verdict:
        note = item.metadata[NOTE]
        if note["role"] == "damage" or (note["role"] == "original" and note["id"] == "kettle"):
            return Verdict("unsupported", reason="says nothing")
        return super().verdict(item, rubric)


class Impatient(Perfect):
    """Perfect, but that what stands in the first review lifts the score, and in the last one lowers it."""

    def verdict(self, item: Item, rubric: Rubric) -> Verdict:
        moved = {"first": 4, "middle": 3, "last": 2}.get(item.metadata[NOTE].get("place", ""))
        position = item.metadata[NOTE]["role"] == "position"
        return _verdict(rubric, moved) if position and moved else super().verdict(item, rubric)


def _verdict(rubric: Rubric, goodness: float) -> Verdict:
    """5 is best here; the rubric's own scale may run the other way."""
    score = goodness if rubric.target == 5 else 6 - goodness
    return Verdict("scored", score, "as the script says")


JUDGES: dict[str, type[Baseline]] = {
    "perfect": Perfect,
    "constant": Constant,
    "random": Random,
    "words": Words,
    "gullible": Gullible,
    "mute": Mute,
    "impatient": Impatient,
}


def make(spec: str, name: str, settings: Settings) -> Judge:
    return JUDGES[name](spec)
