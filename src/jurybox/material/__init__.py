"""Making long material fit what a judge can read, never in silence.

`sample` shows a random part of the entries, `extract` shows what a rubric needs of all of them. Both return an item
whose source has the shortened fields, so that it is rendered like any other, and a `Shown` that says what was done:
its `note` is for the judge, its `as_dict` for the store. Nothing is cut inside an entry; what cannot be made to fit
is a `DoesNotFit`.
"""

from __future__ import annotations

from jurybox.material.extracting import Need, extract, need_of
from jurybox.material.room import DoesNotFit, estimate_tokens, room_for
from jurybox.material.sampling import sample, sampling_error
from jurybox.material.shown import Part, Policy, Shown, Way

__all__ = [
    "DoesNotFit",
    "Need",
    "Part",
    "Policy",
    "Shown",
    "Way",
    "estimate_tokens",
    "extract",
    "need_of",
    "room_for",
    "sample",
    "sampling_error",
]
