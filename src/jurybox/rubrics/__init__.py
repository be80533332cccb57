"""Rubrics by name, pack or path: built-in TOML files, a user's own TOML file, or a prompt file taken as it is.

`load` turns what a person writes after `--rubrics` into `Rubric`s. Rubrics are data: no file is ever executed.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from pathlib import Path

from jurybox.errors import RubricError, unknown_name
from jurybox.rubrics.prompt_file import read_prompt_file
from jurybox.rubrics.toml_file import read_toml
from jurybox.types import Rubric

__all__ = ["builtin", "load", "load_file", "packs", "read_prompt_file", "read_toml"]

# The order in which a pack is judged and shown; the two that belong to both packs stand where it suits both.
_ORDER = (
    "aspect_coverage",
    "faithfulness",
    "sentiment_consistency",
    "extraneous_information",
    "contradiction",
    "perspective_misalignment",
    "redundancy",
    "omission",
    "fluency",
    "coherence",
    "relevance",
    "specificity",
)


@cache
def builtin() -> dict[str, Rubric]:
    """Every rubric that ships with jurybox, by name."""
    folder = files("jurybox.rubrics").joinpath("builtin")
    read = [
        read_toml(entry.read_text("utf-8"), entry.name, trusted=True)
        for entry in folder.iterdir()
        if entry.name.endswith(".toml")
    ]
    return {rubric.name: rubric for rubric in sorted(read, key=_position)}


def _position(rubric: Rubric) -> tuple[int, str]:
    known = rubric.name in _ORDER
    return (_ORDER.index(rubric.name) if known else len(_ORDER), rubric.name)


def packs() -> dict[str, tuple[Rubric, ...]]:
    """The built-in packs, each with its rubrics."""
    names = dict.fromkeys(pack for rubric in builtin().values() for pack in rubric.packs)
    return {name: tuple(rubric for rubric in builtin().values() if name in rubric.packs) for name in names}


def load(wanted: Iterable[str]) -> tuple[Rubric, ...]:
    """Rubrics for names, packs and paths, in the order asked for, each once."""
    found: dict[str, Rubric] = {}
    for word in wanted:
        for rubric in _resolve(word.strip()):
            other = found.setdefault(rubric.name, rubric)
            if other.digest != rubric.digest:
                raise RubricError(
                    f"two different rubrics are named '{rubric.name}' ('{word}' and one before it); "
                    f"give a file's rubric another name with --rubrics NAME={word}"
                )
    if not found:
        raise RubricError("no rubric was named; see `jurybox rubrics list`")
    return tuple(found.values())


def _resolve(word: str) -> tuple[Rubric, ...]:
    if word in builtin():
        return (builtin()[word],)
    if word in packs():
        return packs()[word]
    name, equals, path = word.partition("=")
    if equals and name.isidentifier():
        return (_renamed(load_file(Path(path)), name, path),)
    if _looks_like_path(word):
        return load_file(Path(word))
    raise RubricError(unknown_name("rubric", word, (*builtin(), *packs())) + " (or the path of a .toml or prompt file)")


def _looks_like_path(word: str) -> bool:
    return "/" in word or "\\" in word or "." in word or Path(word).exists()


def load_file(path: Path) -> tuple[Rubric, ...]:
    """A user's own file: TOML by its ending, anything else is a prompt file."""
    try:
        text = path.read_bytes().decode("utf-8")
    except OSError as exc:
        raise RubricError(f"{path}: cannot be read: {exc.strerror}") from exc
    except UnicodeDecodeError as exc:
        raise RubricError(f"{path}: is not UTF-8 (byte {exc.start + 1}); save the file as UTF-8") from exc
    if path.suffix.lower() == ".toml":
        return (read_toml(text, str(path)),)
    return read_prompt_file(text, str(path))


def _renamed(rubrics: tuple[Rubric, ...], name: str, path: str) -> Rubric:
    from dataclasses import replace

    if len(rubrics) != 1:
        raise RubricError(f"{path} asks for {len(rubrics)} scores, so it cannot take the one name '{name}'")
    return replace(rubrics[0], name=name)
