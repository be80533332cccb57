"""Changing an item on purpose: damage that a judge must notice, edits that it must not, attacks that it must survive."""

from __future__ import annotations

from jurybox.perturb.change import Change, Edit, Kind, Place, apply

__all__ = ["Change", "Edit", "Kind", "Place", "apply"]
