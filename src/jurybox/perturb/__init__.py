"""Changes made to an item on purpose: damage that a judge must notice, edits and attacks that must not move it."""

from __future__ import annotations

from jurybox.perturb.attacks import ATTACKS, PLACES, Attacked, attack
from jurybox.perturb.change import Change, Edit, Kind, Place, apply
from jurybox.perturb.damages import DAMAGE, damage
from jurybox.perturb.harmless import HARMLESS
from jurybox.perturb.orders import POSITIONS, moved_review, placed_review

__all__ = [
    "ATTACKS",
    "DAMAGE",
    "HARMLESS",
    "PLACES",
    "POSITIONS",
    "Attacked",
    "Change",
    "Edit",
    "Kind",
    "Place",
    "apply",
    "attack",
    "damage",
    "moved_review",
    "placed_review",
]
