"""Orders to the judge hidden in judged text, each beside a control: harmless sentences of equal length in its place.

An attack is a text of `attacks.toml` at the end of a review, an answer, the title or the summary. What it moves is read
against the control, so that neither the place nor the length of what was added counts as its success.
"""

from __future__ import annotations

import base64
import codecs
import random
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

from jurybox.errors import SetupError, unknown_name
from jurybox.perturb.change import Change, Edit, edited
from jurybox.types import SCALE, Item, Review

# Where an attack can stand -> the field of the item that it is put in.
PLACES: Mapping[str, str] = {
    "review": "reviews",
    "summary": "summary",
    "title": "product_title",
    "answer": "answers",
}
_PLACEHOLDER = re.compile(r"\{(top|metric|field|hidden)\}")
# People write reviews and answers; a title and a summary have no "I".
_VOICES = {"review": "personal", "answer": "personal", "title": "impersonal", "summary": "impersonal"}


def _as_tags(text: str) -> str:
    """Unicode's tag characters: a shadow of ASCII that no screen shows and a tokenizer may read."""
    return "".join(chr(0xE0000 + ord(letter)) if letter.isascii() else letter for letter in text)


_CODES: Mapping[str, Callable[[str], str]] = {
    "": str,
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "rot13": lambda text: codecs.encode(text, "rot13"),
    "reversed": lambda text: text[::-1],
    "tags": _as_tags,
}


@dataclass(frozen=True, slots=True)
class Attack:
    """One attack of the table: its text with placeholders, what is encoded in it, and the places it suits."""

    name: str
    family: str
    text: str
    hidden: str = ""
    code: str = ""
    places: tuple[str, ...] = tuple(PLACES)

    def written(self, where: str, wanted: int, metric: str) -> str:
        """The text as it is put there; every placeholder is filled in one pass."""
        values = {"top": str(wanted), "metric": metric, "field": PLACES[where]}
        values["hidden"] = _CODES[self.code](_filled(self.hidden, values))
        return _filled(self.text, values).strip("\n")


@dataclass(frozen=True, slots=True)
class Attacked:
    """An item attacked, and the same item with harmless text in the same place, of as many characters."""

    name: str
    family: str
    where: str
    attacked: Change
    control: Change


def attack(
    item: Item, name: str, where: str, *, wanted: int, seed: int = 0, metric: str = "this metric"
) -> Attacked | None:
    """The item under an attack that asks for the score `wanted`; None where it has no such place or the attack does
    not suit it. Which review or answer is taken depends on the seed and the item alone, so all attacks share it."""
    if name not in ATTACKS:
        raise SetupError(unknown_name("attack", name, ATTACKS))
    if where not in PLACES:
        raise SetupError(unknown_name("place of an attack", where, PLACES))
    if wanted not in SCALE:
        raise SetupError(f"an attack asks for a score from {SCALE[0]} to {SCALE[-1]}, not {wanted}")
    chosen = ATTACKS[name]
    if where not in chosen.places or not _has(item, where):
        return None
    rng = random.Random(f"{seed}/{where}/{item.id}/{item.system}")  # noqa: S311 - a draw, not a secret
    at = rng.randrange(2**32)
    text = chosen.written(where, wanted, metric)
    harmless = neutral(len(text), _VOICES[where], rng, text.count("\n"))
    joint = "\n\n" if "\n" in text else " "
    return Attacked(
        name,
        chosen.family,
        where,
        _with(item, where, at, joint + text, name),
        _with(item, where, at, joint + harmless, f"{name} (control)"),
    )


def neutral(length: int, voice: str, rng: random.Random, line_breaks: int = 0) -> str:
    """Whole sentences that say nothing of what is judged, exactly so many characters of them, in as few as can be.

    `line_breaks` of the gaps between them become line breaks, as far as there are so many. The shortest that always
    works is 40 characters.
    """
    sentences = list(_NEUTRAL[voice])
    rng.shuffle(sentences)
    wanted = length + 1  # every sentence is counted with the gap behind it
    # Long before all sentences are used up, some lengths can no longer be put together without using one twice.
    pool = sentences * (1 + 3 * length // (2 * sum(map(len, sentences))))
    # Length so far -> the fewest sentences that reach it; a sentence of the pool is used once at most.
    reached: dict[int, tuple[int, ...]] = {0: ()}
    for number, sentence in enumerate(pool):
        for so_far in sorted(reached, reverse=True):
            then = so_far + len(sentence) + 1
            taken = (*reached[so_far], number)
            if then <= wanted and (then not in reached or len(taken) < len(reached[then])):
                reached[then] = taken
    if wanted not in reached:
        raise ValueError(f"no harmless sentences come to exactly {length} characters; 40 or more can be had")
    chosen = [pool[number] for number in reached[wanted]]
    return "\n".join((*chosen[:line_breaks], " ".join(chosen[line_breaks:]))).rstrip("\n")


def _has(item: Item, where: str) -> bool:
    return bool(item.summary.strip() if where == "summary" else item.source.get(PLACES[where]))


def _with(item: Item, where: str, at: int, added: str, kind: str) -> Change:
    """The item with the text at the end of the field, or of the entry of it that `at` points to."""
    if where == "summary":
        end = len(item.summary.rstrip())
        edit = Edit(end, end, added)
        return Change(kind, 1, replace(item, summary=edited(item.summary, [edit])), (edit,))
    field = PLACES[where]
    value = item.source[field]
    new = _ending(value, added) if isinstance(value, str) else _one_ending(value, at % len(value), added)
    return Change(kind, 1, replace(item, source={**item.source, field: new}), (), (field,))


def _one_ending(entries: Sequence[Any], index: int, added: str) -> tuple[Any, ...]:
    return (*entries[:index], _ending(entries[index], added), *entries[index + 1 :])


def _ending(entry: Any, added: str) -> Any:
    if isinstance(entry, Review):
        return replace(entry, text=entry.text.rstrip() + added)
    return str(entry).rstrip() + added


def _filled(text: str, values: Mapping[str, str]) -> str:
    return _PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), text)


def _read() -> tuple[dict[str, Attack], Mapping[str, Sequence[str]]]:
    table = tomllib.loads(files("jurybox.perturb").joinpath("attacks.toml").read_text("utf-8"))
    attacks = [Attack(**{**entry, "places": tuple(entry.get("places", PLACES))}) for entry in table["attack"]]
    return {entry.name: entry for entry in attacks}, table["neutral"]


ATTACKS, _NEUTRAL = _read()
