"""A rubric's TOML file becomes a frozen `Rubric`."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterable
from typing import Any

from jurybox.errors import RubricError
from jurybox.types import SCALE, Rubric


def read_toml(text: str, name: str, *, trusted: bool = False) -> Rubric:
    """One rubric from the text of a TOML file; `name` is what errors call the file. Only our own files are trusted."""
    try:
        document = tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError as exc:
        raise RubricError(f"{name}: is not TOML: {exc}") from exc
    if not trusted:
        from jurybox.rubrics.strict import refuse_wrong_shape

        refuse_wrong_shape(document, name)
    return _frozen(document, text)


def _frozen(document: dict[str, Any], text: str) -> Rubric:
    pack, inputs = document.get("pack", []), document["inputs"]
    return Rubric(
        name=document["name"],
        title=document.get("title") or document["name"].replace("_", " ").title(),
        version=document["version"],
        packs=_stripped([pack] if isinstance(pack, str) else pack),
        question=document["question"].strip(),
        definition=document["definition"].strip(),
        scale=_stripped(document["scale"][str(step)] for step in SCALE),
        steps=_stripped(document["steps"]),
        required=_stripped(inputs.get("required", ["summary"])),
        any_of=_stripped(inputs.get("any_of", [])),
        optional=_stripped(inputs.get("optional", [])),
        target=document["target"],
        citation=document.get("citation", "").strip(),
        layout=document.get("layout"),
        digest=hashlib.sha256(text.encode()).hexdigest(),
    )


def _stripped(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(text.strip() for text in texts)
