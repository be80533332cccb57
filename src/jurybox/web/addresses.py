"""Addresses of our own pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode


def link(path: str, *given: Mapping[str, Any], **query: Any) -> str:
    """An address with a query of what is not empty."""
    told: dict[str, Any] = {}
    for one in (*given, query):
        told |= one
    kept = {name: value for name, value in told.items() if value not in (None, "")}
    return path + (f"?{urlencode(kept)}" if kept else "")
