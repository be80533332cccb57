"""What tokens cost: dated tables, a person's own table over ours, or a price given by hand. An unknown price is None,
never zero.

A table is a section of a TOML file: `host`, `date`, and `models` with USD for a million tokens. `$JURYBOX_PRICES` or
`jurybox/prices.toml` in the user's configuration directory has the same shape and comes first.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jurybox.errors import SetupError
from jurybox.places import config_folder
from jurybox.types import Reply

VARIABLE = "JURYBOX_PRICES"
OURS = "jurybox's own table"
# `gpt-4o-2024-08-06` and `claude-haiku-4-5-20251001` cost what `gpt-4o` and `claude-haiku-4-5` do.
_DATED = re.compile(r"-(?:\d{4}-\d{2}-\d{2}|\d{8}|latest)$")
_SHAPE = "should be [in, cached, out] or {price = [in, cached, out], context = tokens}, in USD for a million tokens"


@dataclass(frozen=True, slots=True)
class Price:
    """USD for a million tokens. `tokens_written` is for input that the provider writes to its cache, where that costs
    more. `origin` says where the price comes from: `prices of 2025-08-07`."""

    tokens_in: float
    tokens_cached: float
    tokens_out: float
    tokens_written: float | None = None
    origin: str = ""

    def of(self, reply: Reply, written: int = 0) -> float | None:
        """What a reply cost; `written` of its tokens went into the provider's cache."""
        if reply.tokens_in is None or reply.tokens_out is None:
            return None
        cached = reply.tokens_cached or 0
        writing = self.tokens_in if self.tokens_written is None else self.tokens_written
        return (
            (reply.tokens_in - cached - written) * self.tokens_in
            + cached * self.tokens_cached
            + written * writing
            + reply.tokens_out * self.tokens_out
        ) / 1e6


FREE = Price(0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Entry:
    """One model in one table: what it costs and how many tokens it holds, as far as the table says."""

    price: tuple[float, ...]
    context: int | None
    origin: str


def price_of(provider: str, host: str, model: str) -> Price | None:
    """The price of a model at a host. A dated name costs what the plain one does unless it is listed itself; of two
    tables for one host, the one that is named after the provider comes first, and a person's own before ours."""
    for entry in _entries(provider, host, model):
        if entry.price:
            went_in, cached, out, *written = entry.price
            return Price(went_in, cached, out, written[0] if written else None, entry.origin)
    return None


def context_of(host: str, model: str) -> int | None:
    """How many tokens a model at a host can hold, if a table says so."""
    return next((entry.context for entry in _entries("", host, model) if entry.context), None)


def _entries(provider: str, host: str, model: str) -> Iterator[Entry]:
    for tables in (_own_tables(), _read(None, 0)):
        there = [name for name, table in tables.items() if table["host"] == host]
        for name in sorted(there, key=lambda name: name != provider):
            models = tables[name]["models"]
            found = models.get(model) or models.get(_DATED.sub("", model))
            if found is not None:
                yield found


def _own_tables() -> Mapping[str, Any]:
    given = os.environ.get(VARIABLE)
    if given:
        path = Path(given).expanduser()
        if not path.is_file():
            raise SetupError(f"{VARIABLE}: there is no file {path}")
    else:
        path = config_folder() / "prices.toml"
        if not path.is_file():
            return {}
    return _read(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=8)
def _read(path: Path | None, _changed: int) -> Mapping[str, Any]:
    """The tables of a file (of ours for None), checked: each with its host and its entries by model."""
    place = OURS if path is None else str(path)
    try:
        text = (files("jurybox.judges").joinpath("prices.toml") if path is None else path).read_text("utf-8")
        parsed = tomllib.loads(text)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as exc:
        raise SetupError(f"{place}: cannot be read as a table of prices: {exc}") from exc
    return {name: _table(f"{place}, [{name}]", table, own=path is not None) for name, table in parsed.items()}


def _table(place: str, table: Any, *, own: bool) -> dict[str, Any]:
    if not isinstance(table, dict) or not isinstance(table.get("host"), str):
        raise SetupError(f'{place}: should be a section that names its host, such as host = "api.openai.com"')
    models = table.get("models")
    if not isinstance(models, dict):
        raise SetupError(f"{place}: has no [….models] with a price for each")
    unknown = table.keys() - {"host", "date", "source", "models"}
    if unknown:
        raise SetupError(f"{place}: '{min(unknown)}' is not known here; host, date, source and models are")
    origin = " ".join(("your prices" if own else "prices", *([f"of {table['date']}"] if "date" in table else [])))
    return {
        "host": table["host"],
        "models": {name: _entry(f"{place}, model '{name}'", value, origin) for name, value in models.items()},
    }


def _entry(place: str, value: Any, origin: str) -> Entry:
    given = value if isinstance(value, dict) else {"price": value}
    price, context = given.get("price", []), given.get("context")
    right_price = (
        isinstance(price, list) and all(map(_is_amount, price)) and len(price) in ((0, 3, 4) if context else (3, 4))
    )
    right_context = context is None or (isinstance(context, int) and not isinstance(context, bool) and context > 0)
    if not right_price or not right_context or given.keys() - {"price", "context"}:
        raise SetupError(f"{place}: {_SHAPE}")
    return Entry(tuple(map(float, price)), context, origin)


def _is_amount(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e6
