"""What tokens cost: a dated table, or the price a person gives. An unknown price is None, never zero."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from jurybox.types import Reply

_DATED = re.compile(r"-\d{4}-\d{2}-\d{2}$")


@dataclass(frozen=True, slots=True)
class Price:
    """USD for a million tokens."""

    tokens_in: float
    tokens_cached: float
    tokens_out: float

    def of(self, reply: Reply) -> float | None:
        if reply.tokens_in is None or reply.tokens_out is None:
            return None
        cached = reply.tokens_cached or 0
        return (
            (reply.tokens_in - cached) * self.tokens_in
            + cached * self.tokens_cached
            + reply.tokens_out * self.tokens_out
        ) / 1e6


def price_of(provider: str, host: str, model: str) -> Price | None:
    """The table's price; `gpt-4o-2024-08-06` costs what `gpt-4o` does unless it is listed itself."""
    table = _tables().get(provider, {})
    if host != table.get("host"):
        return None
    models = table["models"]
    found = models.get(model) or models.get(_DATED.sub("", model))
    return None if found is None else Price(*found)


@cache
def _tables() -> dict[str, Any]:
    return tomllib.loads(files("jurybox.judges").joinpath("prices.toml").read_text("utf-8"))
