"""The word tables of `words.toml`, read once and in the shape that damage needs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def _tables() -> Mapping[str, Any]:
    import tomllib

    return tomllib.loads(files("jurybox.perturb").joinpath("words.toml").read_text("utf-8"))


@cache
def listed(name: str) -> tuple[str, ...]:
    """A list of words or phrases, in its order."""
    return tuple(word.replace("_", " ") for word in str(_tables()[name]).split())


@cache
def known(name: str) -> frozenset[str]:
    """A list of words or phrases, to ask whether it has one."""
    return frozenset(listed(name))


@cache
def pairs(name: str) -> Mapping[str, str]:
    """Pairs old/new; the first line that has a word counts."""
    found: dict[str, str] = {}
    for entry in listed(name):
        old, _, new = entry.partition("/")
        found.setdefault(old, new)
    return found


@cache
def groups(name: str) -> tuple[tuple[str, ...], ...]:
    """Words that can stand for each other, group by group."""
    return tuple(tuple(group.split()) for group in str(_tables()[name]).split("|"))


@cache
def sayings(name: str) -> tuple[str, ...]:
    """Whole sentences."""
    return tuple(_tables()[name])


@cache
def invented(sort: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Claims of a sort (PRODUCT, or a perspective), each with the words that the source must not have."""
    return tuple(
        (claim["text"], tuple(word.replace("_", " ") for word in claim["absent"].split()))
        for claim in _tables()["invented"].get(sort, ())
    )
