"""How many tokens material takes, and how a room is shared between fields."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jurybox.errors import JuryboxError
from jurybox.fields import entries
from jurybox.types import Item

Count = Callable[[str], int]

# Fields of many voices. A sample of them, or a count over them, means something; half a list of features does not.
LONG_FIELDS: Mapping[str, tuple[str, str]] = {
    "reviews": ("review", "reviews"),
    "answers": ("answer", "answers"),
    "input_spans": ("span", "spans"),
}
# A summary's tokens are rounded up to steps of this size, so that all systems leave the same room for the source.
SUMMARY_STEP = 512
_CJK = re.compile("[\u2e80-\ua4cf\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U00010000-\U0010ffff]")


class DoesNotFit(JuryboxError):
    """Material that cannot be shown in the room there is without cutting inside an entry."""

    def __init__(self, what: str, needed: int, room: int) -> None:
        super().__init__(f"{what} needs about {needed:,} tokens; there is room for {room:,}")
        self.needed, self.room = needed, room


def estimate_tokens(text: str) -> int:
    """About how many tokens a model reads: a quarter for each ASCII character, one for each Chinese, Japanese or Korean
    character and each emoji, a half for any other. Ordinary English prose comes out slightly high; code, long numbers
    and scripts that a tokenizer has hardly seen come out low.
    """
    if text.isascii():
        return (len(text) + 3) // 4
    ascii_characters = len(text.encode("ascii", "ignore"))
    broad = len(_CJK.findall(text))
    other = len(text) - ascii_characters - broad
    return (ascii_characters + 4 * broad + 2 * other + 3) // 4


def room_for(limit: int, around: int, summary: str, count: Count = estimate_tokens) -> int:
    """The tokens left for the source when `around` go to the rest of the prompt and to the answer.

    The summary's share is rounded up: two systems whose summaries differ by a few words must be judged on the same
    sample.
    """
    reserved = -(-max(count(summary), 1) // SUMMARY_STEP) * SUMMARY_STEP
    room = limit - around - reserved
    if room < 0:
        raise DoesNotFit("the prompt with its summary and no material at all", around + reserved, limit)
    return room


def entry_costs(value: Any, count: Count) -> list[int]:
    """What each entry takes when it is shown in a numbered list."""
    shown = entries(value)
    texts = [shown] if isinstance(shown, str) else shown
    return [count(as_shown(number, text)) for number, text in enumerate(texts, 1)]


def as_shown(number: int, text: str) -> str:
    """An entry as a prompt's list has it: numbered, its later lines indented."""
    return f"{number}. " + "\n   ".join(text.splitlines()) + "\n"


@dataclass(frozen=True, slots=True)
class Overflow:
    """Material that does not fit: what each entry of the long fields takes, and the room left for them."""

    costs: Mapping[str, list[int]]
    room: int

    def shares(self) -> dict[str, int]:
        """The room of each field: equal shares, where what one does not need goes to the others.

        No share shrinks when the room grows.
        """
        wanted = {field: sum(costs) for field, costs in self.costs.items()}
        shares: dict[str, int] = {}
        for field in sorted(wanted, key=lambda field: (wanted[field], field)):
            shares[field] = min(wanted[field], (self.room - sum(shares.values())) // (len(wanted) - len(shares)))
        return shares


def overflow(item: Item, fields: Sequence[str], room: int, count: Count) -> Overflow | None:
    """What must be shortened, or None if everything fits. Raises if the fields that are never cut do not."""
    costs = {field: entry_costs(item.source[field], count) for field in fields if field in item.source}
    if sum(map(sum, costs.values())) <= room:
        return None
    fixed = {field: sum(each) for field, each in costs.items() if field not in LONG_FIELDS}
    left = room - sum(fixed.values())
    if fixed and left < 0:
        raise DoesNotFit(f"what is never cut ({', '.join(fixed)})", sum(fixed.values()), room)
    return Overflow({field: each for field, each in costs.items() if field in LONG_FIELDS}, left)
