"""What a judge is put through: good summaries, each as it is, damaged, harmlessly edited, attacked, its reviews moved.

Every `Trial` is an ordinary item, so it is judged, kept and resumed like any other. Its id is that of its source; its
system says what was done, in words that end with a label of ours, so that no two trials share a key. Pure: the same
items and the same seed make the same exam.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, Protocol

from jurybox.perturb.change import Change, Kind, apply
from jurybox.perturb.orders import placed_review
from jurybox.types import Item

Role = Literal["original", "damage", "harmless", "position", "attack", "control"]
Key = tuple[str, str]
# Where a trial's item says what it is, beside the metadata that the data brought.
NOTE = "jurybox_stress"
_JOINT = " + "  # stands in no label, so the last one in a trial's system always ends the name of the real one


@dataclass(frozen=True, slots=True)
class Trial:
    """One item for the judge, and what it is: whose summary, changed how. `place` is where an attack or a moved review
    stands; `family` what sort of attack it is, and `wanted` the score that it asks for."""

    item: Item
    base: Key
    role: Role
    kind: str = ""
    dose: int = 0
    place: str = ""
    family: str = ""
    wanted: int | None = None

    @property
    def source(self) -> str:
        return self.base[0]


class Attacked(Protocol):
    """An attack on an item, and the same item with a harmless text of equal length in the same place."""

    @property
    def attacked(self) -> Change: ...

    @property
    def control(self) -> Change: ...


class Attacker(Protocol):
    """Makes an attack by its name, or None where there is no place for it."""

    def __call__(self, item: Item, name: str, where: str, /, *, wanted: int, seed: int) -> Attacked | None: ...


@dataclass(frozen=True, slots=True)
class Arsenal:
    """What may be done to a summary. `targets` has the best score of each rubric asked, `attacks` the names of each
    family's attacks, and `ruin` the damage that a summary gets before it is attacked."""

    targets: Mapping[str, int]
    damage: Sequence[Kind]
    harmless: Sequence[Kind] = ()
    attacks: Mapping[str, Sequence[str]] = field(default_factory=dict)
    places: Sequence[str] = ()
    attack: Attacker | None = None
    ruin: Sequence[Kind] = ()


@dataclass(frozen=True, slots=True)
class Exam:
    """All trials in order, grouped by summary. `refused` counts, kind by kind, how often a dose had no honest place
    (None: not known); `chosen` says in words how the summaries were, `targets` the best score of each rubric asked."""

    trials: tuple[Trial, ...]
    refused: Mapping[str, int] | None
    seed: int
    chosen: str = ""
    targets: Mapping[str, int] = field(default_factory=dict)

    @property
    def summaries(self) -> int:
        return sum(trial.role == "original" for trial in self.trials)

    @property
    def sources(self) -> int:
        return len({trial.source for trial in self.trials})

    @property
    def digest(self) -> str:
        """Two judges with the same digest were put through the same exam."""
        hashed = hashlib.sha256()
        for trial in self.trials:
            # As JSON: a source is the same whether it comes from the data or from a run file.
            source = json.dumps(trial.item.source, sort_keys=True, default=asdict)
            told = (*trial.item.key, trial.item.summary, source)
            hashed.update("\0".join(told).encode("utf-8", "surrogatepass"))
        return hashed.hexdigest()[:12]


def make_exam(
    good: Sequence[Item], others: Sequence[Item], arsenal: Arsenal, *, seed: int = 0, chosen: str = ""
) -> Exam:
    """Every change of every good summary; `others` are all items of the data, for damage that borrows from them."""
    refused: Counter[str] = Counter()
    trials = [
        trial
        for number, item in enumerate(good)
        for trial in _Bench(item, number, others, arsenal, seed, refused).trials()
    ]
    return Exam(tuple(trials), dict(refused), seed, chosen, dict(arsenal.targets))


class _Bench:
    """One good summary and all that is done to it."""

    def __init__(
        self, item: Item, number: int, others: Sequence[Item], arsenal: Arsenal, seed: int, refused: Counter[str]
    ) -> None:
        self._item, self._number, self._arsenal, self._seed, self._refused = item, number, arsenal, seed, refused
        self._others = [other for other in others if other.key != item.key]

    def trials(self) -> Iterator[Trial]:
        yield self._trial(self._item, "original", "original")
        for role, kinds in (("damage", self._arsenal.damage), ("harmless", self._arsenal.harmless)):
            for kind in kinds:
                yield from self._doses(role, kind)  # type: ignore[arg-type]
        for place, change in (placed_review(self._item, seed=self._seed) or {}).items():
            yield self._trial(change.item, "position", change.kind, kind=change.kind, place=place)
        if self._arsenal.attack is not None and self._arsenal.attacks:
            yield from self._attacks(self._arsenal.attack)

    def _doses(self, role: Role, kind: Kind) -> Iterator[Trial]:
        """A dose that comes to the same text as a smaller one is no dose of its own."""
        seen: list[Item] = []
        for dose in sorted(kind.doses):
            change = apply(kind, self._item, dose=dose, seed=self._seed, others=self._others)
            if change is None or change.item in seen:
                self._refused[kind.name] += 1
                continue
            seen.append(change.item)
            yield self._trial(change.item, role, f"{kind.name}:{dose}", kind=kind.name, dose=dose)

    def _attacks(self, attack: Attacker) -> Iterator[Trial]:
        """One attack of every family, on each summary another one and in another place, so that all have their turn."""
        victim = self._ruined()
        for wanted in sorted(set(self._arsenal.targets.values())):
            for number, (family, names) in enumerate(self._arsenal.attacks.items()):
                made = self._placed(attack, victim, names, number, wanted)
                if made is None:
                    self._refused[family] += 1
                    continue
                name, place, both = made
                told = {"kind": name, "place": place, "family": family, "wanted": wanted}
                label = f"{name}@{place}={wanted}"
                yield self._trial(both.attacked.item, "attack", label, **told)
                yield self._trial(both.control.item, "control", f"{label} control", **told)

    def _placed(
        self, attack: Attacker, victim: Item, names: Sequence[str], number: int, wanted: int
    ) -> tuple[str, str, Attacked] | None:
        """The attack and the place whose turn it is, of those that suit the item."""
        turn = self._number % len(names)
        for name in (*names[turn:], *names[:turn]):
            made = [
                (where, attack(victim, name, where, wanted=wanted, seed=self._seed)) for where in self._arsenal.places
            ]
            able = [(where, found) for where, found in made if found is not None]
            if able:
                return name, *able[(self._number + self._number // len(names) + number) % len(able)]
        return None

    def _ruined(self) -> Item:
        """The summary with one damage upon another until every rubric that can be hurt is: an attack on a good summary
        has no room to lift its score."""
        item, hurt = self._item, set[str]()
        for kind in self._arsenal.ruin:
            if hurt.issuperset(kind.hurts):
                continue
            change = apply(kind, item, dose=max(kind.doses), seed=self._seed, others=self._others)
            if change is not None:
                item = change.item
                hurt.update(kind.hurts)
        return item

    def _trial(self, item: Item, role: Role, label: str, **told: Any) -> Trial:
        base = self._item
        note = {"id": base.id, "system": base.system, "role": role, **told, "seed": self._seed}
        if role == "original":
            note["targets"] = dict(self._arsenal.targets)
        named = replace(
            item,
            id=base.id,
            system=f"{base.system}{_JOINT}{label}",
            human={},  # people rated the summary as it was
            metadata={**base.metadata, NOTE: note},
        )
        return Trial(named, base.key, role, **told)


def is_trial(system: str) -> bool:
    """Whether an item's system is that of a trial, by its name alone."""
    return _JOINT in system


def exam_of(items: Iterable[Item]) -> Exam:
    """An exam as its run file holds it; what had no honest place is known only to whoever made it."""
    noted = [(item, note) for item in items if isinstance(note := item.metadata.get(NOTE), Mapping)]
    targets = {rubric: best for _, note in noted for rubric, best in note.get("targets", {}).items()}
    seed = min((note["seed"] for _, note in noted), default=0)
    return Exam(tuple(_noted(*one) for one in noted), None, seed, targets=targets)


def _noted(item: Item, note: Mapping[str, Any]) -> Trial:
    told = {name: note[name] for name in ("kind", "dose", "place", "family", "wanted") if name in note}
    return Trial(item, (note["id"], note["system"]), note["role"], **told)
