"""Changes made to an item on purpose: damage that a judge must notice, edits and attacks that must not move it."""

from __future__ import annotations

from jurybox.perturb.change import Change, Edit, Kind, Place, apply

__all__ = ["Change", "Edit", "Kind", "Place", "apply"]
